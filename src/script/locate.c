#include "script/locate.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "script/embed.h"
#include "script/files.h"
#include "script/pack.h"

/* "agent" of "my/agent.lua", "my/agent/init.lua" and "my/agent/". */
static char *name_of(const char *path)
{
  struct str s = str_of(path), base;
  if (str_ends(s, STR("/init.lua")))
    s.len -= strlen("/init.lua");
  else if (str_ends(s, STR(".lua")))
    s.len -= strlen(".lua");
  base = s;
  for (size_t i = 0; i < s.len; i++)
    if (s.p[i] == '/')
      base = (struct str){s.p + i + 1, s.len - i - 1};
  return mem_strndup(base.p, base.len);
}

/* Everything before the last slash. */
static char *folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash)
    return mem_strdup(".");
  return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static void take_path(struct scenario *s, const char *path)
{
  s->path = mem_strdup(path);
  s->name = name_of(path);
  s->shown_folder = folder_of(path);
}

/* The file is the scenario, whatever it holds. */
static int take_file(struct scenario *s, const char *path, struct err *e)
{
  struct buf text = {0};
  unsigned before = e->count;
  char why[128];
  take_path(s, path);
  s->folder = files_real(s->shown_folder);
  if (files_read(path, &text, why) < 0) {
    buf_free(&text);
    return err_add(e, "%s: %s", path, why);
  }
  if (text.len >= 2 && memchr("\xff\xfe", text.p[0], 2) &&
      memchr("\xff\xfe", text.p[1], 2))
    err_add(e, "%s: is UTF-16; save it as UTF-8", path);
  else if (text.len && text.p[0] == '\x1b' && !s->unsafe)
    err_add(e, "%s: is bytecode; a scenario is Lua source", path);
  s->source_len = text.len;
  s->source = buf_take(&text);
  return e->count == before ? 0 : -1;
}

/* Unpacked, it is a folder like another; messages show the pack. */
static int take_pack(struct scenario *s, const char *path, const char *sha256,
                     struct err *e)
{
  char *entry;
  int status;
  s->pack = pack_open(path, sha256, e);
  if (!s->pack)
    return -1;
  entry = files_join(s->pack->folder, s->pack->entry);
  status = take_file(s, entry, e);
  mem_free(entry);
  mem_free(s->path);
  mem_free(s->shown_folder);
  s->path = files_join(path, s->pack->entry);
  s->shown_folder = mem_strdup(path);
  if (s->pack->name) {
    mem_free(s->name);
    s->name = mem_strdup(s->pack->name);
  }
  return status;
}

/* A path to a file, or to a folder with init.lua. NULL when there is none. */
static char *existing(const char *path)
{
  char *init;
  if (!files_is_folder(path)) {
    char *real = files_real(path), *copy = real ? mem_strdup(path) : NULL;
    mem_free(real);
    return copy;
  }
  init = files_join(path, "init.lua");
  if (!files_is_file(init)) {
    mem_free(init);
    return NULL;
  }
  return init;
}

/* folder/name.lua, folder/name/init.lua or folder/name.tar.gz */
static char *existing_in(const char *folder, const char *name)
{
  char *path = files_join(folder, name), *found;
  struct buf file = {0};
  buf_addf(&file, "%s.lua", path);
  found = files_is_file(buf_cstr(&file)) ? mem_strdup(buf_cstr(&file))
          : files_is_folder(path)        ? existing(path)
                                         : NULL;
  if (!found) {
    buf_reset(&file);
    buf_addf(&file, "%s.tar.gz", path);
    if (files_is_file(buf_cstr(&file)))
      found = mem_strdup(buf_cstr(&file));
  }
  buf_free(&file);
  mem_free(path);
  return found;
}

static char *existing_in_path(const char *path, const char *name)
{
  struct str rest = str_of(path);
  char *found = NULL;
  while (rest.p && !found) {
    struct str folder = str_split(&rest, ':');
    char *copy = mem_strndup(folder.p, folder.len);
    if (folder.len)
      found = existing_in(copy, name);
    mem_free(copy);
  }
  return found;
}

static int take_embedded(struct scenario *s, const char *name)
{
  static const char *const endings[] = {".lua", "/init.lua"};
  for (int i = 0; i < 2; i++) {
    struct buf path = {0};
    const struct embedded *found;
    buf_addf(&path, "scenarios/%s%s", name, endings[i]);
    found = embed_find(buf_cstr(&path));
    buf_free(&path);
    if (!found)
      continue;
    take_path(s, found->path);
    s->source = mem_strndup(found->source, found->len);
    s->source_len = found->len;
    return 0;
  }
  return -1;
}

static int not_found(const char *name, struct err *e)
{
  const char *path = getenv("STOKE_PATH");
  struct suggest near = {.typed = str_of(name)};
  struct buf text = {0}, names = {0};
  for (size_t i = 0; i < embedded_count; i++) {
    struct str file = str_of(embedded_files[i].path);
    if (!str_starts(file, STR("scenarios/")))
      continue;
    file = (struct str){file.p + 10, file.len - 10};
    if (str_ends(file, STR("/init.lua")))
      file.len -= 9;
    else if (!memchr(file.p, '/', file.len))
      file.len -= 4;
    else
      continue;
    suggest_consider(&near, file);
    buf_addf(&names, "%s%.*s", names.len ? ", " : "", STR_ARG(file));
  }
  suggest_print(&near, "", &text);
  err_add(e,
          "scenario '%s': no such file, none of that name in ./scenarios%s%s, "
          "and built in are %s%s",
          name, path ? " or STOKE_PATH " : "", path ? path : "",
          buf_cstr(&names), buf_cstr(&text));
  buf_free(&names);
  buf_free(&text);
  return -1;
}

int locate(const char *name, const char *sha256, struct scenario *s,
           struct err *e)
{
  struct str text = str_of(name);
  bool is_path =
      strchr(name, '/') || str_ends(text, STR(".lua")) || pack_is_name(text);
  char *found = is_path || files_is_folder(name) ? existing(name) : NULL;
  int status;
  if (str_starts(text, STR("builtin:")))
    return take_embedded(s, name + 8) == 0 ? 0 : not_found(name + 8, e);
  if (!found && is_path)
    return files_is_folder(name)
               ? err_add(e, "%s: a folder without init.lua", name)
               : err_add(e, "%s: no such file", name);
  if (!found)
    found = existing_in("scenarios", name);
  if (!found)
    found = existing_in_path(getenv("STOKE_PATH"), name);
  if (!found)
    return take_embedded(s, name) == 0 ? 0 : not_found(name, e);
  status = pack_is_name(str_of(found)) ? take_pack(s, found, sha256, e)
                                       : take_file(s, found, e);
  mem_free(found);
  return status;
}
