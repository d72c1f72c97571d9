#include <lauxlib.h>
#include <lua.h>

#include "net/fetch.h"
#include "script/bindings.h"
#include "script/http_table.h"
#include "script/vm_impl.h"

/* run:http{…} -> response: as s:http, but it blocks; before and after the load
 *                                                    [-0, +1, v] */

static void ask(const struct vm_http *h, const struct request *q,
                struct fetch *f)
{
  struct buf url = {0};
  struct xfer_headers *own = request_headers(q, h->base_url, h->headers);
  struct fetch_request r = {
      .net = h->net,
      .http = {.method = q->method,
               .headers = own ? own : h->headers,
               .body = buf_str(&q->body),
               .keep_headers = true,
               .total_ns = q->timeout_ns ? q->timeout_ns : h->timeout_ns},
      .wire = {.raw = true, .keep_body = true},
  };
  request_url(q, h->base_url, h->query, &url);
  r.http.url = buf_cstr(&url);
  fetch_run(f, &r);
  xfer_headers_unref(own);
  buf_free(&url);
}

static void push_answer(lua_State *L, const struct fetch *f)
{
  const struct record record = {
      .outcome = f->outcome,
      .status = f->info.status,
      .sent_ns = f->info.sent_ns,
      .connected_ns = f->info.connected_ns,
      .headers_ns = f->info.headers_ns,
      .first_byte_ns = f->info.first_byte_ns,
      .done_ns = f->info.done_ns,
      .due_ns = f->info.sent_ns,
      .attempts = 1 + f->info.retries,
      .tokens = TOKENS_UNKNOWN,
      .message = f->message,
      .content_type = f->info.content_type,
  };
  const struct response r = {
      .record = &record,
      .wire = f->info.status ? f->result : NULL,
      .headers = buf_str(&f->header_lines),
  };
  response_push_copy(L, &r);
}

static int http_l(lua_State *L)
{
  struct vm *vm = vm_of(L);
  struct fetch f;
  if (!vm->http || (vm->hook != HOOK_SETUP && vm->hook != HOOK_TEARDOWN))
    return luaL_error(L, "run:http is for setup and teardown; sessions have "
                         "s:http");
  lua_settop(L, 2);
  http_table_read(L, "run:http", &vm->http_request);
  vm_guard(vm);
  ask(vm->http, &vm->http_request, &f);
  vm_unguard(vm);
  push_answer(L, &f);
  fetch_free(&f);
  return 1;
}

void run_http_set(lua_State *L)
{
  lua_pushcfunction(L, http_l);
  lua_setfield(L, -2, "http");
}
