/* The counters of speculative decoding, read from a server's /metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/bench_server.h"

static const char metrics[] =
    "# HELP vllm:spec_decode_num_drafts_total Number of drafts.\n"
    "# TYPE vllm:spec_decode_num_drafts_total counter\n"
    "vllm:spec_decode_num_drafts_total{engine=\"0\",model_name=\"m x\"} 10.0\n"
    "vllm:spec_decode_num_drafts_total{engine=\"1\",model_name=\"m x\"} 2.0\n"
    "vllm:spec_decode_num_draft_tokens_total{engine=\"0\"} 36.0\n"
    "vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} 1.8e+01\n"
    "vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\","
    "position=\"0\"} 9.0\n"
    "vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\","
    "position=\"2\"} 3.0\r\n"
    "vllm:spec_decode_num_drafts_created{engine=\"0\"} 1.7e+09\n"
    "vllm:num_requests_running{engine=\"0\"} 1.0";

static void engines_are_added_up(void **state)
{
  struct spec_decode d;
  (void)state;
  assert_true(bench_spec_decode_read(str_of(metrics), &d));
  assert_true(d.drafts == 12 && d.draft_tokens == 36 &&
              d.accepted_tokens == 18);
  assert_int_equal(d.n_positions, 3);
  assert_true(d.per_position[0] == 9 && d.per_position[1] == 0 &&
              d.per_position[2] == 3);
}

static void what_the_run_added_counts(void **state)
{
  struct spec_decode before, now;
  (void)state;
  bench_spec_decode_read(str_of(metrics), &before);
  now = before;
  assert_false(bench_spec_decode_since(&before, &now));
  now = before;
  now.drafts += 4;
  now.draft_tokens += 12;
  now.per_position[0] += 3;
  assert_true(bench_spec_decode_since(&before, &now));
  assert_true(now.drafts == 4 && now.draft_tokens == 12 &&
              now.accepted_tokens == 0 && now.per_position[0] == 3);
}

static void other_servers_have_none(void **state)
{
  struct spec_decode d;
  (void)state;
  assert_false(bench_spec_decode_read(STR(""), &d));
  assert_false(bench_spec_decode_read(STR("<html>"), &d));
  assert_false(bench_spec_decode_read(
      STR("# vllm:spec_decode_num_drafts_total\nvllm:x 1\n"), &d));
  /* Cut lines and positions beyond all sense do no harm. */
  assert_false(bench_spec_decode_read(STR("vllm:spec_decode_"), &d));
  bench_spec_decode_read(
      STR("vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\""
          "99999999999\"} 3\n"),
      &d);
  assert_int_equal(d.n_positions, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(engines_are_added_up),
      cmocka_unit_test(what_the_run_added_counts),
      cmocka_unit_test(other_servers_have_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
