#include "core/sched.h"

#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "base/mem.h"

/* How often a changing concurrency is looked at. */
#define RAMP_LOOK_NS (10 * NS_PER_MS)

uint64_t sched_share(uint64_t total, unsigned worker, unsigned workers)
{
  return total / workers + (worker < total % workers);
}

void sched_init(struct sched *s, uint64_t seed, unsigned worker,
                unsigned workers, uint64_t limit)
{
  *s = (struct sched){
      .seed = seed,
      .worker = worker,
      .workers = workers,
      .limit = limit ? sched_share(limit, worker, workers) : UINT64_MAX,
  };
}

void sched_deinit(struct sched *s)
{
  mem_free(s->freed_ns);
  mem_free(s->late);
  s->freed_ns = NULL;
  s->late = NULL;
  s->n_late = 0;
}

/* ---- slots and caps ---- */

static double stage_seconds(const struct sched_lane *l)
{
  return l->end_ns ? ns_to_sec(l->end_ns - l->t0_ns) : INFINITY;
}

/* This worker's slots, or its share of the cap; UINT64_MAX: no cap. */
static uint64_t slots(const struct sched *s, uint64_t now_ns)
{
  const struct sched_lane *l = &s->lane;
  const struct ramp *c = &l->stage.concurrency;
  double all =
      ramp_at(c, ns_to_sec(ns_since(l->t0_ns, now_ns)), stage_seconds(l));
  if (c->from == 0 && c->to == 0)
    return s->open ? UINT64_MAX : 0;
  return sched_share((uint64_t)(all + 1e-9), s->worker, s->workers);
}

static bool ramping(const struct sched *s)
{
  return s->lane.stage.concurrency.from != s->lane.stage.concurrency.to;
}

/* May one more be in flight? */
static bool has_room(const struct sched *s, uint64_t now_ns)
{
  uint64_t prefills = s->lane.stage.max_prefill;
  if (prefills && s->prefill >= sched_share(prefills, s->worker, s->workers))
    return false;
  return s->in_flight < slots(s, now_ns);
}

static void sooner(uint64_t *wake_ns, uint64_t at_ns)
{
  if (at_ns && (!*wake_ns || at_ns < *wake_ns))
    *wake_ns = at_ns;
}

/* ---- lanes ---- */

static uint64_t position(const struct sched *s, const struct sched_lane *l)
{
  return l->taken * s->workers + s->worker;
}

/* Walk the common sequence up to this worker's next item. False: there is
 * none. */
static bool draw(const struct sched *s, struct sched_lane *l)
{
  uint64_t want = position(s, l);
  if (l->drawn)
    return true;
  while (!l->dry && l->arrived <= want) {
    l->dry = !arrival_next(&l->arrival, &l->offset_ns) ||
             (l->end_ns && l->t0_ns + l->offset_ns >= l->end_ns);
    l->arrived += !l->dry;
  }
  l->drawn = !l->dry;
  return l->drawn;
}

/* All arrivals of the stage, from a copy of where its sequence is. */
static uint64_t lane_total(struct sched_lane l)
{
  uint64_t offset;
  while (!l.dry && arrival_next(&l.arrival, &offset) &&
         (!l.end_ns || l.t0_ns + offset < l.end_ns))
    l.arrived++;
  return l.arrived;
}

static void take(struct sched *s, struct sched_lane *l, uint64_t due_ns,
                 struct sched_item *item)
{
  *item = (struct sched_item){.id = l->base + position(s, l) + 1,
                              .due_ns = due_ns,
                              .stage = l->number,
                              .capped = s->held};
  s->held = false;
  l->drawn = false;
  l->taken++;
}

static enum sched_verdict start(struct sched *s, struct sched_lane *l,
                                uint64_t due_ns, struct sched_item *item)
{
  take(s, l, due_ns, item);
  s->started++;
  s->in_flight++;
  s->prefill++;
  return SCHED_START;
}

/* ---- stages ---- */

/* The ids that the next stage begins after. */
static uint64_t next_base(const struct sched *s, uint16_t number)
{
  const struct sched_lane *l = &s->lane;
  if (s->open)
    return l->base + lane_total(*l);
  /* How many a closed loop starts is not known beforehand, and another
   * worker's count is not ours to know. */
  return s->workers == 1 ? l->base + l->taken : (uint64_t)number << 32;
}

/* A lane's arrivals point at its stage, which has moved. */
static void mend_late(struct sched *s)
{
  for (size_t i = 0; i < s->n_late; i++)
    s->late[i].arrival.stage = &s->late[i].stage;
}

static void pop_late(struct sched *s)
{
  s->n_late--;
  memmove(s->late, s->late + 1, s->n_late * sizeof *s->late);
  mend_late(s);
}

/* What a cap still holds back goes on in the stage that follows. */
static void keep_late(struct sched *s)
{
  if (!s->open || s->lane.stage.drop || !draw(s, &s->lane))
    return;
  s->late = mem_resize(s->late, s->n_late + 1, sizeof *s->late);
  s->late[s->n_late] = s->lane;
  s->n_late++;
  mend_late(s);
}

static bool is_open(const struct stage *stage)
{
  if (stage->n_offsets) /* whatever rate it had */
    return true;
  /* An endless burst is a closed loop: a slot that is free is due. */
  if (isinf(stage->rate.from))
    return stage->num_requests > 0;
  return stage->rate.from > 0 || stage->rate.to > 0;
}

void sched_enter(struct sched *s, const struct stage *stage, uint16_t number,
                 uint64_t t0_ns)
{
  struct sched_lane next = {
      .stage = *stage,
      .number = number,
      .t0_ns = t0_ns,
      .end_ns = stage->duration_ns ? t0_ns + stage->duration_ns : 0};
  bool first = !s->lane.t0_ns, open = is_open(stage);
  if (!first) {
    if (!s->lane.end_ns || s->lane.end_ns > t0_ns)
      s->lane.end_ns = t0_ns;
    next.base = next_base(s, number);
    /* Closed after closed: one count goes on. */
    if (!s->open && !open) {
      next.base = s->lane.base;
      next.taken = next.before = s->lane.taken;
    }
    keep_late(s);
  }
  s->lane = next;
  s->open = open;
  s->n_freed = 0;
  if (open)
    arrival_init(&s->lane.arrival, &s->lane.stage, s->seed, number);
}

/* ---- what comes next ---- */

/* Items of earlier stages go first. False: there are none now. */
static bool late_next(struct sched *s, uint64_t now_ns, struct sched_item *item,
                      uint64_t *wake_ns, enum sched_verdict *verdict)
{
  uint64_t due;
  while (s->n_late && !draw(s, &s->late[0]))
    pop_late(s);
  if (!s->n_late)
    return false;
  /* The next stage may have been announced a moment before it begins. */
  due = s->late[0].t0_ns + s->late[0].offset_ns;
  if (due > now_ns) {
    sooner(wake_ns, due);
    return false;
  }
  s->held = true;
  *verdict =
      has_room(s, now_ns) ? start(s, &s->late[0], due, item) : SCHED_WAIT;
  return true;
}

/* All that the stage may start, by number, was started. */
static bool counted_out(const struct sched *s)
{
  const struct sched_lane *l = &s->lane;
  uint64_t bound = l->stage.num_requests;
  if (s->open)
    return bound && !s->n_late && l->dry && l->arrived >= bound;
  return bound &&
         l->taken - l->before >= sched_share(bound, s->worker, s->workers);
}

static enum sched_verdict closed_next(struct sched *s, uint64_t now_ns,
                                      struct sched_item *item,
                                      uint64_t *wake_ns)
{
  uint64_t due = s->lane.t0_ns;
  if (counted_out(s))
    return SCHED_OVER;
  if (due > now_ns) {
    *wake_ns = due;
    return SCHED_WAIT;
  }
  if (ramping(s))
    sooner(wake_ns, now_ns + RAMP_LOOK_NS);
  if (!has_room(s, now_ns))
    return SCHED_WAIT;
  /* A slot that a ramp has just given is due when it is seen. */
  if (s->n_freed)
    due = s->freed_ns[0];
  else if (ramping(s))
    due = now_ns;
  if (due > now_ns) {
    sooner(wake_ns, due);
    return SCHED_WAIT;
  }
  if (s->n_freed)
    memmove(s->freed_ns, s->freed_ns + 1, --s->n_freed * sizeof *s->freed_ns);
  return start(s, &s->lane, due, item);
}

static enum sched_verdict open_next(struct sched *s, uint64_t now_ns,
                                    struct sched_item *item, uint64_t *wake_ns)
{
  struct sched_lane *l = &s->lane;
  uint64_t due;
  if (!draw(s, l))
    return SCHED_OVER;
  due = l->t0_ns + l->offset_ns;
  if (due > now_ns) {
    sooner(wake_ns, due);
    return SCHED_WAIT;
  }
  if (has_room(s, now_ns))
    return start(s, l, due, item);
  if (l->stage.drop) {
    take(s, l, due, item);
    return SCHED_DROP;
  }
  s->held = true;
  if (ramping(s))
    sooner(wake_ns, now_ns + RAMP_LOOK_NS);
  return SCHED_WAIT;
}

/* The stage's time is up. What was due in it and would have gone had this loop
 * looked in time still goes; what a cap held back does not. */
static enum sched_verdict at_the_end(struct sched *s, uint64_t now_ns,
                                     struct sched_item *item)
{
  struct sched_lane *l = &s->lane;
  if (!s->open || s->held || !draw(s, l) || !has_room(s, now_ns))
    return SCHED_OVER;
  return start(s, l, l->t0_ns + l->offset_ns, item);
}

enum sched_verdict sched_next(struct sched *s, uint64_t now_ns,
                              struct sched_item *item, uint64_t *wake_ns)
{
  enum sched_verdict verdict;
  uint64_t end = s->lane.end_ns;
  *wake_ns = 0;
  if (s->stopped || s->started >= s->limit)
    return SCHED_OVER;
  if (end && now_ns >= end)
    return at_the_end(s, now_ns, item);
  if (!late_next(s, now_ns, item, wake_ns, &verdict))
    verdict = s->open ? open_next(s, now_ns, item, wake_ns)
                      : closed_next(s, now_ns, item, wake_ns);
  if (verdict == SCHED_WAIT)
    sooner(wake_ns, end);
  /* A stage of some time lasts as long, even with nothing to do, unless it had
   * a number as well. */
  if (verdict == SCHED_OVER && end && !counted_out(s)) {
    *wake_ns = end;
    return SCHED_WAIT;
  }
  return verdict;
}

/* ---- what happens to items ---- */

void sched_prefilled(struct sched *s)
{
  assert(s->prefill > 0);
  s->prefill--;
}

static void free_slot(struct sched *s, uint64_t may_start_ns)
{
  size_t i = s->n_freed;
  if (i == s->freed_cap) {
    s->freed_cap = s->freed_cap ? 2 * s->freed_cap : 16;
    s->freed_ns = mem_resize(s->freed_ns, s->freed_cap, sizeof *s->freed_ns);
  }
  for (; i > 0 && s->freed_ns[i - 1] > may_start_ns; i--)
    s->freed_ns[i] = s->freed_ns[i - 1];
  s->freed_ns[i] = may_start_ns;
  s->n_freed++;
}

void sched_ended(struct sched *s, uint64_t now_ns, uint64_t due_ns)
{
  uint64_t paced = due_ns + s->lane.stage.pacing_ns;
  assert(s->in_flight > 0);
  s->in_flight--;
  /* Of more slots than the stage has (a ramp down, an open stage before) the
   * surplus is forgotten. */
  if (!s->open && s->in_flight + s->n_freed < slots(s, now_ns))
    free_slot(s, paced > now_ns ? paced : now_ns);
}

/* Only a timetable can be behind; a burst at one instant has none. */
static bool has_timetable(const struct sched *s, const struct sched_lane *l)
{
  return (l != &s->lane || s->open) && !isinf(l->stage.rate.from);
}

bool sched_unsent(struct sched *s, uint64_t now_ns, uint64_t *due_ns)
{
  struct sched_lane *l;
  if (s->stopped || s->started >= s->limit)
    return false;
  while (s->n_late && !draw(s, &s->late[0]))
    pop_late(s);
  l = s->n_late ? &s->late[0] : &s->lane;
  if (!has_timetable(s, l) || !draw(s, l))
    return false;
  *due_ns = l->t0_ns + l->offset_ns;
  if (*due_ns > now_ns)
    return false;
  l->drawn = false;
  l->taken++;
  return true;
}

void sched_stop(struct sched *s)
{
  s->stopped = true;
}
