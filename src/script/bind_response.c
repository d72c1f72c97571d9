#include <lauxlib.h>
#include <lua.h>

#include "base/outcome.h"
#include "script/bind_json.h"
#include "script/bindings.h"
#include "script/vm_impl.h"

/* r.<field>     -> what `fields` below says; nil where there is nothing
 *                                            [-0, +1, v]
 * r:json()      -> value | nil, err: the text parsed   [-0, +(1|2), m]
 *
 * A box over C data: nothing is copied into Lua that the script does not ask
 * for, so a hook that only counts costs little, however long the answer. */

#define RESPONSE_MT "stoke.response"

struct response_box *response_push(lua_State *L)
{
  struct response_box *box = lua_newuserdata(L, sizeof *box);
  *box = (struct response_box){.response = NULL};
  luaL_getmetatable(L, RESPONSE_MT);
  lua_setmetatable(L, -2);
  return box;
}

/* A response that outlives its exchange, in one block: what it points to
 * follows it. */
struct owned_response {
  struct response_box box;
  struct response response;
  struct record record;
  struct wire_result wire;
  char bytes[];
};

static size_t text_size(const char *s)
{
  return s ? strlen(s) + 1 : 0;
}

static size_t owned_size(const struct response *r)
{
  const struct wire_result *w = r->wire;
  size_t n = sizeof(struct owned_response) + r->headers.len +
             text_size(r->error_type) + text_size(r->record->message) +
             text_size(r->record->content_type) + text_size(r->record->tags);
  if (!w)
    return n;
  n += w->text.len + w->reasoning.len + w->refusal.len + w->body.len;
  n += w->n_tool_calls * sizeof *w->tool_calls + _Alignof(max_align_t);
  for (size_t i = 0; i < w->n_tool_calls; i++)
    n += w->tool_calls[i].id.len + w->tool_calls[i].name.len +
         w->tool_calls[i].arguments.len;
  return n;
}

static struct str keep(char **to, struct str s)
{
  struct str kept = {*to, s.len};
  if (s.len)
    memcpy(*to, s.p, s.len);
  *to += s.len;
  return kept;
}

static const char *keep_text(char **to, const char *s)
{
  return s ? keep(to, (struct str){s, strlen(s) + 1}).p : NULL;
}

static void keep_buf(char **to, struct buf *b)
{
  struct str s = keep(to, buf_str(b));
  *b = (struct buf){.p = (char *)s.p, .len = s.len};
}

/* First of all, for their alignment. */
static void keep_calls(char **to, struct wire_result *w)
{
  size_t pad = (size_t) - (uintptr_t)*to % _Alignof(max_align_t);
  struct wire_tool_call *calls = (void *)(*to + pad);
  size_t bytes = w->n_tool_calls * sizeof *calls;
  memcpy(calls, w->tool_calls, bytes);
  *to += pad + bytes;
  for (size_t i = 0; i < w->n_tool_calls; i++) {
    keep_buf(to, &calls[i].id);
    keep_buf(to, &calls[i].name);
    keep_buf(to, &calls[i].arguments);
  }
  w->tool_calls = calls;
}

void response_push_copy(lua_State *L, const struct response *r)
{
  struct owned_response *o = lua_newuserdata(L, owned_size(r));
  char *to = o->bytes;
  o->box = (struct response_box){.response = &o->response};
  o->response = *r;
  o->record = *r->record;
  o->record.events = NULL;
  o->record.n_events = 0;
  o->record.http = NULL;
  if (r->wire) {
    o->wire = *r->wire;
    if (o->wire.n_tool_calls)
      keep_calls(&to, &o->wire);
    o->wire.text = keep(&to, r->wire->text);
    o->wire.reasoning = keep(&to, r->wire->reasoning);
    o->wire.refusal = keep(&to, r->wire->refusal);
    if (r->wire->body.p)
      o->wire.body = keep(&to, r->wire->body);
    o->response.wire = &o->wire;
  }
  o->response.headers = keep(&to, r->headers);
  o->response.error_type = keep_text(&to, r->error_type);
  o->record.message = keep_text(&to, r->record->message);
  o->record.content_type = keep_text(&to, r->record->content_type);
  o->record.tags = keep_text(&to, r->record->tags);
  o->response.record = &o->record;
  luaL_getmetatable(L, RESPONSE_MT);
  lua_setmetatable(L, -2);
}

/* Blames the function `level` calls above. */
static int fail(lua_State *L, int level, const char *words, const char *name)
{
  luaL_where(L, level);
  lua_pushfstring(L, words, name);
  lua_concat(L, 2);
  return lua_error(L);
}

static const struct response *shown_by(lua_State *L, struct response_box *box,
                                       bool text, int level)
{
  if (!box->response)
    fail(L, level,
         "this response is gone: a hook's response is valid until %s; keep the "
         "fields you need instead",
         "the hook returns");
  if (box->look)
    box->look(box, text);
  return box->response;
}

/* ---- values ---- */

static void push_str(lua_State *L, struct str s)
{
  if (s.p && s.len)
    lua_pushlstring(L, s.p, s.len);
  else
    lua_pushliteral(L, "");
}

/* nil for "unknown", which is negative. */
static void push_count(lua_State *L, int64_t n)
{
  if (n < 0)
    lua_pushnil(L);
  else
    lua_pushnumber(L, (lua_Number)n);
}

static void push_seconds(lua_State *L, bool known, double ns)
{
  if (known)
    lua_pushnumber(L, ns / 1e9);
  else
    lua_pushnil(L);
}

/* nil for "" and NULL. */
static void push_words(lua_State *L, const char *s)
{
  if (s && *s)
    lua_pushstring(L, s);
  else
    lua_pushnil(L);
}

/* ---- fields ---- */

typedef void push_field(lua_State *L, const struct response *r);

static void push_ok(lua_State *L, const struct response *r)
{
  lua_pushboolean(L, r->record->outcome == OUTCOME_OK);
}

static void push_outcome(lua_State *L, const struct response *r)
{
  lua_pushstring(L, outcome_name(r->record->outcome));
}

static void push_id(lua_State *L, const struct response *r)
{
  lua_pushnumber(L, (lua_Number)r->record->id);
}

static void push_session(lua_State *L, const struct response *r)
{
  lua_pushnumber(L, (lua_Number)r->record->session);
}

static void push_turn(lua_State *L, const struct response *r)
{
  lua_pushnumber(L, r->record->turn);
}

static void push_branch(lua_State *L, const struct response *r)
{
  lua_pushnumber(L, r->record->branch);
}

static void push_params(lua_State *L, const struct response *r)
{
  (void)r;
  vm_push_ref(L, REF_PARAMS);
}

static void push_data(lua_State *L, const struct response *r)
{
  (void)r;
  vm_push_ref(L, REF_DATA);
}

/* "a=x,b=y" */
static void push_tags(lua_State *L, const struct response *r)
{
  struct str rest = str_of(r->record->tags);
  lua_newtable(L);
  while (rest.len) {
    struct str value = str_split(&rest, ',');
    struct str name = str_split(&value, '=');
    push_str(L, name);
    push_str(L, value);
    lua_rawset(L, -3);
  }
}

static void push_status(lua_State *L, const struct response *r)
{
  push_count(L, r->record->status > 0 ? r->record->status : -1);
}

static void push_error(lua_State *L, const struct response *r)
{
  if (r->record->outcome == OUTCOME_OK)
    lua_pushnil(L);
  else if (r->record->message && *r->record->message)
    lua_pushstring(L, r->record->message);
  else
    lua_pushstring(L, outcome_text(r->record->outcome));
}

static void push_error_type(lua_State *L, const struct response *r)
{
  push_words(L, r->error_type);
}

static void push_text(lua_State *L, const struct response *r)
{
  push_str(L, r->wire ? r->wire->text : (struct str){NULL, 0});
}

static void push_reasoning(lua_State *L, const struct response *r)
{
  push_str(L, r->wire ? r->wire->reasoning : (struct str){NULL, 0});
}

static void push_refusal(lua_State *L, const struct response *r)
{
  push_str(L, r->wire ? r->wire->refusal : (struct str){NULL, 0});
}

static void push_body(lua_State *L, const struct response *r)
{
  if (r->wire && r->wire->body.p)
    push_str(L, r->wire->body);
  else
    lua_pushnil(L);
}

/* Some servers give calls no ids, without which nobody could say to which of
 * them a tool's answer belongs. */
static void push_call_id(lua_State *L, const struct response *r, size_t i)
{
  struct str id = buf_str(&r->wire->tool_calls[i].id);
  if (id.len)
    push_str(L, id);
  else
    lua_pushfstring(L, "call_%d_%d", (int)r->record->turn, (int)i + 1);
}

static void push_tool_calls(lua_State *L, const struct response *r)
{
  size_t n = r->wire ? r->wire->n_tool_calls : 0;
  if (!n) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    const struct wire_tool_call *call = &r->wire->tool_calls[i];
    lua_createtable(L, 0, 3);
    push_call_id(L, r, i);
    lua_setfield(L, -2, "id");
    push_str(L, buf_str(&call->name));
    lua_setfield(L, -2, "name");
    push_str(L, buf_str(&call->arguments));
    lua_setfield(L, -2, "arguments");
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_finish_reason(lua_State *L, const struct response *r)
{
  push_words(L, r->record->finish_reason);
}

static void set_count(lua_State *L, const char *name, int64_t n)
{
  push_count(L, n);
  lua_setfield(L, -2, name);
}

static void push_usage(lua_State *L, const struct response *r)
{
  const struct wire_usage *u;
  if (!r->wire || (r->wire->usage.prompt_tokens < 0 &&
                   r->wire->usage.completion_tokens < 0)) {
    lua_pushnil(L);
    return;
  }
  u = &r->wire->usage;
  lua_createtable(L, 0, 4);
  set_count(L, "prompt_tokens", u->prompt_tokens);
  set_count(L, "completion_tokens", u->completion_tokens);
  set_count(L, "cached_tokens", u->cached_tokens);
  set_count(L, "reasoning_tokens", u->reasoning_tokens);
}

static void push_tokens(lua_State *L, const struct response *r)
{
  push_count(L, r->record->tokens);
}

static void push_token_source(lua_State *L, const struct response *r)
{
  if (r->record->token_source == TOKENS_NONE)
    lua_pushnil(L);
  else
    lua_pushstring(L, token_source_name(r->record->token_source));
}

static void push_chunks(lua_State *L, const struct response *r)
{
  lua_pushnumber(L, r->record->chunks);
}

static void push_attempts(lua_State *L, const struct response *r)
{
  lua_pushnumber(L, r->record->attempts);
}

static void push_lower(lua_State *L, struct str name)
{
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < name.len; i++) {
    char c = name.p[i];
    luaL_addchar(&b, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
  }
  luaL_pushresult(&b);
}

/* By name in lower case; of a name that comes twice, joined by commas. */
static void push_headers(lua_State *L, const struct response *r)
{
  struct str rest = r->headers;
  lua_newtable(L);
  while (rest.p && rest.len) {
    struct str value = str_split(&rest, '\n');
    struct str name = str_trim(str_split(&value, ':'));
    if (!name.len || !value.p)
      continue;
    value = str_trim(value);
    push_lower(L, name);
    lua_pushvalue(L, -1);
    lua_rawget(L, -3);
    if (lua_isnil(L, -1)) {
      push_str(L, value);
    } else {
      lua_pushvalue(L, -1);
      lua_pushliteral(L, ", ");
      push_str(L, value);
      lua_concat(L, 3);
    }
    lua_remove(L, -2);
    lua_rawset(L, -3);
  }
}

static void push_queue(lua_State *L, const struct response *r)
{
  uint64_t ns = 0;
  bool known = record_queue(r->record, &ns);
  push_seconds(L, known, (double)ns);
}

static void push_connect(lua_State *L, const struct response *r)
{
  const struct record *c = r->record;
  bool known = c->sent_ns && c->connected_ns >= c->sent_ns;
  push_seconds(L, known, (double)(c->connected_ns - c->sent_ns));
}

static void push_ttfb(lua_State *L, const struct response *r)
{
  uint64_t ns = 0;
  bool known = record_ttfb(r->record, &ns);
  push_seconds(L, known, (double)ns);
}

static void push_ttft(lua_State *L, const struct response *r)
{
  uint64_t ns = 0;
  bool known = record_ttft(r->record, &ns);
  push_seconds(L, known, (double)ns);
}

static void push_tpot(lua_State *L, const struct response *r)
{
  double ns = 0;
  bool known = record_tpot(r->record, &ns);
  push_seconds(L, known, ns);
}

static void push_e2el(lua_State *L, const struct response *r)
{
  uint64_t ns = 0;
  bool known = record_e2el(r->record, &ns);
  push_seconds(L, known, (double)ns);
}

static int json_l(lua_State *L)
{
  const struct response *r =
      shown_by(L, luaL_checkudata(L, 1, RESPONSE_MT), true, 1);
  size_t at = 0;
  struct str text = {NULL, 0};
  if (r->wire)
    text = r->wire->text.len ? r->wire->text : r->wire->body;
  if (json_push(L, text, true, &at) == 0)
    return 1;
  lua_pushnil(L);
  lua_pushfstring(L, "the answer is not valid JSON (at byte %d)", (int)at + 1);
  return 2;
}

static void push_json(lua_State *L, const struct response *r)
{
  (void)r;
  lua_pushcfunction(L, json_l);
}

static const struct {
  const char *name;
  push_field *push;
} fields[] = {
    {"ok", push_ok},
    {"outcome", push_outcome},
    {"id", push_id},
    {"session", push_session},
    {"turn", push_turn},
    {"branch", push_branch},
    {"params", push_params},
    {"data", push_data},
    {"tags", push_tags},
    {"status", push_status},
    {"error", push_error},
    {"error_type", push_error_type},
    {"text", push_text},
    {"reasoning", push_reasoning},
    {"refusal", push_refusal},
    {"body", push_body},
    {"tool_calls", push_tool_calls},
    {"finish_reason", push_finish_reason},
    {"usage", push_usage},
    {"tokens", push_tokens},
    {"token_source", push_token_source},
    {"chunks", push_chunks},
    {"headers", push_headers},
    {"attempts", push_attempts},
    {"queue", push_queue},
    {"connect", push_connect},
    {"ttfb", push_ttfb},
    {"ttft", push_ttft},
    {"tpot", push_tpot},
    {"e2el", push_e2el},
    {"json", push_json},
};

static bool is_text(const char *name)
{
  return strcmp(name, "text") == 0 || strcmp(name, "reasoning") == 0;
}

/* Upvalue 1: name -> number of the field, negative for texts; 2: the one
 * response of all hooks, which is known sooner than by its metatable; 3: how
 * far up the script is. */
static int index_l(lua_State *L)
{
  void *ud = lua_touserdata(L, 1);
  int level = (int)lua_tointeger(L, lua_upvalueindex(3));
  lua_Integer i;
  if (!ud || ud != lua_touserdata(L, lua_upvalueindex(2)))
    ud = luaL_checkudata(L, 1, RESPONSE_MT);
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  i = lua_tointeger(L, -1);
  if (i == 0)
    return fail(L, level, "a response has no field '%s'",
                lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2)
                                              : luaL_typename(L, 2));
  fields[(i < 0 ? -i : i) - 1].push(L, shown_by(L, ud, i < 0, level));
  return 1;
}

void response_push_index(lua_State *L, int level)
{
  lua_newtable(L);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    lua_Integer number = (lua_Integer)i + 1;
    lua_pushinteger(L, is_text(fields[i].name) ? -number : number);
    lua_setfield(L, -2, fields[i].name);
  }
  vm_push_ref(L, REF_RESPONSE);
  lua_pushinteger(L, level);
  lua_pushcclosure(L, index_l, 3);
}

void response_set_index(lua_State *L)
{
  luaL_getmetatable(L, RESPONSE_MT);
  lua_insert(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
}

void bind_response(lua_State *L)
{
  luaL_newmetatable(L, RESPONSE_MT);
  lua_pushliteral(L, RESPONSE_MT);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
  response_push(L);
  vm_set_ref(L, REF_RESPONSE);
  response_push_index(L, 1);
  response_set_index(L);
}
