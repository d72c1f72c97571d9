#include "mock/engine.h"

#include <math.h>

#include "base/clock.h"

static void on_turn(struct mock_deadline *d);

void mock_engine_init(struct mock_engine *e, const struct mock_engine_config *c,
                      struct mock_deadlines *deadlines)
{
  *e = (struct mock_engine){.config = *c, .deadlines = deadlines};
  e->turn.fire = on_turn;
  e->open = c->hold_until == 0;
  list_init(&e->held);
  list_init(&e->waiting);
  list_init(&e->running);
}

static bool has_slot(const struct mock_engine *e)
{
  return !e->config.slots || e->running_count < e->config.slots;
}

static void run(struct mock_engine *e, struct mock_job *j, uint64_t at)
{
  list_append(&e->running, &j->node);
  e->running_count++;
  j->place = MOCK_RUNNING;
  j->fresh = true;
  j->start(j, at);
}

/* Fill the free slots from the line. */
static void admit(struct mock_engine *e, uint64_t at)
{
  while (has_slot(e) && !list_empty(&e->waiting)) {
    struct list *node = list_pop(&e->waiting);
    e->waiting_count--;
    run(e, LIST_ENTRY(node, struct mock_job, node), at);
  }
}

static void begin_step(struct mock_engine *e, uint64_t at)
{
  const struct mock_engine_config *c = &e->config;
  uint64_t cost;
  admit(e, at);
  e->stepping = e->running_count > 0;
  if (!e->stepping)
    return;
  cost = c->step_ns + c->step_each_ns * e->running_count;
  for (struct list *n = e->running.next; n != &e->running; n = n->next) {
    struct mock_job *j = LIST_ENTRY(n, struct mock_job, node);
    if (j->fresh)
      cost += c->prefill_ns * j->prefill_tokens;
    j->fresh = false;
  }
  mock_deadline_set(e->deadlines, &e->turn, at + cost);
}

static void end_step(struct mock_engine *e, uint64_t at)
{
  struct list *n = e->running.next, *next;
  for (; n != &e->running; n = next) {
    struct mock_job *j = LIST_ENTRY(n, struct mock_job, node);
    next = n->next; /* a job leaves in its own step, never in another's */
    j->step(j, at);
  }
}

static void on_turn(struct mock_deadline *d)
{
  struct mock_engine *e = LIST_ENTRY(d, struct mock_engine, turn);
  if (!mock_engine_steps(e)) {
    admit(e, clock_ns());
    return;
  }
  if (!e->stepping) {
    begin_step(e, clock_ns());
    return;
  }
  end_step(e, d->at);
  begin_step(e, d->at);
}

static void turn_now(struct mock_engine *e)
{
  if (!e->turn.pos)
    mock_deadline_set(e->deadlines, &e->turn, 0);
}

/* Every place in the line is taken. With steps even a request that finds a
 * free slot waits for the next step: it takes no place from those who wait
 * for a slot. */
static bool is_full(const struct mock_engine *e)
{
  return e->config.slots && e->config.queue >= 0 &&
         e->running_count + e->waiting_count >=
             e->config.slots + (uint64_t)e->config.queue;
}

static void line_up(struct mock_engine *e, struct mock_job *j, uint64_t now)
{
  if (!mock_engine_steps(e) && has_slot(e) && list_empty(&e->waiting)) {
    run(e, j, now);
    return;
  }
  list_append(&e->waiting, &j->node);
  e->waiting_count++;
  j->place = MOCK_WAITING;
  if (mock_engine_steps(e) && !e->stepping)
    turn_now(e);
}

/* Those who were held go in whatever the line's length. */
static void open_gate(struct mock_engine *e, uint64_t now)
{
  e->open = true;
  while (!list_empty(&e->held)) {
    struct list *node = list_pop(&e->held);
    e->held_count--;
    line_up(e, LIST_ENTRY(node, struct mock_job, node), now);
  }
}

bool mock_engine_enter(struct mock_engine *e, struct mock_job *j, uint64_t now)
{
  if (!e->open) {
    list_append(&e->held, &j->node);
    e->held_count++;
    j->place = MOCK_HELD;
    if (e->held_count >= e->config.hold_until)
      open_gate(e, now);
    return true;
  }
  if (is_full(e))
    return false;
  line_up(e, j, now);
  return true;
}

void mock_engine_leave(struct mock_engine *e, struct mock_job *j)
{
  if (j->place == MOCK_OUTSIDE)
    return;
  list_remove(&j->node);
  if (j->place == MOCK_HELD)
    e->held_count--;
  else if (j->place == MOCK_WAITING)
    e->waiting_count--;
  else
    e->running_count--;
  /* The next in line starts in a turn of its own: this one may be deep in
   * the death of a connection. */
  if (j->place == MOCK_RUNNING && e->waiting_count && !mock_engine_steps(e))
    turn_now(e);
  j->place = MOCK_OUTSIDE;
}

double mock_capacity(const struct mock_engine_config *c, double ttft_ns,
                     double itl_ns, double prompt, double events)
{
  double prefill = (double)c->prefill_ns * prompt, slots = (double)c->slots;
  if (!c->slots)
    return INFINITY;
  if (c->step_ns || c->step_each_ns)
    return 1e9 / (prefill + events * ((double)c->step_ns / slots +
                                      (double)c->step_each_ns));
  return slots * 1e9 / (ttft_ns + prefill + itl_ns * (events - 1));
}
