/* A server's counters, read from its /metrics. */
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
    "vllm:diffusion_num_denoising_steps_total{engine=\"0\"} 40\n"
    "vllm:diffusion_num_canvas_positions_total 1280\n"
    "vllm:diffusion_num_committed_tokens_total 320\n"
    "vllm:diffusion_num_committed_tokens_created 1.7e+09\n"
    "vllm:num_requests_running{engine=\"0\"} 1.0";

static void engines_are_added_up(void **state)
{
  struct bench_counters c;
  const struct spec_decode *d = &c.spec_decode;
  (void)state;
  bench_counters_read(str_of(metrics), &c);
  assert_true(c.has_spec_decode && c.has_diffusion);
  assert_true(d->drafts == 12 && d->draft_tokens == 36 &&
              d->accepted_tokens == 18);
  assert_int_equal(d->n_positions, 3);
  assert_true(d->per_position[0] == 9 && d->per_position[1] == 0 &&
              d->per_position[2] == 3);
  assert_true(c.diffusion.steps == 40 && c.diffusion.positions == 1280 &&
              c.diffusion.committed == 320);
}

static void what_the_run_added_counts(void **state)
{
  struct bench_counters before, now;
  (void)state;
  bench_counters_read(str_of(metrics), &before);
  now = before;
  bench_counters_since(&before, &now);
  assert_false(now.has_spec_decode || now.has_diffusion);
  now = before;
  now.spec_decode.drafts += 4;
  now.spec_decode.draft_tokens += 12;
  now.spec_decode.per_position[0] += 3;
  now.diffusion.steps += 10;
  now.diffusion.positions += 320;
  now.diffusion.committed += 64;
  bench_counters_since(&before, &now);
  assert_true(now.has_spec_decode && now.has_diffusion);
  assert_true(now.spec_decode.drafts == 4 &&
              now.spec_decode.draft_tokens == 12 &&
              now.spec_decode.accepted_tokens == 0 &&
              now.spec_decode.per_position[0] == 3);
  assert_true(now.diffusion.steps == 10 && now.diffusion.positions == 320 &&
              now.diffusion.committed == 64);
}

static bool finds_any(const char *text)
{
  struct bench_counters c;
  bench_counters_read(str_of(text), &c);
  return c.has_spec_decode || c.has_diffusion;
}

static void other_servers_have_none(void **state)
{
  struct bench_counters c;
  (void)state;
  assert_false(finds_any(""));
  assert_false(finds_any("<html>"));
  assert_false(
      finds_any("# vllm:spec_decode_num_drafts_total\nvllm:x 1\nvllm:"));
  /* Cut lines and positions beyond all sense do no harm. */
  assert_false(finds_any("vllm:spec_decode_"));
  bench_counters_read(STR("vllm:spec_decode_num_accepted_tokens_per_pos_total{"
                          "position=\"99999999999\"} 3\n"),
                      &c);
  assert_int_equal(c.spec_decode.n_positions, 0);
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
