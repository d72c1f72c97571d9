#include <dirent.h>
#include <stdlib.h>

#include "base/mem.h"
#include "script/backend.h"
#include "script/embed.h"
#include "script/files.h"
#include "script/near.h"
#include "script/vm_impl.h"

/* Backends as lua/stoke/backend.lua hands them over. */

/* ---- the files in backends/ ---- */

static int by_text(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The Lua files of a folder, without ".lua", in order. */
static size_t list_folder(const char *folder, char ***names)
{
  DIR *dir = opendir(folder);
  size_t n = 0;
  *names = NULL;
  for (struct dirent *d; dir && (d = readdir(dir));) {
    struct str s = str_of(d->d_name);
    if (s.p[0] == '.' || !str_ends(s, STR(".lua")))
      continue;
    *names = mem_resize(*names, n + 1, sizeof **names);
    (*names)[n++] = mem_strndup(s.p, s.len - 4);
  }
  if (dir)
    closedir(dir);
  if (n)
    qsort(*names, n, sizeof **names, by_text);
  return n;
}

/* Push the list of them. Only the main thread looks into the folder: all VMs
 * must have the same backends. */
static void push_files(lua_State *L, struct scenario *s)
{
  if (!s->backends_listed && s->folder) {
    char *folder = files_join(s->folder, "backends");
    s->backends_listed = true;
    s->n_backend_files = list_folder(folder, &s->backend_files);
    mem_free(folder);
  }
  lua_createtable(L, (int)s->n_backend_files, 0);
  for (size_t i = 0; i < s->n_backend_files; i++) {
    lua_pushstring(L, s->backend_files[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

/* Push list and problems of stoke.backend. */
static void gather(lua_State *L, struct scenario *s)
{
  const struct embedded *code = embed_find("lua/stoke/backend.lua");
  if (luaL_loadbufferx(L, code->source, code->len, "=lua/stoke/backend.lua",
                       "t") != 0)
    lua_error(L);
  lua_call(L, 0, 1);
  vm_push_ref(L, REF_SCENARIO);
  lua_getfield(L, -1, "backends");
  lua_remove(L, -2);
  push_files(L, s);
  lua_pushcfunction(L, near_l);
  lua_call(L, 3, 2);
}

/* ---- one backend, on top of the stack ---- */

static char *take_string(lua_State *L, const char *name)
{
  char *s;
  lua_getfield(L, -1, name);
  s = lua_isstring(L, -1) ? mem_strdup(lua_tostring(L, -1)) : NULL;
  lua_pop(L, 1);
  return s;
}

/* The rules of `name` in the dialect on top. Their strings stay alive with
 * the table. */
static struct wire_rule *take_rules(lua_State *L, const char *name, size_t *n)
{
  struct wire_rule *rules;
  lua_getfield(L, -1, name);
  *n = lua_objlen(L, -1);
  rules = mem_zalloc(*n, sizeof *rules);
  for (size_t i = 0; i < *n; i++) {
    lua_rawgeti(L, -1, (int)i + 1);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    lua_rawgeti(L, -3, 3);
    rules[i] = (struct wire_rule){
        .path = lua_tostring(L, -3),
        .field = (enum wire_field)lua_tointeger(L, -2),
        .when = lua_tostring(L, -1),
    };
    lua_pop(L, 4);
  }
  lua_pop(L, 1);
  return rules;
}

/* The dialect is on top. */
static void compile(lua_State *L, struct backend *b, const char *place,
                    struct err *e)
{
  const char *path = vm_of(L)->scenario->path;
  size_t n_stream, n_plain;
  struct wire_rule *stream = take_rules(L, "stream", &n_stream);
  struct wire_rule *plain = take_rules(L, "plain", &n_plain);
  struct err own = {0};
  struct str all;
  b->own = wire_dialect_new(stream, n_stream, plain, n_plain, &own);
  if (b->own && !(n_stream && n_plain)) {
    /* What is said of one kind of answer holds for the other, too. */
    wire_dialect_free(b->own);
    b->own = n_stream
                 ? wire_dialect_new(stream, n_stream, stream, n_stream, &own)
                 : wire_dialect_new(plain, n_plain, plain, n_plain, &own);
  }
  b->dialect = b->own;
  all = str_trim(str_of(err_text(&own)));
  while (all.p && own.count) {
    struct str line = str_split(&all, '\n');
    err_add(e, "%s: %s: dialect: %.*s", path, place, STR_ARG(line));
  }
  err_free(&own);
  mem_free(stream);
  mem_free(plain);
}

static void take_dialect(lua_State *L, struct backend *b, struct err *e)
{
  char *place = take_string(L, "place");
  lua_getfield(L, -1, "dialect");
  if (lua_istable(L, -1))
    compile(L, b, place, e);
  else if (lua_isstring(L, -1))
    b->dialect = wire_dialect_find(lua_tostring(L, -1));
  lua_pop(L, 1);
  mem_free(place);
}

static void take_backend(lua_State *L, struct backend *b, struct err *e)
{
  b->name = take_string(L, "name");
  b->path = take_string(L, "path");
  b->headers = take_string(L, "headers");
  b->key_header = take_string(L, "key_header");
  b->builder = take_string(L, "builder");
  lua_getfield(L, -1, "streams");
  b->streams = lua_toboolean(L, -1);
  lua_pop(L, 1);
  take_dialect(L, b, e);
}

/* ---- all ---- */

void backends_read(lua_State *L, struct scenario *s, struct err *e)
{
  int top = lua_gettop(L);
  gather(L, s);
  for (size_t i = 1; i <= lua_objlen(L, -1); i++) {
    lua_rawgeti(L, -1, (int)i);
    err_add(e, "%s: %s", s->path, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  s->backends.items = mem_zalloc(lua_objlen(L, -1), sizeof *s->backends.items);
  s->backends.n = lua_objlen(L, -1);
  for (size_t i = 0; i < s->backends.n; i++) {
    s->backends.items[i].place = i;
    lua_rawgeti(L, -1, (int)i + 1);
    take_backend(L, &s->backends.items[i], e);
    lua_pop(L, 1);
  }
  lua_settop(L, top);
}

void backends_keep(lua_State *L)
{
  /* The folder was read when the scenario was opened; nothing is changed. */
  gather(L, (struct scenario *)(uintptr_t)vm_of(L)->scenario);
  lua_pop(L, 1);
  vm_set_ref(L, REF_BACKENDS);
}
