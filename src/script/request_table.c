#include "script/request_table.h"

#include "base/suggest.h"
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
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      unknown_field(r);
    }
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

static void check_content(struct reader *r)
{
  int n = has(r, PROMPT) + has(r, MESSAGES) + has(r, BODY);
  if (n != 1)
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

/* Which body, and where to: "chat", "completions" or a path. A path that
 * looks like none of the two takes a chat's body, unless it has its own. */
static void read_endpoint(struct reader *r)
{
  const char *endpoint = r->vm->endpoint;
  lua_getfield(r->L, -1, "endpoint");
  if (has(r, ENDPOINT)) {
    endpoint = check_string(r, &fields[ENDPOINT]).p;
    if (endpoint[0] != '/' && strcmp(endpoint, "chat") != 0 &&
        strcmp(endpoint, "completions") != 0)
      vm_hook_error(r->L,
                    "%s: endpoint '%.60s': choose chat, completions, or "
                    "a path that begins with /",
                    r->what, endpoint);
  }
  r->out->api = body_api(endpoint);
  if (!r->out->api && !has(r, BODY))
    r->out->api = "chat";
  buf_adds(&r->out->path, body_path(endpoint));
  r->api = r->out->api ? r->out->api : "chat";
  lua_pop(r->L, 1);
}

static void finish_body(struct reader *r)
{
  struct buf *body = &r->out->body;
  r->out->stream = body_streams(r->vm->body);
  if (!has(r, BODY)) {
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
  check_content(&r);
  read_endpoint(&r);
  body_start(vm->body, r.api);
  buf_adds(&out->model, body_default_model(vm->body));
  for (int i = PROMPT; i < FIELDS; i++)
    if (has(&r, i) && i != HEADERS)
      read_one(&r, i);
  finish_body(&r);
  if (has(&r, HEADERS))
    read_one(&r, HEADERS);
}
