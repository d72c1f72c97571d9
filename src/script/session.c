#include "script/session.h"

#include <assert.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "script/bindings.h"
#include "script/errors.h"
#include "script/scenario.h"
#include "script/session_impl.h"
#include "script/vm.h"

/* A session's requests are numbered within it: unique over the run, and the
 * same on any number of threads. */
#define TURN_BITS 16
#define TURNS_MAX ((1u << TURN_BITS) - 1)
/* Coroutines resumed in one turn of the loop: sessions that never wait must
 * not keep it from sockets, clocks and the order to stop. */
#define RESUMES 512

static void end_thought(struct session *s);
static void work_off(struct session_pool *p);
static void on_more(struct alarm *a, void *ud);
static void on_turn_done(struct exchange *x, void *ud);

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

static struct session *take(struct session_pool *p,
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

static void give_back(struct session *s)
{
  list_remove(&s->node);
  list_append(&s->pool->idle, &s->node);
}

/* After every way into Lua: does the script want the run to end? The table of
 * errors has a lock, so it is asked only when there is a new one. */
static void watch_script(struct session_pool *p, bool failed)
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

static void end_item(struct session *s)
{
  struct session_pool *p = s->pool;
  struct session_item item = s->item;
  prefilled(s);
  give_back(s);
  p->config.ended(&item, p->config.ud);
}

static void on_first_token(void *ud)
{
  prefilled(ud);
}

static struct vm_item vm_item(const struct session *s)
{
  return (struct vm_item){
      .id = s->item.id, .phase = s->item.phase, .stage = s->item.stage_label};
}

/* ---- a request and its answer ---- */

static struct response response_of(struct exchange *x)
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
  const struct response response = response_of(x);
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

static void settle(struct session *s, struct exchange *x)
{
  struct session_pool *p = s->pool;
  bool failed = exchange_record(x)->outcome == OUTCOME_SCRIPT;
  if (p->config.judged && !exchange_record(x)->http)
    failed = judge(s, x) || failed;
  watch_script(p, failed);
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
  settle(ud, x);
  end_item(ud);
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
  exchange_start(x, &plan, on_first_token, on_request_done, s);
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
    end_item(s);
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
    watch_script(p, true);
    end_item(s);
    break;
  case VM_END:
    exchange_drop(x);
    p->config.exhausted(p->config.ud);
    end_item(s);
    break;
  }
}

/* ---- session scenarios: the end ---- */

static void forget_lua(struct session *s)
{
  struct vm *vm = s->pool->config.vm;
  if (s->box)
    s->box->session = NULL;
  if (vm_dead(vm))
    return;
  luaL_unref(vm_state(vm), LUA_REGISTRYINDEX, s->co_ref);
  luaL_unref(vm_state(vm), LUA_REGISTRYINDEX, s->env_ref);
}

/* It found that there is nothing left to do, and stopped the run. */
static bool did_nothing(const struct session *s)
{
  return !s->turns && !s->has_waited && s->end == SESSION_COMPLETED &&
         vm_stop_reason(s->pool->config.vm);
}

static void end_root(struct session *s)
{
  struct session_pool *p = s->pool;
  const struct session_record r = {
      .id = s->item.id,
      .phase = s->item.phase,
      .stage = s->item.stage,
      .end = s->end,
      .turns = s->turns,
      .planned = s->planned,
      .started_ns = s->started_ns,
      .ended_ns = clock_ns(),
      .think_ns = s->think_ns,
      .reason = buf_cstr(&s->reason),
  };
  if (!did_nothing(s))
    p->config.session(&r, p->config.ud);
  end_item(s);
}

/* This coroutine will not run again. Its memory goes when nothing of the
 * session is on the wire any more. */
static void bury(struct session *s)
{
  struct session *root = s->root;
  if (!s->dead) {
    s->dead = true;
    end_thought(s);
    alarm_stop(&s->alarm);
    list_remove(&s->ready);
    forget_lua(s);
  }
  if (s->exchange)
    return;
  if (s != root)
    give_back(s);
  if (root->dead && !root->exchange && list_empty(&root->tree))
    end_root(root);
}

/* End the whole session, whoever of it found the reason. */
static void kill_tree(struct session *root, enum session_end end,
                      const char *why)
{
  struct list *node = root->tree.next, *next;
  if (root->dead)
    return;
  root->end = end;
  buf_reset(&root->reason);
  buf_adds(&root->reason, why);
  for (; node != &root->tree; node = next) {
    struct session *s = LIST_ENTRY(node, struct session, node);
    next = node->next;
    if (s->exchange)
      exchange_cancel(s->exchange, OUTCOME_CANCELLED, "its session ended");
    bury(s);
  }
  if (root->exchange)
    exchange_cancel(root->exchange, OUTCOME_CANCELLED, why);
  bury(root);
}

/* ---- session scenarios: on and on ---- */

static void make_ready(struct session *s, int n_args)
{
  s->n_args = n_args;
  list_append(&s->pool->ready, &s->ready);
}

/* What a protected function is to move to a coroutine. */
struct handover {
  struct session *to, *from;
  struct exchange *exchange;
};

static int hand_response(lua_State *L)
{
  struct handover *h = vm_ud(L);
  const struct response r = response_of(h->exchange);
  response_push_copy(L, &r);
  lua_xmove(L, h->to->co, 1);
  return 0;
}

static int hand_result(lua_State *L)
{
  struct handover *h = vm_ud(L);
  lua_State *co = h->from->co;
  if (lua_gettop(co) > 0) {
    lua_settop(co, 1);
    lua_xmove(co, L, 1);
  } else
    lua_pushnil(L);
  session_keep_result(L, h->to, h->from->index);
  return 0;
}

static int hand_results(lua_State *L)
{
  struct handover *h = vm_ud(L);
  int n = session_push_results(L, h->to);
  lua_xmove(L, h->to->co, n);
  make_ready(h->to, n);
  return 0;
}

/* False, and the session ended, when Lua had no memory for it. */
static bool hand_over(int (*fn)(lua_State *L), struct handover *h)
{
  struct vm *vm = h->to->pool->config.vm;
  if (vm_call(vm, HOOK_SESSION, fn, h) == VM_OK)
    return true;
  kill_tree(h->to->root, SESSION_FAILED, vm_error(vm));
  return false;
}

/* A session may end as Lua functions fail: return nil, "why". */
static const char *returned_failure(struct session *s)
{
  lua_State *co = s->co;
  bool failed = lua_gettop(co) > 1 && !lua_toboolean(co, 1) &&
                lua_type(co, 2) == LUA_TSTRING;
  return failed ? lua_tostring(co, 2) : NULL;
}

static bool is_below(const struct session *s, const struct session *above)
{
  while (s && s != above)
    s = s->parent;
  return s != NULL;
}

/* The branches of s, and theirs, end where they are. */
static void drop_branches(struct session *s)
{
  struct list *node = s->root->tree.next, *next;
  for (; node != &s->root->tree; node = next) {
    struct session *b = LIST_ENTRY(node, struct session, node);
    next = node->next;
    if (b->dead || !is_below(b->parent, s))
      continue;
    if (b->exchange)
      exchange_cancel(b->exchange, OUTCOME_CANCELLED, "another branch won");
    bury(b);
  }
  s->open_branches = 0;
}

static void finished(struct session *s)
{
  struct session *parent = s->parent;
  struct handover h = {.to = parent, .from = s};
  const char *why = parent ? NULL : returned_failure(s);
  bool won = parent && parent->racing && lua_gettop(s->co) > 0 &&
             lua_toboolean(s->co, 1);
  if (why) {
    char *kept = mem_strdup(why);
    kill_tree(s, SESSION_FAILED, kept);
    mem_free(kept);
    return;
  }
  if (!parent) {
    bury(s);
    return;
  }
  if (!hand_over(hand_result, &h))
    return;
  if (won)
    parent->winner = s->index;
  bury(s);
  h.from = NULL;
  parent->open_branches--;
  if (won)
    drop_branches(parent);
  if (parent->open_branches == 0)
    hand_over(hand_results, &h);
}

/* ---- session scenarios: requests ---- */

/* NULL, or why this session may send nothing more. What s:http does is not
 * one of the run's requests, and has no bound. */
static const char *refusal(struct session *s, bool http)
{
  struct session_pool *p = s->pool;
  if (p->cancelled)
    return p->why;
  if (http)
    return NULL;
  if (p->config.max_requests && p->requests >= p->config.max_requests)
    return "the limit of requests was reached";
  return s->root->turns >= TURNS_MAX ? "a session has 65535 requests at most"
                                     : NULL;
}

/* All branches together may have as much on the wire as a script has memory,
 * whose cap these bytes do not see. */
static bool too_much(const struct session *s)
{
  const struct session_pool *p = s->pool;
  return s->root->bodies + p->request.body.len > vm_memory_max(p->config.vm);
}

static void fail_body(struct session *s)
{
  struct vm *vm = s->pool->config.vm;
  char why[128];
  snprintf(why, sizeof why,
           "not enough memory for the bodies of one session's requests (the "
           "cap is %zu MiB; see --lua-memory)",
           vm_memory_max(vm) >> 20);
  kill_tree(s->root, SESSION_FAILED, why);
}

static struct exchange_plan plan_request(struct session *s, bool http)
{
  struct session *root = s->root;
  uint32_t turn = http ? root->turns : ++root->turns;
  bool punctual = !root->has_waited;
  return (struct exchange_plan){
      .id = (s->item.id << TURN_BITS) + turn,
      .session = s->item.id,
      .turn = turn,
      .branch = s->branch,
      .phase = s->item.phase,
      .stage = s->item.stage,
      /* What a session does at once was due when it was; all else is when
       * the script gets to it. */
      .due_ns = punctual ? s->item.due_ns : clock_ns(),
      .capped = punctual && s->item.capped,
  };
}

/* What the script described is in the pool's request; it changes places with
 * the empty one of an exchange. */
static void send_request(struct session *s)
{
  struct session_pool *p = s->pool;
  bool http = p->request.http.len > 0;
  const char *why = refusal(s, http);
  struct exchange_plan plan;
  struct request swapped;
  if (why) {
    kill_tree(s->root, SESSION_CUT, why);
    return;
  }
  if (too_much(s)) {
    fail_body(s);
    return;
  }
  /* With the last one, so that no session begins that cannot send any. */
  if (!http && ++p->requests == p->config.max_requests)
    p->config.exhausted(p->config.ud);
  plan = plan_request(s, http);
  s->root->has_waited = true;
  s->root->bodies += p->request.body.len;
  s->exchange = exchange_take(p->config.exchanges);
  swapped = *exchange_slot(s->exchange);
  *exchange_slot(s->exchange) = p->request;
  p->request = swapped;
  exchange_start(s->exchange, &plan, on_first_token, on_turn_done, s);
}

/* Time in which several branches think side by side counts once. */
static void think(struct session *s)
{
  struct session *root = s->root;
  if (!root->thinking++)
    root->thought_ns = clock_ns();
}

/* It is over, or was cut short. */
static void end_thought(struct session *s)
{
  struct session *root = s->root;
  if (s->waiting != WAIT_THINK)
    return;
  s->waiting = WAIT_NOTHING;
  if (!--root->thinking)
    root->think_ns += ns_since(root->thought_ns, clock_ns());
}

static void on_alarm(struct alarm *a, void *ud)
{
  struct session *s = ud;
  (void)a;
  end_thought(s);
  make_ready(s, 0);
  work_off(s->pool);
}

static int open_branches(lua_State *L)
{
  session_open_branches(L, vm_ud(L));
  return 0;
}

/* The functions of a parallel call lie on top of the coroutine. */
static void start_branches(struct session *s)
{
  struct vm *vm = s->pool->config.vm;
  if (vm_call(vm, HOOK_SESSION, open_branches, s) != VM_OK)
    kill_tree(s->root, SESSION_FAILED, vm_error(vm));
}

/* What a coroutine asked for is done after it has yielded, never before: a
 * yield may fail (from within string.gsub, say), and then nothing has
 * happened. */
static void yielded(struct session *s)
{
  static const char own[] =
      "the session yielded by itself: coroutine.yield has nobody to yield to";
  struct session *root = s->root;
  switch (s->waiting) {
  case WAIT_EXCHANGE: send_request(s); break;
  case WAIT_BRANCHES: start_branches(s); break;
  case WAIT_THINK: think(s); /* fall through */
  case WAIT_ALARM:
    root->has_waited = true;
    alarm_set(&s->alarm, s->pool->config.loop, s->wait_ns, on_alarm, s);
    break;
  case WAIT_FAIL: {
    char *why = mem_strdup(buf_cstr(&s->pool->reason));
    kill_tree(root, SESSION_FAILED, why);
    mem_free(why);
    break;
  }
  case WAIT_NOTHING: kill_tree(root, SESSION_FAILED, own); break;
  }
}

static void resume(struct session *s)
{
  struct session_pool *p = s->pool;
  struct vm *vm = p->config.vm;
  int n_args = s->n_args, status;
  s->waiting = WAIT_NOTHING;
  vm_set_item(vm, s->item.id, s->item.phase, s->root->env_ref);
  status = vm_resume(vm, HOOK_SESSION, s->co, n_args, s->rng);
  vm_set_item(vm, 0, s->item.phase, LUA_NOREF);
  /* First of all: the end of this one may be the beginning of another. */
  watch_script(p, status > LUA_YIELD);
  if (status == LUA_YIELD)
    yielded(s);
  else if (status == 0)
    finished(s);
  else
    kill_tree(s->root, SESSION_FAILED, vm_error(vm));
  watch_script(p, false);
}

/* Resume whoever is ready. Never from within itself: a resumed session makes
 * others ready, and the stack must not grow with that. */
static void work_off(struct session_pool *p)
{
  struct list *node = NULL;
  if (p->draining)
    return;
  p->draining = true;
  for (int n = 0; n < RESUMES && (node = list_pop(&p->ready)); n++)
    resume(LIST_ENTRY(node, struct session, ready));
  p->draining = false;
  if (node)
    alarm_set(&p->more, p->config.loop, 0, on_more, p);
}

static void on_more(struct alarm *a, void *ud)
{
  (void)a;
  work_off(ud);
}

static void on_turn_done(struct exchange *x, void *ud)
{
  struct session *s = ud;
  struct handover h = {.to = s, .exchange = x};
  settle(s, x);
  s->root->bodies -= exchange_slot(x)->body.len;
  s->exchange = NULL;
  if (s->dead)
    bury(s);
  else if (hand_over(hand_response, &h))
    make_ready(s, 1);
  work_off(s->pool);
}

/* ---- session scenarios: the start ---- */

/* session(s), ready to be resumed. */
static int open_session(lua_State *L)
{
  struct session *s = vm_ud(L);
  struct vm *vm = s->pool->config.vm;
  s->co = lua_newthread(L);
  s->co_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  vm_push_hook(vm, HOOK_SESSION);
  session_push(L, s);
  rng_init(s->rng, vm_seed(vm),
           s->item.phase == PHASE_WARMUP ? RNG_WARMUP : RNG_REQUEST,
           s->item.id);
  lua_xmove(L, s->co, 2);
  return 0;
}

static void start_session(struct session *s)
{
  struct session_pool *p = s->pool;
  s->started_ns = clock_ns();
  list_append(&p->live, &s->node);
  if (vm_call(p->config.vm, HOOK_SESSION, open_session, s) == VM_OK) {
    make_ready(s, 1);
    work_off(p);
  } else {
    kill_tree(s, SESSION_FAILED, vm_error(p->config.vm));
    watch_script(p, true);
  }
}

void session_branch(struct session *s, lua_State *L, uint32_t index)
{
  struct session_pool *p = s->pool;
  struct session *b = take(p, &s->item);
  uint64_t seed = rng_u64(s->rng);
  b->root = s->root;
  b->parent = s;
  b->index = index;
  b->branch = ++s->root->next_branch;
  s->open_branches++;
  list_append(&s->root->tree, &b->node);
  b->co = lua_newthread(L);
  b->co_ref = luaL_ref(L, LUA_REGISTRYINDEX);
  session_push(L, b);
  rng_init(b->rng, seed, RNG_BRANCH, index);
  lua_xmove(L, b->co, 2);
  make_ready(b, 1);
}

void session_start(struct session_pool *p, const struct session_item *item)
{
  struct session *s = take(p, item);
  p->cancelled = false;
  if (p->config.coroutines)
    start_session(s);
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
    kill_tree(LIST_ENTRY(node, struct session, node), SESSION_CUT, why);
  }
}
