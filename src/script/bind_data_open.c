#include <lauxlib.h>
#include <lua.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/data_store.h"
#include "script/bind_data.h"
#include "script/reach.h"
#include "script/vm_impl.h"

/* stoke.data.open(path[, options]) -> d           [-0, +1, e] */

static const struct {
  const char *name;
  int type;
} options[] = {
    {"format", LUA_TSTRING},         {"when_exhausted", LUA_TSTRING},
    {"skip_bad_rows", LUA_TBOOLEAN}, {"shuffle", LUA_TBOOLEAN},
    {"warmup_rows", LUA_TNUMBER},    {"block", LUA_TNUMBER},
    {"separator", LUA_TSTRING},      {"require", LUA_TTABLE},
    {"cumulative", LUA_TSTRING},
};

static int check_option(lua_State *L, const char *name, int type)
{
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    if (strcmp(name, options[i].name) != 0)
      continue;
    if (type == options[i].type ||
        (options[i].type == LUA_TTABLE && type == LUA_TSTRING))
      return 0;
    return luaL_error(L, "stoke.data.open: %s must be a %s, not a %s", name,
                      lua_typename(L, options[i].type), lua_typename(L, type));
  }
  return luaL_error(L,
                    "stoke.data.open: unknown option '%s' (there are format, "
                    "when_exhausted, skip_bad_rows, shuffle, warmup_rows, "
                    "block, separator, require, cumulative)",
                    name);
}

/* Unknown names are mistakes; what is not there is nil. */
static void check_options(lua_State *L)
{
  if (lua_isnoneornil(L, 2)) {
    lua_settop(L, 1);
    lua_newtable(L);
    return;
  }
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    luaL_argcheck(L, lua_type(L, -2) == LUA_TSTRING, 2,
                  "options have names: { format = \"jsonl\" }");
    check_option(L, lua_tostring(L, -2), lua_type(L, -1));
    lua_pop(L, 1);
  }
}

static uint64_t whole_option(lua_State *L, const char *name, uint64_t most)
{
  double x;
  lua_getfield(L, 2, name);
  x = lua_tonumber(L, -1);
  lua_pop(L, 1);
  if (!(x >= 0 && x <= (double)most && x == (double)(uint64_t)x))
    luaL_error(L, "stoke.data.open: %s must be a whole number from 0 on", name);
  return (uint64_t)x;
}

static bool flag_option(lua_State *L, const char *name)
{
  bool on;
  lua_getfield(L, 2, name);
  on = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return on;
}

static enum data_format format_option(lua_State *L)
{
  enum data_format f = DATA_GUESS;
  const char *name;
  lua_getfield(L, 2, "format");
  name = lua_tostring(L, -1);
  if (name && data_format_find(str_of(name), &f) < 0)
    luaL_error(L, "stoke.data.open: unknown format '%s' (there are %s)", name,
               data_format_names());
  lua_pop(L, 1);
  return f;
}

static char separator_option(lua_State *L)
{
  struct str s;
  lua_getfield(L, 2, "separator");
  s.p = lua_tolstring(L, -1, &s.len);
  if (s.p && (s.len != 1 || strchr("\"\r\n", s.p[0])))
    luaL_error(L, "stoke.data.open: separator must be one character");
  lua_pop(L, 1);
  return s.p ? s.p[0] : '\0';
}

/* Leaves the names, a line each, on the stack. */
static const char *require_option(lua_State *L)
{
  luaL_Buffer b;
  lua_getfield(L, 2, "require");
  if (!lua_istable(L, -1))
    return lua_tostring(L, -1);
  luaL_buffinit(L, &b);
  for (int i = 1; i <= (int)lua_objlen(L, 3); i++) {
    if (i > 1)
      luaL_addchar(&b, '\n');
    lua_rawgeti(L, 3, i);
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "stoke.data.open: require[%d] must be a name, not a %s", i,
                 luaL_typename(L, -1));
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

/* Which of three names, the first when there is none. */
static int choice_option(lua_State *L, const char *option,
                         const char *const names[3])
{
  const char *name;
  int i = 0;
  lua_getfield(L, 2, option);
  name = lua_tostring(L, -1);
  while (name && i < 3 && strcmp(names[i], name) != 0)
    i++;
  if (i == 3)
    luaL_error(L, "stoke.data.open: %s is \"%s\", \"%s\" or \"%s\", not '%s'",
               option, names[0], names[1], names[2], name);
  lua_pop(L, 1);
  return i;
}

static int exhausted_option(lua_State *L)
{
  static const char *const names[] = {"stop", "cycle", "random"};
  return choice_option(L, "when_exhausted", names);
}

enum cumulative { CUMULATIVE_TOLD, CUMULATIVE_JOIN, CUMULATIVE_KEEP };

static enum cumulative cumulative_option(lua_State *L)
{
  static const char *const names[] = {"tell", "join", "keep"};
  return (enum cumulative)choice_option(L, "cumulative", names);
}

/* Whoever keeps a history would say twice what such rows repeat. */
static void tell_growth(const struct data_info *i)
{
  log_line("%s: %llu of its rows begin%s with all that the row before says: "
           "are they turns of one conversation? cumulative = \"join\" makes "
           "them one row, \"keep\" sends each as it is",
           i->shown, (unsigned long long)i->grown, i->grown == 1 ? "s" : "");
}

/* What people should know about a file, once. */
static void tell(const struct data_info *i, enum cumulative cumulative)
{
  struct buf line = {0};
  bool joined = i->grown && cumulative == CUMULATIVE_JOIN;
  if (i->guessed || i->skipped || i->left_out || i->flaws || joined) {
    buf_addf(&line, "%s: %llu row%s, read as %s", i->shown,
             (unsigned long long)i->rows, i->rows == 1 ? "" : "s",
             data_format_name(i->format));
    if (i->skipped)
      buf_addf(&line, "; %llu bad ones skipped",
               (unsigned long long)i->skipped);
    if (i->left_out)
      buf_addf(&line, "; %llu with nothing to send left out",
               (unsigned long long)i->left_out);
    if (joined)
      buf_addf(&line, "; %llu whose messages the next row repeats left out",
               (unsigned long long)i->grown);
    if (i->flaws)
      buf_addf(&line,
               "; %llu byte(s) or surrogates that are not UTF-8 become U+FFFD",
               (unsigned long long)i->flaws);
    log_line("%s", buf_cstr(&line));
  }
  buf_free(&line);
  if (i->grown && cumulative == CUMULATIVE_TOLD)
    tell_growth(i);
}

/* NULL with the reason in the VM's scratch. Does not raise. */
static const struct data_file *open_file(struct vm *vm, const char *path,
                                         const struct data_options *o,
                                         enum cumulative cumulative)
{
  const struct data_file *f = NULL;
  struct err e = {0};
  char why[128], *real = reach(vm, path, why);
  bool fresh = false;
  if (real)
    f = data_store_open(vm->scenario->data, real, path, o, &fresh, &e);
  else
    err_add(&e, "%s: %s", path, why);
  if (f && fresh) {
    const struct data_info info = data_info(f);
    tell(&info, cumulative);
  }
  buf_reset(&vm->scratch);
  buf_addstr(&vm->scratch, str_trim(str_of(err_text(&e))));
  buf_cstr(&vm->scratch); /* its NUL takes memory, too */
  err_free(&e);
  mem_free(real);
  return f;
}

int data_open_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const char *path = reach_path(L, 1);
  struct data_options o;
  struct data_view v;
  enum cumulative cumulative;
  check_options(L);
  lua_settop(L, 2);
  o = (struct data_options){.format = format_option(L),
                            .skip_bad_rows = flag_option(L, "skip_bad_rows"),
                            .separator = separator_option(L),
                            .block =
                                (unsigned)whole_option(L, "block", 1 << 20),
                            .require = require_option(L)};
  cumulative = cumulative_option(L);
  o.join = cumulative == CUMULATIVE_JOIN;
  v = (struct data_view){.shuffle = flag_option(L, "shuffle"),
                         .when_exhausted = exhausted_option(L),
                         .warmup_rows =
                             whole_option(L, "warmup_rows", 1u << 30)};
  vm_guard(vm);
  v.file = open_file(vm, path, &o, cumulative);
  vm_unguard(vm);
  if (!v.file)
    return luaL_error(L, "%s", buf_cstr(&vm->scratch));
  if (v.warmup_rows >= data_info(v.file).rows)
    return luaL_error(L, "%s: warmup_rows leaves no row of %d", path,
                      (int)data_info(v.file).rows);
  data_push(L, &v);
  return 1;
}
