#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/outcome.h"
#include "stats/summary.h"
#include "stats/threshold.h"

static struct custom declared;

static int declare(void **state)
{
  struct err e = {0};
  json_value *v = json_parse(STR("{\"calls\":\"counter\",\"depth\":\"gauge\","
                                 "\"done\":\"rate\",\"wait\":\"trend\"}"),
                             NULL);
  (void)state;
  custom_declare(&declared, v, "x.lua", &e);
  json_free(v);
  return 0;
}

static int forget(void **state)
{
  (void)state;
  custom_deinit(&declared);
  return 0;
}

static struct threshold parse(const char *text)
{
  struct threshold t;
  struct err e = {0};
  if (threshold_parse(&t, str_of(text), &declared, "--threshold", &e) < 0)
    fail_msg("%s", err_text(&e));
  err_free(&e);
  return t;
}

static void what_is_meant(void **state)
{
  static const struct {
    const char *text;
    enum subject subject;
    int which;
    enum statistic statistic;
    double percentile;
    enum comparison comparison;
    double limit;
  } rows[] = {
      {"ttft.p99 < 2s", SUBJECT_FIGURE, FIGURE_TTFT, STATISTIC_PERCENTILE, 99,
       LESS, 2e9},
      {" itl.p99.9<=7ms ", SUBJECT_FIGURE, FIGURE_ITL, STATISTIC_PERCENTILE,
       99.9, LESS_EQUAL, 7e6},
      {"e2el_due.median > 1.5 s", SUBJECT_FIGURE, FIGURE_E2EL_DUE,
       STATISTIC_PERCENTILE, 50, GREATER, 1.5e9},
      {"tpot.med<50us", SUBJECT_FIGURE, FIGURE_TPOT, STATISTIC_PERCENTILE, 50,
       LESS, 50e3},
      {"queue.max >= 0", SUBJECT_FIGURE, FIGURE_QUEUE, STATISTIC_MAX, 0,
       GREATER_EQUAL, 0},
      {"ttfb.count == 10", SUBJECT_FIGURE, FIGURE_TTFB, STATISTIC_COUNT, 0,
       EQUAL, 10},
      {"error_rate < 7%", SUBJECT_VALUE, VALUE_ERROR_RATE, STATISTIC_NONE, 0,
       LESS, 0.07},
      {"success_rate >= 0.99", SUBJECT_VALUE, VALUE_SUCCESS_RATE,
       STATISTIC_NONE, 0, GREATER_EQUAL, 0.99},
      {"output_throughput > 1e3", SUBJECT_VALUE, VALUE_OUTPUT_THROUGHPUT,
       STATISTIC_NONE, 0, GREATER, 1000},
      {"completed != 0", SUBJECT_VALUE, VALUE_COMPLETED, STATISTIC_NONE, 0,
       UNEQUAL, 0},
      {"timeout_ttft == 0", SUBJECT_OUTCOME, OUTCOME_TIMEOUT_TTFT,
       STATISTIC_NONE, 0, EQUAL, 0},
      {"check == 0", SUBJECT_OUTCOME, OUTCOME_CHECK, STATISTIC_NONE, 0, EQUAL,
       0},
      {"checks > 99%", SUBJECT_CHECKS, 0, STATISTIC_RATE, 0, GREATER, 0.99},
      {"checks.failed == 0", SUBJECT_CHECKS, 0, STATISTIC_FAILED, 0, EQUAL, 0},
      {"sessions.cut < 1", SUBJECT_SESSIONS, 0, STATISTIC_CUT, 0, LESS, 1},
      {"sessions.duration.p95 < 2m", SUBJECT_DURATION, 0, STATISTIC_PERCENTILE,
       95, LESS, 120e9},
      {"sessions.active.mean < 1s", SUBJECT_DURATION, 1, STATISTIC_MEAN, 0,
       LESS, 1e9},
      {"calls > 5", SUBJECT_CUSTOM, 0, STATISTIC_SUM, 0, GREATER, 5},
      {"calls.rate > 5", SUBJECT_CUSTOM, 0, STATISTIC_RATE, 0, GREATER, 5},
      {"depth.max <= -3", SUBJECT_CUSTOM, 1, STATISTIC_MAX, 0, LESS_EQUAL, -3},
      {"done > 90%", SUBJECT_CUSTOM, 2, STATISTIC_RATE, 0, GREATER, 0.9},
      {"wait.p90 < 250ms", SUBJECT_CUSTOM, 3, STATISTIC_PERCENTILE, 90, LESS,
       0.25},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct threshold t = parse(rows[i].text);
    assert_int_equal(t.subject, rows[i].subject);
    assert_int_equal(t.which, rows[i].which);
    assert_int_equal(t.statistic, rows[i].statistic);
    assert_true(t.percentile == rows[i].percentile);
    assert_int_equal(t.comparison, rows[i].comparison);
    assert_true(t.limit == rows[i].limit);
    assert_false(t.abort);
    threshold_deinit(&t);
  }
}

static void filters_and_names(void **state)
{
  struct threshold t =
      parse("ttft{ class = long , stage=\"the spike\",turn=65+}.p50 < 1s");
  (void)state;
  assert_int_equal(t.filter.n, 3);
  assert_string_equal(t.filter.terms[0].name, "class");
  assert_string_equal(t.filter.terms[0].value, "long");
  assert_string_equal(t.filter.terms[1].value, "the spike");
  assert_string_equal(t.filter.terms[2].value, "65+");
  threshold_deinit(&t);
  t = parse("error_rate{tag=long} < 1%");
  assert_int_equal(t.filter.n, 1);
  threshold_deinit(&t);
  t = parse("check{\"a } in, it = no\"} == 100%");
  assert_string_equal(t.check, "a } in, it = no");
  assert_int_equal(t.statistic, STATISTIC_RATE);
  threshold_deinit(&t);
  t = parse("check{status is 200}.failed == 0");
  assert_string_equal(t.check, "status is 200");
  threshold_deinit(&t);
}

static void flags(void **state)
{
  struct threshold t = parse("error_rate < 5% abort");
  (void)state;
  assert_true(t.abort);
  assert_int_equal(t.grace_ns, 0);
  assert_string_equal(t.text, "error_rate < 5% abort");
  threshold_deinit(&t);
  t = parse("ttft.p99 < 1s abort after 1.5m");
  assert_true(t.abort);
  assert_int_equal(t.grace_ns, 90 * NS_PER_SEC);
  threshold_deinit(&t);
  t = parse("completed > 5abort");
  assert_true(t.abort);
  threshold_deinit(&t);
}

/* Each says what to do. */
static void mistakes(void **state)
{
  static const char *const rows[][2] = {
      {"", "looks like"},
      {"<", "looks like"},
      {"ttf.p9 < 1s", "did you mean ttft"},
      {"foo_bar < 1", "say for example"},
      {"wayt.p50 < 1", "did you mean wait"},
      {"ttft < 1s", "say which: ttft."},
      {"wait < 1s", "say which: wait."},
      {"sessions > 1", "say which: sessions."},
      {"ttft.p999 < 1s", "has no .p999"},
      {"ttft.p < 1s", "has no .p;"},
      {"ttft.rate < 1s", "has no .rate"},
      {"calls.p50 < 1", "choose of count sum rate"},
      {"error_rate.mean < 1%", "single number"},
      {"ttft.p99", "comparison must follow"},
      {"ttft.p99 = 1s", "comparison must follow"},
      {"ttft.p99 < ", "number must follow"},
      {"ttft.p99 < fast", "number must follow"},
      {"ttft.p99 < inf", "number must follow"},
      {"ttft.p99 < 1", "give the number a unit"},
      {"ttft.p99 < 5%", "give the number a unit"},
      {"ttft.p99 < 1x", "no unit 'x'"},
      {"ttft.p99 < 1seconds", "no unit"},
      {"error_rate < 5", "between 0 and 1"},
      {"error_rate < 5ms", "share: say"},
      {"error_rate < 101%", "between 0 and 1"},
      {"completed > 5s", "plain number"},
      {"calls > 5%", "plain number"},
      {"ttft{class}.p99 < 1s", "NAME=VALUE"},
      {"ttft{=x}.p99 < 1s", "NAME=VALUE"},
      {"ttft{}.p99 < 1s", "NAME=VALUE"},
      {"ttft{a=1,b=1,c=1,d=1,e=1}.p99 < 1s", "more than 4"},
      {"ttft{class=long.p99 < 1s", "has no }"},
      {"sessions{a=b}.failed < 1", "for the whole run"},
      {"calls{turn=1} > 1", "no turns"},
      {"calls{} > 1", "NAME=VALUE"},
      {"check{} > 1%", "name of a check"},
      {"ttft.p99 < 1s stop", "nothing else"},
      {"ttft.p99 < 1s abort soon", "nothing else"},
      {"ttft.p99 < 1s abort after", "not a time"},
      {"ttft.p99 < 1s abort after x", "not a time"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct threshold t;
    struct err e = {0};
    if (threshold_parse(&t, str_of(rows[i][0]), &declared, "f:3", &e) == 0)
      fail_msg("'%s' was taken", rows[i][0]);
    assert_int_equal(e.count, 1);
    assert_null(t.text);
    if (!strstr(err_text(&e), rows[i][1]) ||
        strncmp(err_text(&e), "f:3 '", 5) != 0)
      fail_msg("'%s': %s", rows[i][0], err_text(&e));
    err_free(&e);
  }
}

static void nothing_holds_for_no_number(void **state)
{
  static const char *const all[] = {"completed < 1", "completed > 1",
                                    "completed == 1", "completed != 1"};
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    struct threshold t = parse(all[i]);
    assert_false(threshold_holds(&t, NAN));
    threshold_deinit(&t);
  }
}

static void limits_are_exact(void **state)
{
  struct threshold t = parse("error_rate <= 57%");
  (void)state;
  assert_true(t.limit == 0.57); /* 57 * 0.01 is more */
  assert_true(threshold_holds(&t, 57.0 / 100));
  assert_false(threshold_holds(&t, nextafter(0.57, 1)));
  threshold_deinit(&t);
  t = parse("ttft.p50 <= 7ms");
  assert_true(threshold_holds(&t, 7e6));
  assert_true(threshold_in_unit(&t, t.limit) == 7);
  threshold_deinit(&t);
}

static void files_have_lines_and_comments(void **state)
{
  struct thresholds all = {0};
  struct err e = {0};
  (void)state;
  assert_int_equal(
      thresholds_add_lines(&all,
                           STR("# what must hold\nttft.p99 < 1s # users\r\n\n"
                               "  error_rate < 1% abort\n"),
                           &declared, "slo.txt", &e),
      0);
  assert_int_equal(all.n, 2);
  assert_string_equal(all.list[0].text, "ttft.p99 < 1s");
  assert_int_equal(thresholds_add_lines(&all, STR("\nttft\nx < 1\ncalls > 1"),
                                        &declared, "slo.txt", &e),
                   -1);
  assert_int_equal(e.count, 2);
  assert_non_null(strstr(err_text(&e), "slo.txt:2 'ttft'"));
  assert_non_null(strstr(err_text(&e), "slo.txt:3 'x < 1'"));
  assert_int_equal(all.n, 3);
  thresholds_deinit(&all);
  err_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_meant),
      cmocka_unit_test(filters_and_names),
      cmocka_unit_test(flags),
      cmocka_unit_test(mistakes),
      cmocka_unit_test(nothing_holds_for_no_number),
      cmocka_unit_test(limits_are_exact),
      cmocka_unit_test(files_have_lines_and_comments),
  };
  return cmocka_run_group_tests(tests, declare, forget);
}
