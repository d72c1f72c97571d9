#include "core/sched.h"

#include <assert.h>
#include <math.h>

#include "base/mem.h"

uint64_t sched_share(uint64_t total, unsigned worker, unsigned workers)
{
  return total / workers + (worker < total % workers);
}

void sched_init(struct sched *s, const struct load *load, uint64_t seed,
                unsigned worker, unsigned workers, uint64_t t0_ns)
{
  *s = (struct sched){
      /* An endless burst is a closed loop: a slot that is free is due. */
      .open = isinf(load->request_rate) ? load->num_requests > 0
                                        : load->request_rate > 0,
      .worker = worker,
      .workers = workers,
      .slots = sched_share(load->max_concurrency, worker, workers),
      .limit = load->num_requests ? load->num_requests : UINT64_MAX,
      .t0_ns = t0_ns,
      .end_ns = load->duration_ns ? t0_ns + load->duration_ns : 0,
  };
  assert(s->open || load->max_concurrency);
  /* Fewer slots than workers: those without one have nothing to do. */
  if (load->max_concurrency && !s->slots)
    s->stopped = true;
  if (s->open) {
    arrival_init(&s->arrival, load, seed);
    return;
  }
  s->freed_ns = mem_zalloc(s->slots, sizeof *s->freed_ns);
  s->freed_count = s->slots;
  for (uint64_t i = 0; i < s->slots; i++)
    s->freed_ns[i] = t0_ns;
}

void sched_deinit(struct sched *s)
{
  mem_free(s->freed_ns);
  s->freed_ns = NULL;
}

/* The position of this worker's next item in the whole sequence, 0-based. */
static uint64_t position(const struct sched *s)
{
  return s->index * s->workers + s->worker;
}

static bool exhausted(const struct sched *s)
{
  return s->stopped || position(s) >= s->limit;
}

static void take(struct sched *s, struct sched_item *item, uint64_t due_ns)
{
  *item = (struct sched_item){
      .id = position(s) + 1, .due_ns = due_ns, .capped = s->held};
  s->held = false;
  s->drawn = false;
  s->index++;
  s->in_flight++;
}

static enum sched_verdict closed_next(struct sched *s, uint64_t now_ns,
                                      struct sched_item *item,
                                      uint64_t *wake_ns)
{
  uint64_t due;
  if (s->end_ns && now_ns >= s->end_ns)
    return SCHED_OVER;
  *wake_ns = s->end_ns;
  if (!s->freed_count)
    return SCHED_WAIT;
  due = s->freed_ns[s->freed_head];
  if (due > now_ns) {
    *wake_ns = due;
    return SCHED_WAIT;
  }
  s->freed_head = (s->freed_head + 1) % s->slots;
  s->freed_count--;
  take(s, item, due);
  return SCHED_START;
}

/* Walk the common sequence up to this worker's next item. */
static void draw(struct sched *s)
{
  while (s->arrived <= position(s)) {
    s->offset_ns = arrival_next(&s->arrival);
    s->arrived++;
  }
  s->drawn = true;
}

static enum sched_verdict open_next(struct sched *s, uint64_t now_ns,
                                    struct sched_item *item, uint64_t *wake_ns)
{
  uint64_t due;
  if (!s->drawn)
    draw(s);
  due = s->t0_ns + s->offset_ns;
  /* What is due after the end never was part of the run; what a cap still
   * holds back at the end is not sent either. */
  if (s->end_ns && (due >= s->end_ns || now_ns >= s->end_ns))
    return SCHED_OVER;
  if (due > now_ns) {
    *wake_ns = due;
    return SCHED_WAIT;
  }
  if (s->slots && s->in_flight >= s->slots) {
    s->held = true;
    *wake_ns = s->end_ns;
    return SCHED_WAIT;
  }
  take(s, item, due);
  return SCHED_START;
}

enum sched_verdict sched_next(struct sched *s, uint64_t now_ns,
                              struct sched_item *item, uint64_t *wake_ns)
{
  *wake_ns = 0;
  if (exhausted(s))
    return SCHED_OVER;
  return s->open ? open_next(s, now_ns, item, wake_ns)
                 : closed_next(s, now_ns, item, wake_ns);
}

void sched_ended(struct sched *s, uint64_t now_ns)
{
  assert(s->in_flight > 0);
  s->in_flight--;
  if (!s->freed_ns)
    return;
  s->freed_ns[(s->freed_head + s->freed_count) % s->slots] = now_ns;
  s->freed_count++;
}

bool sched_unsent(struct sched *s, uint64_t now_ns, uint64_t *due_ns)
{
  if (!s->open || isinf(s->arrival.rate) || exhausted(s))
    return false;
  if (!s->drawn)
    draw(s);
  *due_ns = s->t0_ns + s->offset_ns;
  if (*due_ns > now_ns || (s->end_ns && *due_ns >= s->end_ns))
    return false;
  s->drawn = false;
  s->index++;
  return true;
}

void sched_stop(struct sched *s)
{
  s->stopped = true;
}
