#include "script/request_fields.h"

#include <math.h>

#include "base/units.h"
#include "script/bind_json.h"

static int wrong(struct reader *r, const struct field *f, const char *wanted)
{
  bool digits = lua_type(r->L, -1) == LUA_TSTRING && lua_isnumber(r->L, -1);
  return vm_hook_error(r->L, "%s: %s must be %s, not %s%s", r->what, f->name,
                       wanted, luaL_typename(r->L, -1),
                       digits ? " (tonumber makes one of it)" : "");
}

struct str check_string(struct reader *r, const struct field *f)
{
  struct str s;
  if (lua_type(r->L, -1) != LUA_TSTRING)
    wrong(r, f, "a string");
  s.p = lua_tolstring(r->L, -1, &s.len);
  return s;
}

static double check_number(struct reader *r, const struct field *f)
{
  double x;
  if (lua_type(r->L, -1) != LUA_TNUMBER)
    wrong(r, f, "a number");
  x = lua_tonumber(r->L, -1);
  if (!isfinite(x))
    vm_hook_error(r->L, "%s: %s must be a finite number", r->what, f->name);
  return x;
}

static int64_t check_integer(struct reader *r, const struct field *f)
{
  double x = check_number(r, f);
  if (x != floor(x) || fabs(x) > 0x1p53)
    vm_hook_error(r->L, "%s: %s must be a whole number, not %.14g", r->what,
                  f->name, x);
  return (int64_t)x;
}

static bool check_boolean(struct reader *r, const struct field *f)
{
  if (!lua_isboolean(r->L, -1))
    wrong(r, f, "true or false");
  return lua_toboolean(r->L, -1);
}

/* Seconds, or text such as "250ms". */
static uint64_t check_duration(struct reader *r, const char *name)
{
  lua_State *L = r->L;
  struct str s;
  uint64_t ns;
  if (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) >= 0 &&
      lua_tonumber(L, -1) < 1e9)
    return (uint64_t)(lua_tonumber(L, -1) * 1e9 + 0.5);
  if (lua_type(L, -1) == LUA_TSTRING) {
    s.p = lua_tolstring(L, -1, &s.len);
    if (units_duration(s, &ns) == 0)
      return ns;
  }
  vm_hook_error(L, "%s: %s must be seconds, or text such as \"250ms\"", r->what,
                name);
  return 0;
}

void check_table(struct reader *r, const struct field *f)
{
  if (!lua_istable(r->L, -1))
    wrong(r, f, "a table");
}

/* The value as JSON, in `to`. */
static struct str write_json(struct reader *r, const struct field *f,
                             struct buf *to, bool array)
{
  char why[256];
  buf_reset(to);
  if (json_write(r->L, -1, to, array, f->name, why) < 0)
    vm_hook_error(r->L, "%s: %s", r->what, why);
  return buf_str(to);
}

/* ---- members of the body ---- */

void read_integer(struct reader *r, const struct field *f)
{
  body_integer(r->vm->body, f->name, check_integer(r, f));
}

void read_number(struct reader *r, const struct field *f)
{
  check_number(r, f);
  body_json(r->vm->body, f->name, write_json(r, f, &r->vm->scratch, false));
}

void read_boolean(struct reader *r, const struct field *f)
{
  body_boolean(r->vm->body, f->name, check_boolean(r, f));
}

void read_json(struct reader *r, const struct field *f)
{
  body_json(r->vm->body, f->name, write_json(r, f, &r->vm->scratch, false));
}

/* Names where items should be: one message in place of a list of them. */
static void check_list(struct reader *r, const struct field *f)
{
  check_table(r, f);
  if (lua_objlen(r->L, -1) > 0)
    return;
  lua_pushnil(r->L);
  if (lua_next(r->L, -2))
    vm_hook_error(r->L,
                  "%s: %s must be a list, and has names as keys: put braces "
                  "around it for a list of one",
                  r->what, f->name);
}

void read_array(struct reader *r, const struct field *f)
{
  check_list(r, f);
  body_json(r->vm->body, f->name, write_json(r, f, &r->vm->scratch, true));
}

void check_address(struct reader *r, const char *name, struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
      vm_hook_error(r->L,
                    "%s: %s '%.60s' has a blank or a control character in it; "
                    "a blank is written as %%20",
                    r->what, name, s.p);
}

void read_stop(struct reader *r, const struct field *f)
{
  if (lua_type(r->L, -1) == LUA_TSTRING)
    body_string(r->vm->body, f->name, check_string(r, f));
  else if (lua_istable(r->L, -1))
    read_array(r, f);
  else
    wrong(r, f, "a string or a list of strings");
}

void read_max_tokens(struct reader *r, const struct field *f)
{
  r->out->max_tokens = check_integer(r, f);
  body_integer(r->vm->body, f->name, r->out->max_tokens);
}

/* The same by the name that chats have today; never both in one body. */
void read_max_completion_tokens(struct reader *r, const struct field *f)
{
  r->out->max_tokens = check_integer(r, f);
  if (r->vm->max_tokens < 0)
    body_integer(r->vm->body, f->name, r->out->max_tokens);
}

void read_n(struct reader *r, const struct field *f)
{
  int64_t n = check_integer(r, f);
  if (n < 1 || n > BODY_CHOICES_MAX)
    vm_hook_error(r->L, "%s: n must be from 1 to %d", r->what,
                  BODY_CHOICES_MAX);
  r->out->choices = (unsigned)n;
  body_integer(r->vm->body, f->name, n);
}

void read_prompt(struct reader *r, const struct field *f)
{
  bool list = lua_istable(r->L, -1);
  if (list && (!r->api || strcmp(r->api, "completions") == 0))
    read_array(r, f);
  else if (list)
    vm_hook_error(r->L,
                  "%s: prompt must be a string for a chat; give a list "
                  "as messages",
                  r->what);
  else
    body_prompt(r->vm->body, check_string(r, f));
}

void read_messages(struct reader *r, const struct field *f)
{
  struct str items;
  size_t n;
  if (r->api && strcmp(r->api, "completions") == 0)
    vm_hook_error(r->L, "%s: completions take a prompt, not messages", r->what);
  if (json_list_items(r->L, -1, &items, &n)) {
    struct buf *array = &r->vm->scratch;
    buf_reset(array);
    buf_addc(array, '[');
    buf_addstr(array, items);
    buf_addc(array, ']');
    body_json(r->vm->body, f->name, buf_str(array));
  } else {
    check_list(r, f);
    n = lua_objlen(r->L, -1);
    read_array(r, f);
  }
  if (n == 0)
    vm_hook_error(r->L, "%s: messages is empty", r->what);
}

/* How many choices the table on top asks for; answers are read by it. */
static unsigned choices_in(struct reader *r)
{
  lua_Number n;
  lua_getfield(r->L, -1, "n");
  n = lua_tonumber(r->L, -1);
  lua_pop(r->L, 1);
  return n >= 1 && n <= BODY_CHOICES_MAX ? (unsigned)n : 0;
}

/* Sent as it is. */
void read_body(struct reader *r, const struct field *f)
{
  if (lua_type(r->L, -1) == LUA_TSTRING)
    buf_addstr(&r->out->body, check_string(r, f));
  else if (lua_istable(r->L, -1)) {
    buf_addstr(&r->out->body, write_json(r, f, &r->vm->scratch, false));
    r->choices = choices_in(r);
  } else
    wrong(r, f, "a string or a table");
}

void read_extra(struct reader *r, const struct field *f)
{
  struct str s;
  check_table(r, f);
  s = write_json(r, f, &r->vm->extra, false);
  if (s.p[0] != '{')
    vm_hook_error(r->L, "%s: extra must have names as keys, it is a list",
                  r->what);
  body_extra(r->vm->body, s);
  if (choices_in(r))
    r->choices = choices_in(r);
}

void read_model(struct reader *r, const struct field *f)
{
  struct str s = check_string(r, f);
  buf_reset(&r->out->model);
  buf_addstr(&r->out->model, s);
  body_model(r->vm->body, s);
}

void read_stream(struct reader *r, const struct field *f)
{
  body_stream(r->vm->body, check_boolean(r, f));
}

void read_string(struct reader *r, const struct field *f)
{
  body_string(r->vm->body, f->name, check_string(r, f));
}

/* ---- limits ---- */

void read_timeout(struct reader *r, const struct field *f)
{
  r->out->timeout_ns = check_duration(r, f->name);
}

void read_ttft_timeout(struct reader *r, const struct field *f)
{
  r->out->ttft_timeout_ns = check_duration(r, f->name);
}

void read_idle_timeout(struct reader *r, const struct field *f)
{
  r->out->idle_timeout_ns = check_duration(r, f->name);
}

/* Of the pair on top of the stack. */
static const char *key_name(lua_State *L)
{
  return lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number";
}

void read_slo(struct reader *r, const struct field *f)
{
  lua_State *L = r->L;
  check_table(r, f);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    const char *name = key_name(L);
    if (strcmp(name, "ttft") == 0)
      r->out->slo_ttft_ns = check_duration(r, "slo.ttft");
    else if (strcmp(name, "tpot") == 0)
      r->out->slo_tpot_ns = check_duration(r, "slo.tpot");
    else if (strcmp(name, "e2el") == 0)
      r->out->slo_e2el_ns = check_duration(r, "slo.e2el");
    else
      vm_hook_error(L,
                    "%s: slo has the field '%.40s'; it takes ttft, tpot and "
                    "e2el",
                    r->what, name);
    lua_pop(L, 1);
  }
}

void read_cancel_after(struct reader *r, const struct field *f)
{
  lua_State *L = r->L;
  check_table(r, f);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    const char *name = key_name(L);
    if (strcmp(name, "seconds") == 0) {
      uint64_t ns = check_duration(r, "cancel_after.seconds");
      r->out->cancel_after_ns = ns ? ns : 1; /* 0: none is set */
    } else if (strcmp(name, "tokens") == 0) {
      struct field tokens = {.name = "cancel_after.tokens"};
      int64_t n = check_integer(r, &tokens);
      if (n < 1 || n > UINT32_MAX)
        vm_hook_error(L, "%s: cancel_after.tokens must be at least 1", r->what);
      r->out->cancel_after_tokens = (uint32_t)n;
    } else {
      vm_hook_error(L,
                    "%s: cancel_after has the field '%.40s'; it takes "
                    "tokens or seconds",
                    r->what, name);
    }
    lua_pop(L, 1);
  }
}

void read_prompt_tokens(struct reader *r, const struct field *f)
{
  int64_t n = check_integer(r, f);
  if (n < 0 || n > INT32_MAX)
    vm_hook_error(r->L, "%s: prompt_tokens must be from 0 to %d", r->what,
                  INT32_MAX);
  r->out->planned_prompt_tokens = n;
}

void read_audio_seconds(struct reader *r, const struct field *f)
{
  r->out->audio_ns = check_duration(r, f->name);
}

void read_keep_body(struct reader *r, const struct field *f)
{
  r->out->keep_body = check_boolean(r, f);
}
