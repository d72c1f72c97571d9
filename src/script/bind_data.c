#include <lauxlib.h>
#include <lua.h>

#include "data/order.h"
#include "script/bind_class.h"
#include "script/bind_data.h"
#include "script/vm_impl.h"

/* stoke.data.open(path[, options]) -> d           [-0, +1, e]
 * #d                 rows                         [-0, +1, -]
 * d:row(i)           -> row i of the file         [-0, +1, e]
 * d:at(i)            -> row i of the order | nil  [-0, +1, e]
 * d:next([n])        -> row | nil, or n of them   [-0, +1, e]
 * d:sample(rng)      -> any row                   [-0, +1, e]
 * d:time(i)          -> seconds, of a trace       [-0, +1, e]
 * d:line(i)          -> where d:at(i) begins      [-0, +1, e]
 * d:media(path)      -> data URL; see bind_image.c
 * d:audio(path)      -> bytes, type, seconds; the same
 * d.path .format .skipped .left_out .replaced     [-0, +1, -] */

#define DATA_MT "stoke.data"

static struct data *check_data(lua_State *L, int i)
{
  return bind_self(L, i, DATA_MT);
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
  vm_guard(vm_of(L));
  buf_free(&d->row);
  buf_free(&d->text);
  vm_unguard(vm_of(L));
  return 0;
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
      /* Texts of traces draw from ids without this bit. */
      rng_init(&r, vm_seed(vm_of(L)), RNG_DATA, UINT64_C(1) << 62 | k);
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
    return data_push_row(L, d, row);
  lua_pushnil(L);
  return 1;
}

static uint64_t check_index(lua_State *L, int i, double most)
{
  double x = luaL_checknumber(L, i);
  if (!(x >= 1 && x <= most && x == (double)(uint64_t)x))
    luaL_error(L, "bad argument #%d: %f is not one of 1 to %f", i - 1, x, most);
  return (uint64_t)x - 1;
}

static int row_l(lua_State *L)
{
  struct data *d = check_data(L, 1);
  return data_push_row(L, d,
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
  return data_push_row(L, d, row);
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
  if (d->n && d->n != n)
    return luaL_error(L,
                      "d:next gives rows by the number of the request or "
                      "session, so it must always be asked for as many: "
                      "for %d here, and for %d before",
                      (int)n, (int)d->n);
  d->n = n;
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
  data_read_row(L, d, i);
  if (data_moment(f, buf_str(&d->row), &m) < 0)
    return data_row_error(L, d, i, "has changed since the file was opened");
  lua_pushnumber(L, m.seconds);
  return 1;
}

static int line_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  struct data *d = check_data(L, 1);
  uint64_t row, line;
  if (!pick(L, &d->view, check_index(L, 2, 0x1p53), false, &row))
    return luaL_argerror(L, 2, "there are fewer rows");
  vm_guard(vm);
  line = data_line(d->view.file, row);
  vm_unguard(vm);
  lua_pushnumber(L, (lua_Number)line);
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
  if (bind_class_method(L))
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
      {"row", row_l},          {"at", at_l},
      {"next", next_l},        {"sample", sample_l},
      {"time", time_l},        {"line", line_l},
      {"media", data_media_l}, {"media_type", data_media_type_l},
      {"audio", data_audio_l}, {NULL, NULL},
  };
  bind_class(L, &(struct bind_class){.name = DATA_MT,
                                     .methods = methods,
                                     .index = index_l,
                                     .len = len_l,
                                     .gc = gc_l});
  lua_newtable(L);
  lua_pushcfunction(L, data_open_l);
  lua_setfield(L, -2, "open");
}
