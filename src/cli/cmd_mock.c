/* `stoke mock`: flags to a mock_config, and the server around it. */
#include "cli/cmd_mock.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/options.h"
#include "mock/mock.h"

/* Words of a prompt, for the capacity that is said at the start. */
#define TYPICAL_PROMPT 100

/* What the rows of the table fill. */
struct mock_flags {
  struct mock_config config;
  char *host, *models, *api_key, *log;
  uint64_t port;
  unsigned reject_status;
  struct option_list faults;
  bool list_faults, quiet;
};

/* ---- flags that are words of a plan ---- */

static int set_plan(void *dest, const char *kind, const char *value,
                    const char *place, struct err *e)
{
  struct mock_flags *f = dest;
  bool known;
  if (mock_plan_set(&f->config.plan, str_of(kind), str_of(value), &known) == 0)
    return 0;
  return err_add(e, "%s: cannot be read; see `stoke mock --help=%s`", place,
                 kind);
}

#define PLAN_FLAG(name, kind)                                                  \
  static int on_##name(void *dest, const char *value, const char *place,       \
                       struct err *e)                                          \
  {                                                                            \
    return set_plan(dest, kind, value, place, e);                              \
  }

PLAN_FLAG(ttft, "ttft")
PLAN_FLAG(itl, "itl")
PLAN_FLAG(tokens, "tokens")
PLAN_FLAG(chunk, "chunk")
PLAN_FLAG(text, "text")
PLAN_FLAG(reasoning, "reasoning")
PLAN_FLAG(tool_calls, "tool-calls")
PLAN_FLAG(cached, "cached-share")

/* "8ms" or "8ms+0.1ms": a step, and what each running request adds to it. */
static int on_step(void *dest, const char *value, const char *place,
                   struct err *e)
{
  struct mock_flags *f = dest;
  struct str each = str_of(value), step = str_split(&each, '+');
  if (units_duration(step, &f->config.engine.step_ns) < 0 ||
      (each.p && units_duration(each, &f->config.engine.step_each_ns) < 0))
    return err_add(e, "%s: not a step; say 8ms, or 8ms+0.1ms", place);
  return 0;
}

static int on_queue(void *dest, const char *value, const char *place,
                    struct err *e)
{
  struct mock_flags *f = dest;
  int64_t n;
  if (units_integer(str_of(value), &n) < 0 || n < 0)
    return err_add(e, "%s: not a number of places; say 0 or more", place);
  f->config.engine.queue = n;
  return 0;
}

#define AT(field)     offsetof(struct mock_flags, field)
#define CONFIG(field) offsetof(struct mock_flags, config.field)

static const struct option rows[] = {
    {"p port", "PORT", OPTION_COUNT, AT(port), "Server",
     "where to listen; 0 takes any free port, and says which", .max = 65535,
     .shown_default = "8000"},
    {"host", "ADDRESS", OPTION_STRING, AT(host), .help = "a loopback address",
     .shown_default = "127.0.0.1"},
    {"m models model", "IDS", OPTION_STRING, AT(models),
     .help = "what /v1/models lists, comma-separated; none: no such path",
     .shown_default = "mock"},
    {"strict-model", NULL, OPTION_BOOLEAN, CONFIG(strict_model),
     .help = "404 for a model that is not listed"},
    {"api-key", "KEY", OPTION_STRING, AT(api_key),
     .help = "ask for this key (401 without it)", .secret = true},
    {"max-model-len", "N", OPTION_COUNT, CONFIG(max_model_len),
     .help = "400 for longer prompts; tokens"},
    {"max-body", "SIZE", OPTION_SIZE, CONFIG(max_body),
     .help = "413 for larger bodies", .shown_default = "256M"},
    {"ready-after", "TIME", OPTION_DURATION, CONFIG(ready_after_ns),
     .help = "503 for everything until then"},
    {"idle-close", "TIME", OPTION_DURATION, CONFIG(idle_close_ns),
     .help = "close connections that were idle for so long"},
    {"d duration", "TIME", OPTION_DURATION, CONFIG(duration_ns),
     .help = "stop after so long"},
    {"n max-requests", "N", OPTION_COUNT, CONFIG(max_requests),
     .help = "stop after so many chats and completions"},
    {"seed", "N", OPTION_COUNT, CONFIG(seed),
     .help = "of texts, times and random faults", .shown_default = "1"},
    {"q quiet", NULL, OPTION_BOOLEAN, AT(quiet),
     .help = "say only where it listens"},

    {"ttft", "DIST", OPTION_CALL, 0, "Answers",
     "time to the first token: 50ms, normal:50ms:10ms or "
     "lognormal:50ms:10ms (mean and deviation)",
     .shown_default = "50ms", .call = on_ttft},
    {"itl", "DIST", OPTION_CALL, .help = "gap between events",
     .shown_default = "10ms", .call = on_itl},
    {"tokens", "DIST", OPTION_CALL,
     .help = "tokens of an answer: 64, normal:64:10; max_tokens of the "
             "request caps it",
     .shown_default = "max_tokens, else 32", .call = on_tokens},
    {"tokens-per-chunk chunk", "K", OPTION_CALL, .help = "tokens an event",
     .shown_default = "1", .call = on_chunk},
    {"text", "KIND", OPTION_CALL,
     .help = "words, cjk, emoji, spaces or surrogates",
     .shown_default = "words", .call = on_text},
    {"reasoning", "K", OPTION_CALL, .help = "the first K tokens are reasoning",
     .call = on_reasoning},
    {"tool-calls", "K", OPTION_CALL, .help = "answer chats with K tool calls",
     .call = on_tool_calls},
    {"cached", "SHARE", OPTION_CALL,
     .help = "share of each prompt that is said to be cached (0 to 1), and "
             "that costs no prefill",
     .call = on_cached},
    {"prefix-cache", "BLOCKS", OPTION_COUNT, CONFIG(prefix_blocks),
     .help = "a real prefix cache of so many blocks of 16 words"},
    {"blast", NULL, OPTION_BOOLEAN, CONFIG(blast),
     .help = "prepared bytes, as fast as the socket takes them; no TTFT, "
             "no ITL"},

    {"slots", "N", OPTION_COUNT, CONFIG(engine.slots), "Capacity",
     .help = "requests that run at once; the others wait"},
    {"queue", "N", OPTION_CALL,
     .help = "places in the waiting line; beyond it requests are refused",
     .shown_default = "no limit", .call = on_queue},
    {"reject-status", "CODE", OPTION_UNSIGNED, AT(reject_status),
     .help = "how they are refused", .shown_default = "503"},
    {"prefill", "TIME", OPTION_DURATION, CONFIG(engine.prefill_ns),
     .help = "cost of a prompt token that is not cached"},
    {"step", "TIME[+EACH]", OPTION_CALL,
     .help = "batch model: all running requests make an event per step of "
             "TIME + EACH * running; replaces --ttft and --itl",
     .call = on_step},
    {"hold-until", "N", OPTION_COUNT, CONFIG(engine.hold_until),
     .help = "answer nothing until N requests are in"},

    {"f fault", "KIND[@WHICH]", OPTION_LIST, AT(faults), "Faults",
     .help =
         "what goes wrong, and for which requests: status:503:1@5% (a random "
         "share), cut:3@/4 (every 4th), stall:2@3 (only the third), @2-5, @3+; "
         "several with commas; repeatable"},
    {"list-faults", NULL, OPTION_BOOLEAN, AT(list_faults),
     .help = "list the kinds and end"},

    {"l log", "FILE", OPTION_STRING, AT(log), "Log",
     .help = "a JSON line per request, with the server's own instants; - is "
             "stdout"},
    {"log-tokens", NULL, OPTION_BOOLEAN, CONFIG(log_tokens),
     .help = "with the instant of every event"},
    {"log-headers", NULL, OPTION_BOOLEAN, CONFIG(log_headers),
     .help = "with the request's headers"},
    {"log-bodies", NULL, OPTION_BOOLEAN, CONFIG(log_bodies),
     .help = "with the request's body"},
};

static const struct options_spec spec = {
    .program = "stoke mock",
    .usage = "[flags]",
    .intro = "A simulated LLM endpoint on this machine: "
             "/v1/chat/completions, /v1/completions, /v1/models, /health, "
             "/metrics, /stats.",
    .examples =
        "stoke mock --ttft 50ms --itl 10ms\tknown latencies, on port 8000\n"
        "stoke mock --slots 32 --step 20ms+0.5ms --prefill 50us\t"
        "a batching server; its saturation point is printed\n"
        "stoke mock --fault status:429:1@5% --fault cut:3@/10\t"
        "some refused, some cut short\n"
        "stoke mock --log truth.jsonl --log-tokens\t"
        "what really happened, to compare with\n"
        "curl -H 'x-mock-fault: stall:2:1s' …\t"
        "a fault for one request; x-mock-ttft: 1s works too\n",
    .footer = "Any fault can be asked for by a request: header x-mock-fault: "
              "KIND[:ARG],..., or x-mock-KIND: ARG. Prompt tokens are the "
              "prompt's words.",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
};

/* ---- running ---- */

/* A connection is a file; the usual soft limit of 1,024 is soon reached. */
static void raise_file_limit(void)
{
  struct rlimit r;
  if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
  }
}

static double mean_tokens(const struct mock_config *c)
{
  double n = c->plan.tokens.mean;
  return n < 1 ? 1 : n;
}

static void say_capacity(const struct mock_config *c)
{
  double tokens = mean_tokens(c), events, rate;
  double prompt = c->engine.prefill_ns ? TYPICAL_PROMPT : 0;
  events = ceil(tokens / (double)c->plan.chunk);
  rate = mock_capacity(&c->engine, c->plan.ttft.mean, c->plan.itl.mean, prompt,
                       events);
  if (!isfinite(rate))
    return;
  printf("stoke mock: saturated at %.4g requests/s, %.4g tokens/s (answers of "
         "%.4g tokens%s)\n",
         rate, rate * tokens, tokens,
         prompt > 0 ? ", prompts of 100 words" : "");
}

static void say_address(const struct mock_config *c, const struct mock *m)
{
  const char *open = strchr(c->host, ':') ? "[" : "";
  printf("stoke mock: listening on http://%s%s%s:%d\n", open, c->host,
         *open ? "]" : "", mock_port(m));
}

static void say_summary(const struct mock *m)
{
  struct buf text = {0};
  struct str rest;
  mock_summary(m, &text);
  rest = str_trim(buf_str(&text));
  while (rest.p) {
    struct str line = str_split(&rest, '\n');
    fprintf(stderr, "stoke mock: %.*s\n", STR_ARG(line));
  }
  buf_free(&text);
}

static struct mock_rule *read_rules(const struct option_list *faults,
                                    struct err *e)
{
  struct mock_rule *rules =
      mem_zalloc(faults->n ? faults->n : 1, sizeof *rules);
  for (size_t i = 0; i < faults->n; i++)
    mock_rule_parse(str_of(faults->items[i]), &rules[i], e);
  return rules;
}

/* What the flags own, lent to the configuration. */
static void lend(struct mock_flags *f)
{
  struct mock_config *c = &f->config;
  c->port = (int)f->port;
  c->reject_status = (int)f->reject_status;
  c->signals = true;
  if (f->host)
    c->host = f->host;
  if (f->models)
    c->models = f->models;
  c->api_key = f->api_key;
  c->log = f->log;
  c->rules_count = f->faults.n;
}

static int serve(struct mock_flags *f)
{
  struct err e = {0};
  struct mock_rule *rules = read_rules(&f->faults, &e);
  struct mock *m = NULL;
  unsigned bad;
  lend(f);
  f->config.rules = rules;
  bad = e.count;
  if (bad)
    mock_config_check(&f->config, &e);
  else
    m = mock_open(&f->config, &e);
  if (m) {
    say_address(&f->config, m);
    if (!f->quiet && !f->config.blast)
      say_capacity(&f->config);
    fflush(stdout);
    mock_run(m);
    if (!f->quiet)
      say_summary(m);
    mock_close(m);
  } else {
    options_complain(&spec, &e);
  }
  mem_free(rules);
  err_free(&e);
  return m ? 0 : 2;
}

static int list_faults(void)
{
  struct buf text = {0};
  mock_plan_help(&text);
  fputs(buf_cstr(&text), stdout);
  buf_free(&text);
  return 0;
}

int cmd_mock(int argc, char *const argv[])
{
  struct mock_flags f = {.port = 8000, .reject_status = 503};
  struct options o;
  int status;
  mock_config_defaults(&f.config);
  options_init(&o, &spec, &f);
  status = options_main(&o, argc, argv);
  if (status < 0) {
    raise_file_limit();
    status = f.list_faults ? list_faults() : serve(&f);
  }
  options_free(&o);
  return status;
}
