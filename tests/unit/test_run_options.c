/* The command line of `stoke run`: what it means, and the exact words about
 * every mistake. */
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
#include "cli/run_options.h"

enum { MOST = 14 };

/* Read and settled; errors and notices are kept as text. */
struct parsed {
  struct run_options o;
  struct err e;
  enum options_result result;
};

static void parse_as(struct parsed *p, char *const argv[], const char *load,
                     unsigned nature)
{
  json_value *v = load ? json_parse(str_of(load), NULL) : NULL;
  int argc = 0;
  while (argc < MOST && argv[argc])
    argc++;
  *p = (struct parsed){.result = OPTIONS_OK};
  p->result = run_options_read(&p->o, &run_options_spec, argc, argv, &p->e);
  if (p->result != OPTIONS_HELP)
    run_options_settle(&p->o, v, nature, "s.lua", &p->e);
  json_free(v);
}

static void parse(struct parsed *p, char *const argv[], const char *load)
{
  parse_as(p, argv, load, 0);
}

static void done(struct parsed *p)
{
  run_options_free(&p->o);
  err_free(&p->e);
}

#define PARSE(p, ...) parse(p, (char *const[MOST]){__VA_ARGS__}, NULL)
#define PARSE_OK(p, ...)                                                       \
  do {                                                                         \
    PARSE(p, __VA_ARGS__);                                                     \
    assert_string_equal(err_text(&(p)->e), "");                                \
  } while (0)

static const char *notices(struct parsed *p, char *text, size_t size)
{
  text[0] = '\0';
  for (size_t i = 0; i < p->o.options.notices.n; i++) {
    size_t len = strlen(text);
    snprintf(text + len, size - len, "%s\n", p->o.options.notices.items[i]);
  }
  return text;
}

static int clean_environment(void **state)
{
  (void)state;
  unsetenv("OPENAI_BASE_URL");
  unsetenv("OPENAI_API_KEY");
  unsetenv("OTHER_KEY");
  return 0;
}

static void defaults(void **state)
{
  struct parsed p;
  char text[500];
  (void)state;
  PARSE_OK(&p, NULL);
  assert_string_equal(p.o.config.base_url, "http://127.0.0.1:8000");
  assert_string_equal(p.o.config.endpoint, "chat");
  assert_string_equal(p.o.config.query, "");
  assert_null(p.o.config.model);
  assert_null(p.o.config.api_key);
  assert_true(p.o.config.stream && p.o.config.preconnect && p.o.preflight);
  assert_int_equal(p.o.config.max_tokens, -1);
  assert_int_equal(p.o.config.threads, 1);
  assert_int_equal(p.o.config.timeout_ns, 600 * NS_PER_SEC);
  assert_int_equal(p.o.config.load.max_concurrency, 1);
  assert_int_equal(p.o.config.load.duration_ns, 10 * NS_PER_SEC);
  assert_int_equal(p.o.config.load.drain_ns, 30 * NS_PER_SEC);
  assert_true(p.o.config.load.request_rate == 0);
  assert_int_equal(p.o.blocks, BLOCKS_DEFAULT);
  assert_int_equal(p.o.n_percentiles, 1);
  assert_true(p.o.percentiles[0] == 99);
  assert_string_equal(notices(&p, text, sizeof text), "");
  done(&p);
}

static void everything_said(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "haiku", "-u", "h:1/v1", "-m", "m", "-n", "1k", "-d5m", "-c16",
           "-R4.5", "--arrival=constant", "--warmup", "20", "-kq");
  assert_string_equal(p.o.options.args.items[0], "haiku");
  assert_string_equal(p.o.config.base_url, "http://h:1");
  assert_string_equal(p.o.config.model, "m");
  assert_int_equal(p.o.config.load.num_requests, 1000);
  assert_int_equal(p.o.config.load.duration_ns, 300 * NS_PER_SEC);
  assert_int_equal(p.o.config.load.max_concurrency, 16);
  assert_true(p.o.config.load.request_rate == 4.5);
  assert_int_equal(p.o.config.load.arrival, ARRIVAL_CONSTANT);
  assert_int_equal(p.o.config.load.warmup_requests, 20);
  assert_true(p.o.config.insecure && p.o.quiet);
  done(&p);
  PARSE_OK(&p, "--num-prompts=5", "--max_concurrency=2", "--warmup=10s",
           "--drain=0", "--timeout", "0", "--no-stream", "--max-tokens", "9",
           "--extra-body.top_k=5", "--seed=7", "--threads=0");
  assert_int_equal(p.o.config.load.num_requests, 5);
  assert_int_equal(p.o.config.load.duration_ns, 0);
  assert_int_equal(p.o.config.load.warmup_ns, 10 * NS_PER_SEC);
  assert_int_equal(p.o.config.load.drain_ns, 0);
  assert_int_equal(p.o.config.timeout_ns, 0); /* B045: none */
  assert_false(p.o.config.stream);
  assert_int_equal(p.o.config.max_tokens, 9);
  assert_string_equal(p.o.config.extra_body, "{\"top_k\":5}");
  assert_int_equal(p.o.config.seed, 7);
  assert_int_equal(p.o.config.threads, 0);
  done(&p);
}

static void figures(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--percentile-metrics", "ttft,e2el", "--metric-percentiles",
           "50,99.9");
  assert_int_equal(p.o.blocks, 1u << BLOCK_TTFT | 1u << BLOCK_E2EL);
  assert_int_equal(p.o.n_percentiles, 2);
  assert_true(p.o.percentiles[1] == 99.9);
  done(&p);
}

static void headers_and_metadata(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "-H", "X-One: 1", "-H", "X-Two=2", "--metadata", "a=b=c");
  assert_string_equal(buf_cstr(&p.o.config.headers), "X-One: 1\nX-Two: 2\n");
  assert_string_equal(p.o.metadata.items[0], "a=b=c");
  assert_null(run_options_key_source(&p.o));
  done(&p);
  PARSE_OK(&p, "-H", "authorization=Bearer 1");
  assert_string_equal(run_options_key_source(&p.o), "--header");
  done(&p);
}

/* ---- environment ---- */

static void from_the_environment(void **state)
{
  struct parsed p;
  char text[500];
  (void)state;
  setenv("OPENAI_BASE_URL", "https://api.example/v1", 1);
  setenv("OPENAI_API_KEY", "sk-1", 1);
  PARSE_OK(&p, NULL);
  assert_string_equal(p.o.config.base_url, "https://api.example");
  assert_string_equal(p.o.config.api_key, "sk-1");
  assert_string_equal(run_options_key_source(&p.o), "OPENAI_API_KEY");
  assert_string_equal(
      notices(&p, text, sizeof text),
      "the server is the one in OPENAI_BASE_URL: https://api.example\n");
  done(&p);
  PARSE_OK(&p, "-u", "h");
  assert_string_equal(p.o.config.base_url, "http://h");
  done(&p);
}

static void b112_key_of_another_variable(void **state)
{
  struct parsed p;
  char text[500];
  (void)state;
  setenv("OPENAI_API_KEY", "sk-1", 1);
  setenv("OTHER_KEY", "sk-2\n", 1);
  PARSE_OK(&p, "--api-key-env", "OTHER_KEY");
  assert_string_equal(p.o.config.api_key, "sk-2");
  assert_string_equal(notices(&p, text, sizeof text),
                      "OTHER_KEY: blanks or line breaks around the key "
                      "dropped\n");
  done(&p);
  setenv("OTHER_KEY", "", 1);
  PARSE_OK(&p, "--api-key-env", "OTHER_KEY");
  assert_null(p.o.config.api_key);
  assert_string_equal(notices(&p, text, sizeof text),
                      "OTHER_KEY: empty, so no key is sent\n");
  done(&p);
  PARSE_OK(&p, "--api-key", "sk-3");
  assert_string_equal(p.o.config.api_key, "sk-3");
  assert_string_equal(notices(&p, text, sizeof text),
                      "--api-key: everybody on this machine can see it in the "
                      "process list; --api-key-env NAME is safer\n");
  done(&p);
}

static void b112_a_bad_key_is_refused_and_not_shown(void **state)
{
  struct parsed p;
  (void)state;
  setenv("OPENAI_API_KEY", "kkk\r\nX: y", 1);
  PARSE(&p, NULL);
  assert_string_equal(err_text(&p.e),
                      "OPENAI_API_KEY: a control character inside the key, "
                      "after 3 characters (a line break?)\n");
  done(&p);
}

/* ---- mistakes ---- */

struct mistake {
  char *argv[MOST];
  const char *said;
};

static const struct mistake mistakes[] = {
    {{"-c", "0"}, "-c 0: must be at least 1\n"}, /* B075 */
    {{"--max-concurrency=-1"}, "--max-concurrency -1: must be at least 1\n"},
    {{"-n", "0"}, "-n 0: must be at least 1\n"},
    {{"-n", "ten"}, "-n ten: not a number; say for example 100 or 10k\n"},
    {{"-d", "0"}, "-d 0: must be more than 0\n"},
    {{"-R", "0"}, "-R 0: must be more than 0\n"},
    {{"-R", "-3"}, "-R -3: must be more than 0\n"},
    {{"-R", "inf"},
     "--request-rate inf: sends without end; add --num-requests or "
     "--max-concurrency\n"},
    {{"--arrival", "constant"},
     "--arrival: shapes the gaps of a --request-rate, and there is none\n"},
    {{"--arrival", "constant", "-R", "inf", "-n", "5"},
     "--arrival: shapes the gaps of a --request-rate, and there is no gap at "
     "inf\n"},
    {{"--arrival", "weibull", "-R", "1"},
     "--arrival weibull: must be poisson, constant or gamma\n"},
    {{"--stage", "30s rate=1..x"},
     "--stage \"30s rate=1..x\".request_rate: must be a number of 0 or more, "
     "or a list of two\n"},
    {{"--stage", "rate=1..4"},
     "stage 1: a ramp needs a duration\n"
     "stage 1: needs an end: a duration, or -n or -d for the run\n"},
    {{"--stage", "c=4", "--stage", "9s c=2"},
     "stage 1: another stage follows, so it needs a duration or "
     "num_requests\n"},
    {{"--stage", "9s rate=0..4 exponential"},
     "stage 1: an exponential ramp cannot begin or end at 0\n"},
    {{"--ramp-up-strategy", "linear"},
     "--ramp-up-strategy: also say --ramp-up-start-rps and "
     "--ramp-up-end-rps\n"},
    {{"--num-sessions", "3"},
     "--num-sessions: this scenario has no sessions; use --num-requests\n"},
    {{"--warmup", "soon"},
     "--warmup soon: say how many requests (20) or how long (10s)\n"},
    {{"--warmup", "-1"},
     "--warmup -1: say how many requests (20) or how long (10s)\n"},
    {{"--threads", "1000"}, "--threads 1000: must be at most 256\n"},
    {{"--max-tokens", "0"}, "--max-tokens 0: must be at least 1\n"},
    {{"--timeout", "-1"},
     "--timeout -1: not a duration; say for example 30s, 5m or 250ms\n"},
    {{"--lua-memory", "1k"}, "--lua-memory 1k: must be at least 1048576\n"},
    {{"--endpoint", "chat,"},
     "--endpoint chat,: must be a name such as chat, or a /path\n"},
    {{"-u", "http://h/v1/completions", "--endpoint", "chat"},
     "--endpoint chat: the URL already ends in the path of completions\n"},
    {{"-u", "http://me:secret@h"},
     "--url http://***@h: take user and password out of the URL, where they "
     "end up in logs; say -H \"Authorization: Basic $(printf %s USER:PASSWORD "
     "| base64)\"\n"},
    {{"-u", "ftp://h/?key=secret"},
     "--url ftp://h/?key=***: only http:// and https:// are spoken here\n"},
    {{"-H", "nonsense"}, "--header: must be \"Name: value\" or Name=value\n"},
    {{"-H", "A: b\nC: d"},
     "--header A: its value holds a control character (a line break?)\n"},
    {{"--api-key-env", "sk-secret-key"},
     "--api-key-env: wants the name of a variable, not a key\n"},
    {{"--api-key-env", "NO_SUCH_VARIABLE"},
     "--api-key-env NO_SUCH_VARIABLE: there is no such variable\n"},
    {{"--metadata", "nothing"}, "--metadata nothing: must be NAME=VALUE\n"},
    {{"-P", "nothing"}, "-P nothing: must be NAME=VALUE\n"},
    {{"--extra-body", "[]"},
     "--extra-body []: must be a JSON object, as {\"top_k\": 5}\n"},
    {{"--cacert", "/no/such.pem"},
     "--cacert /no/such.pem: No such file or directory\n"},
    {{"-o", "x.json", "--requests-out", "x.json"},
     "--output and --requests-out x.json: cannot be the same file\n"},
    {{"a", "b"}, "b: unexpected argument\n"},
    {{"--max-concurency", "4"},
     "--max-concurency: no such option; did you mean --max-concurrency?\n"},
    {{"--num_prompt"}, "--num_prompt: needs a value (N)\n"},
    /* All of them together. */
    {{"-c", "0", "-u", "", "--nope", "-H", "x", "--metadata", "y"},
     "-c 0: must be at least 1\n"
     "--nope: no such option\n"
     "--metadata y: must be NAME=VALUE\n"
     "--url : empty; say for example http://127.0.0.1:8000\n"
     "--header: must be \"Name: value\" or Name=value\n"},
};

static void every_mistake_has_its_words(void **state)
{
  struct parsed p;
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    parse(&p, mistakes[i].argv, NULL);
    assert_string_equal(err_text(&p.e), mistakes[i].said);
    done(&p);
  }
}

static void existing_files_are_kept(void **state)
{
  char path[] = "/tmp/test_run_options_XXXXXX";
  struct parsed p;
  int fd = mkstemp(path);
  (void)state;
  assert_true(fd >= 0);
  PARSE(&p, "-o", path);
  assert_int_equal(p.e.count, 1);
  assert_non_null(strstr(err_text(&p.e), path));
  assert_non_null(strstr(err_text(&p.e), "--force"));
  done(&p);
  PARSE_OK(&p, "-o", path, "--force");
  done(&p);
  close(fd);
  unlink(path);
}

/* ---- the scenario's load ---- */

static void flags_win_over_the_scenario(void **state)
{
  struct parsed p;
  (void)state;
  parse(&p, (char *const[MOST]){"-c", "3"},
        "{\"max_concurrency\": 64, \"duration\": 60, \"warmup\": 10, "
        "\"request_rate\": 2.5, \"arrival\": \"constant\"}");
  assert_string_equal(err_text(&p.e), "");
  assert_int_equal(p.o.config.load.max_concurrency, 3);
  assert_int_equal(p.o.config.load.duration_ns, 60 * NS_PER_SEC);
  assert_int_equal(p.o.config.load.warmup_ns, 10 * NS_PER_SEC);
  assert_true(p.o.config.load.request_rate == 2.5);
  assert_int_equal(p.o.config.load.arrival, ARRIVAL_CONSTANT);
  assert_int_equal(options_source(&p.o.options, "duration"), OPTION_SCRIPT);
  assert_int_equal(options_source(&p.o.options, "max-concurrency"),
                   OPTION_FLAG);
  done(&p);
  parse(&p, (char *const[MOST]){NULL},
        "{\"num_requests\": 5, \"request_rate\": \"inf\"}");
  assert_string_equal(err_text(&p.e), "");
  assert_true(isinf(p.o.config.load.request_rate));
  assert_int_equal(p.o.config.load.max_concurrency, 0);
  assert_int_equal(p.o.config.load.duration_ns, 0);
  done(&p);
}

static void warmup_of_the_scenario_in_requests(void **state)
{
  struct parsed p;
  (void)state;
  parse(&p, (char *const[MOST]){NULL}, "{\"warmup_requests\": 12}");
  assert_string_equal(err_text(&p.e), "");
  assert_int_equal(p.o.config.load.warmup_requests, 12);
  assert_int_equal(p.o.config.load.warmup_ns, 0);
  done(&p);
}

static void stages_of_flags(void **state)
{
  struct parsed p;
  const struct load *l = &p.o.config.load;
  struct buf said = {0};
  (void)state;
  parse(&p,
        (char *const[MOST]){"--stage", "30s rate=1..10 linear label=ramp",
                            "--stage", "1m rate=10 c=200 gamma burstiness=0.5",
                            NULL},
        NULL);
  assert_string_equal(err_text(&p.e), "");
  assert_int_equal(l->n_stages, 2);
  assert_int_equal(l->duration_ns, 0);
  assert_int_equal(load_duration(l), 90 * NS_PER_SEC);
  assert_string_equal(l->stages[0].label, "ramp");
  assert_true(l->stages[0].rate.from == 1 && l->stages[0].rate.to == 10);
  assert_string_equal(l->stages[1].label, "2");
  assert_int_equal(l->stages[1].arrival, ARRIVAL_GAMMA);
  assert_true(l->stages[1].burstiness == 0.5);
  assert_true(l->stages[1].concurrency.from == 200);
  run_options_describe(&p.o, false, &said);
  assert_string_equal(buf_cstr(&said),
                      "1 to 10 requests/s (poisson) for 30 s; then 10 "
                      "requests/s (gamma), at most 200 in flight for 1m 00s");
  buf_free(&said);
  done(&p);
}

static void b075_a_stage_runs_what_it_says(void **state)
{
  struct parsed p;
  (void)state;
  parse(&p,
        (char *const[MOST]){"--stage", "1s c=1.5", "--stage", "1s c=inf",
                            "--stage", "1s c=1..2.5", "--stage",
                            "1s rate=1..9 step steps=0", NULL},
        NULL);
  assert_string_equal(
      err_text(&p.e),
      "--stage \"1s c=1.5\".max_concurrency: must be a whole number, or a list "
      "of two\n"
      "--stage \"1s c=inf\".max_concurrency: must be a whole number, or a list "
      "of two\n"
      "--stage \"1s c=1..2.5\".max_concurrency: must be a whole number, or a "
      "list of two\n"
      "--stage \"1s rate=1..9 step steps=0\".steps: must be from 1 to 10000\n");
  done(&p);
}

static void stages_of_the_scenario_under_flags(void **state)
{
  struct parsed p;
  const struct load *l = &p.o.config.load;
  (void)state;
  parse(&p, (char *const[MOST]){"-c", "7", NULL},
        "{\"stages\": [{\"duration\": 3, \"request_rate\": [1, 4]}, "
        "{\"duration\": 2, \"max_concurrency\": 9}]}");
  assert_string_equal(err_text(&p.e), "");
  assert_int_equal(l->n_stages, 2);
  assert_true(l->stages[0].concurrency.from == 7);
  assert_true(l->stages[1].concurrency.to == 7);
  done(&p);
  parse(&p, (char *const[MOST]){"-R", "5", NULL},
        "{\"stages\": [{\"duration\": 3, \"request_rate\": [1, 4]}]}");
  assert_string_equal(err_text(&p.e), "");
  assert_int_equal(l->n_stages, 0);
  assert_true(l->request_rate == 5);
  done(&p);
}

static void vllms_ramp_is_one_in_time(void **state)
{
  struct parsed p;
  const struct load *l = &p.o.config.load;
  (void)state;
  parse(&p,
        (char *const[MOST]){"--ramp-up-strategy", "linear",
                            "--ramp-up-start-rps", "2", "--ramp-up-end-rps",
                            "6", "-n", "12", NULL},
        NULL);
  assert_string_equal(err_text(&p.e), "");
  assert_int_equal(l->n_stages, 1);
  assert_int_equal(l->stages[0].duration_ns, 3 * NS_PER_SEC);
  assert_true(l->stages[0].rate.from == 2 && l->stages[0].rate.to == 6);
  done(&p);
}

static void load_mistakes_name_the_file(void **state)
{
  struct parsed p;
  (void)state;
  parse(&p, (char *const[MOST]){NULL},
        "{\"max_concurrency\": 0, \"stages\": [{\"duration\": 3, "
        "\"rate\": 4}]}");
  assert_string_equal(
      err_text(&p.e),
      "s.lua: load.max_concurrency: must be at least 1\n"
      "s.lua: load.stages[1] has the field 'rate'; a stage takes "
      "request_rate, session_rate, shape, steps, arrival, burstiness, "
      "max_concurrency, max_prefill, num_requests, num_sessions, duration, "
      "pacing, overflow, label\n");
  done(&p);
}

static void b130_infinite_rate_with_a_cap_is_a_closed_loop(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "-R", "inf", "-c", "4", "-d", "5");
  assert_true(p.o.config.load.request_rate == 0);
  done(&p);
  PARSE_OK(&p, "-R", "inf", "-n", "5");
  assert_true(isinf(p.o.config.load.request_rate));
  assert_int_equal(p.o.config.load.max_concurrency, 0);
  done(&p);
}

static void the_load_in_words(void **state)
{
  static const struct {
    char *argv[MOST];
    const char *words;
    unsigned nature;
  } rows[] = {
      {{NULL}, "1 request at a time for 10 s", 0},
      {{"-c8", "-n100"}, "8 requests at a time, 100 requests", 0},
      {{"-R4", "-d1m"}, "4 requests/s (poisson) for 1m 00s", 0},
      {{"-R0.25", "-c9", "-n5", "-d30", "--arrival=constant", "--warmup=3"},
       "0.25 requests/s (constant), at most 9 in flight, 5 requests or 30 s, "
       "after 3 to warm up",
       0},
      {{"-Rinf", "-n5"}, "all requests at once, 5 requests", 0},
      {{"-Rinf", "-n1"}, "all requests at once, 1 request", 0},
      {{"-c2", "--num-sessions=4"},
       "2 sessions at a time, 4 sessions",
       LOAD_SESSIONS},
      {{"-R5", "--num-sessions=1", "-n9"},
       "5 sessions/s (poisson), 1 session, at most 9 requests",
       LOAD_SESSIONS},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct parsed p;
    struct buf out = {0};
    parse_as(&p, rows[i].argv, NULL, rows[i].nature);
    run_options_describe(&p.o, rows[i].nature, &out);
    assert_string_equal(buf_cstr(&out), rows[i].words);
    buf_free(&out);
    done(&p);
  }
}

/* ---- help ---- */

static void help_fits_and_shows_every_row(void **state)
{
  struct parsed p;
  struct buf out = {0};
  (void)state;
  PARSE(&p, "--nope", "--help");
  assert_int_equal(p.result, OPTIONS_HELP);
  options_help(&run_options_spec, NULL, &out);
  for (struct str all = buf_str(&out); all.p;) {
    struct str line = str_split(&all, '\n');
    assert_true(line.len <= 80 || str_starts(line, STR("  stoke run")) ||
                str_starts(line, STR("  # ")));
  }
  for (size_t i = 0; i < run_options_spec.n; i++) {
    const struct option *row = &run_options_spec.rows[i];
    char name[64];
    snprintf(name, sizeof name, "--%s%.*s", row->on ? "no-" : "",
             STR_ARG(option_key(row)));
    assert_non_null(strstr(buf_cstr(&out), name));
  }
  assert_non_null(strstr(buf_cstr(&out), "Exit status: 0 done"));
  buf_free(&out);
  done(&p);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, clean_environment)
      TEST(defaults),
      TEST(everything_said),
      TEST(figures),
      TEST(headers_and_metadata),
      TEST(from_the_environment),
      TEST(b112_key_of_another_variable),
      TEST(b112_a_bad_key_is_refused_and_not_shown),
      TEST(every_mistake_has_its_words),
      TEST(existing_files_are_kept),
      TEST(flags_win_over_the_scenario),
      TEST(warmup_of_the_scenario_in_requests),
      TEST(stages_of_flags),
      TEST(b075_a_stage_runs_what_it_says),
      TEST(stages_of_the_scenario_under_flags),
      TEST(vllms_ramp_is_one_in_time),
      TEST(load_mistakes_name_the_file),
      TEST(b130_infinite_rate_with_a_cap_is_a_closed_loop),
      TEST(the_load_in_words),
      TEST(help_fits_and_shows_every_row),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
