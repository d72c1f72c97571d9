/* stats/threshold: any text is a threshold or one message; what was taken
 * reads again as the same. */
#include <math.h>

#include "fuzz.h"
#include "stats/threshold.h"

static bool same(double a, double b)
{
  return a == b || (isnan(a) && isnan(b));
}

static void check(const struct threshold *t, const struct custom *declared)
{
  struct threshold again;
  struct err e = {0};
  FUZZ_CHECK(threshold_parse(&again, str_of(t->text), declared, "x", &e) == 0);
  FUZZ_CHECK(again.subject == t->subject && again.which == t->which);
  FUZZ_CHECK(again.statistic == t->statistic && again.filter.n == t->filter.n);
  FUZZ_CHECK(same(again.limit, t->limit) && again.abort == t->abort);
  FUZZ_CHECK(isfinite(t->limit));
  FUZZ_CHECK(!threshold_holds(t, NAN));
  FUZZ_CHECK(t->percentile >= 0 && t->percentile <= 100);
  threshold_in_unit(t, t->limit);
  threshold_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct custom_metric metrics[CUSTOM_KINDS] = {
      {.name = "calls", .kind = CUSTOM_COUNTER},
      {.name = "depth", .kind = CUSTOM_GAUGE},
      {.name = "done", .kind = CUSTOM_RATE},
      {.name = "wait", .kind = CUSTOM_TREND},
  };
  const struct custom declared = {.metrics = metrics,
                                  .n_metrics = CUSTOM_KINDS};
  char *copy = fuzz_copy((const char *)data, size);
  struct str in = {copy, size};
  struct threshold t;
  struct err e = {0};
  if (threshold_parse(&t, in, &declared, "x", &e) < 0) {
    FUZZ_CHECK(e.count == 1 && !t.text);
  } else {
    FUZZ_CHECK(e.count == 0);
    check(&t, &declared);
    threshold_deinit(&t);
  }
  err_free(&e);
  free(copy);
  return 0;
}
