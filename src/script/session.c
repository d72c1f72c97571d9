#include "script/session.h"

#include <lauxlib.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "script/errors.h"
#include "script/session_impl.h"
#include "script/vm.h"

struct session_pool *session_pool_new(const struct session_config *c)
{
  struct session_pool *p = mem_new(struct session_pool);
  p->config = *c;
  list_init(&p->idle);
  list_init(&p->live);
  list_init(&p->ready);
  return p;
}

void session_pool_free(struct session_pool *p)
{
  struct list *node;
  if (!p)
    return;
  alarm_stop(&p->more);
  while ((node = list_pop(&p->idle)) || (node = list_pop(&p->live))) {
    struct session *s = LIST_ENTRY(node, struct session, node);
    buf_free(&s->reason);
    mem_free(s);
  }
  buf_free(&p->reason);
  request_free(&p->request);
  mem_free(p);
}

struct session *session_take(struct session_pool *p,
                             const struct session_item *item)
{
  struct list *node = list_pop(&p->idle);
  struct session *s =
      node ? LIST_ENTRY(node, struct session, node) : mem_new(struct session);
  struct buf reason = s->reason;
  *s = (struct session){.pool = p,
                        .item = *item,
                        .root = s,
                        .reason = reason,
                        .co_ref = LUA_NOREF,
                        .env_ref = LUA_NOREF};
  buf_reset(&s->reason);
  list_init(&s->tree);
  return s;
}

void session_give_back(struct session *s)
{
  list_remove(&s->node);
  list_append(&s->pool->idle, &s->node);
}

/* After every way into Lua: does the script want the run to end? The table of
 * errors has a lock, so it is asked only when there is a new one. */
void session_watch_script(struct session_pool *p, bool failed)
{
  const struct session_config *c = &p->config;
  const char *why = vm_stop_reason(c->vm);
  char text[96];
  if (p->stopped)
    return;
  if (vm_dead(c->vm)) {
    why = vm_error(c->vm);
  } else if (failed && script_errors_total(c->errors) > c->max_errors) {
    snprintf(text, sizeof text, "more than %llu script errors",
             (unsigned long long)c->max_errors);
    why = text;
  }
  if (!why)
    return;
  p->stopped = true;
  c->stop(why, c->ud);
}

static void prefilled(struct session *s)
{
  struct session *root = s->root;
  if (root->prefilled)
    return;
  root->prefilled = true;
  s->pool->config.prefilled(s->pool->config.ud);
}

void session_end_item(struct session *s)
{
  struct session_pool *p = s->pool;
  struct session_item item = s->item;
  prefilled(s);
  session_give_back(s);
  p->config.ended(&item, p->config.ud);
}

void session_first_token(void *ud)
{
  prefilled(ud);
}

static struct vm_item vm_item(const struct session *s)
{
  return (struct vm_item){
      .id = s->item.id, .phase = s->item.phase, .stage = s->item.stage_label};
}

/* ---- a request and its answer ---- */

struct response session_response(struct exchange *x)
{
  const struct record *r = exchange_record(x);
  const struct wire_result *w = exchange_result(x);
  return (struct response){
      .record = r,
      .wire = r->status ? w : NULL,
      .headers = exchange_header_lines(x),
      .error_type = w->error_type[0] ? w->error_type : NULL,
  };
}

/* on_response's word on it. Returns whether the hook itself failed. */
static bool judge(struct session *s, struct exchange *x)
{
  struct session_pool *p = s->pool;
  struct record *r = exchange_record(x);
  const struct response response = session_response(x);
  struct verdict v = {.reason = p->reason};
  struct vm_item item = vm_item(s);
  bool broken = vm_on_response(p->config.vm, &item, &response, &v) == VM_FAILED;
  if (broken) {
    r->outcome = OUTCOME_SCRIPT;
    r->message = vm_error(p->config.vm);
  } else if (v.failed && r->outcome == OUTCOME_OK) {
    r->outcome = OUTCOME_CHECK;
    r->message = buf_cstr(&v.reason);
  }
  p->reason = v.reason;
  return broken;
}

void session_settle(struct session *s, struct exchange *x)
{
  struct session_pool *p = s->pool;
  bool failed = exchange_record(x)->outcome == OUTCOME_SCRIPT;
  if (p->config.judged && !exchange_record(x)->http)
    failed = judge(s, x) || failed;
  session_watch_script(p, failed);
  p->config.record(exchange_record(x), p->config.ud);
}

/* ---- request scenarios ---- */

/* A request that the script could not even describe. */
static void fail_unsent(struct session *s)
{
  struct session_pool *p = s->pool;
  uint64_t now = clock_ns();
  const struct record r = {
      .id = s->item.id,
      .session = s->item.id,
      .turn = 1,
      .phase = s->item.phase,
      .stage = s->item.stage,
      .due_ns = s->item.due_ns,
      .capped = s->item.capped,
      .sent_ns = now,
      .done_ns = now,
      .outcome = OUTCOME_SCRIPT,
      .tokens = TOKENS_UNKNOWN,
      .prompt_tokens = TOKENS_UNKNOWN,
      .cached_tokens = TOKENS_UNKNOWN,
      .reasoning_tokens = TOKENS_UNKNOWN,
      .planned_prompt_tokens = TOKENS_UNKNOWN,
      .retry_after_s = -1,
      .message = vm_error(p->config.vm),
  };
  p->config.record(&r, p->config.ud);
}

static void on_request_done(struct exchange *x, void *ud)
{
  session_settle(ud, x);
  session_end_item(ud);
}

static void send_plain(struct session *s, struct exchange *x, uint64_t due_ns)
{
  const struct exchange_plan plan = {
      .id = s->item.id,
      .session = s->item.id,
      .due_ns = due_ns,
      .turn = 1,
      .phase = s->item.phase,
      .stage = s->item.stage,
      .capped = s->item.capped,
  };
  s->exchange = NULL;
  exchange_start(x, &plan, session_first_token, on_request_done, s);
}

/* It was not due before. */
static void on_delay_over(struct alarm *a, void *ud)
{
  struct session *s = ud;
  (void)a;
  send_plain(s, s->exchange, clock_ns());
}

/* The request is ready: now, or after the time that it asks for. */
static void send_or_wait(struct session *s, struct exchange *x)
{
  uint64_t delay_ns = exchange_slot(x)->delay_ns;
  s->exchange = x;
  if (delay_ns)
    alarm_set(&s->alarm, s->pool->config.loop, delay_ns, on_delay_over, s);
  else
    send_plain(s, x, s->item.due_ns);
}

/* Requests that wait will not be sent any more. */
static void drop_waiting(struct session_pool *p)
{
  struct list *node = p->live.next, *next;
  for (; node != &p->live; node = next) {
    struct session *s = LIST_ENTRY(node, struct session, node);
    next = node->next;
    if (!s->exchange)
      continue;
    alarm_stop(&s->alarm);
    exchange_drop(s->exchange);
    session_end_item(s);
  }
}

static void start_request(struct session *s)
{
  struct session_pool *p = s->pool;
  struct exchange *x = exchange_take(p->config.exchanges);
  struct vm_item item = vm_item(s);
  list_append(&p->live, &s->node);
  switch (vm_request(p->config.vm, &item, exchange_slot(x))) {
  case VM_OK: send_or_wait(s, x); break;
  case VM_FAILED:
    exchange_drop(x);
    fail_unsent(s);
    session_watch_script(p, true);
    session_end_item(s);
    break;
  case VM_END:
    exchange_drop(x);
    p->config.exhausted(p->config.ud);
    session_end_item(s);
    break;
  }
}

/* ---- of either kind ---- */

void session_start(struct session_pool *p, const struct session_item *item)
{
  struct session *s = session_take(p, item);
  p->cancelled = false;
  if (p->config.coroutines)
    session_begin(s);
  else
    start_request(s);
}

void session_cancel_all(struct session_pool *p, const char *why)
{
  struct list *node = p->live.next, *next;
  p->cancelled = true;
  p->why = why;
  if (!p->config.coroutines) {
    drop_waiting(p);
    exchange_cancel_all(p->config.exchanges, why);
    return;
  }
  for (; node != &p->live; node = next) {
    next = node->next;
    session_kill(LIST_ENTRY(node, struct session, node), SESSION_CUT, why);
  }
}
