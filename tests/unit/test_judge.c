#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "make_record.h"
#include "stats/live_figures.h"

static const char *const labels[] = {"ramp", "spike"};
static const struct stage_names stages = {labels, 2};

/* A run of 100 requests: TTFT 1 … 100 ms, every tenth fails, odd ones are
 * tagged long, the second half is the spike. */
struct run {
  struct metrics *metrics;
  struct summary summary;
  struct custom custom;
  struct sessions sessions;
  struct figures figures;
};

static struct record request(struct record_event *events, unsigned i)
{
  uint64_t sent = T0 + i * 10 * MS;
  struct record r = make_stream(events, 3, sent, i * MS, MS);
  if (i % 10 == 0)
    r = make_failed(sent, 5 * MS, OUTCOME_HTTP_5XX, 503, "busy");
  r.id = i;
  r.turn = 1;
  r.stage = i > 50;
  r.tags = i % 2 ? "class=long" : "class=short";
  r.slo_ttft_ns = 50 * MS;
  return r;
}

static void fill_custom(struct custom *c)
{
  struct err e = {0};
  json_value *v = json_parse(STR("{\"calls\":\"counter\",\"depth\":\"gauge\","
                                 "\"done\":\"rate\",\"unused\":\"gauge\","
                                 "\"wait\":\"trend\"}"),
                             NULL);
  custom_declare(c, v, "x.lua", &e);
  json_free(v);
}

static void record(struct custom *c)
{
  custom_record(custom_find(c, STR("calls")), 5, 0);
  custom_record(custom_find(c, STR("depth")), 3, 1);
  custom_record(custom_find(c, STR("done")), 1, 0);
  custom_record(custom_find(c, STR("done")), 0, 0);
  custom_record(custom_find(c, STR("wait")), 0.25, 0);
  custom_check(c, STR("a"), true);
  custom_check(c, STR("b"), true);
  custom_check(c, STR("b"), false);
}

static void end_sessions(struct sessions *s)
{
  struct session_record r = {.phase = PHASE_MEASURE,
                             .end = SESSION_COMPLETED,
                             .turns = 3,
                             .started_ns = T0,
                             .ended_ns = T0 + 2000 * MS,
                             .think_ns = 500 * MS,
                             .reason = ""};
  sessions_add(s, &r);
  r.end = SESSION_FAILED;
  r.reason = "x";
  sessions_add(s, &r);
}

static int setup(void **state)
{
  static struct run run;
  struct summary_config config = {.n_percentiles = 0};
  run = (struct run){0};
  run.metrics = metrics_new(&(struct metrics_config){.epoch_ns = T0});
  for (unsigned i = 1; i <= 100; i++) {
    struct record_event events[3];
    struct record r = request(events, i);
    metrics_add(run.metrics, &r);
  }
  summary_build(&run.summary, run.metrics, NULL, &config);
  fill_custom(&run.custom);
  record(&run.custom);
  end_sessions(&run.sessions);
  run.figures = (struct figures){
      .summary = &run.summary,
      .metrics = run.metrics,
      .sessions = &run.sessions,
      .custom = &run.custom,
      .stages = stages,
      .duration_s = run.summary.duration_s,
  };
  *state = &run;
  return 0;
}

static int teardown(void **state)
{
  struct run *run = *state;
  metrics_free(run->metrics);
  summary_deinit(&run->summary);
  custom_deinit(&run->custom);
  sessions_deinit(&run->sessions);
  return 0;
}

static int judge(const struct figures *f, const char *text, double *value)
{
  struct threshold t;
  struct err e = {0};
  double x;
  int holds;
  if (threshold_parse(&t, str_of(text), f->custom, "x", &e) < 0)
    fail_msg("%s", err_text(&e));
  x = judge_value(&t, f);
  holds = threshold_holds(&t, x);
  *value = threshold_in_unit(&t, x);
  threshold_deinit(&t);
  return holds;
}

static const struct {
  const char *text;
  int holds;
  double value;
} rows[] = {
    {"completed == 90", 1, 90},
    {"failed <= 9", 0, 10},
    {"sent == 100", 1, 100},
    {"http_5xx == 10", 1, 10},
    {"rate_limited == 0", 1, 0},
    {"error_rate <= 10%", 1, 10},
    {"success_rate > 0.9", 0, 0.9},
    {"good_share == 45%", 1, 45},
    {"ttft.min == 1ms", 1, 1},
    {"ttft.max == 99ms", 1, 99},
    {"ttft.count == 90", 1, 90},
    {"ttft{class=long}.count == 50", 1, 50},
    {"ttft{class=short}.count == 40", 1, 40},
    {"ttft{class=long}.mean == 50ms", 1, 50},
    {"ttft{tag=long}.p50 == 50ms", 1, 50},
    {"ttft{class=long,stage=spike}.min == 51ms", 1, 51},
    {"error_rate{class=long} == 0", 1, 0},
    {"error_rate{class=short} == 20%", 1, 20},
    {"http_5xx{stage=spike} == 5", 1, 5},
    {"itl.p50 == 1ms", 1, 1},
    {"itl{class=long}.count == 100", 1, 100},
    {"output_tokens == 270", 1, 270},
    {"calls.sum == 5", 1, 5},
    {"depth == 3", 1, 3},
    {"done == 50%", 1, 50},
    {"done.passed == 1", 1, 1},
    {"wait.p99 <= 250ms", 1, 250},
    {"checks.rate > 70%", 0, 200.0 / 3},
    {"check{a} == 100%", 1, 100},
    {"check{b}.failed == 1", 1, 1},
    {"sessions.started == 2", 1, 2},
    {"sessions.failed == 0", 0, 1},
    {"sessions.max_turns == 3", 1, 3},
    {"sessions.duration.max == 2s", 1, 2},
    {"sessions.active.mean < 1.6s", 1, 1.5},
};

static void values_are_those_of_the_run(void **state)
{
  const struct run *run = *state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double value;
    int holds = judge(&run->figures, rows[i].text, &value);
    if (holds != rows[i].holds || fabs(value - rows[i].value) > 1e-9)
      fail_msg("%s: %d, %.17g", rows[i].text, holds, value);
  }
}

static void percentiles_agree_with_the_summary(void **state)
{
  const struct run *run = *state;
  double value;
  judge(&run->figures, "ttft.p99 < 1s", &value);
  assert_true(value * 1e3 == run->summary.latency[FIGURE_TTFT].p[LATENCY_P99]);
  judge(&run->figures, "e2el_due.std < 1ms", &value);
  assert_true(value == run->summary.latency[FIGURE_E2EL_DUE].std);
  judge(&run->figures, "request_throughput > 1", &value);
  assert_true(value == run->summary.request_throughput);
  judge(&run->figures, "output_throughput > 1", &value);
  assert_true(value == run->summary.output_throughput);
  judge(&run->figures, "request_goodput > 1", &value);
  assert_true(value == run->summary.request_goodput);
}

/* run:measure keeps no more than a summary. */
static void a_summary_alone_tells_the_same(void **state)
{
  const struct run *run = *state;
  unsigned told = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct threshold t;
    struct err e = {0};
    double value;
    threshold_parse(&t, str_of(rows[i].text), &run->custom, "x", &e);
    if (judge_summary(&t, &run->summary, &value)) {
      value = threshold_in_unit(&t, value);
      assert_true(fabs(value - rows[i].value) < 1e-9);
      told++;
    } else {
      assert_true(t.filter.n || t.subject >= SUBJECT_CHECKS);
    }
    threshold_deinit(&t);
  }
  assert_true(told >= 12);
}

static void expressions_of_a_summary(void **state)
{
  const struct run *run = *state;
  struct err e = {0};
  double value;
  const struct summary *s = &run->summary;
  assert_int_equal(judge_expression(STR("failed == 10"), s, "x", &value, &e),
                   1);
  assert_true(value == 10);
  assert_int_equal(judge_expression(STR("ttft.max < 1ms"), s, "x", &value, &e),
                   0);
  assert_true(value == 99);
  assert_int_equal(e.count, 0);
  assert_int_equal(judge_expression(STR("failed"), s, "x", &value, &e), -1);
  assert_int_equal(judge_expression(STR("failed{a=b} < 1"), s, "x", &value, &e),
                   -1);
  assert_int_equal(
      judge_expression(STR("failed < 1 abort"), s, "x", &value, &e), -1);
  assert_int_equal(judge_expression(STR("checks > 1%"), s, "x", &value, &e),
                   -1);
  assert_int_equal(e.count, 4);
  err_free(&e);
}

/* A threshold on what nobody measured must not pass in silence. */
static void no_data_is_broken(void **state)
{
  static const char *const all[] = {
      "ttft{class=nix}.p99 < 1s",
      "ttft{stage=nix}.mean < 1s",
      "error_rate{class=nix} < 1%",
      "failed{class=nix} == 0",
      "check{nix} == 100%",
      "unused < 1",
      "unused.min > -1",
  };
  const struct run *run = *state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    double value;
    assert_int_equal(judge(&run->figures, all[i], &value), 0);
    assert_true(isnan(value));
  }
}

/* A stage's rate is over the stage, not over the run. */
static void rates_of_a_stage_are_its_own(void **state)
{
  const struct run *run = *state;
  double spike;
  judge(&run->figures, "request_throughput{stage=spike} > 0", &spike);
  assert_true(spike > 70 && spike < 100);
}

static void what_ended_the_run_is_broken(void **state)
{
  const struct run *run = *state;
  struct thresholds all = {0};
  struct threshold_result *r;
  struct err e = {0};
  thresholds_add(&all, STR("failed < 20 abort"), NULL, "x", &e);
  thresholds_add(&all, STR("completed > 1"), NULL, "x", &e);
  r = judge_all(&all, &run->figures, 1, 21);
  assert_true(r[0].ended_run && !r[0].ok && r[0].value == 21);
  assert_true(!r[1].ended_run && r[1].ok && r[1].value == 90);
  mem_free(r);
  thresholds_deinit(&all);
}

/* Spread over three workers and merged, the tallies tell within 0.1 % what
 * the rows tell. */
static void live_values_are_those_of_the_end(void **state)
{
  const struct run *run = *state;
  const struct slo slo = {0};
  struct live_figures parts[3], sum;
  struct thresholds all = {0};
  struct err e = {0};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[128];
    snprintf(text, sizeof text, "%s abort", rows[i].text);
    thresholds_add(&all, str_of(text), &run->custom, "x", &e);
  }
  thresholds_add(&all, STR("ttft{class=nix}.p50 < 1s abort"), NULL, "x", &e);
  assert_int_equal(e.count, 0);
  assert_true(thresholds_abort(&all));
  live_figures_init(&sum, &all, &stages, &slo, &run->custom);
  for (int w = 0; w < 3; w++)
    live_figures_init(&parts[w], &all, &stages, &slo, &run->custom);
  for (unsigned i = 0; i <= 100; i++) {
    struct record_event events[3];
    struct record r = request(events, i ? i : 1);
    r.phase = i ? PHASE_MEASURE : PHASE_WARMUP;
    live_figures_add(&parts[i % 3], &r);
  }
  record(&parts[1].custom);
  end_sessions(&parts[2].sessions);
  for (int w = 0; w < 3; w++) {
    live_figures_merge(&sum, &parts[w]);
    live_figures_deinit(&parts[w]);
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double value = live_figures_value(&sum, i, run->summary.duration_s);
    value = threshold_in_unit(&all.list[i], value);
    if (!(fabs(value - rows[i].value) <= 1e-3 * fabs(rows[i].value)))
      fail_msg("%s: %.17g", rows[i].text, value);
  }
  assert_true(isnan(live_figures_value(&sum, all.n - 1, 1)));
  live_figures_deinit(&sum);
  thresholds_deinit(&all);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(values_are_those_of_the_run, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(percentiles_agree_with_the_summary, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_summary_alone_tells_the_same, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(expressions_of_a_summary, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(no_data_is_broken, setup, teardown),
      cmocka_unit_test_setup_teardown(rates_of_a_stage_are_its_own, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(what_ended_the_run_is_broken, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(live_values_are_those_of_the_end, setup,
                                      teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
