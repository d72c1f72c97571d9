#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "make_record.h"
#include "stats/concurrency.h"
#include "stats/metrics.h"
#include "stats/summary.h"

/* One accumulation that a test fills and sums up. */
struct run {
  struct metrics *m;
  struct summary s;
  struct summary_config config;
  struct slo slo;
  uint64_t next_id;
};

static int setup(void **state)
{
  static struct run run;
  run = (struct run){.next_id = 1};
  run.m = metrics_new(&(struct metrics_config){.epoch_ns = T0});
  *state = &run;
  return 0;
}

static int teardown(void **state)
{
  struct run *run = *state;
  metrics_free(run->m);
  summary_deinit(&run->s);
  return 0;
}

static void add(struct run *run, struct record r)
{
  r.id = run->next_id++;
  metrics_add(run->m, &r);
}

static const struct summary *sum(struct run *run)
{
  summary_deinit(&run->s);
  summary_build(&run->s, run->m, NULL, &run->config);
  return &run->s;
}

static bool near(double a, double b)
{
  return fabs(a - b) <= 1e-6 * fmax(1, fabs(b));
}

static void b055_nothing_is_no_number(void **state)
{
  const struct summary *s = sum(*state);
  assert_int_equal(s->sent, 0);
  assert_true(isnan(s->duration_s));
  assert_true(isnan(s->request_throughput));
  assert_true(isnan(s->max_output_tokens_per_s));
  assert_true(isnan(s->latency[FIGURE_TTFT].mean));
  assert_true(isnan(s->latency[FIGURE_E2EL].p[LATENCY_P99]));
  assert_true(isnan(summary_success_rate(s)));
  assert_false(s->steady.found);
  assert_false(s->verdict.limited);
  assert_int_equal(s->series_len, 0);
}

static void b055_instant_failures_have_no_rates_of_success(void **state)
{
  const struct summary *s;
  for (int i = 0; i < 3; i++)
    add(*state, make_failed(T0, 0, OUTCOME_CONNECT, 0, "refused"));
  s = sum(*state);
  assert_int_equal(s->sent, 3);
  assert_int_equal(s->failed, 3);
  assert_true(s->duration_s == 0);
  assert_true(isnan(s->request_throughput)); /* no time has passed */
  assert_true(isnan(s->latency[FIGURE_E2EL].mean));
  assert_true(summary_success_rate(s) == 0);
}

static void b034_b035_chunks_of_three_tokens(void **state)
{
  struct record_event ev[10];
  struct record r = make_stream(ev, 10, T0, 50 * MS, 9 * MS);
  const struct summary *s;
  r.tokens = 30;
  add(*state, r);
  s = sum(*state);
  assert_true(near(s->latency[FIGURE_ITL].p[LATENCY_P50], 9));
  assert_true(near(s->latency[FIGURE_TPOT].mean, 81.0 / 29));
  assert_true(near(s->tokens_per_chunk, 3));
  assert_true(near(s->output_throughput, 30 / 0.131));
  assert_true(s->max_output_tokens_per_s >= s->output_throughput);
}

static void b035_peak_of_a_long_run(void **state)
{
  struct record_event ev[1200];
  struct record r;
  const struct summary *s;
  /* 10 tokens/s for 10 s, then 1,000 in half a second. */
  r = make_stream(ev, 101, T0, 0, 100 * MS);
  r.first_byte_ns = r.headers_ns = T0;
  add(*state, r);
  r = make_stream(ev, 1001, T0 + 10 * NS_PER_SEC, 0, MS / 2);
  add(*state, r);
  s = sum(*state);
  assert_true(s->peak_window_s == 1);
  assert_in_range((uint64_t)s->max_output_tokens_per_s, 1000, 1012);
  assert_true(near(s->output_throughput, 1102 / 10.5));
}

static void b035_peak_is_not_below_the_mean_of_the_run(void **state)
{
  struct run *run = *state;
  const struct summary *s;
  /* 1.2 s, half of the tokens at either end: no second holds more than half,
   * and the window ended before most of them came. */
  metrics_window(run->m, T0, T0 + 1100 * MS);
  add(run, make_plain(T0, 10 * MS, 60));
  add(run, make_plain(T0, 1200 * MS, 60));
  s = sum(run);
  assert_true(near(s->output_throughput, 100));
  assert_true(near(s->max_output_tokens_per_s, 100));
}

static void b036_b070_source_of_the_count_is_told(void **state)
{
  struct record_event ev[15];
  struct record r = make_stream(ev, 15, T0, 10 * MS, MS);
  const struct summary *s;
  r.token_source = TOKENS_CHUNKS;
  add(*state, r);
  r.token_source = TOKENS_USAGE;
  r.tokens = 2;
  add(*state, r);
  s = sum(*state);
  assert_int_equal(s->output_tokens, 17);
  assert_int_equal(s->output_sources[TOKENS_CHUNKS], 1);
  assert_int_equal(s->output_sources[TOKENS_USAGE], 1);
  assert_int_equal(s->prompt_sources[TOKENS_USAGE], 2);
}

static void b037_only_one_token_each(void **state)
{
  struct record_event ev[1];
  const struct summary *s;
  for (uint64_t i = 0; i < 4; i++)
    add(*state, make_stream(ev, 1, T0 + i * MS, 30 * MS, 0));
  s = sum(*state);
  assert_int_equal(s->completed, 4);
  assert_int_equal(s->latency[FIGURE_TTFT].count, 4);
  assert_int_equal(s->latency[FIGURE_E2EL].count, 4);
  assert_int_equal(s->latency[FIGURE_TPOT].count, 0);
  assert_true(isnan(s->latency[FIGURE_TPOT].mean));
  assert_int_equal(s->latency[FIGURE_ITL].count, 0);
  assert_true(isnan(s->latency[FIGURE_ITL].p[LATENCY_P99]));
}

static void b040_refusals_do_not_flatter(void **state)
{
  struct record_event ev[2];
  const struct summary *s;
  for (uint64_t i = 0; i < 50; i++) {
    add(*state, make_stream(ev, 2, T0 + i * MS, 100 * MS, 10 * MS));
    add(*state,
        make_failed(T0 + i * MS, MS, OUTCOME_HTTP_5XX, 503, "overloaded"));
  }
  s = sum(*state);
  assert_int_equal(s->sent, 100);
  assert_int_equal(s->completed, 50);
  assert_int_equal(s->failed, 50);
  assert_int_equal(s->outcomes[OUTCOME_HTTP_5XX], 50);
  assert_true(s->latency[FIGURE_TTFT].mean == 100);
  assert_true(s->latency[FIGURE_E2EL].min == 110);
  assert_true(summary_success_rate(s) == 0.5);
  assert_int_equal(s->errors.len, 1);
  assert_int_equal(s->errors.groups[0].status, 503);
  assert_int_equal(s->errors.groups[0].count, 50);
}

static void b041_attempts_are_seen(void **state)
{
  struct record_event ev[2];
  struct record r = make_stream(ev, 2, T0, 100 * MS, 10 * MS);
  r.attempts = 3;
  add(*state, r);
  r.attempts = 1;
  add(*state, r);
  assert_int_equal(sum(*state)->retries, 2);
}

static void b042_kinds_of_errors_by_count(void **state)
{
  struct record_event ev[1];
  const struct summary *s;
  for (uint64_t i = 0; i < 95; i++)
    add(*state, make_stream(ev, 1, T0 + i, MS, 0));
  for (int i = 0; i < 2; i++)
    add(*state, make_failed(T0, MS, OUTCOME_RESET, 0, "reset by peer"));
  for (int i = 0; i < 3; i++)
    add(*state, make_failed(T0, MS, OUTCOME_EMPTY, 200, NULL));
  s = sum(*state);
  assert_int_equal(s->errors.len, 2);
  assert_int_equal(s->errors.groups[0].outcome, OUTCOME_EMPTY);
  assert_int_equal(s->errors.groups[0].count, 3);
  assert_int_equal(s->errors.groups[1].outcome, OUTCOME_RESET);
  assert_string_equal(s->errors.groups[1].message, "reset by peer");
}

static void b045_one_outcome_each(void **state)
{
  struct record_event ev[1];
  const struct summary *s;
  uint64_t n = 0;
  add(*state, make_stream(ev, 1, T0, 50 * MS, 0));
  add(*state, make_failed(T0, MS, OUTCOME_TIMEOUT_TOTAL, 0, "late"));
  s = sum(*state);
  for (int o = 0; o < OUTCOME_COUNT; o++)
    n += s->outcomes[o];
  assert_int_equal(n, s->sent);
  assert_int_equal(n, 2);
}

static void b046_rates_are_over_elapsed_time(void **state)
{
  struct run *run = *state;
  struct record_event ev[1];
  const struct summary *s;
  run->config.request_rate = 1e7;
  /* Due within 20 us, sent over 2 s. */
  for (uint64_t i = 0; i < 200; i++) {
    struct record r = make_stream(ev, 1, T0 + i * 10 * MS, MS, 0);
    r.due_ns = T0 + i * 100;
    add(run, r);
  }
  s = sum(run);
  assert_true(near(s->duration_s, 1.991));
  assert_true(near(s->request_throughput, 200 / 1.991));
  assert_true(near(s->planned_rps, 1e7));
  assert_true(near(s->achieved_rps, 100));
  assert_true(s->verdict.limited);
  assert_non_null(strstr(s->verdict.reasons[1], "planned"));
}

static void b047_no_samples_are_made_up(void **state)
{
  struct record_event ev[1];
  const struct summary *s;
  uint64_t at = T0;
  for (int i = 0; i < 1000; i++) {
    uint64_t took = i == 500 ? 1000 * MS : MS;
    add(*state, make_stream(ev, 1, at, took, 0));
    at += took;
  }
  s = sum(*state);
  assert_int_equal(s->latency[FIGURE_E2EL].count, 1000);
  assert_true(s->latency[FIGURE_E2EL].p[LATENCY_P99] == 1);
  assert_true(s->latency[FIGURE_E2EL].max == 1000);
  assert_int_equal(s->max_concurrent_requests, 1);
}

static void b051_window_counts_what_arrived(void **state)
{
  struct run *run = *state;
  struct record_event ev[50];
  struct record r = make_stream(ev, 50, T0, 100 * MS, 100 * MS);
  const struct summary *s;
  r.outcome = OUTCOME_CANCELLED;
  r.tokens = TOKENS_UNKNOWN;
  r.done_ns = T0 + 5 * NS_PER_SEC;
  metrics_window(run->m, T0, T0 + 5 * NS_PER_SEC);
  add(run, r);
  s = sum(run);
  assert_true(near(s->window_output_throughput, 10));
  assert_true(s->output_throughput == 0);
  assert_int_equal(s->completed, 0);
  assert_int_equal(s->cancelled, 1);
  assert_int_equal(s->failed, 0);
}

static void b092_the_drain_completes_but_adds_no_window(void **state)
{
  struct run *run = *state;
  struct record_event ev[10];
  const struct summary *s;
  /* Sending stopped after 1 s; half of the second answer came after that. */
  metrics_window(run->m, T0, T0 + NS_PER_SEC);
  add(run, make_stream(ev, 10, T0, 50 * MS, 50 * MS));
  add(run, make_stream(ev, 10, T0 + 800 * MS, 40 * MS, 40 * MS));
  add(run, make_failed(T0 + 900 * MS, 400 * MS, OUTCOME_CANCELLED, 0, "end"));
  s = sum(run);
  assert_int_equal(s->completed, 2);
  assert_int_equal(s->cancelled, 1);
  assert_int_equal(s->output_tokens, 20);
  assert_true(near(s->window_s, 1));
  assert_true(near(s->window_output_throughput, 15));
  assert_true(near(s->duration_s, 1.3));
}

static void a_window_cut_short_is_moved(void **state)
{
  struct run *run = *state;
  struct record_event ev[10];
  metrics_window(run->m, T0, T0 + 60 * NS_PER_SEC);
  add(run, make_stream(ev, 10, T0, 50 * MS, 50 * MS));
  metrics_window(run->m, T0, T0 + 2 * NS_PER_SEC);
  add(run, make_stream(ev, 10, T0 + 1900 * MS, 100 * MS, 50 * MS));
  assert_true(near(sum(run)->window_output_throughput, 11.0 / 2));
}

static void b052_itl_pools_gaps_tpot_is_per_request(void **state)
{
  struct record_event ev[100];
  struct record r = make_stream(ev, 100, T0, 10 * MS, 10 * MS);
  const struct summary *s;
  for (int i = 50; i < 100; i++)
    ev[i].after_ns += 990 * MS;
  r.last_token_ns += 990 * MS;
  r.done_ns = r.last_token_ns;
  add(*state, r);
  s = sum(*state);
  assert_true(s->latency[FIGURE_ITL].max == 1000);
  assert_int_equal(s->latency[FIGURE_ITL].count, 99);
  assert_true(near(s->latency[FIGURE_TPOT].mean, 20));
}

static void b053_capped_sends_are_no_send_lag(void **state)
{
  struct run *run = *state;
  struct record_event ev[1];
  const struct summary *s;
  run->config.request_rate = 100;
  /* Rate 100/s, one slot, 100 ms each: the wait grows by 90 ms a request. */
  for (uint64_t i = 0; i < 20; i++) {
    struct record r = make_stream(ev, 1, T0 + i * 100 * MS, 100 * MS, 0);
    r.due_ns = T0 + i * 10 * MS;
    r.capped = i > 0;
    add(run, r);
  }
  s = sum(run);
  assert_true(near(s->latency[FIGURE_QUEUE].max, 19 * 90));
  assert_true(near(s->latency[FIGURE_E2EL].max, 100));
  assert_true(near(s->latency[FIGURE_E2EL_DUE].max, 19 * 90 + 100));
  assert_int_equal(s->capped, 19);
  assert_int_equal(s->send_lag.count, 1);
  assert_true(near(s->planned_rps, 100));
  assert_true(near(s->achieved_rps, 10));
  assert_false(s->verdict.limited); /* the user's cap, not the client */
}

static void b066_the_limiter_is_no_latency(void **state)
{
  struct run *run = *state;
  struct record_event ev[1];
  run->config.request_rate = 10;
  for (uint64_t i = 0; i < 100; i++)
    add(run, make_stream(ev, 1, T0 + i * 100 * MS, 100 * MS, 0));
  assert_true(sum(run)->latency[FIGURE_E2EL].p[LATENCY_P99] < 150);
  assert_true(run->s.send_lag.max == 0);
}

static void late_sends_limit_an_open_loop(void **state)
{
  struct run *run = *state;
  struct record_event ev[1];
  for (uint64_t i = 0; i < 100; i++) {
    struct record r = make_stream(ev, 1, T0 + i * 10 * MS, MS, 0);
    r.due_ns -= 11 * MS;
    add(run, r);
  }
  run->config.request_rate = 100;
  assert_true(sum(run)->verdict.limited);
  assert_non_null(strstr(run->s.verdict.reasons[0], "send lag"));
  run->config.request_rate = INFINITY; /* all due at once: nothing is late */
  assert_false(sum(run)->verdict.limited);
  run->config.request_rate = 0;
  assert_false(sum(run)->verdict.limited);
}

static void b060_capacity_is_between_ends(void **state)
{
  struct record_event ev[1];
  const struct summary *s;
  for (uint64_t i = 0; i < 2; i++)
    add(*state, make_stream(ev, 1, T0, (10 + i) * NS_PER_SEC, 0));
  assert_true(isnan(sum(*state)->capacity_rps)); /* not enough data */
  for (uint64_t i = 2; i < 10; i++)
    add(*state, make_stream(ev, 1, T0, (10 + i) * NS_PER_SEC, 0));
  s = sum(*state);
  assert_true(near(s->capacity_rps, 1));
}

static void b061_plain_reasoning_answer_by_usage(void **state)
{
  struct record r = make_plain(T0, NS_PER_SEC, 512);
  const struct summary *s;
  r.reasoning_tokens = 500;
  add(*state, r);
  s = sum(*state);
  assert_int_equal(s->output_tokens, 512);
  assert_int_equal(s->reasoning_tokens, 500);
  assert_int_equal(s->output_sources[TOKENS_USAGE], 1);
  assert_true(s->max_output_tokens_per_s >= s->output_throughput);
}

static void b062_no_visible_token_is_no_latency(void **state)
{
  const struct summary *s;
  for (int i = 0; i < 5; i++) {
    struct record r = make_failed(T0, 100 * MS, OUTCOME_EMPTY, 200, NULL);
    r.streamed = true;
    r.tokens = 0;
    r.token_source = TOKENS_USAGE;
    add(*state, r);
  }
  s = sum(*state);
  assert_int_equal(s->no_token, 5);
  assert_int_equal(s->output_tokens, 0);
  assert_int_equal(s->latency[FIGURE_TTFT].count, 0);
  assert_int_equal(s->latency[FIGURE_TPOT].count, 0);
  assert_true(isnan(s->latency[FIGURE_TTFT].mean));
  assert_true(s->max_output_tokens_per_s == 0);
}

static void b067_goodput_per_second_share_and_tokens(void **state)
{
  struct record_event ev[10];
  const struct summary *s;
  for (int i = 0; i < 4; i++) {
    struct record r =
        make_stream(ev, 10, T0, 100 * MS, (i % 2 ? 150 : 50) * MS);
    r.slo_tpot_ns = 100 * MS;
    add(*state, r);
  }
  add(*state, make_failed(T0, 1450 * MS, OUTCOME_HTTP_5XX, 500, "x"));
  s = sum(*state);
  assert_true(s->slo);
  assert_int_equal(s->good, 2);
  assert_true(near(s->good_share, 0.4));
  assert_true(near(s->request_goodput, 2 / 1.45));
  assert_true(near(s->token_goodput, 20 / 1.45));
}

static void without_slo_there_is_no_goodput(void **state)
{
  struct record_event ev[2];
  add(*state, make_stream(ev, 2, T0, MS, MS));
  assert_false(sum(*state)->slo);
  assert_true(isnan(((struct run *)*state)->s.request_goodput));
}

static void warmup_is_in_no_figure(void **state)
{
  struct record_event ev[5];
  struct record r = make_stream(ev, 5, T0, 5000 * MS, 10 * MS);
  const struct summary *s;
  r.phase = PHASE_WARMUP;
  add(*state, r);
  r = make_failed(T0, MS, OUTCOME_RESET, 0, "warm");
  r.phase = PHASE_WARMUP;
  add(*state, r);
  add(*state, make_stream(ev, 5, T0 + 9 * NS_PER_SEC, 10 * MS, 10 * MS));
  s = sum(*state);
  assert_int_equal(s->sent, 1);
  assert_int_equal(s->warmup_sent, 2);
  assert_int_equal(s->warmup_failed, 1);
  assert_int_equal(s->errors.len, 0);
  assert_int_equal(s->output_tokens, 5);
  assert_true(s->latency[FIGURE_TTFT].max == 10);
  assert_true(near(s->start_s, 9));
  assert_true(near(s->duration_s, 0.05));
  assert_true(s->series_start_s == 9);
  assert_int_equal(s->series_len, 1);
}

static void a_request_that_never_left_does_not_stretch_the_run(void **state)
{
  struct record_event ev[2];
  struct record r = {.outcome = OUTCOME_SCRIPT,
                     .phase = PHASE_MEASURE,
                     .done_ns = T0 + 20 * MS,
                     .message = "chat.lua:3: oops"};
  const struct summary *s;
  add(*state, r);
  r.done_ns = 0;
  r.due_ns = T0 + 25 * MS;
  add(*state, r);
  add(*state, make_stream(ev, 2, T0 + 10 * MS, 10 * MS, 10 * MS));
  s = sum(*state);
  assert_int_equal(s->sent, 3);
  assert_true(near(s->duration_s, 0.02));
  assert_int_equal(s->inconsistent, 0);
  assert_int_equal(s->max_concurrent_requests, 1);
}

static void b050_contradictions_are_counted(void **state)
{
  struct record_event ev[2];
  struct record r = make_stream(ev, 2, T0, 10 * MS, 10 * MS);
  r.first_token_ns = r.sent_ns - 7;
  add(*state, r);
  assert_int_equal(sum(*state)->inconsistent, 1);
  assert_true(((struct run *)*state)->s.latency[FIGURE_TTFT].min >= 0);
}

static void b096_planned_and_actual_prompts(void **state)
{
  struct record_event ev[2];
  const struct summary *s;
  struct record r = make_stream(ev, 2, T0, MS, MS);
  for (int i = 0; i < 3; i++) {
    r.planned_prompt_tokens = 100;
    r.prompt_tokens = 120 + i;
    add(*state, r);
  }
  r.prompt_token_source = TOKENS_PLANNED; /* compares with nothing */
  r.prompt_tokens = 100;
  add(*state, r);
  s = sum(*state);
  assert_int_equal(s->planned_requests, 3);
  assert_int_equal(s->planned_tokens, 300);
  assert_int_equal(s->planned_actual_tokens, 363);
  assert_int_equal(s->actual_min, 120);
  assert_int_equal(s->actual_max, 122);
  assert_int_equal(s->planned_min, 100);
}

static void b162_b164_shape_of_the_answers(void **state)
{
  struct record_event ev[10];
  struct record r = make_stream(ev, 10, T0, MS, MS / 20);
  const struct summary *s;
  r.first_answer_ns = 0; /* reasoning only */
  strcpy(r.finish_reason, "length");
  r.cached_tokens = 4;
  r.refusals = 2;
  add(*state, r);
  r = make_stream(ev, 10, T0, MS, 10 * MS);
  add(*state, r);
  r = make_plain(T0, 30 * MS, 10);
  r.stream_asked = true;
  add(*state, r);
  s = sum(*state);
  assert_int_equal(s->empty_length, 1);
  assert_int_equal(s->cached_tokens, 4);
  assert_int_equal(s->refusals, 1);
  assert_int_equal(s->bunched, 1);
  assert_int_equal(s->many_events, 2);
  assert_int_equal(s->streamed, 2);
  assert_int_equal(s->not_streamed, 1);
  assert_string_equal(s->content_type, "application/json");
  assert_int_equal(s->n_finish, 2);
  assert_string_equal(s->finish[0].reason, "length");
  assert_int_equal(s->finish[1].count, 2);
}

static void finish_reasons_are_bounded(void **state)
{
  struct record_event ev[1];
  struct record r = make_stream(ev, 1, T0, MS, 0);
  const struct summary *s;
  uint64_t n = 0;
  for (int i = 0; i < 100; i++) {
    snprintf(r.finish_reason, sizeof r.finish_reason, "reason %d", i % 40);
    add(*state, r);
  }
  s = sum(*state);
  assert_int_equal(s->n_finish, FINISH_MAX);
  for (size_t i = 0; i < s->n_finish; i++)
    n += s->finish[i].count;
  assert_int_equal(n, 100);
}

static void steady_is_between_ramp_and_tail(void **state)
{
  struct record_event ev[1];
  const struct summary *s;
  /* Ten slots start one a second, each refilled until 60 s, last 2 s each. */
  for (uint64_t slot = 0; slot < 10; slot++)
    for (uint64_t at = slot; at < 60; at += 2)
      add(*state, make_stream(ev, 1, T0 + at * NS_PER_SEC, 2 * NS_PER_SEC, 0));
  s = sum(*state);
  assert_true(s->steady.found);
  assert_true(s->steady.in_flight == 10);
  assert_true(near(s->steady.start_s, 9));
  assert_true(near(s->steady.duration_s, 51)); /* to 60, the first to leave */
  assert_true(
      near(s->steady.request_throughput, (double)s->steady.completed / 51));
  assert_in_range(s->steady.completed, 250, 260);
  assert_int_equal(s->max_concurrent_requests, 10);
}

static void b086_ends_go_before_starts(void **state)
{
  double starts[] = {0, 1, 2, 2}, ends[] = {1, 2, 3, 4};
  struct concurrency c = concurrency_sweep(starts, ends, 4);
  double zero_starts[] = {5, 5}, zero_ends[] = {5, 5};
  (void)state;
  assert_int_equal(c.max, 2);
  c = concurrency_sweep(zero_starts, zero_ends, 2);
  assert_int_equal(c.max, 1);
  c = concurrency_sweep(NULL, NULL, 0);
  assert_int_equal(c.max, 0);
  assert_false(c.steady);
}

static void long_runs_have_bounded_series(void **state)
{
  struct record_event ev[1];
  const struct summary *s;
  for (uint64_t i = 0; i < 100; i++)
    add(*state, make_stream(ev, 1, T0 + i * 864 * NS_PER_SEC, MS, 0));
  s = sum(*state);
  assert_true(s->series_len <= 3600);
  assert_true(s->series_len > 1800);
  assert_true(s->series_interval_s == 32);
  assert_true(s->peak_window_s >= 1);
}

static void unsent_arrivals_are_due(void **state)
{
  struct run *run = *state;
  struct record_event ev[1];
  add(run, make_stream(ev, 1, T0, MS, 0));
  metrics_unsent(run->m, T0 + 5 * MS);
  assert_int_equal(sum(run)->unsent, 1);
  assert_int_equal(run->s.series[0].n[SERIES_DUE], 2);
  assert_int_equal(run->s.sent, 1);
}

static void lists_of_requests_are_in_order_of_ids(void **state)
{
  struct run *run = *state;
  struct record_event ev[1];
  struct record r;
  for (uint64_t i = 0; i < 3; i++) {
    r = make_stream(ev, 1, T0, (i + 1) * MS, 0);
    r.id = 3 - i;
    metrics_add(run->m, &r);
  }
  r = make_failed(T0, 9 * MS, OUTCOME_RESET, 0, "x");
  r.id = 4;
  metrics_add(run->m, &r);
  sum(run);
  assert_int_equal(run->s.n_requests, 4);
  assert_true(near(run->s.latencies_s[0], 0.003));
  assert_true(near(run->s.latencies_s[2], 0.001));
  assert_true(run->s.latencies_s[3] == 0);
}

static void figures_have_their_names(void **state)
{
  (void)state;
  assert_string_equal(figure_name(FIGURE_TTFT), "ttft");
  assert_string_equal(figure_name(FIGURE_E2EL_DUE), "e2el_due");
  assert_true(latency_percentiles[LATENCY_P50] == 50);
  assert_string_equal(latency_names[LATENCY_P99], "p99");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      CASE(b055_nothing_is_no_number),
      CASE(b055_instant_failures_have_no_rates_of_success),
      CASE(b034_b035_chunks_of_three_tokens),
      CASE(b035_peak_of_a_long_run),
      CASE(b035_peak_is_not_below_the_mean_of_the_run),
      CASE(b036_b070_source_of_the_count_is_told),
      CASE(b037_only_one_token_each),
      CASE(b040_refusals_do_not_flatter),
      CASE(b041_attempts_are_seen),
      CASE(b042_kinds_of_errors_by_count),
      CASE(b045_one_outcome_each),
      CASE(b046_rates_are_over_elapsed_time),
      CASE(b047_no_samples_are_made_up),
      CASE(b051_window_counts_what_arrived),
      CASE(b092_the_drain_completes_but_adds_no_window),
      CASE(a_window_cut_short_is_moved),
      CASE(b052_itl_pools_gaps_tpot_is_per_request),
      CASE(b053_capped_sends_are_no_send_lag),
      CASE(b066_the_limiter_is_no_latency),
      CASE(late_sends_limit_an_open_loop),
      CASE(b060_capacity_is_between_ends),
      CASE(b061_plain_reasoning_answer_by_usage),
      CASE(b062_no_visible_token_is_no_latency),
      CASE(b067_goodput_per_second_share_and_tokens),
      CASE(without_slo_there_is_no_goodput),
      CASE(warmup_is_in_no_figure),
      CASE(a_request_that_never_left_does_not_stretch_the_run),
      CASE(b050_contradictions_are_counted),
      CASE(b096_planned_and_actual_prompts),
      CASE(b162_b164_shape_of_the_answers),
      CASE(finish_reasons_are_bounded),
      CASE(steady_is_between_ramp_and_tail),
      CASE(b086_ends_go_before_starts),
      CASE(long_runs_have_bounded_series),
      CASE(unsent_arrivals_are_due),
      CASE(lists_of_requests_are_in_order_of_ids),
      CASE(figures_have_their_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
