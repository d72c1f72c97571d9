#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "make_record.h"
#include "stats/slo.h"

static void parses_milliseconds(void **state)
{
  struct slo s = {0};
  struct err e = {0};
  (void)state;
  assert_int_equal(slo_parse(&s, STR("ttft:500"), &e), 0);
  assert_int_equal(slo_parse(&s, STR("tpot:0.5"), &e), 0);
  assert_int_equal(slo_parse(&s, STR("e2el: 60000"), &e), 0);
  assert_int_equal(s.ttft_ns, 500 * MS);
  assert_int_equal(s.tpot_ns, MS / 2);
  assert_int_equal(s.e2el_ns, 60000 * MS);
  assert_true(slo_set(&s));
}

static void b067_bad_goodput_is_an_error(void **state)
{
  static const char *const bad[] = {"tpott:1",  "ttft",    "ttft:", ":5",
                                    "ttft:x",   "ttft:-1", "",      "TTFT:1",
                                    "ttft:inf", "ttft:5ms"};
  struct slo s = {0};
  struct err e = {0};
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(slo_parse(&s, str_of(bad[i]), &e), -1);
    assert_int_equal(e.count, i + 1);
  }
  assert_non_null(strstr(err_text(&e), "tpott:1"));
  assert_non_null(strstr(err_text(&e), "ttft, tpot or e2el"));
  assert_false(slo_set(&s));
  err_free(&e);
}

static void b067_goodput_by_request(void **state)
{
  static const uint64_t tpot[] = {50, 150, 50, 150};
  struct slo s = {.ttft_ns = 500 * MS, .tpot_ns = 100 * MS};
  struct record_event ev[10];
  struct record one;
  int good = 0;
  (void)state;
  for (int i = 0; i < 4; i++) {
    struct record r = make_stream(ev, 10, T0, 400 * MS, tpot[i] * MS);
    good += slo_good(&s, &r);
  }
  assert_int_equal(good, 2);
  one = make_stream(ev, 1, T0, 400 * MS, 0);
  assert_true(slo_good(&s, &one)); /* no TPOT: judged by the others */
  one = make_stream(ev, 1, T0, 501 * MS, 0);
  assert_false(slo_good(&s, &one));
}

static void limits_are_inclusive(void **state)
{
  struct slo s = {.ttft_ns = 100 * MS, .tpot_ns = 10 * MS, .e2el_ns = 190 * MS};
  struct record_event ev[10];
  struct record r = make_stream(ev, 10, T0, 100 * MS, 10 * MS);
  (void)state;
  assert_true(slo_good(&s, &r));
  s.e2el_ns--;
  assert_false(slo_good(&s, &r));
}

static void failed_is_never_good(void **state)
{
  struct slo s = {.e2el_ns = 1000 * MS}, none = {0};
  struct record r = make_failed(T0, MS, OUTCOME_HTTP_5XX, 503, "x");
  (void)state;
  assert_false(slo_good(&s, &r));
  assert_false(slo_good(&none, &r));
}

static void plain_answer_shows_its_first_token_last(void **state)
{
  struct slo s = {.ttft_ns = 100 * MS};
  struct record r = make_plain(T0, 100 * MS, 5);
  (void)state;
  assert_true(slo_good(&s, &r));
  r = make_plain(T0, 101 * MS, 5);
  assert_false(slo_good(&s, &r));
}

static void own_limits_go_first(void **state)
{
  struct slo run = {.ttft_ns = 100 * MS, .e2el_ns = 1000 * MS}, s;
  struct record_event ev[2];
  struct record r = make_stream(ev, 2, T0, 150 * MS, MS);
  (void)state;
  s = slo_of(&run, &r);
  assert_false(slo_good(&s, &r));
  r.slo_ttft_ns = 200 * MS;
  s = slo_of(&run, &r);
  assert_int_equal(s.ttft_ns, 200 * MS);
  assert_int_equal(s.e2el_ns, 1000 * MS);
  assert_true(slo_good(&s, &r));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parses_milliseconds),
      cmocka_unit_test(b067_bad_goodput_is_an_error),
      cmocka_unit_test(b067_goodput_by_request),
      cmocka_unit_test(limits_are_inclusive),
      cmocka_unit_test(failed_is_never_good),
      cmocka_unit_test(plain_answer_shows_its_first_token_last),
      cmocka_unit_test(own_limits_go_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
