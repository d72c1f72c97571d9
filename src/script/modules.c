#include "script/modules.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "script/digest.h"
#include "script/embed.h"
#include "script/files.h"
#include "script/recursion.h"
#include "script/vm_impl.h"

/* require(name) -> module  [-0, +1, e] */

#define LETTERS                                                                \
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

static void add_file(struct vm *vm, const char *path, const char *name,
                     struct str text)
{
  struct scenario_file *f;
  char sha256[65];
  vm_guard(vm);
  digest_sha256(text, sha256);
  vm->files = mem_resize(vm->files, vm->n_files + 1, sizeof *vm->files);
  f = &vm->files[vm->n_files++];
  f->path = mem_strdup(path);
  f->name = mem_strdup(name);
  f->sha256 = mem_strdup(sha256);
  vm_unguard(vm);
}

/* Names are dots and words, so no name climbs out of a folder. */
static bool good_name(const char *name)
{
  const char *p = name;
  for (;;) {
    size_t n = strspn(p, LETTERS);
    if (n == 0)
      return false;
    p += n;
    if (*p == '\0')
      return true;
    if (*p++ != '.')
      return false;
  }
}

/* Push the function of some source. */
static int push_chunk(lua_State *L, struct str text, const char *path)
{
  lua_pushfstring(L, "@%s", path);
  if (luaL_loadbufferx(L, text.p, text.len, lua_tostring(L, -1), "t") != 0)
    return lua_error(L);
  lua_remove(L, -2);
  return 1;
}

/* Read a file into the VM's scratch, when it exists and really lies inside
 * `folder`. */
static bool read_inside(struct vm *vm, const char *folder, const char *file,
                        char why[128])
{
  char *path, *real, *real_folder;
  bool ok = false;
  vm_guard(vm);
  path = files_join(folder, file);
  real = files_real(path);
  real_folder = files_real(folder);
  if (real && real_folder && !files_inside(real, real_folder)) {
    snprintf(why, 128, "leads out of its folder");
  } else if (real && real_folder) {
    buf_reset(&vm->scratch);
    ok = files_read(real, &vm->scratch, why) == 0;
  }
  mem_free(path);
  mem_free(real);
  mem_free(real_folder);
  vm_unguard(vm);
  return ok;
}

/* `shown` is the folder as messages have it. */
static bool find_in_folder(lua_State *L, const char *folder, const char *shown,
                           const char *file)
{
  struct vm *vm = vm_of(L);
  char why[128] = "";
  bool found = read_inside(vm, folder, file, why);
  if (!found && *why)
    return luaL_error(L, "%s/%s: %s", shown, file, why);
  if (!found)
    return false;
  if (strcmp(shown, ".") == 0)
    lua_pushstring(L, file);
  else
    lua_pushfstring(L, "%s/%s", shown, file);
  add_file(vm, lua_tostring(L, -1), file, buf_str(&vm->scratch));
  push_chunk(L, buf_str(&vm->scratch), lua_tostring(L, -1));
  lua_remove(L, -2);
  return true;
}

static bool find_embedded(lua_State *L, const char *folder, const char *file)
{
  const char *path = lua_pushfstring(L, "%s/%s", folder, file);
  const struct embedded *e = embed_find(path);
  if (e)
    push_chunk(L, (struct str){e->source, e->len}, path);
  lua_remove(L, e ? -2 : -1);
  return e != NULL;
}

/* Every folder between the colons. */
static bool find_in_path(lua_State *L, const char *path, const char *file)
{
  struct str rest = str_of(path);
  while (rest.p) {
    struct str folder = str_split(&rest, ':');
    if (!folder.len)
      continue;
    lua_pushlstring(L, folder.p, folder.len);
    if (find_in_folder(L, lua_tostring(L, -1), lua_tostring(L, -1), file)) {
      lua_remove(L, -2);
      return true;
    }
    lua_pop(L, 1);
  }
  return false;
}

static bool find_file(lua_State *L, const char *file)
{
  const struct scenario *s = vm_of(L)->scenario;
  if (s->folder ? find_in_folder(L, s->folder, s->shown_folder, file)
                : find_embedded(L, s->shown_folder, file))
    return true;
  return find_in_path(L, getenv("STOKE_PATH"), file);
}

/* Push the chunk of "a.b": a/b.lua or a/b/init.lua. */
static bool find_module(lua_State *L, const char *name)
{
  static const char *const endings[] = {".lua", "/init.lua"};
  luaL_gsub(L, name, ".", "/");
  for (int i = 0; i < 2; i++) {
    const char *file =
        lua_pushfstring(L, "%s%s", lua_tostring(L, -1), endings[i]);
    bool found = strncmp(name, "stoke.", 6) == 0 ? find_embedded(L, "lua", file)
                                                 : find_file(L, file);
    if (found) {
      lua_replace(L, -3);
      lua_pop(L, 1);
      return true;
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return false;
}

static int not_found(lua_State *L, const char *name)
{
  const struct scenario *s = vm_of(L)->scenario;
  return luaL_error(L,
                    "module '%s' not found (looked in stoke's own, in %s and "
                    "in STOKE_PATH)",
                    name, s->shown_folder);
}

static int check_name(lua_State *L, const char *name)
{
  if (good_name(name))
    return 0;
  return luaL_error(L,
                    "require '%s': a module's name is words with dots "
                    "between them",
                    name);
}

/* While it loads, a module's name stands for false. */
static int require_l(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  vm_push_ref(L, REF_LOADED);
  lua_getfield(L, 2, name);
  if (lua_toboolean(L, -1))
    return 1;
  if (lua_isboolean(L, -1))
    return luaL_error(L, "module '%s' requires itself, or failed before", name);
  check_name(L, name);
  recursion_check(L);
  if (!find_module(L, name))
    return not_found(L, name);
  lua_pushboolean(L, 0);
  lua_setfield(L, 2, name);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_pushboolean(L, 1);
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, 2, name);
  return 1;
}

/* Unboxed, the standard `require` asks this one second. */
static int searcher_l(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1);
  if (!good_name(name) || !find_module(L, name))
    lua_pushfstring(L, "\n\tno module of stoke or the scenario '%s'", name);
  return 1;
}

static void add_searcher(lua_State *L)
{
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaded");
  vm_set_ref(L, REF_LOADED);
  lua_getfield(L, -1, "loaders");
  for (int i = (int)lua_objlen(L, -1); i >= 2; i--) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushcfunction(L, searcher_l);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}

void modules_open(lua_State *L, bool unsafe)
{
  if (unsafe) {
    add_searcher(L);
    return;
  }
  lua_newtable(L); /* package, which has `loaded` alone */
  lua_newtable(L);
  lua_pushvalue(L, -1);
  vm_set_ref(L, REF_LOADED);
  lua_setfield(L, -2, "loaded");
  lua_setglobal(L, "package");
  lua_pushcfunction(L, require_l);
  lua_setglobal(L, "require");
}
