#include <lauxlib.h>
#include <lua.h>

#include "base/buf.h"
#include "script/bind_class.h"
#include "script/bind_json.h"
#include "script/vm_impl.h"

/* stoke.json.list([values]) -> list       [-0, +1, v]
 * list:add(value)      encoded now, once  [-0, +0, v]
 * list:text()          -> JSON            [-0, +1, m]
 * #list                                   [-0, +1, -]
 *
 * A JSON array that grows, for a history that is sent again with every turn:
 * a table would be encoded from its beginning each time. Its bytes are not in
 * the Lua heap; see vm_room_outside. */

#define LIST_MT "stoke.json.list"

struct json_list {
  struct buf items; /* "a,b,c" */
  size_t n;
};

static struct json_list *check_list(lua_State *L)
{
  return bind_self(L, 1, LIST_MT);
}

/* What this one has more, or less. */
static void account(struct vm *vm, const struct json_list *list, size_t before)
{
  vm->outside += list->items.cap - before;
}

static void add(lua_State *L, struct json_list *list, int i)
{
  char why[256] = "";
  size_t before = list->items.len, cap = list->items.cap;
  int status;
  vm_room_outside(L);
  vm_guard(vm_of(L));
  if (list->n)
    buf_addc(&list->items, ',');
  status = json_write(L, i, &list->items, false, "value", why);
  if (status < 0)
    list->items.len = before;
  account(vm_of(L), list, cap);
  vm_unguard(vm_of(L));
  if (status < 0)
    luaL_error(L, "%s", why);
  list->n++;
}

static int add_l(lua_State *L)
{
  struct json_list *list = check_list(L);
  luaL_checkany(L, 2);
  add(L, list, 2);
  return 0;
}

static int text_l(lua_State *L)
{
  struct json_list *list = check_list(L);
  lua_pushliteral(L, "[");
  lua_pushlstring(L, list->items.len ? list->items.p : "", list->items.len);
  lua_pushliteral(L, "]");
  lua_concat(L, 3);
  return 1;
}

static int len_l(lua_State *L)
{
  lua_pushnumber(L, (lua_Number)check_list(L)->n);
  return 1;
}

static int gc_l(lua_State *L)
{
  struct json_list *list = check_list(L);
  size_t cap = list->items.cap;
  vm_guard(vm_of(L));
  buf_free(&list->items);
  account(vm_of(L), list, cap);
  vm_unguard(vm_of(L));
  return 0;
}

static int list_l(lua_State *L)
{
  struct json_list *list;
  int n = 0;
  if (!lua_isnoneornil(L, 1)) {
    luaL_checktype(L, 1, LUA_TTABLE);
    n = (int)lua_objlen(L, 1);
  }
  list = lua_newuserdata(L, sizeof *list);
  *list = (struct json_list){0};
  luaL_getmetatable(L, LIST_MT);
  lua_setmetatable(L, -2);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    add(L, list, lua_gettop(L));
    lua_pop(L, 1);
  }
  return 1;
}

bool json_list_items(lua_State *L, int i, struct str *items, size_t *n)
{
  const struct json_list *list = lua_touserdata(L, i);
  bool is_list = false;
  if (list && lua_getmetatable(L, i)) {
    luaL_getmetatable(L, LIST_MT);
    is_list = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  if (is_list) {
    *items = buf_str(&list->items);
    *n = list->n;
  }
  return is_list;
}

void bind_json_list(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"add", add_l}, {"text", text_l}, {NULL, NULL}};
  bind_class(
      L, &(struct bind_class){
             .name = LIST_MT, .methods = methods, .len = len_l, .gc = gc_l});
  lua_pushcfunction(L, list_l);
}
