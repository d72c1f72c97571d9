/* Session scenarios: coroutines that are resumed, do what they asked for when
 * they yield, and end. Nobody else resumes them. */
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "script/bindings.h"
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

/* ---- the end ---- */

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
  session_end_item(s);
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
    session_give_back(s);
  if (root->dead && !root->exchange && list_empty(&root->tree))
    end_root(root);
}

static void hang_up(struct session *root, const char *why)
{
  struct list *node = root->tree.next, *next;
  for (; node != &root->tree; node = next) {
    struct session *s = LIST_ENTRY(node, struct session, node);
    next = node->next;
    if (s->exchange)
      exchange_cancel(s->exchange, OUTCOME_CANCELLED, "its session ended");
  }
  if (root->exchange)
    exchange_cancel(root->exchange, OUTCOME_CANCELLED, why);
}

/* No coroutine of the session runs again. What is on the wire comes to its
 * end, and then the session does. */
static void end_tree(struct session *root, enum session_end end,
                     const char *why)
{
  struct list *node = root->tree.next, *next;
  root->end = end;
  buf_reset(&root->reason);
  buf_adds(&root->reason, why);
  for (; node != &root->tree; node = next) {
    next = node->next;
    bury(LIST_ENTRY(node, struct session, node));
  }
  bury(root);
}

/* End the whole session, whoever of it found the reason. */
void session_kill(struct session *root, enum session_end end, const char *why)
{
  hang_up(root, why);
  if (!root->dead)
    end_tree(root, end, why);
}

/* ---- on and on ---- */

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
  const struct response r = session_response(h->exchange);
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
  session_kill(h->to->root, SESSION_FAILED, vm_error(vm));
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
    session_kill(s, SESSION_FAILED, kept);
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

/* ---- requests ---- */

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
  session_kill(s->root, SESSION_FAILED, why);
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
  if (why && p->cancelled) {
    session_kill(s->root, SESSION_CUT, why);
    return;
  }
  if (why) { /* what other branches have sent counts, and may end */
    end_tree(s->root, SESSION_CUT, why);
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
  exchange_start(s->exchange, &plan, session_first_token, on_turn_done, s);
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
    session_kill(s->root, SESSION_FAILED, vm_error(vm));
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
    session_kill(root, SESSION_FAILED, why);
    mem_free(why);
    break;
  }
  case WAIT_NOTHING:
    vm_misused(s->pool->config.vm, HOOK_SESSION, s->co, own);
    session_watch_script(s->pool, true);
    session_kill(root, SESSION_FAILED, vm_error(s->pool->config.vm));
    break;
  }
}

static void resume(struct session *s)
{
  struct session_pool *p = s->pool;
  struct vm *vm = p->config.vm;
  int n_args = s->n_args, status;
  s->waiting = WAIT_NOTHING;
  vm_set_item(vm,
              &(struct vm_item){s->item.id, s->item.phase, s->item.stage_label},
              s->root->env_ref);
  status = vm_resume(vm, HOOK_SESSION, s->co, n_args, s->rng);
  vm_set_item(vm, &(struct vm_item){.phase = s->item.phase}, LUA_NOREF);
  /* First of all: the end of this one may be the beginning of another. */
  session_watch_script(p, status > LUA_YIELD);
  if (status == LUA_YIELD)
    yielded(s);
  else if (status == 0)
    finished(s);
  else
    session_kill(s->root, SESSION_FAILED, vm_error(vm));
  session_watch_script(p, false);
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
  session_settle(s, x);
  s->root->bodies -= exchange_slot(x)->body.len;
  s->exchange = NULL;
  if (s->dead)
    bury(s);
  else if (hand_over(hand_response, &h))
    make_ready(s, 1);
  work_off(s->pool);
}

/* ---- the start ---- */

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

void session_begin(struct session *s)
{
  struct session_pool *p = s->pool;
  s->started_ns = clock_ns();
  list_append(&p->live, &s->node);
  if (vm_call(p->config.vm, HOOK_SESSION, open_session, s) == VM_OK) {
    make_ready(s, 1);
    work_off(p);
  } else {
    session_kill(s, SESSION_FAILED, vm_error(p->config.vm));
    session_watch_script(p, true);
  }
}

void session_branch(struct session *s, lua_State *L, uint32_t index)
{
  struct session_pool *p = s->pool;
  struct session *b = session_take(p, &s->item);
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
