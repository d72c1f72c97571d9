#include "script/scenario.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "data/data_store.h"
#include "data/tokenizer_store.h"
#include "script/bind_json.h"
#include "script/digest.h"
#include "script/embed.h"
#include "script/locate.h"
#include "script/near.h"
#include "script/pack.h"
#include "script/params_lua.h"
#include "script/vm_impl.h"
#include "script/watchdog.h"

/* ---- the table that the script returned ---- */

struct examination {
  struct scenario *s;
  struct err *e;
};

/* Leaves the plain part on the stack. */
static void check_table(lua_State *L, const struct examination *x)
{
  const struct embedded *code = embed_find("lua/stoke/scenario.lua");
  if (luaL_loadbufferx(L, code->source, code->len, "=lua/stoke/scenario.lua",
                       "t") != 0)
    lua_error(L);
  lua_call(L, 0, 1);
  vm_push_ref(L, REF_SCENARIO);
  lua_pushcfunction(L, near_l);
  lua_call(L, 2, 2);
  for (size_t i = 1; i <= lua_objlen(L, -2); i++) {
    lua_rawgeti(L, -2, (int)i);
    err_add(x->e, "%s: %s", x->s->path, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
}

/* The plain part is on top. */
static void take_text(lua_State *L, const char *name, char **out)
{
  lua_getfield(L, -1, name);
  if (lua_type(L, -1) == LUA_TSTRING) {
    mem_free(*out);
    *out = mem_strdup(lua_tostring(L, -1));
  }
  lua_pop(L, 1);
}

static json_value *take_plain(lua_State *L, const char *name)
{
  struct buf *text = &vm_of(L)->scratch;
  json_value *v = NULL;
  char why[256];
  lua_getfield(L, -1, name);
  if (lua_istable(L, -1)) {
    buf_reset(text);
    if (json_write(L, -1, text, false, name, why) < 0)
      luaL_error(L, "%s", why);
    v = json_parse(buf_str(text), NULL);
  }
  lua_pop(L, 1);
  return v;
}

static bool is_function(lua_State *L, const char *table, const char *name)
{
  bool is = false;
  int top = lua_gettop(L);
  vm_push_ref(L, REF_SCENARIO);
  if (*table)
    lua_getfield(L, -1, table);
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, name);
    is = lua_isfunction(L, -1);
  }
  lua_settop(L, top);
  return is;
}

static void note_hooks(lua_State *L, struct scenario *s)
{
#define X(ENUM, name, table)                                                   \
  if (is_function(L, table, name))                                             \
    s->hooks |= 1u << HOOK_##ENUM;
  HOOK_LIST(X)
#undef X
}

static int examine(lua_State *L)
{
  const struct examination *x = vm_ud(L);
  struct scenario *s = x->s;
  check_table(L, x);
  note_hooks(L, s);
  take_text(L, "name", &s->name);
  take_text(L, "version", &s->version);
  take_text(L, "description", &s->description);
  s->load = take_plain(L, "load");
  s->metrics = take_plain(L, "metrics");
  s->thresholds = take_plain(L, "thresholds");
  vm_push_ref(L, REF_SCENARIO);
  lua_getfield(L, -1, "params");
  if (lua_istable(L, -1))
    params_read(L, -1, &s->params, s->folder, s->path, x->e);
  backends_read(L, s, x->e);
  return 0;
}

/* The load of these parameters, once they are set. */
static int examine_load(lua_State *L)
{
  const struct examination *x = vm_ud(L);
  if (!is_function(L, "", "load"))
    return 0;
  vm_settle_load(L, &x->s->params);
  check_table(L, x);
  note_hooks(L, x->s);
  json_free(x->s->load);
  x->s->load = take_plain(L, "load");
  return 0;
}

/* ---- its files ---- */

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct scenario_file *)a)->name,
                ((const struct scenario_file *)b)->name);
}

static const char *last_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int by_name_of(const void *a, const void *b)
{
  return by_name(*(const struct scenario_file *const *)a,
                 *(const struct scenario_file *const *)b);
}

/* The entry stays first in the list, but not in the sum. */
static void sum_files(struct scenario *s)
{
  const struct scenario_file **sorted = mem_zalloc(s->n_files, sizeof *sorted);
  struct buf lines = {0};
  for (size_t i = 0; i < s->n_files; i++)
    sorted[i] = &s->files[i];
  qsort(sorted, s->n_files, sizeof *sorted, by_name_of);
  for (size_t i = 0; i < s->n_files; i++)
    buf_addf(&lines, "%s  %s\n", sorted[i]->sha256, sorted[i]->name);
  digest_sha256(buf_str(&lines), s->sha256);
  buf_free(&lines);
  mem_free(sorted);
}

/* The entry, then what it loaded. */
static void take_files(struct scenario *s, struct vm *vm)
{
  struct str source = {s->source, s->source_len};
  s->n_files = vm->n_files + 1;
  s->files = mem_zalloc(s->n_files, sizeof *s->files);
  digest_sha256(source, s->sha256);
  s->files[0].path = mem_strdup(s->path);
  s->files[0].name = mem_strdup(last_name(s->path));
  s->files[0].sha256 = mem_strdup(s->sha256);
  for (size_t i = 0; i < vm->n_files; i++)
    s->files[i + 1] = vm->files[i];
  vm->n_files = 0;
  if (s->n_files == 1)
    return;
  qsort(s->files + 1, s->n_files - 1, sizeof *s->files, by_name);
  sum_files(s);
}

/* ---- life ---- */

static void take_driver(struct scenario *s, const struct scenario_options *o,
                        struct err *e)
{
  if (!o->driver)
    return;
  if (scenario_has(s, HOOK_CONTROL))
    err_add(e,
            "%s: it has a control function of its own, so nothing else can "
            "drive its load: use `stoke run`",
            s->path);
  s->hooks |= 1u << HOOK_CONTROL;
  s->driver = mem_strdup(o->driver);
  s->driver_options = mem_strdup(o->driver_options);
}

/* A pack's settings first: the user's are stronger. */
static void set_params(struct scenario *s, const struct scenario_options *o,
                       struct err *e)
{
  if (s->pack)
    pack_preset(s->pack, s, o->params, o->n_params, e);
  params_set(&s->params, o->params, o->n_params, s->folder, e);
  if (!o->lenient)
    params_required(&s->params, s->path, e);
}

/* Protected, and watched: looking at what a script returned may run code. */
static void look(struct vm *vm, lua_CFunction fn, struct examination *x,
                 struct err *e)
{
  vm_enter(vm, HOOK_SETUP);
  if (vm_protected(vm, fn, x) != 0 && e)
    err_add(e, "%s", vm_error(vm));
  vm_leave(vm);
}

static void read_script(struct scenario *s, const struct scenario_options *o,
                        struct err *e)
{
  uint64_t limit = o->load_ns ? o->load_ns : 60 * NS_PER_SEC;
  struct watchdog *w = watchdog_new(limit / WATCHDOG_PATIENCE);
  struct vm *vm = vm_bare(s, NULL);
  struct examination x = {s, e};
  unsigned before = e->count;
  vm_watch(vm, w);
  if (vm_load(vm, e) == 0) {
    look(vm, examine, &x, e);
    take_files(s, vm);
  }
  take_driver(s, o, e);
  if (s->files)
    set_params(s, o, e);
  /* With parameters missing it is shown without its load. */
  if (e->count == before)
    look(vm, examine_load, &x, o->lenient ? NULL : e);
  vm_free(vm);
  watchdog_free(w);
}

/* Packs were checked before they were unpacked. */
static void check_sum(const struct scenario *s,
                      const struct scenario_options *o, struct err *e)
{
  if (o->sha256 && s->files && !s->pack && strcmp(o->sha256, s->sha256) != 0)
    err_add(e, "%s: is not what --sha256 says: its sum is %s", s->path,
            s->sha256);
}

struct scenario *scenario_open(const struct scenario_options *o, struct err *e)
{
  struct scenario *s = mem_new(struct scenario);
  unsigned before = e->count;
  s->seed = o->seed;
  s->memory = o->memory;
  s->unsafe = o->unsafe;
  s->data = data_store_new();
  s->tokenizers = tokenizer_store_new();
  s->wrk_url = o->wrk_url ? mem_strdup(o->wrk_url) : NULL;
  s->wrk_headers = o->wrk_headers ? mem_strdup(o->wrk_headers) : NULL;
  s->n_args = o->n_args;
  s->args = mem_zalloc(o->n_args, sizeof *s->args);
  for (size_t i = 0; i < o->n_args; i++)
    s->args[i] = mem_strdup(o->args[i]);
  if (locate(o->name, o->sha256, s, e) == 0)
    read_script(s, o, e);
  check_sum(s, o, e);
  if (e->count != before) {
    scenario_free(s);
    return NULL;
  }
  return s;
}

void scenario_free(struct scenario *s)
{
  if (!s)
    return;
  for (size_t i = 0; i < s->n_files; i++) {
    mem_free(s->files[i].path);
    mem_free(s->files[i].name);
    mem_free(s->files[i].sha256);
  }
  for (size_t i = 0; i < s->n_args; i++)
    mem_free(s->args[i]);
  mem_free(s->args);
  mem_free(s->wrk_url);
  mem_free(s->wrk_headers);
  mem_free(s->files);
  params_free(&s->params);
  data_store_free(s->data);
  tokenizer_store_free(s->tokenizers);
  backends_free(&s->backends);
  for (size_t i = 0; i < s->n_backend_files; i++)
    mem_free(s->backend_files[i]);
  mem_free(s->backend_files);
  pack_close(s->pack);
  json_free(s->load);
  json_free(s->metrics);
  json_free(s->thresholds);
  mem_free(s->name);
  mem_free(s->version);
  mem_free(s->description);
  mem_free(s->path);
  mem_free(s->folder);
  mem_free(s->shown_folder);
  mem_free(s->source);
  mem_free(s->driver);
  mem_free(s->driver_options);
  mem_free(s);
}
