#include <stdio.h>

#include "base/log.h"
#include "script/vm_impl.h"

/* Of one error; what a script says beyond is not shown. */
enum { MESSAGE_MAX = 4096 };

/* Frames of C carry addresses that differ from run to run, and those at the
 * bottom are our own. */
void vm_keep_traceback(struct vm *vm, const char *text)
{
  struct str rest = str_of(text);
  vm_guard(vm);
  buf_reset(&vm->traceback);
  while (rest.p) {
    struct str line = str_split(&rest, '\n');
    if (str_find(line, STR("[C]: at 0x")) >= 0 ||
        str_starts(line, STR("\t" VM_LOOP ":")))
      continue;
    if (vm->traceback.len)
      buf_addc(&vm->traceback, '\n');
    buf_addstr(&vm->traceback, line);
  }
  /* Its heading alone says nothing. */
  if (!memchr(buf_cstr(&vm->traceback), '\n', vm->traceback.len))
    buf_reset(&vm->traceback);
  vm_unguard(vm);
}

void vm_error_in_words(lua_State *L)
{
  if (lua_type(L, 1) == LUA_TSTRING || lua_isnumber(L, 1))
    return;
  if (!luaL_callmeta(L, 1, "__tostring"))
    lua_pushfstring(L, "(an error that is a %s)", luaL_typename(L, 1));
  lua_replace(L, 1);
  lua_settop(L, 1);
}

/* The message handler: the traceback has to be taken before the stack is
 * unwound. [-1, +1, e] */
int vm_on_error(lua_State *L)
{
  vm_error_in_words(L);
  luaL_traceback(L, L, NULL, 1);
  vm_keep_traceback(vm_of(L), lua_tostring(L, -1));
  lua_settop(L, 1);
  return 1;
}

/* What the box took away, for people who look for it. */
static bool boxed_away(struct str message)
{
  static const char *const names[] = {
      "'io'",      "'debug'",   "'ffi'",     "'execute'", "'getenv'",
      "'remove'",  "'rename'",  "'tmpname'", "'dofile'",  "'loadfile'",
      "'getfenv'", "'setfenv'", "'module'",  "'loadlib'", "'newproxy'",
  };
  if (str_find(message, STR("(a nil value)")) < 0)
    return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (str_find(message, str_of(names[i])) >= 0)
      return true;
  return false;
}

const char *vm_place(const struct vm *vm)
{
  return vm->doing ? vm->scenario->path : vm->places[vm->hook];
}

/* Where the script was when it raised a table, or called what raised words
 * without a place: the innermost line that is its own. */
static struct str traced_place(const struct vm *vm)
{
  struct str rest = buf_str(&vm->traceback);
  str_split(&rest, '\n'); /* its heading */
  while (rest.p) {
    struct str line = str_trim(str_split(&rest, '\n'));
    struct str place = script_error_place(line);
    if (place.p && !str_starts(line, STR("lua/stoke/")))
      return place;
  }
  return str_of(vm_place(vm));
}

/* The error of a call that ended with `status`, its message on top of `L`,
 * as one text that begins with a place. */
void vm_keep_error(struct vm *vm, lua_State *L, int status)
{
  struct str message = STR("unknown");
  size_t len;
  if (lua_gettop(L) > 0 && lua_type(L, -1) == LUA_TSTRING) {
    message.p = lua_tolstring(L, -1, &len);
    message.len = len < MESSAGE_MAX ? len : MESSAGE_MAX;
  }
  /* error(…, 2) in a hook points at the loop that calls it. */
  if (str_starts(message, STR(VM_LOOP ":")))
    str_split(&message, ' ');
  vm_guard(vm);
  buf_reset(&vm->error);
  if (!script_error_place(message).p) {
    struct str place =
        status == LUA_ERRRUN ? traced_place(vm) : str_of(vm_place(vm));
    buf_addf(&vm->error, "%.*s: ", STR_ARG(place));
  }
  buf_addstr(&vm->error, message);
  if (!vm->scenario->unsafe && boxed_away(message))
    buf_adds(&vm->error, " (scripts run boxed; --unsafe opens everything)");
  buf_cstr(&vm->error);
  if (status == LUA_ERRMEM || status == LUA_ERRERR)
    buf_reset(&vm->traceback);
  vm_unguard(vm);
}

const char *vm_doing(const struct vm *vm)
{
  return vm->doing ? vm->doing : hook_name(vm->hook);
}

/* Count it; the first of a place is shown at once. */
void vm_report_error(struct vm *vm)
{
  const char *message = buf_cstr(&vm->error);
  const char *trace = buf_cstr(&vm->traceback);
  if (vm->errors && vm->dead)
    script_errors_give_up(vm->errors);
  if (vm->errors && script_errors_add(vm->errors, vm_doing(vm), message))
    log_line("script error in %s: %s%s%s", vm_doing(vm), message,
             *trace ? "\n" : "", trace);
}

const char *vm_error(const struct vm *vm)
{
  return vm->error.len ? vm->error.p : "";
}

/* Of the innermost caller that is the script's own. [-0, +1, m] */
static void push_caller(lua_State *L)
{
  lua_Debug at;
  for (int level = 1; lua_getstack(L, level, &at); level++) {
    luaL_where(L, level);
    if (*lua_tostring(L, -1) &&
        !str_starts(str_of(lua_tostring(L, -1)), STR("lua/stoke/")))
      return;
    lua_pop(L, 1);
  }
  lua_pushfstring(L, "%s: ", vm_place(vm_of(L)));
}

int vm_hook_error(lua_State *L, const char *fmt, ...)
{
  /* Bounded and on the stack: nothing may be owned when the error flies. */
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  vm_unguard(vm_of(L)); /* readers of tables raise behind one */
  push_caller(L);
  lua_pushfstring(L, "%s%s", lua_tostring(L, -1), text);
  return lua_error(L);
}
