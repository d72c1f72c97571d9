#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "data/csv.h"
#include "data/data_store.h"
#include "data/flaws.h"
#include "data/order.h"
#include "script/bind_json.h"
#include "script/bindings.h"
#include "script/embed.h"
#include "script/reach.h"
#include "script/trace_text.h"
#include "script/vm_impl.h"

/* stoke.data.open(path[, options]) -> d           [-0, +1, e]
 * #d                 rows                         [-0, +1, -]
 * d:row(i)           -> row i of the file         [-0, +1, e]
 * d:at(i)            -> row i of the order | nil  [-0, +1, e]
 * d:next([n])        -> row | nil, or n of them   [-0, +1, e]
 * d:sample(rng)      -> any row                   [-0, +1, e]
 * d:time(i)          -> seconds, of a trace       [-0, +1, e]
 * d.path .format .skipped .left_out .replaced     [-0, +1, -] */

#define DATA_MT "stoke.data"
#define SHAPING "stoke.dataset" /* in the registry: lua/stoke/dataset.lua */

struct data {
  struct data_view view;
  struct buf row, text; /* a row on its way */
  uint64_t last_id;     /* of the request that called next */
  enum phase last_phase;
};

static struct data *check_data(lua_State *L, int i)
{
  return luaL_checkudata(L, i, DATA_MT);
}

const struct data_view *data_to_view(lua_State *L, int i)
{
  const struct data *d = lua_touserdata(L, i);
  bool is = false;
  if (d && lua_getmetatable(L, i)) {
    luaL_getmetatable(L, DATA_MT);
    is = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  return is ? &d->view : NULL;
}

void data_push(lua_State *L, const struct data_view *v)
{
  struct data *d = lua_newuserdata(L, sizeof *d);
  *d = (struct data){.view = *v, .text.max = 64 << 20};
  luaL_getmetatable(L, DATA_MT);
  lua_setmetatable(L, -2);
}

static int gc_l(lua_State *L)
{
  struct data *d = check_data(L, 1);
  buf_free(&d->row);
  buf_free(&d->text);
  return 0;
}

/* ---- opening ---- */

static const struct {
  const char *name;
  int type;
} options[] = {
    {"format", LUA_TSTRING},         {"when_exhausted", LUA_TSTRING},
    {"skip_bad_rows", LUA_TBOOLEAN}, {"shuffle", LUA_TBOOLEAN},
    {"warmup_rows", LUA_TNUMBER},    {"block", LUA_TNUMBER},
    {"separator", LUA_TSTRING},      {"require", LUA_TTABLE},
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
                    "block, separator, require)",
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
    luaL_checkstring(L, -1);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static int exhausted_option(lua_State *L)
{
  static const char *const names[] = {"stop", "cycle", "random", NULL};
  const char *name;
  int i = 0;
  lua_getfield(L, 2, "when_exhausted");
  name = lua_tostring(L, -1);
  if (!name)
    name = names[0];
  while (names[i] && strcmp(names[i], name) != 0)
    i++;
  if (!names[i])
    luaL_error(L,
               "stoke.data.open: when_exhausted is \"stop\", \"cycle\" or "
               "\"random\", not '%s'",
               name);
  lua_pop(L, 1);
  return i;
}

/* What people should know about a file, once. */
static void tell(const struct data_info *i)
{
  struct buf line = {0};
  if (i->guessed || i->skipped || i->left_out || i->flaws) {
    buf_addf(&line, "%s: %llu row%s, read as %s", i->shown,
             (unsigned long long)i->rows, i->rows == 1 ? "" : "s",
             data_format_name(i->format));
    if (i->skipped)
      buf_addf(&line, "; %llu bad ones skipped",
               (unsigned long long)i->skipped);
    if (i->left_out)
      buf_addf(&line, "; %llu with nothing to send left out",
               (unsigned long long)i->left_out);
    if (i->flaws)
      buf_addf(&line,
               "; %llu byte(s) or surrogates that are not UTF-8 become U+FFFD",
               (unsigned long long)i->flaws);
    log_line("%s", buf_cstr(&line));
  }
  buf_free(&line);
}

/* NULL with the reason in the VM's scratch. Does not raise. */
static const struct data_file *open_file(struct vm *vm, const char *path,
                                         const struct data_options *o)
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
    tell(&info);
  }
  buf_reset(&vm->scratch);
  buf_addstr(&vm->scratch, str_trim(str_of(err_text(&e))));
  err_free(&e);
  mem_free(real);
  return f;
}

static int open_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  const char *path = luaL_checkstring(L, 1);
  struct data_options o;
  struct data_view v;
  check_options(L);
  lua_settop(L, 2);
  o = (struct data_options){.format = format_option(L),
                            .skip_bad_rows = flag_option(L, "skip_bad_rows"),
                            .separator = separator_option(L),
                            .block =
                                (unsigned)whole_option(L, "block", 1 << 20),
                            .require = require_option(L)};
  v = (struct data_view){.shuffle = flag_option(L, "shuffle"),
                         .when_exhausted = exhausted_option(L),
                         .warmup_rows =
                             whole_option(L, "warmup_rows", 1u << 30)};
  vm_guard(vm);
  v.file = open_file(vm, path, &o);
  vm_unguard(vm);
  if (!v.file)
    return luaL_error(L, "%s", buf_cstr(&vm->scratch));
  if (v.warmup_rows >= data_info(v.file).rows)
    return luaL_error(L, "%s: warmup_rows leaves no row of %d", path,
                      (int)data_info(v.file).rows);
  data_push(L, &v);
  return 1;
}

/* ---- a row ---- */

/* Raise with the file and the line in front. */
static int row_error(lua_State *L, const struct data *d, uint64_t i,
                     const char *why)
{
  uint64_t line;
  vm_guard(vm_of(L));
  line = data_line(d->view.file, i);
  vm_unguard(vm_of(L));
  return luaL_error(L, "%s:%d: %s", data_info(d->view.file).shown, (int)line,
                    why);
}

static void read_row(lua_State *L, struct data *d, uint64_t i)
{
  struct vm *vm = vm_of(L);
  struct err e = {0};
  int status;
  vm_guard(vm);
  status = data_read(d->view.file, i, &d->row, &e);
  buf_reset(&vm->scratch);
  buf_addstr(&vm->scratch, str_trim(str_of(err_text(&e))));
  err_free(&e);
  vm_unguard(vm);
  if (status < 0)
    luaL_error(L, "%s", buf_cstr(&vm->scratch));
}

static void push_clean(lua_State *L, struct data *d, struct str s)
{
  vm_guard(vm_of(L));
  buf_reset(&d->text);
  flaws_clean(&d->text, s);
  vm_unguard(vm_of(L));
  lua_pushlstring(L, d->text.p ? d->text.p : "", d->text.len);
}

static void push_record(lua_State *L, struct data *d)
{
  const struct data_file *f = d->view.file;
  struct str rest = buf_str(&d->row);
  struct buf *field = &vm_of(L)->scratch;
  lua_createtable(L, 0, (int)data_columns(f));
  for (size_t i = 0; i < data_columns(f) && rest.p; i++) {
    vm_guard(vm_of(L));
    buf_reset(field);
    csv_field(&rest, data_separator(f), field);
    vm_unguard(vm_of(L));
    push_clean(L, d, buf_str(field));
    lua_setfield(L, -2, data_column(f, i));
  }
}

static void push_raw(lua_State *L, struct data *d, uint64_t i)
{
  size_t at = 0;
  switch (data_info(d->view.file).container) {
  case CONTAINER_LINES: push_clean(L, d, buf_str(&d->row)); break;
  case CONTAINER_CSV: push_record(L, d); break;
  default:
    if (json_push(L, buf_str(&d->row), false, &at) < 0)
      row_error(L, d, i, "cannot be read as JSON");
  }
}

/* ---- text for a trace's row ---- */

static void hashed_text(lua_State *L, struct data *d, uint64_t left)
{
  uint64_t seed = vm_seed(vm_of(L)), block = data_block(d->view.file);
  for (int i = 1; left; i++) {
    uint64_t n = left < block ? left : block;
    lua_rawgeti(L, -1, i);
    trace_text(&d->text, seed, (uint64_t)(int64_t)lua_tonumber(L, -1), n);
    lua_pop(L, 1);
    left -= n;
  }
}

/* The raw row is on top. The same ids give the same beginning. [-0, +1, e] */
static void push_trace_text(lua_State *L, struct data *d, uint64_t i,
                            uint64_t n)
{
  lua_getfield(L, -1, "hash_ids");
  vm_guard(vm_of(L));
  buf_reset(&d->text);
  d->text.toobig = false;
  if (lua_istable(L, -1))
    hashed_text(L, d, n);
  else
    trace_text(&d->text, vm_seed(vm_of(L)), TRACE_TEXT_ROW(i), n);
  vm_unguard(vm_of(L));
  lua_pop(L, 1);
  if (d->text.toobig)
    row_error(L, d, i, "its prompt would be longer than 64 MiB");
  lua_pushlstring(L, d->text.p, d->text.len);
}

/* What the file's kind adds to a row: three arguments for the shaping. The
 * raw row is on top. [-0, +4, e] */
static int push_extra(lua_State *L, struct data *d, uint64_t i)
{
  const struct data_file *f = d->view.file;
  enum data_format format = data_info(f).format;
  struct data_moment m;
  if (format == DATA_BATCH) {
    struct str body = data_body(f, buf_str(&d->row));
    lua_pushlstring(L, body.p, body.len);
    return 1;
  }
  if (!data_format_is_trace(format))
    return 0;
  if (data_moment(f, buf_str(&d->row), &m) < 0)
    return row_error(L, d, i, "has changed since the file was opened");
  push_trace_text(L, d, i, m.input_len);
  lua_pushnumber(L, m.seconds);
  lua_pushnumber(L, (lua_Number)m.input_len);
  lua_pushnumber(L, (lua_Number)m.output_len);
  return 4;
}

/* The function that gives rows the fields that all of them have. */
static void push_shaping(lua_State *L)
{
  const struct embedded *code;
  lua_getfield(L, LUA_REGISTRYINDEX, SHAPING);
  if (!lua_isnil(L, -1))
    return;
  lua_pop(L, 1);
  code = embed_find("lua/stoke/dataset.lua");
  if (luaL_loadbufferx(L, code->source, code->len, "=lua/stoke/dataset.lua",
                       "t") != 0)
    lua_error(L);
  lua_call(L, 0, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, SHAPING);
}

/* Row `i` of the file, 0-based. [-0, +1, e] */
static int push_row(lua_State *L, struct data *d, uint64_t i)
{
  int n;
  luaL_checkstack(L, 12, "a row");
  read_row(L, d, i);
  push_shaping(L);
  lua_pushstring(L, data_format_name(data_info(d->view.file).format));
  push_raw(L, d, i);
  n = push_extra(L, d, i);
  lua_call(L, 2 + n, 1);
  return 1;
}

/* ---- which row ---- */

/* The k-th (0-based) of the rows that are given out, or false: no more. The
 * warm-up takes its rows from the end, so that it warms none of those that
 * the measurement begins with. */
static bool pick(lua_State *L, const struct data_view *v, uint64_t k,
                 bool warmup, uint64_t *row)
{
  uint64_t n = data_info(v->file).rows, m = n - v->warmup_rows;
  struct rng r;
  if (warmup) {
    k = n - 1 - k % (v->warmup_rows ? v->warmup_rows : n);
  } else if (k >= m) {
    switch (v->when_exhausted) {
    case VIEW_STOP: return false;
    case VIEW_CYCLE: k %= m; break;
    case VIEW_RANDOM:
      rng_init(&r, vm_seed(vm_of(L)), RNG_DATA, TRACE_TEXT_ROW(k));
      k = rng_below(&r, m);
      break;
    }
  }
  *row = v->shuffle ? order_at(vm_seed(vm_of(L)), n, k) : k;
  return true;
}

static int push_picked(lua_State *L, struct data *d, uint64_t k, bool warmup)
{
  uint64_t row;
  if (pick(L, &d->view, k, warmup, &row))
    return push_row(L, d, row);
  lua_pushnil(L);
  return 1;
}

static uint64_t check_index(lua_State *L, int i, double most)
{
  double x = luaL_checknumber(L, i);
  luaL_argcheck(L, x >= 1 && x <= most && x == (double)(uint64_t)x, i,
                "rows are numbered from 1 on");
  return (uint64_t)x - 1;
}

static int row_l(lua_State *L)
{
  struct data *d = check_data(L, 1);
  return push_row(L, d,
                  check_index(L, 2, (double)data_info(d->view.file).rows));
}

static int at_l(lua_State *L)
{
  struct data *d = check_data(L, 1);
  return push_picked(L, d, check_index(L, 2, 0x1p53), false);
}

static int sample_l(lua_State *L)
{
  struct data *d = check_data(L, 1);
  struct rng *r = check_rng(L, 2);
  uint64_t m = data_info(d->view.file).rows - d->view.warmup_rows, row;
  pick(L, &d->view, rng_below(r, m), false, &row);
  return push_row(L, d, row);
}

/* Note that this session has its rows; true when it had them already. */
static bool served(lua_State *L, struct data *d)
{
  struct vm *vm = vm_of(L);
  bool before;
  if (vm->item.env == LUA_NOREF) {
    before = d->last_id == vm->item.id && d->last_phase == vm->item.phase;
    d->last_id = vm->item.id;
    d->last_phase = vm->item.phase;
    return before;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, vm->item.env);
  lua_pushvalue(L, 1); /* the file itself is the key */
  lua_rawget(L, -2);
  before = lua_toboolean(L, -1);
  lua_pop(L, 1);
  lua_pushvalue(L, 1);
  lua_pushboolean(L, true);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return before;
}

/* Rows follow the number of the request or session, so that who gets which
 * depends on no thread. */
static int next_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  struct data *d = check_data(L, 1);
  bool many = !lua_isnoneornil(L, 2), warmup = vm->item.phase == PHASE_WARMUP;
  uint64_t n = many ? check_index(L, 2, 0x1p20) + 1 : 1;
  if (!vm->item.id)
    return luaL_error(L, "d:next gives a request or session its row: call it "
                         "in request or session, or use d:row(i)");
  if (served(L, d))
    return luaL_error(L, "d:next gave this request or session its row already; "
                         "d:next(n) gives n rows");
  if (!many)
    return push_picked(L, d, vm->item.id - 1, warmup);
  lua_newtable(L);
  for (uint64_t i = 0; i < n; i++) {
    push_picked(L, d, (vm->item.id - 1) * n + i, warmup);
    if (lua_isnil(L, -1))
      break;
    lua_rawseti(L, 3, (int)i + 1);
  }
  lua_settop(L, 3);
  if (!lua_objlen(L, 3))
    lua_pushnil(L);
  return 1;
}

static int time_l(lua_State *L)
{
  struct data *d = check_data(L, 1);
  const struct data_file *f = d->view.file;
  uint64_t i = check_index(L, 2, (double)data_info(f).rows);
  struct data_moment m;
  if (!data_format_is_trace(data_info(f).format))
    return luaL_error(L, "d:time: %s is no trace, but %s", data_info(f).shown,
                      data_format_name(data_info(f).format));
  read_row(L, d, i);
  if (data_moment(f, buf_str(&d->row), &m) < 0)
    return row_error(L, d, i, "has changed since the file was opened");
  lua_pushnumber(L, m.seconds);
  return 1;
}

/* ---- the type ---- */

static int len_l(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)data_info(check_data(L, 1)->view.file).rows);
  return 1;
}

/* A method, or what is known of the file; the methods are upvalue 1. */
static int index_l(lua_State *L)
{
  const struct data_info i = data_info(check_data(L, 1)->view.file);
  const char *name = luaL_checkstring(L, 2);
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  if (!lua_isnil(L, -1))
    return 1;
  if (strcmp(name, "path") == 0)
    lua_pushstring(L, i.shown);
  else if (strcmp(name, "format") == 0)
    lua_pushstring(L, data_format_name(i.format));
  else if (strcmp(name, "skipped") == 0)
    lua_pushnumber(L, (lua_Number)i.skipped);
  else if (strcmp(name, "left_out") == 0)
    lua_pushnumber(L, (lua_Number)i.left_out);
  else if (strcmp(name, "replaced") == 0)
    lua_pushnumber(L, (lua_Number)i.flaws);
  else
    return luaL_error(L, "a data file has no '%s'", name);
  return 1;
}

void bind_data(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"row", row_l},       {"at", at_l},     {"next", next_l},
      {"sample", sample_l}, {"time", time_l}, {NULL, NULL},
  };
  luaL_newmetatable(L, DATA_MT);
  lua_newtable(L);
  luaL_register(L, NULL, methods);
  lua_pushcclosure(L, index_l, 1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, len_l);
  lua_setfield(L, -2, "__len");
  lua_pushcfunction(L, gc_l);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, DATA_MT);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushcfunction(L, open_l);
  lua_setfield(L, -2, "open");
}
