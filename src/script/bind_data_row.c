#include <lauxlib.h>
#include <lua.h>
#include <math.h>

#include "base/mem.h"
#include "data/csv.h"
#include "data/flaws.h"
#include "script/bind_data.h"
#include "script/bind_json.h"
#include "script/embed.h"
#include "script/trace_text.h"
#include "script/vm_impl.h"

/* A row of a data file as a Lua table: what stands in the file, and what all
 * formats have in common (lua/stoke/dataset.lua). */

#define SHAPING "stoke.dataset" /* in the registry: that module's function */

int data_row_error(lua_State *L, const struct data *d, uint64_t i,
                   const char *why)
{
  uint64_t line;
  vm_guard(vm_of(L));
  line = data_line(d->view.file, i);
  vm_unguard(vm_of(L));
  return luaL_error(L, "%s:%d: %s", data_info(d->view.file).shown, (int)line,
                    why);
}

void data_read_row(lua_State *L, struct data *d, uint64_t i)
{
  struct vm *vm = vm_of(L);
  struct err e = {0};
  int status;
  vm_guard(vm);
  status = data_read(d->view.file, i, &d->row, &e);
  buf_reset(&vm->scratch);
  buf_addstr(&vm->scratch, str_trim(str_of(err_text(&e))));
  buf_cstr(&vm->scratch);
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
      data_row_error(L, d, i, "cannot be read as JSON");
  }
}

/* ---- text for a trace's row ---- */

/* Small whole numbers are their own ids. Others, which 64-bit hashes are when
 * they come through JSON, keep apart by all bits that a number has. */
static uint64_t id_of(double x)
{
  uint64_t bits;
  if (x == floor(x) && fabs(x) < 0x1p53)
    return (uint64_t)(int64_t)x;
  memcpy(&bits, &x, sizeof bits);
  return bits * UINT64_C(0x9e3779b97f4a7c15) >> 2;
}

static void hashed_text(lua_State *L, struct data *d, uint64_t left)
{
  uint64_t seed = vm_seed(vm_of(L)), block = data_block(d->view.file);
  for (int i = 1; left; i++) {
    uint64_t n = left < block ? left : block;
    lua_rawgeti(L, -1, i);
    trace_text(&d->text, seed, id_of(lua_tonumber(L, -1)), n);
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
    data_row_error(L, d, i, "its prompt would be longer than 64 MiB");
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
    push_clean(L, d, data_body(f, buf_str(&d->row)));
    return 1;
  }
  if (!data_format_is_trace(format))
    return 0;
  if (data_moment(f, buf_str(&d->row), &m) < 0)
    return data_row_error(L, d, i, "has changed since the file was opened");
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

int data_push_row(lua_State *L, struct data *d, uint64_t i)
{
  int n;
  luaL_checkstack(L, 12, "a row");
  data_read_row(L, d, i);
  push_shaping(L);
  lua_pushstring(L, data_format_name(data_info(d->view.file).format));
  push_raw(L, d, i);
  n = push_extra(L, d, i);
  lua_call(L, 2 + n, 1);
  return 1;
}
