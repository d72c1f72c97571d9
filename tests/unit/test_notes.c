#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "make_record.h"
#include "report/notes.h"

struct run {
  struct metrics *m;
  struct summary_config config;
  struct client client;
  struct run_info info;
  struct summary s;
  struct buf before, after;
  uint64_t id;
};

static int setup(void **state)
{
  static struct run run;
  run = (struct run){.info = {.stop_reason = "requests"}};
  run.m = metrics_new(&(struct metrics_config){.epoch_ns = T0});
  *state = &run;
  return 0;
}

static int teardown(void **state)
{
  struct run *run = *state;
  metrics_free(run->m);
  summary_deinit(&run->s);
  client_deinit(&run->client);
  buf_free(&run->before);
  buf_free(&run->after);
  return 0;
}

static void add(struct run *run, struct record r)
{
  r.id = ++run->id;
  metrics_add(run->m, &r);
}

static void add_good(struct run *run, int n)
{
  struct record_event ev[3];
  for (int i = 0; i < n; i++)
    add(run, make_stream(ev, 3, T0 + run->id * MS, 10 * MS, 10 * MS));
}

static void write_notes(struct run *run)
{
  summary_deinit(&run->s);
  summary_build(&run->s, run->m, &run->client, &run->config);
  buf_reset(&run->before);
  buf_reset(&run->after);
  notes_before(&run->before, &run->s, &run->info);
  notes_after(&run->after, &run->s, &run->info);
}

static void has(struct buf *b, const char *text)
{
  if (!strstr(buf_cstr(b), text))
    fail_msg("no \"%s\" in:\n%s", text, buf_cstr(b));
}

static void lacks(struct buf *b, const char *text)
{
  if (strstr(buf_cstr(b), text))
    fail_msg("\"%s\" in:\n%s", text, buf_cstr(b));
}

static void a_good_run_is_two_lines(void **state)
{
  struct run *run = *state;
  add_good(run, 20);
  write_notes(run);
  assert_string_equal(buf_cstr(&run->before), "");
  assert_string_equal(buf_cstr(&run->after),
                      "Success rate: 100.00 % (20 of 20 requests)\n"
                      "Client: ok, send lag p99 0.00 ms\n");
}

static void b042_failures_with_counts_shares_and_samples(void **state)
{
  struct run *run = *state;
  add_good(run, 95);
  for (int i = 0; i < 2; i++)
    add(run, make_failed(T0, MS, OUTCOME_RESET, 0, "reset by peer"));
  for (int i = 0; i < 3; i++)
    add(run, make_failed(T0, MS, OUTCOME_EMPTY, 200, NULL));
  write_notes(run);
  assert_string_equal(buf_cstr(&run->before), "");
  has(&run->after,
      "Requests that did not succeed:\n"
      "        3   3.0 %  empty: ended properly without any token\n"
      "            3x status 200\n"
      "                hint: ");
  has(&run->after, "        2   2.0 %  reset: connection reset\n"
                   "            2x reset by peer\n");
  has(&run->after, "Success rate: 95.00 % (95 of 100 requests)\n");
}

static void below_ninety_percent_the_reasons_come_first(void **state)
{
  struct run *run = *state;
  add_good(run, 89);
  for (int i = 0; i < 11; i++)
    add(run, make_failed(T0, MS, OUTCOME_AUTH, 401, "Invalid API key"));
  write_notes(run);
  has(&run->before, "Only 89.0 % of the requests succeeded.\n");
  has(&run->before, "11x status 401: Invalid API key\n");
  has(&run->before, "hint: check the key");
  lacks(&run->after, "Invalid API key");
  has(&run->after, "Success rate: 89.00 % (89 of 100 requests)");
}

static void kinds_of_an_outcome_are_bounded(void **state)
{
  struct run *run = *state;
  const char *const words[] = {"a", "b", "c", "d", "e"};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j <= i; j++)
      add(run, make_failed(T0, MS, OUTCOME_HTTP_5XX, 500, words[i]));
  write_notes(run);
  has(&run->before, "5x status 500: e\n");
  has(&run->before, "3x status 500: c\n                and 2 more kinds");
  lacks(&run->before, "status 500: b");
}

static void outcomes_of_equal_count_are_all_there(void **state)
{
  struct run *run = *state;
  add(run, make_failed(T0, MS, OUTCOME_RESET, 0, "x"));
  add(run, make_failed(T0, MS, OUTCOME_DNS, 0, "y"));
  write_notes(run);
  has(&run->before, "reset: ");
  has(&run->before, "dns: ");
}

static void b092_what_was_cut_is_said(void **state)
{
  struct run *run = *state;
  run->info.num_requests = 100;
  run->info.stop_reason = "duration";
  add_good(run, 4);
  add(run, make_failed(T0, MS, OUTCOME_CANCELLED, 0, "the drain was over"));
  write_notes(run);
  has(&run->before, "Stopped early (duration): 5 of 100 requests were sent.\n");
  has(&run->after, "Success rate: 100.00 % (4 of 5 requests; 1 cancelled)");
  run->info.num_requests = 0;
  run->info.interrupted = true;
  run->info.stop_reason = "interrupted";
  write_notes(run);
  has(&run->before, "Stopped early (interrupted).\n");
}

static void a_limited_client_is_said_first(void **state)
{
  struct run *run = *state;
  for (int i = 0; i < 100; i++)
    hist_add(&run->client.loop_lag, 9 * MS);
  add_good(run, 5);
  write_notes(run);
  has(&run->before, "LIMITED BY THE CLIENT");
  has(&run->before, "  - the event loop was late: p99 of its lag is 9.0 ms");
  has(&run->after, "Client: limited, see above");
}

static void b027_not_streamed(void **state)
{
  struct run *run = *state;
  struct record r = make_plain(T0, 30 * MS, 10);
  add(run, r);
  write_notes(run);
  lacks(&run->after, "not streamed"); /* nobody asked for a stream */
  r.stream_asked = true;
  add(run, r);
  add(run, r);
  write_notes(run);
  has(&run->after,
      "note: 2 responses were not streamed (content-type application/json)");
}

static void b036_b070_sources_of_tokens(void **state)
{
  struct run *run = *state;
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, MS, 10 * MS);
  add_good(run, 3);
  r.token_source = TOKENS_CHUNKS;
  r.prompt_token_source = TOKENS_PLANNED;
  add(run, r);
  write_notes(run);
  has(&run->after, "output tokens are approximate: counted as chunks in 25 %");
  has(&run->after, "prompt tokens are as planned in 25 %");
}

static void b034_chunks_of_tokens(void **state)
{
  struct run *run = *state;
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, MS, 10 * MS);
  r.tokens = 9;
  add(run, r);
  write_notes(run);
  has(&run->after, "note: 3.00 tokens a chunk");
}

static void b164_cached_prompts(void **state)
{
  struct run *run = *state;
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, MS, 10 * MS);
  r.prompt_tokens = 1000;
  r.cached_tokens = 9;
  add(run, r);
  write_notes(run);
  lacks(&run->after, "cache");
  r.cached_tokens = 100;
  add(run, r);
  write_notes(run);
  has(&run->after, "note: 5.5 % of the prompt tokens came from the server's");
}

static void b096_planned_against_actual(void **state)
{
  struct run *run = *state;
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, MS, 10 * MS);
  r.planned_prompt_tokens = 100;
  r.prompt_tokens = 101;
  add(run, r);
  write_notes(run);
  lacks(&run->after, "planned");
  r.prompt_tokens = 139;
  add(run, r);
  write_notes(run);
  has(&run->after, "planned with 100 tokens and had 120 (mean; +20.0 %)");
}

static void b162_length_before_any_answer(void **state)
{
  struct run *run = *state;
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, MS, 10 * MS);
  strcpy(r.finish_reason, "length");
  r.first_answer_ns = 0;
  add(run, r);
  add_good(run, 1);
  write_notes(run);
  lacks(&run->after, "reasoning took it all");
  add(run, r);
  write_notes(run);
  has(&run->after, "note: 67 % of the answers ended by length");
}

static void b110_buffered_streams(void **state)
{
  struct run *run = *state;
  struct record_event ev[20];
  add(run, make_stream(ev, 20, T0, 500 * MS, 100));
  write_notes(run);
  has(&run->after, "note: streams look buffered");
  add(run, make_stream(ev, 20, T0, 500 * MS, MS));
  write_notes(run);
  lacks(&run->after, "buffered");
}

static void b062_no_token(void **state)
{
  struct run *run = *state;
  add_good(run, 50);
  add(run, make_failed(T0, MS, OUTCOME_EMPTY, 200, NULL));
  write_notes(run);
  has(&run->after, "note: 1 request had no token");
}

static void b053_waiting_for_a_slot(void **state)
{
  struct run *run = *state;
  struct record_event ev[1];
  run->config.request_rate = 100;
  run->info.max_concurrency = 1;
  for (uint64_t i = 0; i < 20; i++) {
    struct record r = make_stream(ev, 1, T0 + i * 100 * MS, 100 * MS, 0);
    r.due_ns = T0 + i * 10 * MS;
    r.capped = i > 0;
    add(run, r);
  }
  write_notes(run);
  has(&run->after, "note: 95 % of the requests waited for a free slot "
                   "(--max-concurrency 1)");
  has(&run->after, "10 of 100 requests/s");
  run->config.request_rate = 0; /* a closed loop always waits */
  write_notes(run);
  lacks(&run->after, "free slot");
}

static void b157_slow_hooks(void **state)
{
  struct run *run = *state;
  run->client.script_worst_ns = 20 * MS;
  run->client.wall_ns = 1000 * MS;
  run->client.script_ns = 110 * MS;
  strcpy(run->client.script_place, "chat.lua:12");
  add_good(run, 1);
  write_notes(run);
  has(&run->after, "a script hook held the loop for 20.0 ms (chat.lua:12)");
  has(&run->after, "script hooks took 11 % of the time");
}

static void nothing_was_sent(void **state)
{
  struct run *run = *state;
  write_notes(run);
  has(&run->after, "Success rate: n/a (no request was sent)\n");
  lacks(&run->after, "nan");
  lacks(&run->before, "nan");
}

static void hints_fit_the_status(void **state)
{
  (void)state;
  assert_non_null(strstr(outcome_hint(OUTCOME_AUTH, 401), "OPENAI_API_KEY"));
  assert_null(strstr(outcome_hint(OUTCOME_AUTH, 403), "OPENAI_API_KEY"));
  assert_null(outcome_hint(OUTCOME_OK, 200));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      CASE(a_good_run_is_two_lines),
      CASE(b042_failures_with_counts_shares_and_samples),
      CASE(below_ninety_percent_the_reasons_come_first),
      CASE(kinds_of_an_outcome_are_bounded),
      CASE(outcomes_of_equal_count_are_all_there),
      CASE(b092_what_was_cut_is_said),
      CASE(a_limited_client_is_said_first),
      CASE(b027_not_streamed),
      CASE(b036_b070_sources_of_tokens),
      CASE(b034_chunks_of_tokens),
      CASE(b164_cached_prompts),
      CASE(b096_planned_against_actual),
      CASE(b162_length_before_any_answer),
      CASE(b110_buffered_streams),
      CASE(b062_no_token),
      CASE(b053_waiting_for_a_slot),
      CASE(b157_slow_hooks),
      CASE(nothing_was_sent),
      CASE(hints_fit_the_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
