#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "make_record.h"
#include "stats/client.h"
#include "stats/progress.h"

static const struct client_timing on_time = {.sends = 1000,
                                             .send_lag_p99_ms = 0.5,
                                             .planned_rps = 100,
                                             .achieved_rps = 100,
                                             .itl_p50_ms = NAN};

static void a_punctual_client_is_ok(void **state)
{
  struct client c = {0};
  struct client_verdict v = client_judge(&c, &on_time);
  (void)state;
  assert_false(v.limited);
  assert_int_equal(v.n, 0);
}

static void b069_every_limit_has_its_words(void **state)
{
  struct client c = {0};
  struct client_timing t = on_time;
  struct client_verdict v;
  (void)state;
  for (int i = 0; i < 100; i++)
    hist_add(&c.loop_lag, i < 98 ? 0 : 6 * MS);
  c.threads = 2;
  c.cpu_share[1] = 0.93;
  t.send_lag_p99_ms = 12;
  t.achieved_rps = 97;
  t.slip_ms = 300;
  v = client_judge(&c, &t);
  assert_true(v.limited);
  assert_non_null(strstr(v.reasons[0], "send lag is 12.0 ms (limit 10 ms)"));
  assert_non_null(strstr(v.reasons[1], "lag is 6.0 ms (limit 5 ms)"));
  assert_non_null(strstr(v.reasons[2], "93 % of a CPU"));
  assert_non_null(strstr(v.reasons[3], "97 requests/s were sent where 100/s"));
  client_deinit(&c);
}

static void limits_themselves_are_allowed(void **state)
{
  struct client c = {0};
  struct client_timing t = on_time;
  (void)state;
  t.send_lag_p99_ms = CLIENT_SEND_LAG_MS;
  t.achieved_rps = 98;
  t.slip_ms = 300;
  c.threads = 1;
  c.cpu_share[0] = CLIENT_CPU_SHARE;
  assert_false(client_judge(&c, &t).limited);
}

static void b074_a_short_slip_is_no_shortfall(void **state)
{
  struct client c = {0};
  struct client_timing t = on_time;
  (void)state;
  t.achieved_rps = 90;
  t.slip_ms = 5; /* two sends, one of them a little late */
  assert_false(client_judge(&c, &t).limited);
  t.slip_ms = 50;
  assert_true(client_judge(&c, &t).limited);
  t.capped = 1; /* held back by --max-concurrency */
  assert_false(client_judge(&c, &t).limited);
  t.capped = 0;
  t.planned_rps = NAN;
  t.send_lag_p99_ms = NAN;
  assert_false(client_judge(&c, &t).limited);
}

static bool late_by(uint64_t ms, bool kernel_times, double itl_ms)
{
  struct client c = {.kernel_times = kernel_times};
  struct client_timing t = on_time;
  struct client_verdict v;
  t.itl_p50_ms = itl_ms;
  for (int i = 0; i < 100; i++)
    hist_add(&c.loop_lag, i < 98 ? 0 : ms * MS);
  v = client_judge(&c, &t);
  client_deinit(&c);
  return v.limited;
}

static void a_late_loop_is_judged_by_what_it_harms(void **state)
{
  (void)state;
  assert_false(late_by(4, false, 20));
  assert_true(late_by(6, false, 20)); /* arrivals were stamped late */
  assert_false(late_by(8, true, 20)); /* they were not … */
  assert_false(late_by(8, true, NAN));
  assert_true(late_by(8, true, 7)); /* … but tokens were read together … */
  assert_false(late_by(4, true, 0.5));
  assert_true(late_by(11, true, 20)); /* … or sends left late */
  assert_true(late_by(11, true, NAN));
}

/* A run of so many seconds with a probe every 10 ms, and stalls. */
static bool stalled(unsigned seconds, unsigned stalls, uint64_t ms,
                    bool kernel_times)
{
  struct client c = {.kernel_times = kernel_times,
                     .wall_ns = seconds * NS_PER_SEC};
  struct client_verdict v;
  for (unsigned i = 0; i < seconds * 100 - stalls * (unsigned)(ms / 10); i++)
    hist_add(&c.loop_lag, MS / 10);
  for (unsigned i = 0; i < stalls; i++)
    hist_add(&c.loop_lag, ms * MS);
  v = client_judge(&c, &on_time);
  if (v.limited)
    assert_non_null(strstr(v.reasons[0], "the event loop"));
  client_deinit(&c);
  return v.limited;
}

static void long_stalls_count_by_their_length(void **state)
{
  (void)state;
  assert_true(stalled(20, 10, 100, true));  /* every two seconds */
  assert_true(stalled(60, 30, 100, false)); /* the same */
  assert_true(stalled(10, 8, 50, true));
  assert_false(stalled(20, 10, 20, true)); /* too short to matter */
  assert_false(stalled(20, 3, 900, true)); /* the machine's, not a habit */
  assert_false(stalled(5, 2, 150, false));
  assert_false(stalled(100, 20, 50, true)); /* 0.7 % of the time */
  assert_false(stalled(20, 0, 0, true));
}

static void workers_come_together(void **state)
{
  struct client c = {0};
  struct client_worker a = {.cpu_ns = 5,
                            .wall_ns = 10,
                            .script_ns = 3,
                            .script_worst_ns = 2,
                            .script_place = "a.lua:1",
                            .heap_peak = 100,
                            .retries = 1};
  struct client_worker b = {.cpu_ns = 9,
                            .wall_ns = 10,
                            .script_ns = 4,
                            .script_worst_ns = 4,
                            .script_place = "b.lua:2",
                            .heap_peak = 50,
                            .gc_ns = 7};
  (void)state;
  hist_add(&a.loop_lag, 5);
  hist_add(&b.loop_lag, 6);
  client_add(&c, &a);
  client_add(&c, &b);
  assert_int_equal(c.threads, 2);
  assert_true(c.cpu_share[0] == 0.5 && c.cpu_share[1] == 0.9);
  assert_true(c.heap_peak[0] == 100 && c.heap_peak[1] == 50);
  assert_int_equal(c.script_ns, 7);
  assert_string_equal(c.script_place, "b.lua:2");
  assert_int_equal(c.loop_lag.count, 2);
  assert_int_equal(c.wall_ns, 20);
  assert_int_equal(c.retries, 1);
  assert_int_equal(c.gc_ns, 7);
  client_worker_deinit(&a);
  client_worker_deinit(&b);
  client_deinit(&c);
}

static void progress_follows_the_records(void **state)
{
  struct progress a = {0}, b = {0};
  struct record_event ev[2];
  struct record r;
  (void)state;
  assert_true(isnan(progress_ttft_ms(&a, 50)));
  for (uint64_t i = 1; i <= 100; i++) {
    r = make_stream(ev, 2, T0, i * 10 * MS, MS);
    progress_ended(i % 2 ? &a : &b, &r);
  }
  r = make_failed(T0, MS, OUTCOME_RESET, 0, "x");
  progress_ended(&a, &r);
  r.outcome = OUTCOME_CANCELLED;
  progress_ended(&a, &r);
  r.phase = PHASE_WARMUP;
  progress_ended(&a, &r);
  progress_merge(&a, &b);
  assert_int_equal(a.done, 100);
  assert_int_equal(a.failed, 1);
  assert_int_equal(a.cancelled, 1);
  assert_true(fabs(progress_ttft_ms(&a, 50) - 500) < 15);
  assert_true(fabs(progress_ttft_ms(&a, 99) - 990) < 30);
  assert_true(fabs(progress_ttft_ms(&a, 0) - 10) < 0.3);
}

static void progress_is_close_everywhere(void **state)
{
  (void)state;
  for (double ms = 0.1; ms < 60000; ms *= 1.01) {
    struct progress p = {0};
    struct record_event ev[1];
    struct record r = make_stream(ev, 1, T0, (uint64_t)(ms * 1e6), 0);
    progress_ended(&p, &r);
    assert_true(fabs(progress_ttft_ms(&p, 50) - ms) < ms * 0.03);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_punctual_client_is_ok),
      cmocka_unit_test(b069_every_limit_has_its_words),
      cmocka_unit_test(limits_themselves_are_allowed),
      cmocka_unit_test(b074_a_short_slip_is_no_shortfall),
      cmocka_unit_test(a_late_loop_is_judged_by_what_it_harms),
      cmocka_unit_test(long_stalls_count_by_their_length),
      cmocka_unit_test(workers_come_together),
      cmocka_unit_test(progress_follows_the_records),
      cmocka_unit_test(progress_is_close_everywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
