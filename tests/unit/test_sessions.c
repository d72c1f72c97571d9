#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "stats/sessions.h"

#define SEC NS_PER_SEC

static struct session_record ended(enum session_end end, uint32_t turns,
                                   uint32_t planned, const char *reason)
{
  return (struct session_record){
      .phase = PHASE_MEASURE,
      .end = end,
      .turns = turns,
      .planned = planned,
      .started_ns = 10 * SEC,
      .ended_ns = 14 * SEC,
      .think_ns = SEC,
      .reason = reason,
  };
}

static void b161_planned_is_done_and_skipped(void **state)
{
  struct sessions s = {0};
  struct session_record all[] = {
      ended(SESSION_COMPLETED, 4, 4, ""),
      ended(SESSION_FAILED, 1, 4, "no tool call"),
      ended(SESSION_CUT, 2, 4, "the run was stopped"),
      ended(SESSION_COMPLETED, 3, 0, ""), /* told no plan */
      ended(SESSION_COMPLETED, 5, 4, ""), /* did more */
  };
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    sessions_add(&s, &all[i]);
  assert_int_equal(sessions_started(&s), 5);
  assert_int_equal(s.ends[SESSION_COMPLETED], 3);
  assert_int_equal(s.turns_planned, 4 + 4 + 4 + 3 + 5);
  assert_int_equal(s.turns_done, 4 + 1 + 2 + 3 + 5);
  assert_int_equal(s.turns_planned, s.turns_done + s.turns_skipped);
  assert_int_equal(s.n_reasons, 2);
  assert_string_equal(s.reasons[0].text, "no tool call");
  sessions_deinit(&s);
}

/* A limit of requests that cuts sessions shows as such, and the depth that
 * was really reached beside it. */
static void b167_cut_sessions_are_told_apart(void **state)
{
  struct sessions s = {0};
  const char *why = "the limit of requests was reached";
  struct session_record whole = ended(SESSION_COMPLETED, 3, 3, "");
  struct session_record half = ended(SESSION_CUT, 1, 3, why);
  (void)state;
  sessions_add(&s, &whole);
  sessions_add(&s, &half);
  assert_int_equal(s.ends[SESSION_COMPLETED], 1);
  assert_int_equal(s.ends[SESSION_CUT], 1);
  assert_int_equal(s.max_turns, 3);
  assert_int_equal(s.turns_skipped, 2);
  assert_string_equal(s.reasons[0].text, why);
  assert_int_equal(s.duration.count, 1);
  sessions_deinit(&s);
}

static void think_time_is_taken_off(void **state)
{
  struct sessions s = {0};
  struct session_record r = ended(SESSION_COMPLETED, 1, 0, "");
  (void)state;
  sessions_add(&s, &r);
  assert_int_equal(s.duration.min, 4 * SEC);
  assert_int_equal(s.active.min, 3 * SEC);
  r.think_ns = 4 * SEC; /* nothing else */
  sessions_add(&s, &r);
  assert_int_equal(s.active.min, 0);
  sessions_deinit(&s);
}

static void the_warmup_is_not_counted(void **state)
{
  struct sessions s = {0};
  struct session_record r = ended(SESSION_FAILED, 1, 0, "x");
  (void)state;
  r.phase = PHASE_WARMUP;
  sessions_add(&s, &r);
  assert_int_equal(sessions_started(&s), 0);
  assert_int_equal(s.n_reasons, 0);
}

static void merging_adds_up_and_reasons_are_bounded(void **state)
{
  struct sessions a = {0}, b = {0};
  uint64_t sum = 0;
  (void)state;
  for (int i = 0; i < 100; i++) {
    char reason[32];
    struct session_record r;
    snprintf(reason, sizeof reason, "reason %d", i);
    r = ended(SESSION_FAILED, 2, 0, reason);
    sessions_add(i % 2 ? &a : &b, &r);
    r = ended(SESSION_COMPLETED, 2, 0, "");
    sessions_add(i % 2 ? &a : &b, &r);
  }
  sessions_merge(&a, &b);
  assert_int_equal(sessions_started(&a), 200);
  assert_int_equal(a.duration.count, 100);
  assert_int_equal(a.n_reasons, SESSION_REASONS);
  for (size_t i = 0; i < a.n_reasons; i++)
    sum += a.reasons[i].count;
  assert_int_equal(sum, 100);
  assert_string_equal(a.reasons[SESSION_REASONS - 1].text, "(other)");
  sessions_deinit(&a);
  sessions_deinit(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b161_planned_is_done_and_skipped),
      cmocka_unit_test(b167_cut_sessions_are_told_apart),
      cmocka_unit_test(think_time_is_taken_off),
      cmocka_unit_test(the_warmup_is_not_counted),
      cmocka_unit_test(merging_adds_up_and_reasons_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
