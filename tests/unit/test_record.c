#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "make_record.h"

static void b056_tpot_is_without_the_first_token(void **state)
{
  struct record_event ev[10];
  struct record r = make_stream(ev, 10, T0, 1000 * MS, 10 * MS);
  double tpot;
  uint64_t ns;
  (void)state;
  assert_true(record_tpot(&r, &tpot));
  assert_true(tpot == 10e6);
  assert_true(record_ttft(&r, &ns) && ns == 1000 * MS);
  assert_true(record_e2el(&r, &ns) && ns == 1090 * MS);
}

static void b034_tpot_is_per_token_itl_per_chunk(void **state)
{
  struct record_event ev[10];
  struct record r = make_stream(ev, 10, T0, 50 * MS, 9 * MS);
  double tpot;
  (void)state;
  r.tokens = 30;
  assert_true(record_tpot(&r, &tpot));
  assert_true(fabs(tpot - 81e6 / 29) < 1e-6);
}

static void b037_b057_one_token_has_ttft_but_no_tpot(void **state)
{
  struct record_event ev[2];
  struct record r = make_stream(ev, 1, T0, 40 * MS, 0);
  double tpot;
  uint64_t ns;
  (void)state;
  assert_false(record_tpot(&r, &tpot));
  assert_true(record_ttft(&r, &ns) && ns == 40 * MS);
  assert_true(record_e2el(&r, &ns) && ns == 40 * MS);
  r = make_stream(ev, 2, T0, 40 * MS, 7 * MS);
  assert_true(record_tpot(&r, &tpot));
  assert_true(tpot == 7e6);
}

static void b027_plain_answer_has_no_ttft(void **state)
{
  struct record r = make_plain(T0, 800 * MS, 100);
  double tpot;
  uint64_t ns;
  (void)state;
  assert_false(record_ttft(&r, &ns));
  assert_false(record_ttfat(&r, &ns));
  assert_false(record_ttft_due(&r, &ns));
  assert_false(record_tpot(&r, &tpot));
  assert_true(record_e2el(&r, &ns) && ns == 800 * MS);
}

static void b050_unset_instants_are_null(void **state)
{
  struct record r = make_failed(T0, 20 * MS, OUTCOME_EMPTY, 200, NULL);
  uint64_t ns;
  double tpot;
  (void)state;
  r.streamed = true;
  r.first_byte_ns = 0;
  assert_false(record_ttft(&r, &ns));
  assert_false(record_ttfb(&r, &ns));
  assert_false(record_e2el(&r, &ns));
  assert_false(record_tpot(&r, &tpot));
  assert_true(record_consistent(&r));
  /* Even one that was called a success. */
  r.outcome = OUTCOME_OK;
  assert_false(record_ttft(&r, &ns));
  assert_false(record_e2el(&r, &ns));
}

static void b053_due_latency_holds_the_wait(void **state)
{
  struct record_event ev[4];
  struct record r = make_stream(ev, 4, T0 + 90 * MS, 100 * MS, 10 * MS);
  uint64_t ns;
  (void)state;
  r.due_ns = T0;
  assert_true(record_queue(&r, &ns) && ns == 90 * MS);
  assert_true(record_ttft(&r, &ns) && ns == 100 * MS);
  assert_true(record_ttft_due(&r, &ns) && ns == 190 * MS);
  assert_true(record_e2el_due(&r, &ns) && ns == 220 * MS);
  r.due_ns = T0 + 91 * MS; /* early is not negative */
  assert_true(record_queue(&r, &ns) && ns == 0);
}

static void b013_answer_after_reasoning(void **state)
{
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, 100 * MS, 100 * MS);
  uint64_t ns;
  (void)state;
  r.first_answer_ns = T0 + 300 * MS;
  assert_true(record_ttft(&r, &ns) && ns == 100 * MS);
  assert_true(record_ttfat(&r, &ns) && ns == 300 * MS);
  r.first_answer_ns = 0;
  assert_false(record_ttfat(&r, &ns));
}

static void failed_has_no_latency(void **state)
{
  struct record_event ev[5];
  struct record r = make_stream(ev, 5, T0, 10 * MS, 10 * MS);
  uint64_t ns;
  double tpot;
  (void)state;
  r.outcome = OUTCOME_TRUNCATED;
  assert_false(record_ttft(&r, &ns));
  assert_false(record_e2el(&r, &ns));
  assert_false(record_tpot(&r, &tpot));
  assert_true(record_queue(&r, &ns));
  assert_true(record_ttfb(&r, &ns));
}

static void connect_only_where_one_was_opened(void **state)
{
  struct record_event ev[1];
  struct record r = make_stream(ev, 1, T0, 10 * MS, 0);
  uint64_t ns;
  (void)state;
  assert_false(record_connect(&r, &ns));
  r.reused = false;
  r.connected_ns = T0 + 3 * MS;
  assert_true(record_connect(&r, &ns) && ns == 3 * MS);
}

/* ---- gaps and token times ---- */

struct list {
  uint64_t at[64], n[64];
  size_t len;
};

static void add_gap(uint64_t gap, void *ud)
{
  struct list *l = ud;
  l->n[l->len++] = gap;
}

static void add_token(uint64_t at, uint64_t n, void *ud)
{
  struct list *l = ud;
  l->at[l->len] = at;
  l->n[l->len++] = n;
}

static uint64_t sum(const struct list *l)
{
  uint64_t s = 0;
  for (size_t i = 0; i < l->len; i++)
    s += l->n[i];
  return s;
}

static void ttft_and_gaps_make_e2el(void **state)
{
  struct record_event ev[20];
  struct record r = make_stream(ev, 20, T0, 123456789, 987654);
  struct list l = {0};
  uint64_t ttft, e2el;
  (void)state;
  record_gaps(&r, add_gap, &l);
  assert_int_equal(l.len, 19);
  assert_true(record_ttft(&r, &ttft));
  assert_true(record_e2el(&r, &e2el));
  assert_int_equal(ttft + sum(&l), e2el);
}

static void b031_gaps_within_a_choice(void **state)
{
  struct record_event ev[6];
  struct record r = make_stream(ev, 6, T0, 10 * MS, 10 * MS);
  struct list l = {0};
  (void)state;
  for (int i = 0; i < 6; i++)
    ev[i].choice = i % 2;
  record_gaps(&r, add_gap, &l);
  assert_int_equal(l.len, 4);
  for (size_t i = 0; i < l.len; i++)
    assert_int_equal(l.n[i], 20 * MS);
}

static void b022_no_event_no_gap(void **state)
{
  struct record_event ev[2];
  struct record r = make_stream(ev, 2, T0, 100 * MS, 10 * MS);
  struct list l = {0};
  uint64_t ns;
  (void)state;
  r.done_ns = T0 + 900 * MS; /* finish came late: no payload */
  record_gaps(&r, add_gap, &l);
  assert_int_equal(l.len, 1);
  assert_int_equal(l.n[0], 10 * MS);
  assert_true(record_e2el(&r, &ns) && ns == 110 * MS);
}

static void b035_usage_is_spread_over_chunks(void **state)
{
  struct record_event ev[10];
  struct record r = make_stream(ev, 10, T0, 10 * MS, 9 * MS);
  struct list l = {0};
  (void)state;
  r.tokens = 33;
  record_token_times(&r, add_token, &l);
  assert_int_equal(l.len, 10);
  assert_int_equal(sum(&l), 33);
  for (size_t i = 0; i < 10; i++) {
    assert_in_range(l.n[i], 3, 4);
    assert_int_equal(l.at[i], T0 + 10 * MS + i * 9 * MS);
  }
}

static void b025_usage_inside_the_stream_decides(void **state)
{
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, 10 * MS, 10 * MS);
  static const uint64_t want[] = {1, 3, 2};
  struct list l = {0};
  (void)state;
  for (int i = 0; i < 3; i++)
    ev[i].tokens = want[i];
  r.tokens = 6;
  record_token_times(&r, add_token, &l);
  assert_int_equal(l.len, 3);
  for (size_t i = 0; i < 3; i++)
    assert_int_equal(l.n[i], want[i]);
}

static void token_times_without_usage_count_events(void **state)
{
  struct record_event ev[7];
  struct record r = make_stream(ev, 7, T0, 10 * MS, 10 * MS);
  struct list l = {0};
  (void)state;
  r.tokens = TOKENS_UNKNOWN;
  record_token_times(&r, add_token, &l);
  assert_int_equal(l.len, 7);
  assert_int_equal(sum(&l), 7);
}

static void b062_no_token_arrives_of_none(void **state)
{
  struct record r = make_failed(T0, 10 * MS, OUTCOME_EMPTY, 200, NULL);
  struct list l = {0};
  (void)state;
  r.tokens = 9; /* so its usage says */
  record_token_times(&r, add_token, &l);
  r.outcome = OUTCOME_API_ERROR;
  r.streamed = true;
  record_token_times(&r, add_token, &l);
  assert_int_equal(l.len, 0);
}

static void plain_answer_arrives_at_its_end(void **state)
{
  struct record r = make_plain(T0, 80 * MS, 500);
  struct list l = {0};
  (void)state;
  record_token_times(&r, add_token, &l);
  assert_int_equal(l.len, 1);
  assert_int_equal(l.n[0], 500);
  assert_int_equal(l.at[0], T0 + 80 * MS);
}

static void events_saturate(void **state)
{
  struct record_event e = record_event_make(5, UINT64_MAX, 1000, 1 << 20);
  (void)state;
  assert_int_equal(e.after_ns, RECORD_EVENT_MAX_NS);
  assert_int_equal(e.choice, RECORD_EVENT_MAX_CHOICE);
  assert_int_equal(e.tokens, RECORD_EVENT_MAX_TOKENS);
  e = record_event_make(5, 4, -1, -1);
  assert_int_equal(e.after_ns + e.choice + e.tokens, 0);
  assert_int_equal(sizeof e, 8);
}

static void b072_contradictions_are_seen(void **state)
{
  struct record_event ev[3];
  struct record good = make_stream(ev, 3, T0, 10 * MS, 10 * MS), r = good;
  (void)state;
  assert_true(record_consistent(&r));
  r.first_token_ns = T0 - 1;
  assert_false(record_consistent(&r));
  r = good;
  r.done_ns = r.last_token_ns - 1;
  assert_false(record_consistent(&r));
  r = good;
  r.first_answer_ns = r.last_token_ns + 1;
  assert_false(record_consistent(&r));
  r = good;
  r.last_token_ns = 0;
  assert_false(record_consistent(&r));
  r = good;
  r.due_ns = r.sent_ns + 1;
  assert_false(record_consistent(&r));
  r = good;
  ev[1].after_ns = 0;
  assert_false(record_consistent(&r));
}

static void sources_have_names(void **state)
{
  (void)state;
  assert_string_equal(token_source_name(TOKENS_USAGE), "usage");
  assert_string_equal(token_source_name(TOKENS_CHUNKS), "chunks");
  assert_string_equal(token_source_name(TOKENS_PLANNED), "planned");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b056_tpot_is_without_the_first_token),
      cmocka_unit_test(b034_tpot_is_per_token_itl_per_chunk),
      cmocka_unit_test(b037_b057_one_token_has_ttft_but_no_tpot),
      cmocka_unit_test(b027_plain_answer_has_no_ttft),
      cmocka_unit_test(b050_unset_instants_are_null),
      cmocka_unit_test(b053_due_latency_holds_the_wait),
      cmocka_unit_test(b013_answer_after_reasoning),
      cmocka_unit_test(failed_has_no_latency),
      cmocka_unit_test(connect_only_where_one_was_opened),
      cmocka_unit_test(ttft_and_gaps_make_e2el),
      cmocka_unit_test(b031_gaps_within_a_choice),
      cmocka_unit_test(b022_no_event_no_gap),
      cmocka_unit_test(b035_usage_is_spread_over_chunks),
      cmocka_unit_test(b025_usage_inside_the_stream_decides),
      cmocka_unit_test(token_times_without_usage_count_events),
      cmocka_unit_test(b062_no_token_arrives_of_none),
      cmocka_unit_test(plain_answer_arrives_at_its_end),
      cmocka_unit_test(events_saturate),
      cmocka_unit_test(b072_contradictions_are_seen),
      cmocka_unit_test(sources_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
