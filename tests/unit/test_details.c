/* What is kept of each request, and vLLM's definitions made from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/clock.h"
#include "report/details.h"
#include "report/timeline.h"
#include "report/vllm_figures.h"

#define MS NS_PER_MS

/* `n` events 10 ms apart, the first 20 ms after `sent`. */
static struct record answer(uint64_t id, uint64_t sent, size_t n,
                            struct record_event *events)
{
  struct record r = {
      .id = id,
      .phase = PHASE_MEASURE,
      .sent_ns = sent,
      .due_ns = sent - 5 * MS,
      .done_ns = sent + (20 + 10 * n) * MS,
      .streamed = true,
      .stream_asked = true,
      .tokens = (int64_t)n,
      .prompt_tokens = 7,
      .events = events,
      .n_events = n,
      .chunks = (uint32_t)n,
      .message = "",
      .text = STR("an answer"),
  };
  for (size_t i = 0; i < n; i++)
    events[i] = record_event_make(sent, sent + (20 + 10 * i) * MS, 0, 0);
  r.first_token_ns = sent + 20 * MS;
  r.last_token_ns = sent + (10 + 10 * n) * MS;
  return r;
}

static struct record failure(uint64_t id, uint64_t sent)
{
  return (struct record){.id = id,
                         .phase = PHASE_MEASURE,
                         .sent_ns = sent,
                         .due_ns = sent,
                         .done_ns = sent + 3 * MS,
                         .outcome = OUTCOME_AUTH,
                         .status = 401,
                         .tokens = -1,
                         .prompt_tokens = -1,
                         .message = "no </script> here"};
}

/* Three requests on two threads, and one of the warm-up. */
static void fill(struct details *d)
{
  struct record_event events[8];
  struct record r = answer(3, 1000 * MS, 3, events);
  details_init(d, 2);
  d->texts = true;
  details_add(d, 0, &r);
  r = answer(1, 100 * MS, 1, events);
  details_add(d, 1, &r);
  r = failure(2, 500 * MS);
  details_add(d, 0, &r);
  r = answer(4, 100 * MS, 3, events);
  r.phase = PHASE_WARMUP;
  details_add(d, 0, &r);
  details_sort(d);
}

static void arrays_are_in_the_order_of_the_data(void **state)
{
  struct details d;
  struct buf out = {0};
  struct json_writer w = {.out = &out};
  (void)state;
  fill(&d);
  json_begin_object(&w);
  details_write_lengths(&w, &d);
  details_write_starts(&w, &d);
  details_write_texts(&w, &d);
  json_end_object(&w);
  assert_string_equal(buf_cstr(&out),
                      "{\"input_lens\":[7,0,7],\"output_lens\":[1,0,3],"
                      "\"ttfts\":[0.02,0.0,0.02],\"itls\":[[],[],[0.01,0.01]],"
                      "\"start_times\":[0.1,0.5,1.0],"
                      "\"generated_texts\":[\"an answer\",\"\",\"an answer\"],"
                      "\"errors\":[\"\",\"no </script> here\",\"\"]}");
  buf_free(&out);
  details_free(&d);
}

static void texts_only_where_they_are_wanted(void **state)
{
  struct record_event events[2];
  struct record r = answer(1, 100 * MS, 1, events);
  struct details d;
  (void)state;
  details_init(&d, 1);
  details_add(&d, 0, &r);
  details_sort(&d);
  assert_null(d.list[0].text);
  details_free(&d);
}

static struct summary some_summary(void)
{
  struct summary s = {.completed = 2,
                      .input_tokens = 14,
                      .output_tokens = 4,
                      .start_s = 0.1,
                      .duration_s = 0.9};
  for (int f = 0; f < FIGURE_COUNT; f++)
    s.latency[f].mean = s.latency[f].user[0] = NAN;
  return s;
}

static void vllm_counts_whole_seconds(void **state)
{
  struct slo slo = {.ttft_ns = 30 * MS, .tpot_ns = 5 * MS};
  struct summary s = some_summary();
  struct details d;
  (void)state;
  fill(&d);
  vllm_figures_apply(&s, &d, &slo);
  assert_true(fabs(s.duration_s - 1) < 1e-9);
  assert_true(fabs(s.output_throughput - 4) < 1e-9);
  assert_true(fabs(s.total_token_throughput - 18) < 1e-9);
  /* From the first start on: 0.9 s and 0.92 to 0.94 are in the first. */
  assert_true(s.max_output_tokens_per_s == 4);
  assert_int_equal(s.max_concurrent_requests, 2);
  /* The first has one token and so no TPOT, which passes there; the other is
   * too slow. */
  assert_true(fabs(s.request_goodput - 1) < 1e-9);
  assert_true(fabs(s.latency[FIGURE_TTFT].mean - 20) < 1e-9);
  assert_true(s.latency[FIGURE_QUEUE].mean == 0 &&
              s.latency[FIGURE_QUEUE].user[0] == 0);
  details_free(&d);
}

/* The role comes 3 ms before the first token, the finish 2 ms behind the
 * last. */
static void vllm_counts_events_without_text(void **state)
{
  struct record_event events[3];
  struct record r = answer(1, 100 * MS, 3, events);
  struct slo none = {0};
  struct summary s = some_summary();
  struct details d;
  (void)state;
  r.role_ns = r.first_token_ns - 3 * MS;
  r.finish_ns = r.last_token_ns + 2 * MS;
  details_init(&d, 1);
  d.hollows = true;
  details_add(&d, 0, &r);
  details_sort(&d);
  assert_int_equal(d.list[0].n_gaps, 4);
  assert_int_equal(d.list[0].gaps[0], 3 * MS);
  assert_int_equal(d.list[0].gaps[1], 10 * MS);
  assert_int_equal(d.list[0].gaps[3], 2 * MS);
  s.completed = 1;
  vllm_figures_apply(&s, &d, &none);
  assert_true(fabs(s.latency[FIGURE_TTFT].mean - 17) < 1e-9);
  assert_true(fabs(s.latency[FIGURE_E2EL].mean - 42) < 1e-9);
  assert_true(fabs(s.latency[FIGURE_ITL].mean - 6.25) < 1e-9);
  assert_true(fabs(s.latency[FIGURE_TPOT].mean - 12.5) < 1e-9);
  details_free(&d);
  /* By our own definitions they are nothing. */
  details_init(&d, 1);
  details_add(&d, 0, &r);
  details_sort(&d);
  assert_int_equal(d.list[0].n_gaps, 2);
  assert_int_equal(d.list[0].ttft_ns, 20 * MS);
  details_free(&d);
}

static void vllm_of_nothing_is_zero(void **state)
{
  struct summary s = {.duration_s = NAN, .start_s = NAN};
  struct slo none = {0};
  struct details d;
  (void)state;
  details_init(&d, 1);
  details_sort(&d);
  vllm_figures_apply(&s, &d, &none);
  assert_true(s.duration_s == 0 && s.request_throughput == 0 &&
              s.max_output_tokens_per_s == 0 && !s.max_concurrent_requests);
  details_free(&d);
}

static void a_server_cannot_end_the_pages_script(void **state)
{
  const struct timeline t = {
      .requests = true, .slow_ms = 25, .stall_ms = 50, .title = "<x>"};
  struct buf page = {0};
  struct details d;
  char *first;
  (void)state;
  fill(&d);
  timeline_write(&page, &t, &d);
  first = strstr(buf_cstr(&page), "</script>");
  assert_non_null(first);
  assert_null(strstr(first + 1, "</script>"));
  assert_non_null(strstr(buf_cstr(&page), "no \\u003c/script> here"));
  assert_non_null(strstr(buf_cstr(&page), "\"gaps\":[10.0,10.0]"));
  buf_free(&page);
  details_free(&d);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_are_in_the_order_of_the_data),
      cmocka_unit_test(texts_only_where_they_are_wanted),
      cmocka_unit_test(vllm_counts_whole_seconds),
      cmocka_unit_test(vllm_counts_events_without_text),
      cmocka_unit_test(vllm_of_nothing_is_zero),
      cmocka_unit_test(a_server_cannot_end_the_pages_script),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
