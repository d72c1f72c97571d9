#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "random_records.h"
#include "report/blocks.h"
#include "report/details.h"
#include "report/results.h"

static struct run_info some_run(void)
{
  return (struct run_info){
      .started_wall_ns = UINT64_C(1796050131123000000),
      .started_ns = T0,
      .backend = "openai",
      .model_id = "dummy",
      .request_rate = INFINITY,
      .burstiness = 1,
      .drain_s = 30,
      .version = "1.0",
      .command = "stoke run --api-key ***",
      .url = "http://h/v1",
      .scenario_name = "chat",
      .seed = UINT64_MAX,
      .threads = 2,
      .clock = "kernel",
      .stop_reason = "requests",
  };
}

static const struct summary_config config = {
    .percentiles = {99}, .n_percentiles = 1, .request_rate = INFINITY};

static struct summary summarise(const struct random_records *all,
                                size_t workers, const struct summary_config *c)
{
  struct metrics_config mc = {.epoch_ns = T0};
  struct metrics *m[4], *merged = metrics_new(&mc);
  struct client client = {.threads = 1, .cpu_share = {0.25}};
  struct summary s;
  for (size_t i = 0; i < workers; i++)
    m[i] = metrics_new(&mc);
  for (size_t i = 0; i < all->n; i++)
    metrics_add(m[i * 7 % workers], &all->records[i]);
  for (size_t i = 0; i < workers; i++) {
    metrics_merge(merged, m[i]);
    metrics_free(m[i]);
  }
  summary_build(&s, merged, &client, c);
  metrics_free(merged);
  return s;
}

static struct summary some_summary(size_t n)
{
  struct random_records all = random_records(3, n);
  struct summary s = summarise(&all, 1, &config);
  random_records_free(&all);
  return s;
}

static json_value *written(const struct summary *s, const struct run_info *r,
                           unsigned blocks)
{
  struct buf out = {0};
  size_t at = 0;
  json_value *v;
  results_write(&out, s, r, blocks);
  assert_int_equal(out.p[out.len - 1], '\n');
  assert_int_equal(out.p[0], '{');
  v = json_parse(buf_str(&out), &at);
  if (!v)
    fail_msg("not JSON at %zu: %.60s", at, buf_cstr(&out) + at);
  buf_free(&out);
  return v;
}

/* The top-level keys, a line each, but "stoke". */
static void keys_of(const json_value *v, struct buf *out)
{
  for (const json_value *k = json_first(v); k; k = json_next(k))
    if (strcmp(json_name(k), "stoke") != 0)
      buf_addf(out, "%s\n", json_name(k));
}

static void recorded_keys(const char *name, struct buf *out)
{
  char path[128], key[128];
  FILE *f;
  snprintf(path, sizeof path, "tests/data/vllm/%s.keys.txt", name);
  f = fopen(path, "r");
  assert_non_null(f);
  while (fgets(key, sizeof key, f))
    buf_adds(out, key);
  fclose(f);
}

static void check_keys(const char *name, const struct summary_config *c,
                       struct run_info r, unsigned blocks)
{
  struct random_records all = random_records(3, 50);
  struct summary s = summarise(&all, 1, c);
  json_value *v = written(&s, &r, blocks);
  struct buf got = {0}, want = {0};
  keys_of(v, &got);
  recorded_keys(name, &want);
  assert_string_equal(buf_cstr(&got), buf_cstr(&want));
  buf_free(&got);
  buf_free(&want);
  json_free(v);
  summary_deinit(&s);
  random_records_free(&all);
}

static void keys_are_vllms_in_its_order(void **state)
{
  static const struct run_pair metadata[] = {{"a", "b"}, {"version", "0.3.3"}};
  struct summary_config c = config;
  struct run_info r = some_run();
  static const struct details details;
  (void)state;
  check_keys("completions-default", &config, r, BLOCKS_DEFAULT);
  r.details = &details;
  check_keys("chat-detailed", &config, r, BLOCKS_DEFAULT);
  r.details = NULL;
  r.ramp_strategy = "linear";
  check_keys("ramp", &config, r, BLOCKS_DEFAULT);
  r.ramp_strategy = NULL;
  r.metadata = metadata;
  r.n_metadata = 2;
  r.request_rate = 5;
  percentiles_parse(STR("50,90,95,99.9"), c.percentiles, &c.n_percentiles,
                    NULL);
  check_keys("rate-goodput", &c, r, BLOCKS_DEFAULT | 1u << BLOCK_E2EL);
}

static void spacing_is_json_dumps(void **state)
{
  struct summary s = some_summary(20);
  struct run_info r = some_run();
  struct buf out = {0};
  (void)state;
  results_write(&out, &s, &r, BLOCKS_DEFAULT);
  assert_non_null(strstr(
      buf_cstr(&out), "\"endpoint_type\": \"openai\", \"backend\": "
                      "\"openai\", \"label\": null, \"model_id\": "
                      "\"dummy\", \"tokenizer_id\": null, \"num_prompts\": "));
  assert_non_null(strstr(buf_cstr(&out),
                         "\"request_rate\": \"inf\", \"burstiness\": 1.0, "
                         "\"max_concurrency\": null, \"duration\": "));
  assert_ptr_equal(strchr(buf_cstr(&out), '\n'), out.p + out.len - 1);
  buf_free(&out);
  summary_deinit(&s);
}

static void b130_strict_json_of_an_empty_run(void **state)
{
  struct summary_config c = config;
  struct metrics *m = metrics_new(&(struct metrics_config){.epoch_ns = T0});
  struct summary s;
  struct run_info r = some_run();
  json_value *v;
  (void)state;
  summary_build(&s, m, NULL, &c);
  v = written(&s, &r, (1u << BLOCK_COUNT) - 1);
  assert_string_equal(json_text(json_get(v, "request_rate")), "inf");
  assert_true(json_is_null(json_get(v, "duration")));
  assert_true(json_is_null(json_get(v, "mean_ttft_ms")));
  assert_true(json_is_null(json_get(v, "p99_itl_ms")));
  assert_true(json_is_null(json_get(v, "request_goodput")));
  assert_true(json_double(json_get(v, "completed"), -1) == 0);
  json_free(v);
  summary_deinit(&s);
  metrics_free(m);
}

static void b130_one_failing_request(void **state)
{
  struct metrics *m = metrics_new(&(struct metrics_config){.epoch_ns = T0});
  struct record f =
      make_failed(T0, 20 * MS, OUTCOME_HTTP_5XX, 503, "bad \xff \"words\"\n");
  struct summary s;
  struct run_info r = some_run();
  const json_value *e, *stoke;
  json_value *v;
  (void)state;
  metrics_add(m, &f);
  summary_build(&s, m, NULL, &config);
  v = written(&s, &r, BLOCKS_DEFAULT);
  stoke = json_get(v, "stoke");
  assert_true(json_double(json_get(v, "failed"), -1) == 1);
  assert_true(json_is_null(json_get(v, "mean_ttft_ms")));
  e = json_first(json_get(stoke, "errors"));
  assert_string_equal(json_text(json_get(e, "outcome")), "http_5xx");
  assert_true(json_double(json_get(e, "status"), 0) == 503);
  assert_true(json_double(json_get(e, "count"), 0) == 1);
  assert_string_equal(json_text(json_get(e, "message")),
                      "bad \xef\xbf\xbd \"words\"");
  assert_true(
      json_double(json_get(json_get(stoke, "outcomes"), "http_5xx"), 0) == 1);
  json_free(v);
  summary_deinit(&s);
  metrics_free(m);
}

static void metadata_acts_as_in_a_dict(void **state)
{
  static const struct run_pair metadata[] = {
      {"a", "1"},         {"label", "mine"},      {"a", "2"},
      {"duration", "no"}, {"mean_ttft_ms", "no"}, {"stoke", "no"},
      {"\"q\"", "\n"},    {"p99_itl_ms", "no"},   {"port_e2el_ms", "yes"}};
  struct summary s = some_summary(20);
  struct run_info r = some_run();
  json_value *v;
  int a = 0;
  (void)state;
  r.metadata = metadata;
  r.n_metadata = sizeof metadata / sizeof *metadata;
  v = written(&s, &r, BLOCKS_DEFAULT);
  for (const json_value *k = json_first(v); k; k = json_next(k))
    a += strcmp(json_name(k), "a") == 0;
  assert_int_equal(a, 1);
  assert_string_equal(json_text(json_get(v, "a")), "2");
  assert_string_equal(json_text(json_get(v, "label")), "mine");
  assert_string_equal(json_text(json_get(v, "\"q\"")), "\n");
  assert_string_equal(json_text(json_get(v, "port_e2el_ms")), "yes");
  assert_true(json_is_number(json_get(v, "duration")));
  assert_true(json_is_number(json_get(v, "mean_ttft_ms")));
  assert_true(json_is_object(json_get(v, "stoke")));
  json_free(v);
  summary_deinit(&s);
}

static void stoke_has_what_metrics_promises(void **state)
{
  static const char *const keys[] = {
      "schema",  "kind",        "version",    "command",    "scenario",
      "seed",    "threads",     "shard",      "started_at", "host",
      "load",    "stop_reason", "outcomes",   "errors",     "latency",
      "tokens",  "stages",      "turns",      "sessions",   "series",
      "network", "client",      "thresholds", "checks",     "custom",
      "hist"};
  struct summary s = some_summary(100);
  struct run_info r = some_run();
  json_value *v = written(&s, &r, BLOCKS_DEFAULT);
  const json_value *stoke = json_get(v, "stoke"), *ttft;
  (void)state;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!json_get(stoke, keys[i]))
      fail_msg("no %s", keys[i]);
  for (int f = 0; f < FIGURE_COUNT; f++)
    assert_non_null(
        json_get(json_get(stoke, "latency"), figure_name((enum figure)f)));
  ttft = json_get(json_get(stoke, "latency"), "ttft");
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    assert_true(json_double(json_get(ttft, latency_names[i]), -1) ==
                s.latency[FIGURE_TTFT].p[i]);
  assert_true(json_double(json_get(ttft, "mean"), -1) ==
              s.latency[FIGURE_TTFT].mean);
  assert_string_equal(json_text(json_get(stoke, "started_at")),
                      "2026-11-30T14:48:51.123Z");
  assert_true(json_is_array(json_get(stoke, "stages")));
  assert_true(json_is_null(json_get(stoke, "sessions")));
  assert_string_equal(json_text(json_get(json_get(stoke, "client"), "verdict")),
                      "ok");
  json_free(v);
  summary_deinit(&s);
}

static void other_modules_hand_in_their_json(void **state)
{
  struct summary s = some_summary(5);
  struct run_info r = some_run();
  json_value *v;
  (void)state;
  r.custom_json = "{\"tool_calls\":{\"sum\":3}}";
  r.thresholds_json = "[{\"expr\":\"x\",\"ok\":true}]";
  r.params_json = "{\"turns\":6}";
  v = written(&s, &r, BLOCKS_DEFAULT);
  assert_true(
      json_double(json_get(json_get(json_get(json_get(v, "stoke"), "custom"),
                                    "tool_calls"),
                           "sum"),
                  0) == 3);
  json_free(v);
  summary_deinit(&s);
}

static void user_percentiles_are_there_once(void **state)
{
  struct summary_config c = {.percentiles = {99, 99.9, 33.5, 33.5},
                             .n_percentiles = 4};
  struct random_records all = random_records(3, 50);
  struct summary s = summarise(&all, 1, &c);
  struct run_info r = some_run();
  json_value *v = written(&s, &r, BLOCKS_DEFAULT);
  int n = 0;
  (void)state;
  for (const json_value *k = json_first(
           json_get(json_get(json_get(v, "stoke"), "latency"), "ttft"));
       k; k = json_next(k))
    n += strcmp(json_name(k), "p33.5") == 0;
  assert_int_equal(n, 1);
  json_free(v);
  summary_deinit(&s);
  random_records_free(&all);
}

static void any_split_writes_the_same_bytes(void **state)
{
  struct random_records all = random_records(8, 600);
  struct run_info r = some_run();
  struct summary one = summarise(&all, 1, &config);
  struct summary four = summarise(&all, 4, &config);
  struct buf a = {0}, b = {0};
  (void)state;
  results_write(&a, &one, &r, BLOCKS_DEFAULT);
  results_write(&b, &four, &r, BLOCKS_DEFAULT);
  assert_string_equal(buf_cstr(&a), buf_cstr(&b));
  buf_free(&a);
  buf_free(&b);
  summary_deinit(&one);
  summary_deinit(&four);
  random_records_free(&all);
}

static void x05_the_id_of_a_model_stays(void **state)
{
  struct summary s = some_summary(5);
  struct run_info r = some_run();
  json_value *v;
  (void)state;
  r.model_id = "org/na:me/../../x";
  v = written(&s, &r, 0);
  assert_string_equal(json_text(json_get(v, "model_id")), "org/na:me/../../x");
  json_free(v);
  summary_deinit(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keys_are_vllms_in_its_order),
      cmocka_unit_test(spacing_is_json_dumps),
      cmocka_unit_test(b130_strict_json_of_an_empty_run),
      cmocka_unit_test(b130_one_failing_request),
      cmocka_unit_test(metadata_acts_as_in_a_dict),
      cmocka_unit_test(stoke_has_what_metrics_promises),
      cmocka_unit_test(other_modules_hand_in_their_json),
      cmocka_unit_test(user_percentiles_are_there_once),
      cmocka_unit_test(any_split_writes_the_same_bytes),
      cmocka_unit_test(x05_the_id_of_a_model_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
