/* The words in which answers and faults are asked for, and whom they meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "mock/rule.h"

static struct mock_plan plan_of(const char *specs)
{
  struct mock_plan p;
  struct err e = {0};
  mock_plan_defaults(&p);
  assert_int_equal(mock_plan_apply(&p, str_of(specs), "here", &e), 0);
  assert_int_equal(e.count, 0);
  return p;
}

static void sets_times_and_sizes(void **state)
{
  struct mock_plan p =
      plan_of("ttft:20ms, itl:normal:5ms:1ms,tokens:7,chunk:3");
  (void)state;
  assert_true(p.ttft.mean == 20e6);
  assert_true(p.itl.kind == MOCK_DIST_NORMAL && p.itl.sd == 1e6);
  assert_true(p.tokens_set && p.tokens.mean == 7);
  assert_int_equal(p.chunk, 3);
}

static void arguments_may_be_left_out(void **state)
{
  struct mock_plan p = plan_of("error,stall,cut,split,ping");
  (void)state;
  assert_int_equal(p.error_at, 0);
  assert_int_equal(p.stall_at, 0);
  assert_true(p.stall_ns == MOCK_NEVER);
  assert_int_equal(p.cut_at, 0);
  assert_false(p.cut_reset);
  assert_int_equal(p.split, 1);
  assert_int_equal(p.split_delay_ns, 0);
  assert_int_equal(p.ping_ns, 1000000000);
}

static void all_arguments(void **state)
{
  struct mock_plan p = plan_of("error:3:flat,stall:2:1s,cut-bytes:100:rst,"
                               "split-at:9:10ms,error-field:empty");
  (void)state;
  assert_int_equal(p.error_at, 3);
  assert_int_equal(p.error_form, MOCK_ERROR_FLAT);
  assert_int_equal(p.stall_ns, 1000000000);
  assert_int_equal(p.cut_byte, 100);
  assert_true(p.cut_reset);
  assert_int_equal(p.split_at, 9);
  assert_int_equal(p.split_delay_ns, 10000000);
  assert_true(str_eq(p.error_field, STR("\"\"")));
}

static void an_argument_keeps_its_colons(void **state)
{
  struct mock_plan p = plan_of("redirect:307:http://127.0.0.1:9/v1");
  (void)state;
  assert_int_equal(p.instead, MOCK_REDIRECT);
  assert_int_equal(p.status, 307);
  assert_true(str_eq(p.location, STR("http://127.0.0.1:9/v1")));
  p = plan_of("status:429:date+3");
  assert_int_equal(p.status, 429);
  assert_true(str_eq(p.retry_after, STR("date+3")));
}

static void mistakes_are_all_told(void **state)
{
  struct mock_plan p;
  struct err e = {0};
  const char *text;
  (void)state;
  mock_plan_defaults(&p);
  assert_int_equal(
      mock_plan_apply(&p, STR("stal:2,cut:x,chunk:0,crlf:1,bom"), "here", &e),
      -1);
  assert_int_equal(e.count, 4);
  text = err_text(&e);
  assert_non_null(strstr(text, "here: no fault \"stal\", did you mean stall"));
  assert_non_null(strstr(text, "cut:x: bad argument; say cut[:K[:fin|rst]]"));
  assert_non_null(strstr(text, "crlf:1: bad argument; say crlf\n"));
  assert_true(p.bom);
  err_free(&e);
}

static void help_names_every_kind(void **state)
{
  struct buf text = {0};
  (void)state;
  mock_plan_help(&text);
  assert_non_null(strstr(buf_cstr(&text), "  rst-reused  "));
  assert_non_null(strstr(buf_cstr(&text), "  status:CODE[:RETRY]"));
  buf_free(&text);
}

/* ---- rules ---- */

static unsigned hits(const char *text, char map[13])
{
  struct mock_rule r;
  struct err e = {0};
  unsigned n = 0;
  assert_int_equal(mock_rule_parse(str_of(text), &r, &e), 0);
  for (uint64_t i = 1; i <= 12; i++) {
    bool hit = mock_rule_matches(&r, i, 1);
    map[i - 1] = hit ? 'x' : '.';
    n += hit;
  }
  map[12] = '\0';
  return n;
}

static void rules_choose_by_number(void **state)
{
  static const struct {
    const char *rule, *map;
  } rows[] = {{"crlf", "xxxxxxxxxxxx"},     {"crlf@3", "..x........."},
              {"crlf@2-5", ".xxxx......."}, {"crlf@10+", ".........xxx"},
              {"crlf@/4", "...x...x...x"},  {"crlf@0%", "............"},
              {"crlf@100%", "xxxxxxxxxxxx"}};
  char map[13];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    hits(rows[i].rule, map);
    assert_string_equal(map, rows[i].map);
  }
}

static void a_share_is_drawn_and_repeats(void **state)
{
  struct mock_rule r;
  struct err e = {0};
  unsigned n = 0, other = 0;
  (void)state;
  assert_int_equal(mock_rule_parse(STR("rst@20%"), &r, &e), 0);
  for (uint64_t i = 1; i <= 10000; i++) {
    n += mock_rule_matches(&r, i, 1);
    other += mock_rule_matches(&r, i, 1) != mock_rule_matches(&r, i, 2);
    assert_int_equal(mock_rule_matches(&r, i, 1), mock_rule_matches(&r, i, 1));
  }
  assert_in_range(n, 1800, 2200);
  assert_true(other > 1000);
}

static void bad_rules(void **state)
{
  static const char *const rows[] = {"",        "@3",        "crlf@",
                                     "crlf@0",  "crlf@x",    "crlf@5-2",
                                     "crlf@/0", "crlf@120%", "no-such@3"};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct mock_rule r;
    struct err e = {0};
    assert_int_equal(mock_rule_parse(str_of(rows[i]), &r, &e), -1);
    assert_true(e.count > 0);
    err_free(&e);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sets_times_and_sizes),
      cmocka_unit_test(arguments_may_be_left_out),
      cmocka_unit_test(all_arguments),
      cmocka_unit_test(an_argument_keeps_its_colons),
      cmocka_unit_test(mistakes_are_all_told),
      cmocka_unit_test(help_names_every_kind),
      cmocka_unit_test(rules_choose_by_number),
      cmocka_unit_test(a_share_is_drawn_and_repeats),
      cmocka_unit_test(bad_rules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
