#include "script/request_table.h"

#include "base/suggest.h"
#include "script/bind_json.h"
#include "script/request_fields.h"

/* In the order of a body's members; `endpoint` is read apart, before. The
 * first four and `headers`, which comes after the body, are named below. */
enum { ENDPOINT, PROMPT, MESSAGES, BODY, HEADERS };

static const struct field fields[] = {
    {"endpoint", NULL, false},
    {"prompt", read_prompt, true},
    {"messages", read_messages, true},
    {"body", read_body, false},
    {"headers", read_headers, false},
    {"model", read_model, false},
    {"max_tokens", read_max_tokens, true},
    {"max_completion_tokens", read_max_completion_tokens, true},
    {"min_tokens", read_integer, true},
    {"n", read_n, true},
    {"temperature", read_number, true},
    {"top_p", read_number, true},
    {"top_k", read_integer, true},
    {"min_p", read_number, true},
    {"presence_penalty", read_number, true},
    {"frequency_penalty", read_number, true},
    {"stop", read_stop, true},
    {"seed", read_integer, true},
    {"tools", read_array, true},
    {"tool_choice", read_json, true},
    {"response_format", read_json, true},
    {"logprobs", read_json, true},
    {"reasoning_effort", read_string, true},
    {"ignore_eos", read_boolean, true},
    {"extra", read_extra, false},
    {"stream", read_stream, false},
    {"timeout", read_timeout, false},
    {"ttft_timeout", read_ttft_timeout, false},
    {"idle_timeout", read_idle_timeout, false},
    {"tags", read_tags, false},
    {"slo", read_slo, false},
    {"cancel_after", read_cancel_after, false},
    {"prompt_tokens", read_prompt_tokens, false},
    {"audio_seconds", read_audio_seconds, false},
    {"keep_body", read_keep_body, false},
};

enum { FIELDS = sizeof fields / sizeof *fields };

void request_table_open(lua_State *L)
{
  lua_createtable(L, 0, FIELDS);
  for (int i = 0; i < FIELDS; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, fields[i].name);
  }
  vm_set_ref(L, REF_FIELDS);
}

static int unknown_field(struct reader *r)
{
  lua_State *L = r->L;
  struct suggest near = {0};
  struct buf *text = &r->vm->scratch;
  if (lua_type(L, -2) != LUA_TSTRING)
    return vm_hook_error(L,
                         "%s: the table has a key that is a %s; its fields "
                         "have names",
                         r->what, luaL_typename(L, -2));
  near.typed.p = lua_tolstring(L, -2, &near.typed.len);
  for (int i = 0; i < FIELDS; i++)
    suggest_consider(&near, str_of(fields[i].name));
  buf_reset(text);
  suggest_print(&near, "", text);
  return vm_hook_error(
      L, "%s: unknown field '%.*s'%s", r->what, STR_ARG(near.typed),
      near.n ? buf_cstr(text) : "; put what only the server knows into extra");
}

/* Which fields there are; others may be the backend's, which is not known
 * yet. */
static uint64_t find_present(struct reader *r)
{
  lua_State *L = r->L;
  uint64_t present = 0;
  int table = lua_gettop(L);
  vm_push_ref(L, REF_FIELDS);
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pushvalue(L, -2);
    lua_rawget(L, table + 1);
    if (lua_isnil(L, -1))
      r->strange = true;
    else
      present |= UINT64_C(1) << lua_tointeger(L, -1);
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
  return present;
}

static bool has(const struct reader *r, int field)
{
  return r->present >> field & 1;
}

/* ---- a backend whose bodies are made in Lua ---- */

static bool in_lua(const struct reader *r)
{
  return !r->api && !has(r, BODY);
}

/* Push `field` of what REF_BACKENDS has for this request's. */
static void push_maker(struct reader *r, const char *field)
{
  vm_push_ref(r->L, REF_BACKENDS);
  lua_rawgeti(r->L, -1, (int)r->out->backend->place + 1);
  lua_getfield(r->L, -1, field);
  lua_replace(r->L, -3);
  lua_pop(r->L, 1);
}

/* Does the set on top, if it is one, have the field? */
static bool takes(struct reader *r, const char *field)
{
  bool has_it;
  lua_getfield(r->L, -1, field);
  has_it = !lua_isnil(r->L, -1);
  lua_pop(r->L, 1);
  return has_it;
}

/* Fields that only this backend has, and those that it lacks. */
static void check_taken(struct reader *r)
{
  lua_State *L = r->L;
  push_maker(r, "takes");
  for (int i = 0; lua_istable(L, -1) && i < FIELDS; i++)
    if (has(r, i) && fields[i].of_body && !takes(r, fields[i].name))
      vm_hook_error(L,
                    "%s: endpoint '%s' has no place for %s; put what the "
                    "server knows into extra",
                    r->what, r->out->backend->name, fields[i].name);
  lua_pop(L, 1);
}

static bool is_backends_own(struct reader *r)
{
  lua_State *L = r->L;
  bool own = false;
  if (!in_lua(r) || lua_type(L, -2) != LUA_TSTRING)
    return false;
  push_maker(r, "takes");
  if (lua_istable(L, -1))
    own = takes(r, lua_tostring(L, -3));
  lua_pop(L, 1);
  return own;
}

static void check_strange(struct reader *r)
{
  lua_State *L = r->L;
  int table = lua_gettop(L);
  bool known;
  lua_pushnil(L);
  while (r->strange && lua_next(L, table)) {
    vm_push_ref(L, REF_FIELDS);
    lua_pushvalue(L, -3);
    lua_rawget(L, -2);
    known = !lua_isnil(L, -1);
    lua_pop(L, 2);
    if (!known && !is_backends_own(r))
      unknown_field(r);
    lua_pop(L, 1);
  }
  lua_settop(L, table);
}

/* A stoke.json.list of messages as the table that it stands for; the request
 * is on top. */
static void open_list(struct reader *r)
{
  lua_State *L = r->L;
  struct buf *array = &r->vm->scratch;
  struct str items;
  size_t n;
  lua_getfield(L, -1, "messages");
  if (json_list_items(L, -1, &items, &n)) {
    buf_reset(array);
    buf_addc(array, '[');
    buf_addstr(array, items);
    buf_addc(array, ']');
    json_push(L, buf_str(array), false, NULL);
    lua_setfield(L, -3, "messages");
  }
  lua_pop(L, 1);
}

/* What is to be merged in, of the command line too: for bodies that are no
 * JSON. The request is on top. */
static void push_extra(struct reader *r)
{
  struct buf *all = &r->vm->scratch;
  buf_reset(all);
  if (body_merge_all(r->vm->body, STR("{}"), all) == 0 && all->len > 2) {
    json_push(r->L, buf_str(all), true, NULL);
    lua_setfield(r->L, -2, "extra");
  }
}

/* Push the request as the backend sees it: the script's table, with what the
 * command line has to say. */
static void push_request(struct reader *r)
{
  lua_State *L = r->L;
  int table = lua_gettop(L);
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, table + 1);
  }
  if (r->out->model.len) {
    lua_pushlstring(L, r->out->model.p, r->out->model.len);
    lua_setfield(L, -2, "model");
  }
  lua_pushboolean(L, r->out->stream);
  lua_setfield(L, -2, "stream");
  if (r->vm->max_tokens >= 0) {
    lua_pushnumber(L, (lua_Number)r->vm->max_tokens);
    lua_setfield(L, -2, "max_tokens");
  }
  if (has(r, MESSAGES))
    open_list(r);
  push_extra(r);
}

/* The call may take any time, so the watchdog must be able to end it. */
static void call_maker(lua_State *L, struct vm *vm)
{
  sig_atomic_t held = vm->guard;
  atomic_signal_fence(memory_order_seq_cst);
  vm->guard = 0;
  lua_call(L, 1, 2);
  vm->guard = held;
  atomic_signal_fence(memory_order_seq_cst);
}

/* The text and the content type on top as the body. */
static void take_text(struct reader *r)
{
  lua_State *L = r->L;
  struct str type = {NULL, 0}, body;
  if (lua_type(L, -1) == LUA_TSTRING)
    type.p = lua_tolstring(L, -1, &type.len);
  if (!type.len || memchr(type.p, '\n', type.len) ||
      memchr(type.p, '\r', type.len) || memchr(type.p, '\0', type.len))
    vm_hook_error(L,
                  "%s: the body of backend '%s' is a string, so its content "
                  "type must be the function's second result",
                  r->what, r->out->backend->name);
  body.p = lua_tolstring(L, -2, &body.len);
  buf_addstr(&r->out->body, body);
  buf_addf(&r->out->headers, "Content-Type: %.*s\n", STR_ARG(type));
}

static void make_body(struct reader *r)
{
  lua_State *L = r->L;
  const char *name = r->out->backend->name;
  struct buf *whole = &r->vm->scratch;
  char why[256];
  int table = lua_gettop(L);
  push_maker(r, "body");
  lua_pushvalue(L, table);
  push_request(r);
  lua_remove(L, -2);
  call_maker(L, r->vm);
  if (lua_type(L, -2) == LUA_TSTRING) {
    take_text(r);
    lua_settop(L, table);
    return;
  }
  lua_pop(L, 1);
  if (!lua_istable(L, -1))
    vm_hook_error(L,
                  "%s: the body of backend '%s' is a %s; it must be a table, "
                  "or a string and its content type",
                  r->what, name, luaL_typename(L, -1));
  buf_reset(whole);
  if (json_write(L, -1, whole, false, "body", why) < 0)
    vm_hook_error(L, "%s: backend '%s': %s", r->what, name, why);
  if (whole->p[0] != '{')
    vm_hook_error(L,
                  "%s: the body of backend '%s' is a list; it must have "
                  "names as keys",
                  r->what, name);
  body_merge_all(r->vm->body, buf_str(whole), &r->out->body);
  lua_settop(L, table);
}

/* ---- any ---- */

static void check_content(struct reader *r)
{
  int n = has(r, PROMPT) + has(r, MESSAGES) + has(r, BODY);
  if (n > 1 || (n == 0 && r->api))
    vm_hook_error(r->L, "%s: give %s prompt, messages or body", r->what,
                  n ? "only one of" : "one of");
  for (int i = 0; has(r, BODY) && i < FIELDS; i++)
    if (has(r, i) && fields[i].of_body)
      vm_hook_error(r->L,
                    "%s: body is sent as it is; put %s into it, or "
                    "into extra",
                    r->what, fields[i].name);
}

static void read_one(struct reader *r, int i)
{
  lua_getfield(r->L, -1, fields[i].name);
  fields[i].read(r, &fields[i]);
  lua_pop(r->L, 1);
}

static int unknown_endpoint(struct reader *r, struct str name)
{
  struct buf *text = &r->vm->scratch;
  buf_reset(text);
  backends_explain(&r->vm->scenario->backends, name, text);
  return vm_hook_error(r->L, "%s: endpoint '%.60s': choose %s", r->what, name.p,
                       buf_cstr(text));
}

/* Which body, and where to: a backend's name or a path. A path that looks
 * like none of theirs takes a chat's body, unless it has its own. A name goes
 * to the path that the user gave for the same API, if he did. */
static void read_endpoint(struct reader *r)
{
  const struct backends *all = &r->vm->scenario->backends;
  const struct backend *b = r->vm->backend;
  struct str endpoint = str_of(r->vm->endpoint ? r->vm->endpoint : "chat");
  lua_getfield(r->L, -1, "endpoint");
  if (has(r, ENDPOINT)) {
    struct str own = check_string(r, &fields[ENDPOINT]);
    b = backends_of_endpoint(all, own.p);
    if (!b || b != r->vm->backend || own.p[0] == '/')
      endpoint = own;
  }
  if (endpoint.p[0] == '/')
    check_address(r, "endpoint", endpoint);
  if (endpoint.p[0] == '/')
    buf_addstr(&r->out->path, endpoint);
  else if (b)
    buf_adds(&r->out->path, b->path);
  else
    unknown_endpoint(r, endpoint);
  if (!b && !has(r, BODY))
    b = backends_find(all, STR("chat"));
  r->out->backend = b;
  r->api = b ? b->builder : "chat";
  lua_pop(r->L, 1);
}

static void finish_body(struct reader *r)
{
  struct buf *body = &r->out->body;
  r->out->stream = body_streams(r->vm->body) &&
                   (!r->out->backend || r->out->backend->streams);
  if (in_lua(r)) {
    make_body(r);
  } else if (!has(r, BODY)) {
    body_finish(r->vm->body, body);
  } else if (body_has_extra(r->vm->body)) {
    struct buf *whole = &r->vm->scratch;
    buf_reset(whole);
    if (body_merge_extra(r->vm->body, buf_str(body), whole) < 0)
      vm_hook_error(r->L, "%s: extra needs a body that is a JSON object",
                    r->what);
    buf_reset(body);
    buf_addstr(body, buf_str(whole));
  }
  if (!has(r, BODY) && body_default_choices(r->vm->body))
    r->out->choices = body_default_choices(r->vm->body);
  if (r->choices)
    r->out->choices = r->choices;
  if (r->vm->max_tokens >= 0)
    r->out->max_tokens = r->vm->max_tokens;
}

void request_table_read(lua_State *L, const char *what, struct request *out)
{
  struct vm *vm = vm_of(L);
  struct reader r = {.L = L, .vm = vm, .out = out, .what = what};
  request_reset(out);
  if (!lua_istable(L, -1))
    vm_hook_error(L, "%s must return a table, or nil at the end, not a %s",
                  what, luaL_typename(L, -1));
  r.present = find_present(&r);
  read_endpoint(&r);
  if (r.strange)
    check_strange(&r);
  check_content(&r);
  if (in_lua(&r))
    check_taken(&r);
  body_start(vm->body, r.api ? r.api : "chat");
  buf_adds(&out->model, body_default_model(vm->body));
  for (int i = PROMPT; i < FIELDS; i++)
    if (has(&r, i) && i != HEADERS)
      read_one(&r, i);
  finish_body(&r);
  if (has(&r, HEADERS))
    read_one(&r, HEADERS);
}
