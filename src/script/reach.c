#include "script/reach.h"

#include <stdio.h>

#include "base/mem.h"
#include "script/files.h"
#include "script/vm_impl.h"

/* In the folder, and not hidden there: a script in somebody's home has no
 * business with what lies in .ssh. Packs leave these out, too. */
static bool is_own(const char *real, const char *folder)
{
  size_t n = strlen(folder);
  return files_inside(real, folder) && !strstr(real + (n == 1 ? 0 : n), "/.");
}

static bool may_read(const struct scenario *s, const char *real)
{
  if (s->unsafe || (s->folder && is_own(real, s->folder)))
    return true;
  for (size_t i = 0; i < s->params.len; i++) {
    const struct param *p = &s->params.list[i];
    if (params_is_file(p) && files_inside(real, p->text))
      return true;
  }
  return false;
}

const char *reach_path(lua_State *L, int i)
{
  size_t len;
  const char *path = luaL_checklstring(L, i, &len);
  luaL_argcheck(L, strlen(path) == len, i, "a path has no byte 0 in it");
  return path;
}

char *reach(const struct vm *vm, const char *path, char why[128])
{
  const struct scenario *s = vm->scenario;
  char *full = path[0] == '/' ? mem_strdup(path)
                              : files_join(s->folder ? s->folder : ".", path);
  char *real = files_real(full);
  mem_free(full);
  if (!real) {
    snprintf(why, 128, "no such file");
    return NULL;
  }
  if (may_read(s, real))
    return real;
  snprintf(why, 128,
           "outside of the scenario's folder, or hidden there, and no path "
           "parameter of the user's points there");
  mem_free(real);
  return NULL;
}
