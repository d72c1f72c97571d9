/* vLLM's command lines as runs: what each comes to, and the words about
 * everything that is wrong with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/bench_files.h"

enum { MOST = 24 };

struct parsed {
  struct bench b;
  struct run_options r;
  struct err e;
  enum options_result result;
};

static void parse(struct parsed *p, char *const argv[])
{
  int argc = 0;
  while (argc < MOST && argv[argc])
    argc++;
  *p = (struct parsed){0};
  p->result = bench_options_read(&p->b, &p->r, argc, argv, &p->e);
  if (p->result != OPTIONS_HELP)
    run_options_settle(&p->r, NULL, 0, "bench.lua", &p->e);
}

static void done(struct parsed *p)
{
  run_options_free(&p->r);
  bench_free(&p->b);
  err_free(&p->e);
}

#define PARSE(p, ...) parse(p, (char *const[MOST]){__VA_ARGS__})
#define PARSE_OK(p, ...)                                                       \
  do {                                                                         \
    PARSE(p, __VA_ARGS__);                                                     \
    assert_string_equal(err_text(&(p)->e), "");                                \
  } while (0)
#define PARSE_BAD(words, ...)                                                  \
  do {                                                                         \
    struct parsed bad;                                                         \
    PARSE(&bad, __VA_ARGS__);                                                  \
    assert_string_equal(err_text(&bad.e), words);                              \
    done(&bad);                                                                \
  } while (0)

/* The value of a parameter of the scenario, or NULL. */
static const char *param(const struct parsed *p, const char *name)
{
  const struct option_list *l = &p->r.params;
  size_t len = strlen(name);
  for (size_t i = 0; i < l->n; i++)
    if (strncmp(l->items[i], name, len) == 0 && l->items[i][len] == '=')
      return l->items[i] + len + 1;
  return NULL;
}

static bool noticed(const struct parsed *p, const char *words)
{
  for (size_t i = 0; i < p->r.options.notices.n; i++)
    if (strstr(p->r.options.notices.items[i], words))
      return true;
  return false;
}

/* ---- three users' command lines ---- */

static void guide_a_hosted_api(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--backend", "openai", "--host", "api.example.com", "--port",
           "443", "--endpoint", "/api/v1/completions", "--model", "M",
           "--api-key", "k-secret", "--num-prompts", "24", "--random-input-len",
           "2048", "--max-concurrency", "8", "--request-rate", "1.0",
           "--temperature", "0");
  assert_string_equal(p.r.config.base_url, "https://api.example.com:443");
  assert_string_equal(p.r.config.endpoint, "/api/v1/completions");
  assert_string_equal(p.r.config.api_key, "k-secret");
  assert_string_equal(p.r.config.extra_body, "{\"temperature\":0.0}");
  assert_string_equal(param(&p, "random_input_len"), "2048");
  assert_string_equal(param(&p, "num_prompts"), "24");
  assert_int_equal(p.r.config.load.num_requests, 24);
  assert_int_equal(p.r.config.load.max_concurrency, 8);
  assert_true(p.r.config.load.request_rate == 1);
  assert_true(p.r.config.fail_fast == 10 && !p.r.preflight);
  done(&p);
}

static void guide_b_gateway(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--backend", "vllm", "--base_url", "http://gw:9000/v1",
           "--model", "qwen32b", "--endpoint-type", "openai-chat", "--endpoint",
           "/v1/chat/completions", "--header", "Authorization: Bearer K",
           "X-Team=a=b", "--dataset-name", "sharegpt", "--dataset-path",
           "f.json", "--sharegpt-output-len", "1024", "--metric-percentiles",
           "95,99");
  assert_string_equal(p.r.config.base_url, "http://gw:9000");
  assert_string_equal(p.r.config.endpoint, "chat");
  assert_string_equal(buf_cstr(&p.r.config.headers),
                      "Authorization: Bearer K\nX-Team: a=b\n");
  assert_string_equal(param(&p, "dataset_path"), "f.json");
  assert_string_equal(param(&p, "sharegpt_output_len"), "1024");
  assert_null(param(&p, "random_input_len"));
  assert_true(isinf(p.r.config.load.request_rate));
  done(&p);
}

static void guide_c_of_2024(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--backend", "openai-chat", "--host", "h", "--port", "8001",
           "--dataset", "/data/sharegpt.json", "--model", "M", "--tokenizer",
           "T", "--trust-remote-code", "--num-prompts=5");
  assert_string_equal(p.r.config.base_url, "http://h:8001");
  assert_string_equal(p.r.config.endpoint, "chat");
  assert_string_equal(param(&p, "dataset_name"), "sharegpt");
  assert_string_equal(param(&p, "dataset_path"), "/data/sharegpt.json");
  assert_string_equal(param(&p, "tokenizer"), "T");
  assert_true(noticed(&p, "--trust-remote-code: not needed"));
  done(&p);
}

/* ---- where to ---- */

static void url_of(const char *want, const char *host, const char *port)
{
  struct parsed p;
  if (port)
    PARSE_OK(&p, "--model", "M", "--host", (char *)host, "--port",
             (char *)port);
  else
    PARSE_OK(&p, "--model", "M", "--host", (char *)host);
  assert_string_equal(p.r.config.base_url, want);
  done(&p);
}

static void hosts_as_people_write_them(void **state)
{
  (void)state;
  url_of("http://h:8000", "h", NULL);
  url_of("https://h:443", "h", "443");
  url_of("http://h:80", "http://h", "80");
  url_of("https://h", "https://h", NULL);
  url_of("https://h:8443", "https://h", "8443");
  url_of("http://[::1]:8000", "::1", NULL);
  url_of("http://[::1]:9", "[::1]", "9");
  url_of("http://h:7000", "h:7000", NULL);
  url_of("https://h/api", "https://h/api", NULL);
  PARSE_BAD("--host h:1 --port 2: a port in both; leave one out\n", "--model",
            "M", "--host", "h:1", "--port", "2");
}

static void base_url_goes_first(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--base-url", "http://x:1/v1/", "--port", "9");
  assert_string_equal(p.r.config.base_url, "http://x:1");
  assert_true(noticed(&p, "--base-url goes before --host and --port"));
  done(&p);
}

static void endpoint_of(const char *want, const char *base, const char *backend,
                        const char *endpoint)
{
  struct parsed p;
  if (endpoint)
    PARSE_OK(&p, "--model", "M", "--base-url", (char *)base, "--backend",
             (char *)backend, "--endpoint", (char *)endpoint);
  else
    PARSE_OK(&p, "--model", "M", "--base-url", (char *)base, "--backend",
             (char *)backend);
  assert_string_equal(p.r.config.endpoint, want);
  done(&p);
}

static void every_backend_has_its_path(void **state)
{
  (void)state;
  endpoint_of("completions", "http://h", "vllm", NULL);
  endpoint_of("chat", "http://h", "openai-chat", NULL);
  endpoint_of("chat", "http://h/v1", "openai-chat", "/v1/chat/completions");
  endpoint_of("completions", "http://h/v1", "openai", "v1/completions");
  endpoint_of("responses", "http://h", "openai-responses", NULL);
  endpoint_of("transcriptions", "http://h", "openai-audio", NULL);
  endpoint_of("/v1/audio/translations", "http://h", "openai-audio",
              "/v1/audio/translations");
  endpoint_of("/v1/embeddings", "http://h", "openai-embeddings",
              "/v1/embeddings");
  endpoint_of("embeddings_chat", "http://h", "openai-embeddings-chat",
              "/v1/embeddings");
  endpoint_of("pooling", "http://h", "vllm-pooling", NULL);
  endpoint_of("/v1/rerank", "http://h", "vllm-rerank", "/v1/rerank");
  endpoint_of("/v1/embeddings", "http://h", "infinity-embeddings",
              "v1/embeddings//");
  endpoint_of("embeddings_chat", "http://h", "openai-embeddings-clip",
              "/v1/embeddings/");
  endpoint_of("/chat/completions", "http://h/api/v4", "openai-chat", NULL);
  endpoint_of("/gw/v1/chat/completions", "http://h", "openai-chat",
              "/gw/v1/chat/completions");
}

static void whole_urls_name_the_backend(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--base-url",
           "http://h/v1/chat/completions?x=1");
  assert_string_equal(p.b.backend->name, "openai-chat");
  assert_string_equal(p.r.config.endpoint, "chat");
  assert_string_equal(p.r.config.base_url, "http://h");
  done(&p);
  endpoint_of("completions", "http://h/v1/completions", "vllm", NULL);
  PARSE_BAD("--base-url http://h/v1/chat/completions: --backend vllm sends "
            "another kind of body there; use --backend openai-chat, or leave "
            "the path out\n",
            "--model", "M", "--base-url", "http://h/v1/chat/completions",
            "--backend", "vllm");
}

static void body_and_path_of_different_kinds(void **state)
{
  (void)state;
  PARSE_BAD("--endpoint /v1/chat/completions: --backend openai sends another "
            "kind of body there; use --backend openai-chat, or leave "
            "--endpoint out (a path that ends in completions)\n",
            "--model", "M", "--endpoint", "/v1/chat/completions");
  PARSE_BAD("--endpoint /v1/completions: --backend openai-chat sends another "
            "kind of body there; use --backend openai, or leave --endpoint "
            "out (a path that ends in chat/completions)\n",
            "--model", "M", "--backend", "openai-chat", "--endpoint",
            "/v1/completions");
  PARSE_BAD("--endpoint http://h/v1/completions: is a path; the URL goes into "
            "--base-url\n",
            "--model", "M", "--endpoint", "http://h/v1/completions");
  PARSE_BAD("--endpoint /generate: its end says nothing; --backend vllm sends "
            "to a path that ends in completions\n",
            "--model", "M", "--backend", "vllm", "--endpoint", "/generate");
}

static void pictures_are_embedded_in_three_ways(void **state)
{
  static char *const ways[][3] = {
      {"openai-embeddings-clip", "embeddings_chat", "clip"},
      {"openai-embeddings-vlm2vec", "embeddings_chat", "vlm2vec"},
      {"infinity-embeddings-clip", "embeddings", "infinity_clip"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    struct parsed p;
    PARSE_OK(&p, "--model", "M", "--backend", ways[i][0]);
    assert_string_equal(p.r.config.endpoint, ways[i][1]);
    assert_string_equal(param(&p, "image_embeddings"), ways[i][2]);
    done(&p);
  }
}

static void old_backends_and_unknown_ones(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--backend", "lmdeploy");
  assert_true(noticed(&p, "--backend lmdeploy: was a backend of its own"));
  assert_string_equal(p.r.config.endpoint, "completions");
  done(&p);
  PARSE(&p, "--model", "M", "--backend", "openai-chatt");
  assert_non_null(strstr(err_text(&p.e), "--backend openai-chatt: invalid "
                                         "choice; choose from vllm, openai"));
  assert_non_null(strstr(err_text(&p.e), "did you mean openai-chat"));
  done(&p);
}

/* ---- bodies ---- */

static void extra_body_goes_before_the_sampling(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--temperature", "0.7", "--top-k", "5",
           "--extra-body", "{\"temperature\": 0.1}", "--extra-body.a.b", "x");
  assert_string_equal(p.r.config.extra_body,
                      "{\"temperature\":0.1,\"top_k\":5,\"a\":{\"b\":\"x\"}}");
  done(&p);
  PARSE_BAD("--temperature hot: not a number\n", "--model", "M",
            "--temperature", "hot");
  PARSE_OK(&p, "--model", "M", "--backend", "infinity-embeddings", "--top-p",
           "1");
  assert_null(p.r.config.extra_body);
  assert_true(noticed(&p, "--top-p: has no effect, the answers of this"));
  done(&p);
  /* As vLLM's client: a model of short contexts drops no request. */
  PARSE_OK(&p, "--model", "M", "--backend", "openai-embeddings", "--top-p",
           "1");
  assert_string_equal(p.r.config.extra_body, "{\"truncate_prompt_tokens\":-1}");
  assert_true(noticed(&p, "--top-p: has no effect, the answers of this"));
  done(&p);
}

static void template_of_the_server(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--backend", "openai-chat",
           "--chat-template-kwargs.enable_thinking", "false");
  assert_string_equal(p.r.config.extra_body,
                      "{\"chat_template_kwargs\":{\"enable_thinking\":false}}");
  assert_null(param(&p, "chat_template_kwargs"));
  done(&p);
  /* Completions of a custom data set are put into it before they are sent. */
  PARSE_OK(&p, "--model", "M", "--chat-template-kwargs", "{\"a\":1}");
  assert_null(p.r.config.extra_body);
  assert_string_equal(param(&p, "chat_template_kwargs"), "{\"a\":1}");
  done(&p);
}

static void names_of_models(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "/models/M", "--served-model-name", "m",
           "--lora-modules", "a", "b", "--lora-assignment", "round-robin");
  assert_string_equal(p.r.config.model, "m");
  assert_string_equal(p.b.flags.model, "/models/M");
  assert_string_equal(param(&p, "lora_modules"), "a,b");
  assert_string_equal(param(&p, "lora_assignment"), "round-robin");
  done(&p);
}

/* ---- load ---- */

static void burstiness(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--request-rate", "5", "--burstiness", "0.5");
  assert_int_equal(p.r.config.load.arrival, ARRIVAL_GAMMA);
  assert_true(p.r.config.load.burstiness == 0.5);
  done(&p);
  PARSE_OK(&p, "--model", "M", "--request-rate", "5", "--burstiness", "inf");
  assert_int_equal(p.r.config.load.arrival, ARRIVAL_CONSTANT);
  done(&p);
  /* Without a rate it means nothing, there as here. */
  PARSE_OK(&p, "--model", "M", "--burstiness", "0.5");
  assert_true(isinf(p.r.config.load.request_rate));
  done(&p);
}

static void warm_ups_come_all_at_once(void **state)
{
  struct parsed p;
  struct stage s;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--request-rate", "0.1", "--num-warmups", "6",
           "--max-concurrency", "3");
  s = load_warmup(&p.r.config.load, 2);
  assert_true(isinf(s.rate.from) && s.num_requests == 6 &&
              s.concurrency.from == 3);
  done(&p);
}

static void who_says_how_many_and_when(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--dataset-name", "timed_trace",
           "--dataset-path", "t", "--request-rate", "3");
  assert_true(p.b.timed && p.r.config.load.request_rate == 0);
  assert_true(noticed(&p, "the trace says when requests leave"));
  done(&p);
  PARSE_OK(&p, "--model", "M", "--dataset-name", "timed_trace",
           "--dataset-path", "t", "--request-rate", "3", "--no-self-timed");
  assert_true(!p.b.timed && p.r.config.load.request_rate == 3);
  assert_string_equal(param(&p, "self_timed"), "false");
  done(&p);
  PARSE_OK(&p, "--model", "M", "--dataset-name", "custom", "--dataset-path",
           "t", "--num-prompts", "-1", "--request-rate", "3");
  assert_true(p.r.until_exhausted && !p.r.config.load.num_requests);
  assert_string_equal(param(&p, "num_prompts"), "-1");
  done(&p);
  PARSE_OK(&p, "--model", "M", "--random-batch-size", "4", "--num-prompts",
           "10", "--backend", "openai-embeddings");
  assert_int_equal(p.r.config.load.num_requests, 3);
  assert_int_equal(p.b.batch, 4);
  done(&p);
}

static void a_file_needs_its_kind(void **state)
{
  (void)state;
  PARSE_BAD("--dataset-path f.json: Cannot use 'random' dataset with "
            "--dataset-path; say which one the file is: --dataset-name "
            "sharegpt, custom, hf\n",
            "--model", "M", "--dataset-path", "f.json");
}

static void ramps(void **state)
{
  (void)state;
  PARSE_BAD("--request-rate 4: When using ramp-up, do not specify "
            "--request-rate; --ramp-up-start-rps and --ramp-up-end-rps say "
            "it\n"
            "--ramp-up-strategy: both --ramp-up-start-rps and "
            "--ramp-up-end-rps must be specified\n",
            "--model", "M", "--ramp-up-strategy", "linear", "--request-rate",
            "4", "--ramp-up-start-rps", "1");
  PARSE_BAD("--ramp-up-start-rps 5: Ramp-up start RPS must be less than end "
            "RPS (2)\n",
            "--model", "M", "--ramp-up-strategy", "linear",
            "--ramp-up-start-rps", "5", "--ramp-up-end-rps", "2");
  PARSE_BAD("--ramp-up-start-rps 0: For exponential ramp-up, the start RPS "
            "cannot be 0\n",
            "--model", "M", "--ramp-up-strategy", "exponential",
            "--ramp-up-start-rps", "0", "--ramp-up-end-rps", "2");
  PARSE_BAD("--ramp-up-start-rps -1: must not be negative\n", "--model", "M",
            "--ramp-up-start-rps", "-1");
}

/* ---- results ---- */

static void all_mistakes_at_once(void **state)
{
  (void)state;
  PARSE_BAD(
      "--metadata k: must be NAME=VALUE\n"
      "--burstiness 0: must be more than 0\n"
      "--max-concurrency 0: must be at least 1\n"
      "--goodput ttft: write KEY:MS, for example ttft:500\n"
      "--goodput itl:3: no such figure; choose ttft, tpot or e2el\n"
      "--goodput tpot:-3: the limit must be milliseconds >= 0\n"
      "--timeline-itl-thresholds 5: Invalid --timeline-itl-thresholds "
      "format; two numbers of ms, as 25,50\n"
      "--metric-percentiles 101: not a number from 0 to 100; say for example "
      "50,90,99.9\n",
      "--model", "M", "--metadata", "a=b", "k", "--burstiness", "0",
      "--max-concurrency", "0", "--goodput", "ttft", "itl:3", "tpot:-3",
      "--timeline-itl-thresholds", "5", "--metric-percentiles", "101");
}

static void names_of_flags(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--random-input", "200",
           "--custom_skip_chat_template", "--dataset_name", "custom_mm");
  assert_string_equal(param(&p, "random_input_len"), "200");
  assert_string_equal(param(&p, "skip_chat_template"), "true");
  assert_string_equal(param(&p, "dataset_name"), "custom_image");
  done(&p);
  /* Enough for vLLM, which has no --api-key, --metric-mode and so on. */
  PARSE_OK(&p, "--model", "M", "--endpoin", "/v1/completions", "--metric", "95",
           "--log", "3", "--ap", "--no-self-time");
  assert_string_equal(param(&p, "logprobs"), "3");
  assert_true(p.b.flags.append_result);
  done(&p);
  PARSE_BAD("ambiguous option: --dataset- could match --dataset-name, "
            "--dataset-path; write more of it\n",
            "--model", "M", "--dataset-", "x");
  /* As argparse has it of these two, and of no others. */
  PARSE_OK(&p, "--model", "M", "--header", "--metadata");
  done(&p);
  PARSE_BAD("--goodput: needs a value (KEY:MS)\n", "--model", "M", "--goodput");
  PARSE_BAD("--reqest-rate: no such option; did you mean --request-rate?\n",
            "--model", "M", "--reqest-rate", "x");
}

static void the_last_of_several_counts(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--num_prompts", "5", "--header", "A=b",
           "--header", "C=d", "--num-prompts=7");
  assert_int_equal(p.r.config.load.num_requests, 7);
  assert_true(noticed(&p, "--num-prompts: given more than once"));
  assert_false(noticed(&p, "--header: given"));
  done(&p);
}

static void goodput_and_detail(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--model", "M", "--goodput", "ttft:200", "e2el:900.5",
           "--save-detailed");
  assert_int_equal(p.r.config.slo.ttft_ns, 200 * NS_PER_MS);
  assert_int_equal(p.r.config.slo.e2el_ns, 900500000);
  assert_true(noticed(&p, "--save-detailed: nothing is saved without"));
  assert_false(p.r.config.keep_text);
  done(&p);
  PARSE_OK(&p, "--model", "M", "--save-result", "--save-detailed");
  assert_true(p.r.config.keep_text && p.r.force && !p.r.append);
  done(&p);
}

static void check_name(const char *head, const char *tail, struct parsed *p)
{
  char *name = bench_file_name(&p->b, "org/m");
  assert_true(str_starts(str_of(name), str_of(head)));
  assert_int_equal(strlen(name),
                   strlen(head) + strlen("20261130-144851") + strlen(tail));
  assert_true(str_ends(str_of(name), str_of(tail)));
  mem_free(name);
  done(p);
}

static void names_of_files(void **state)
{
  struct parsed p;
  char *name;
  (void)state;
  PARSE_OK(&p, "--model", "org/m", "--save-result");
  check_name("openai-infqps-m-", ".json", &p);
  PARSE_OK(&p, "--model", "org/m", "--save-result", "--label", "L",
           "--request-rate", "8", "--max-concurrency", "4");
  check_name("L-8.0qps-concurrency4-m-", ".json", &p);
  PARSE_OK(&p, "--model", "org/m", "--backend", "openai-chat",
           "--ramp-up-strategy", "linear", "--ramp-up-start-rps", "2",
           "--ramp-up-end-rps", "6");
  check_name("openai-chat-ramp-up-linear-2qps-6qps-m-", ".json", &p);
  PARSE_OK(&p, "--model", "m", "--result-filename", "x.json", "--result-dir",
           "some/dir/");
  name = bench_file_name(&p.b, "m");
  assert_string_equal(name, "some/dir/x.json");
  assert_true(noticed(&p, "--result-filename: nothing is saved without"));
  mem_free(name);
  done(&p);
}

/* ---- from a file, and the first line ---- */

static void config_with_the_keys_of_the_guides(void **state)
{
  char path[] = "/tmp/stoke-bench-XXXXXX.json";
  int fd = mkstemps(path, 5);
  static const char text[] =
      "{\"base_url\": \"http://gw:1/v1\", \"endpoint_type\": \"openai-chat\", "
      "\"model\": \"q\", \"headers\": {\"X-A\": \"b\"}, \"api_key_env\": "
      "\"STOKE_TEST_KEY\", \"dataset_name\": \"sharegpt\", \"dataset_path\": "
      "\"f\", \"num_prompts\": 16, \"request_rate\": 8, \"metadata\": {\"k\": "
      "1}, \"goodput\": [\"ttft:9\"], \"extra_body\": {\"n\": 1}}";
  struct parsed p;
  (void)state;
  assert_true(write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
  close(fd);
  setenv("STOKE_TEST_KEY", "from-the-environment", 1);
  PARSE_OK(&p, "--config", path, "--request-rate", "2");
  assert_string_equal(p.r.config.base_url, "http://gw:1");
  assert_string_equal(p.r.config.endpoint, "chat");
  assert_string_equal(p.r.config.api_key, "from-the-environment");
  assert_string_equal(buf_cstr(&p.r.config.headers), "X-A: b\n");
  assert_string_equal(p.r.metadata.items[0], "k=1");
  assert_string_equal(p.r.config.extra_body, "{\"n\":1}");
  assert_int_equal(p.r.config.load.num_requests, 16);
  assert_true(p.r.config.load.request_rate == 2);
  assert_int_equal(p.r.config.slo.ttft_ns, 9 * NS_PER_MS);
  done(&p);
  unsetenv("STOKE_TEST_KEY");
  unlink(path);
}

static void no_secret_in_the_first_line(void **state)
{
  struct parsed p;
  struct buf out = {0};
  (void)state;
  PARSE_OK(&p, "--model", "M", "--header", "Authorization: Bearer sk-1234567",
           "--api-key", "sk-7654321", "--request-rate", "8",
           "--random-input-len", "9");
  bench_flags_show(&p.b.flags, &out);
  assert_null(strstr(buf_cstr(&out), "sk-"));
  assert_true(str_starts(buf_str(&out), STR("Namespace(subparser='bench', "
                                            "bench_type='serve', ")));
  assert_non_null(strstr(buf_cstr(&out), "header=['Authorization=***']"));
  assert_non_null(strstr(buf_cstr(&out), "request_rate=8.0, burstiness=1.0"));
  assert_non_null(strstr(buf_cstr(&out), "random_input_len=9, "
                                         "random_output_len=128"));
  assert_non_null(strstr(buf_cstr(&out), "max_concurrency=None"));
  assert_non_null(strstr(buf_cstr(&out), "backend='openai'"));
  buf_free(&out);
  done(&p);
}

static void other_tools_variables_are_noticed(void **state)
{
  struct parsed p;
  (void)state;
  setenv("OPENAI_BASE_URL", "http://elsewhere:1", 1);
  PARSE_OK(&p, "--model", "M");
  assert_string_equal(p.r.config.base_url, "http://127.0.0.1:8000");
  assert_true(noticed(&p, "OPENAI_BASE_URL is set; it is not used here"));
  unsetenv("OPENAI_BASE_URL");
  done(&p);
  setenv("https_proxy", "http://proxy:1", 1);
  PARSE_OK(&p, "--model", "M", "--base-url", "https://h");
  assert_true(noticed(&p, "https_proxy is set: all requests go through"));
  unsetenv("https_proxy");
  done(&p);
}

int main(void)
{
  static const char *const variables[] = {
      "OPENAI_API_KEY", "OPENAI_BASE_URL",  "http_proxy", "https_proxy",
      "HTTPS_PROXY",    "all_proxy",        "ALL_PROXY",  "no_proxy",
      "NO_PROXY",       "ANTHROPIC_API_KEY"};
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(guide_a_hosted_api),
      cmocka_unit_test(guide_b_gateway),
      cmocka_unit_test(guide_c_of_2024),
      cmocka_unit_test(hosts_as_people_write_them),
      cmocka_unit_test(base_url_goes_first),
      cmocka_unit_test(every_backend_has_its_path),
      cmocka_unit_test(whole_urls_name_the_backend),
      cmocka_unit_test(body_and_path_of_different_kinds),
      cmocka_unit_test(pictures_are_embedded_in_three_ways),
      cmocka_unit_test(old_backends_and_unknown_ones),
      cmocka_unit_test(extra_body_goes_before_the_sampling),
      cmocka_unit_test(template_of_the_server),
      cmocka_unit_test(names_of_models),
      cmocka_unit_test(burstiness),
      cmocka_unit_test(warm_ups_come_all_at_once),
      cmocka_unit_test(who_says_how_many_and_when),
      cmocka_unit_test(a_file_needs_its_kind),
      cmocka_unit_test(ramps),
      cmocka_unit_test(all_mistakes_at_once),
      cmocka_unit_test(names_of_flags),
      cmocka_unit_test(the_last_of_several_counts),
      cmocka_unit_test(goodput_and_detail),
      cmocka_unit_test(names_of_files),
      cmocka_unit_test(config_with_the_keys_of_the_guides),
      cmocka_unit_test(no_secret_in_the_first_line),
      cmocka_unit_test(other_tools_variables_are_noticed),
  };
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    unsetenv(variables[i]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
