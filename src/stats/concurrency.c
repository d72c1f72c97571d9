#include "stats/concurrency.h"

#include "base/mem.h"

#define STEADY_SHARE 0.95

/* A walk over the steps of the number in flight. */
struct sweep {
  const double *starts, *ends;
  size_t n, started, ended;
  double at; /* of the last step */
};

/* The next step; false after the last. */
static bool step(struct sweep *s)
{
  if (s->ended == s->n)
    return false;
  /* Nothing can end that has not started: one of no length starts first. */
  if (s->started == s->ended ||
      (s->started < s->n && s->starts[s->started] < s->ends[s->ended]))
    s->at = s->starts[s->started++];
  else
    s->at = s->ends[s->ended++];
  return true;
}

static size_t level(const struct sweep *s)
{
  return s->started - s->ended;
}

static uint64_t highest(struct sweep s)
{
  size_t max = 0;
  while (step(&s))
    if (level(&s) > max)
      max = level(&s);
  return max;
}

static uint64_t median(struct sweep s, uint64_t max)
{
  double *time_at = mem_zalloc(max + 1, sizeof *time_at);
  double total = 0, sum = 0, before;
  uint64_t k = 0;
  step(&s);
  for (size_t now = level(&s); before = s.at, step(&s); now = level(&s)) {
    time_at[now] += s.at - before;
    total += s.at - before;
  }
  while (k < max && (sum += time_at[k]) < total / 2)
    k++;
  mem_free(time_at);
  return k;
}

static void find_steady(struct concurrency *c, struct sweep s)
{
  double enough = STEADY_SHARE * (double)c->plateau;
  size_t before = 0;
  while (step(&s)) {
    if (!c->steady && (double)level(&s) >= enough) {
      c->steady = true;
      c->from = s.at;
    }
    if ((double)before >= enough)
      c->to = s.at;
    before = level(&s);
  }
}

struct concurrency concurrency_sweep(const double *starts, const double *ends,
                                     size_t n)
{
  struct sweep s = {.starts = starts, .ends = ends, .n = n};
  struct concurrency c = {.max = highest(s)};
  if (n)
    c.plateau = median(s, c.max);
  if (c.plateau)
    find_steady(&c, s);
  return c;
}
