#include "stats/samples.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stats/metrics_data.h"

#define INTERVAL_NS (NS_PER_SEC / 10)

/* A whole HTTP answer came, of whatever status. */
static bool is_answered(const struct metrics_row *r)
{
  switch ((enum outcome)r->outcome) {
  case OUTCOME_OK:
  case OUTCOME_AUTH:
  case OUTCOME_NOT_FOUND:
  case OUTCOME_UNPROCESSABLE:
  case OUTCOME_CONTEXT_LENGTH:
  case OUTCOME_RATE_LIMITED:
  case OUTCOME_HTTP_4XX:
  case OUTCOME_HTTP_5XX:
  case OUTCOME_REDIRECT:
  case OUTCOME_CHECK: return true;
  default: return false;
  }
}

static int by_value(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void sort(struct samples *s)
{
  if (s->n)
    qsort(s->list, s->n, sizeof *s->list, by_value);
}

/* Every row of `m`, whoever it is. */
#define EACH_ROW(m, r)                                                         \
  for (const struct column_block *k = (m)->rows.first; k; k = k->next)         \
    for (const struct metrics_row *r = (const void *)k->items,                 \
                                  *end_ = r + k->len;                          \
         r < end_; r++)

struct samples samples_latency(const struct metrics *m)
{
  struct samples s = {.list = mem_zalloc(m->rows.len, sizeof(uint64_t))};
  EACH_ROW(m, r)
  if (is_answered(r))
    s.list[s.n++] = ns_since(r->sent_ns, r->done_ns) / 1000;
  sort(&s);
  return s;
}

struct samples samples_rate(const struct metrics *m, unsigned threads)
{
  struct samples s = {0};
  uint64_t end = m->window_start_ns;
  EACH_ROW(m, r)
  end = r->done_ns > end ? r->done_ns : end;
  s.n = (size_t)((end - m->window_start_ns) / INTERVAL_NS);
  s.list = mem_zalloc(s.n, sizeof *s.list);
  EACH_ROW(m, r)
  {
    size_t at =
        (size_t)(ns_since(m->window_start_ns, r->done_ns) / INTERVAL_NS);
    if (is_answered(r) && at < s.n)
      s.list[at]++;
  }
  for (size_t i = 0; i < s.n; i++)
    s.list[i] =
        s.list[i] * (NS_PER_SEC / INTERVAL_NS) / (threads ? threads : 1);
  sort(&s);
  return s;
}

void samples_free(struct samples *s)
{
  mem_free(s->list);
  *s = (struct samples){0};
}

double samples_mean(const struct samples *s)
{
  double sum = 0;
  for (size_t i = 0; i < s->n; i++)
    sum += (double)s->list[i];
  return s->n ? sum / (double)s->n : 0;
}

double samples_stdev(const struct samples *s)
{
  double mean = samples_mean(s), sum = 0;
  for (size_t i = 0; i < s->n; i++)
    sum += ((double)s->list[i] - mean) * ((double)s->list[i] - mean);
  return s->n > 1 ? sqrt(sum / (double)(s->n - 1)) : 0;
}

uint64_t samples_percentile(const struct samples *s, double p)
{
  double rank = round(p / 100 * (double)s->n + 0.5);
  if (!s->n || !(p >= 0))
    return 0;
  if (rank < 1)
    rank = 1;
  return rank > (double)s->n ? s->list[s->n - 1] : s->list[(size_t)rank - 1];
}

uint64_t samples_distinct(const struct samples *s, size_t i, uint64_t *count)
{
  size_t at = 0, end;
  for (;; at = end) {
    for (end = at; end < s->n && s->list[end] == s->list[at];)
      end++;
    *count = end - at;
    if (at >= s->n)
      return 0;
    if (i-- == 0)
      return s->list[at];
  }
}

size_t samples_distinct_count(const struct samples *s)
{
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++)
    n += i == 0 || s->list[i] != s->list[i - 1];
  return n;
}
