/* The table against recorded ones: each is read, a summary is filled with its
 * numbers, and the same bytes must come out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "files.h"
#include "report/table.h"

static struct buf read_table(const char *name)
{
  char path[128];
  snprintf(path, sizeof path, "tests/data/vllm/%s.table.txt", name);
  return file_read(path);
}

/* The number behind `label:`; false when there is no such line. */
static bool value_of(const char *table, const char *label, double *out)
{
  const char *at = strstr(table, label);
  if (!at || at[strlen(label)] != ':')
    return false;
  *out = strtod(at + strlen(label) + 1, NULL);
  return true;
}

static double must(const char *table, const char *label)
{
  double x;
  assert_true(value_of(table, label, &x));
  return x;
}

static void fill_block(const char *table, struct summary *s, enum block b)
{
  struct latency *l = &s->latency[block_figure(b)];
  char label[64], name[32];
  snprintf(label, sizeof label, "Mean %s (ms)", block_label(b));
  if (!value_of(table, label, &l->mean))
    return;
  snprintf(label, sizeof label, "Median %s (ms)", block_label(b));
  l->p[LATENCY_P50] = must(table, label);
  for (size_t i = 0; i < s->n_percentiles; i++) {
    snprintf(label, sizeof label, "P%s %s (ms)",
             percentile_name(s->percentiles[i], name), block_label(b));
    l->user[i] = must(table, label);
  }
}

static struct summary fill(const char *table, struct run_info *r,
                           const char *percentiles)
{
  struct summary s = {0};
  double x;
  assert_int_equal(percentiles_parse(str_of(percentiles), s.percentiles,
                                     &s.n_percentiles, NULL),
                   0);
  s.completed = (uint64_t)must(table, "Successful requests");
  s.failed = (uint64_t)must(table, "Failed requests");
  s.sent = s.completed + s.failed;
  s.duration_s = must(table, "Benchmark duration (s)");
  s.input_tokens = (uint64_t)must(table, "Total input tokens");
  s.output_tokens = (uint64_t)must(table, "Total generated tokens");
  s.request_throughput = must(table, "Request throughput (req/s)");
  s.slo = value_of(table, "Request goodput (req/s)", &s.request_goodput);
  s.output_throughput = must(table, "Output token throughput (tok/s)");
  s.max_output_tokens_per_s =
      must(table, "Peak output token throughput (tok/s)");
  s.max_concurrent_requests = (uint64_t)must(table, "Peak concurrent requests");
  s.total_token_throughput = must(table, "Total token throughput (tok/s)");
  if (value_of(table, "Maximum request concurrency", &x))
    r->max_concurrency = (uint64_t)x;
  value_of(table, "Request rate configured (RPS)", &r->request_rate);
  for (int b = 0; b < BLOCK_COUNT; b++)
    fill_block(table, &s, (enum block)b);
  return s;
}

static void check(const char *name, const char *metrics, const char *percent)
{
  struct buf text = read_table(name);
  char *want = text.p;
  struct run_info r = {.request_rate = INFINITY};
  struct summary s = fill(want, &r, percent);
  struct buf out = {0};
  unsigned blocks;
  assert_int_equal(blocks_parse(str_of(metrics), &blocks, NULL), 0);
  table_write(&out, &s, &r, blocks);
  assert_string_equal(buf_cstr(&out), want);
  buf_free(&out);
  buf_free(&text);
}

static void as_vllm_prints_it(void **state)
{
  (void)state;
  check("completions-default", "ttft,tpot,itl", "99");
  check("rate-goodput", "ttft,tpot,itl,e2el", "50,90,95,99.9");
  check("ramp", "ttft,tpot,itl", "99");
  check("chat-detailed", "ttft,tpot,itl", "99");
  check("one-token", "ttft,tpot,itl", "99");
  check("allfail", "ttft,tpot,itl", "99");
}

/* `table` with n/a in the latency lines that show 0.00. */
static void empty_sets_to_na(char *table)
{
  for (char *at = table; (at = strstr(at, "(ms):")); at++) {
    char *zero = at + strcspn(at, "0123456789");
    if (strncmp(zero, "0.00 ", 5) == 0)
      memcpy(zero, "n/a  ", 5);
  }
}

static void check_empty(const char *name)
{
  struct buf text = read_table(name);
  char *want = text.p;
  struct run_info r = {.request_rate = INFINITY};
  struct summary s = fill(want, &r, "99");
  struct buf out = {0};
  for (int f = 0; f < FIGURE_COUNT; f++) {
    struct latency *l = &s.latency[f];
    if (l->mean == 0)
      l->mean = l->p[LATENCY_P50] = l->user[0] = NAN;
  }
  empty_sets_to_na(want);
  table_write(&out, &s, &r, BLOCKS_DEFAULT);
  assert_string_equal(buf_cstr(&out), want);
  assert_non_null(strstr(buf_cstr(&out), "n/a       \n"));
  buf_free(&out);
  buf_free(&text);
}

static void b037_empty_sets_are_not_zero(void **state)
{
  (void)state;
  check_empty("one-token");
  check_empty("allfail");
}

/* The table has these lines from `head` on. */
static void check_part(const struct run_info *r, const char *head,
                       const char *want)
{
  struct summary s = {.completed = 1, .duration_s = 2};
  struct buf out = {0};
  const char *at;
  table_write(&out, &s, r, 0);
  at = strstr(buf_cstr(&out), head);
  assert_non_null(at);
  assert_int_equal(strncmp(at, want, strlen(want)), 0);
  buf_free(&out);
}

static void what_was_measured_beside_the_requests(void **state)
{
  const struct probe_figures probes = {100, 2, 11.8, 54, 96};
  const struct spec_decode spec = {.drafts = 10,
                                   .draft_tokens = 30,
                                   .accepted_tokens = 15,
                                   .per_position = {9, 6},
                                   .n_positions = 2};
  /* Canvases of 32 tokens; 10 of the 40 steps commit one. */
  const struct diffusion diffusion = {40, 1280, 320};
  struct run_info r = {
      .request_rate = INFINITY, .probes = &probes, .spec_decode = &spec};
  (void)state;
  check_part(&r, "------------------Probe",
             "------------------Probe Requests------------------\n"
             "Probe requests completed:                100       \n"
             "Probe requests failed:                   2         \n"
             "Median probe E2EL (ms):                  11.80     \n"
             "P99 probe E2EL (ms):                     54.00     \n"
             "Max probe E2EL (ms):                     96.00     \n");
  check_part(&r, "---------------Spec",
             "---------------Speculative Decoding---------------\n"
             "Acceptance rate (%):                     50.00     \n"
             "Acceptance length:                       2.50      \n"
             "Drafts:                                  10        \n"
             "Draft tokens:                            30        \n"
             "Accepted tokens:                         15        \n"
             "Per-position acceptance (%):\n"
             "  Position 0:                            90.00     \n"
             "  Position 1:                            60.00     \n"
             "==================================================\n");
  r.diffusion = &diffusion;
  check_part(&r, "----------------Diff",
             "----------------Diffusion Decoding----------------\n"
             "Committed throughput (tok/s):            160.00    \n"
             "Denoising steps per canvas:              3.00      \n"
             "Committed per denoising step:            10.67     \n"
             "Committed tokens:                        320       \n"
             "Denoising steps:                         30        \n"
             "Canvas positions evaluated:              1280      \n"
             "==================================================\n");
}

static void answers_without_text_have_inputs(void **state)
{
  const struct run_info r = {.request_rate = INFINITY,
                             .pooling = true,
                             .counts_sequences = true,
                             .input_sequences = 8};
  (void)state;
  check_part(&r, "Request throughput",
             "Request throughput (req/s):              0.00      \n"
             "Input throughput (inputs/s):             4.00      \n"
             "Total token throughput (tok/s):          ");
}

static void unknown_tokens_are_not_zero(void **state)
{
  struct run_info r = {.request_rate = INFINITY};
  struct summary s = {.completed = 3, .sent = 3};
  struct buf out = {0};
  (void)state;
  s.output_sources[TOKENS_NONE] = 3;
  s.prompt_sources[TOKENS_USAGE] = 3;
  s.input_tokens = 30;
  table_write(&out, &s, &r, 0);
  assert_non_null(strstr(buf_cstr(&out), "Total input tokens:"
                                         "                      30        \n"));
  assert_non_null(strstr(buf_cstr(&out), "Total generated tokens:"
                                         "                  n/a       \n"));
  assert_non_null(strstr(buf_cstr(&out), "Output token throughput (tok/s):"
                                         "         n/a       \n"));
  assert_null(strstr(buf_cstr(&out), "nan"));
  buf_free(&out);
}

static void b055_nothing_was_sent(void **state)
{
  struct run_info r = {0};
  struct summary s;
  struct summary_config c = {.percentiles = {99}, .n_percentiles = 1};
  struct metrics *m = metrics_new(&(struct metrics_config){0});
  struct buf out = {0};
  (void)state;
  summary_build(&s, m, NULL, &c);
  table_write(&out, &s, &r, (1u << BLOCK_COUNT) - 1);
  assert_null(strstr(buf_cstr(&out), "nan"));
  assert_null(strstr(buf_cstr(&out), "inf"));
  assert_non_null(strstr(buf_cstr(&out), "Benchmark duration (s):"
                                         "                  n/a       \n"));
  buf_free(&out);
  summary_deinit(&s);
  metrics_free(m);
}

/* Embeddings: no token is made, so none is said to be missing. */
static void answers_without_tokens(void **state)
{
  struct run_info r = {.pooling = true, .max_concurrency = 8};
  struct summary s = {.completed = 2,
                      .input_tokens = 30,
                      .duration_s = 1.5,
                      .n_percentiles = 1,
                      .percentiles = {99},
                      .output_sources = {[TOKENS_NONE] = 2}};
  struct buf out = {0};
  const char *text;
  (void)state;
  table_write(&out, &s, &r, BLOCKS_DEFAULT | 1u << BLOCK_QUEUE);
  text = buf_cstr(&out);
  assert_non_null(strstr(text, "Total input tokens:                      30"));
  assert_non_null(
      strstr(text, "Total token throughput (tok/s):          20.00"));
  assert_non_null(strstr(text, "End-to-end Latency"));
  assert_non_null(strstr(text, "Queueing"));
  assert_null(strstr(text, "n/a"));
  assert_null(strstr(text, "enerated"));
  assert_null(strstr(text, "Output"));
  assert_null(strstr(text, "First Token"));
  assert_null(strstr(text, "Inter-token"));
  buf_free(&out);
}

static void queue_blocks_need_a_cap(void **state)
{
  struct run_info r = {.request_rate = 4, .max_concurrency = 8};
  struct summary s = {.n_percentiles = 1, .percentiles = {99}};
  struct buf out = {0};
  unsigned all = (1u << BLOCK_COUNT) - 1;
  (void)state;
  table_write(&out, &s, &r, all);
  assert_non_null(strstr(buf_cstr(&out), "---------------Client-side "
                                         "Queueing---------------\n"
                                         "Mean Client Queue Time (ms):"
                                         "             0.00      \n"));
  assert_non_null(strstr(buf_cstr(&out), "--------Queue-inclusive End-to-end "
                                         "Latency--------\n"
                                         "Mean E2EL incl. Client Queue (ms):"
                                         "       0.00      \n"));
  r.request_rate = INFINITY;
  buf_reset(&out);
  table_write(&out, &s, &r, all);
  assert_null(strstr(buf_cstr(&out), "Queue-inclusive"));
  assert_non_null(strstr(buf_cstr(&out), "Client-side"));
  r.max_concurrency = 0;
  buf_reset(&out);
  table_write(&out, &s, &r, all);
  assert_null(strstr(buf_cstr(&out), "Queue"));
  buf_free(&out);
}

static void lists_of_blocks_and_percentiles(void **state)
{
  struct err e = {0};
  double p[USER_PERCENTILES_MAX];
  size_t n;
  unsigned set = 7;
  char name[32];
  (void)state;
  assert_int_equal(blocks_parse(STR("e2el, ttft"), &set, &e), 0);
  assert_int_equal(set, 1u << BLOCK_E2EL | 1u << BLOCK_TTFT);
  assert_int_equal(blocks_parse(STR("ttft,ttftt,,x"), &set, &e), -1);
  assert_int_equal(e.count, 2);
  assert_int_equal(set, 1u << BLOCK_E2EL | 1u << BLOCK_TTFT);
  assert_non_null(strstr(err_text(&e), "client_queue_time"));
  assert_int_equal(blocks_parse(STR("ttft,"), &set, &e), 0);
  assert_int_equal(set, 1u << BLOCK_TTFT);
  assert_int_equal(percentiles_parse(STR("50, 99.9,100,50.0"), p, &n, &e), 0);
  assert_int_equal(n, 3);
  assert_true(p[1] == 99.9);
  assert_int_equal(percentiles_parse(STR("101"), p, &n, &e), -1);
  assert_int_equal(percentiles_parse(STR("-1"), p, &n, &e), -1);
  assert_int_equal(percentiles_parse(STR("p99"), p, &n, &e), -1);
  assert_int_equal(percentiles_parse(STR(""), p, &n, &e), -1);
  assert_string_equal(percentile_name(99, name), "99");
  assert_string_equal(percentile_name(99.9, name), "99.9");
  assert_string_equal(percentile_name(50, name), "50");
  assert_string_equal(percentile_name(99.999, name), "99.999");
  err_free(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_vllm_prints_it),
      cmocka_unit_test(b037_empty_sets_are_not_zero),
      cmocka_unit_test(what_was_measured_beside_the_requests),
      cmocka_unit_test(answers_without_text_have_inputs),
      cmocka_unit_test(unknown_tokens_are_not_zero),
      cmocka_unit_test(b055_nothing_was_sent),
      cmocka_unit_test(answers_without_tokens),
      cmocka_unit_test(queue_blocks_need_a_cap),
      cmocka_unit_test(lists_of_blocks_and_percentiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
