/* The options of `stoke run`, one row each. Parsing, --help, configuration
 * keys and the README's list are all made from here. */
#include <assert.h>
#include <stddef.h>

#include "base/mem.h"
#include "base/units.h"
#include "cli/run_options.h"

#define AT(field)   offsetof(struct run_options, field)
#define LOAD(field) offsetof(struct run_options, config.load.field)
#define CONF(field) offsetof(struct run_options, config.field)

static_assert(sizeof(size_t) == sizeof(uint64_t), "OPTION_SIZE is a size_t");

/* "20" are requests, "10s" is a time. */
static int set_warmup(void *dest, const char *value, const char *place,
                      struct err *e)
{
  struct load *load = &((struct run_options *)dest)->config.load;
  int64_t requests;
  uint64_t ns;
  if (units_integer(str_of(value), &requests) == 0 && requests >= 0) {
    load->warmup_requests = (uint64_t)requests;
    load->warmup_ns = 0;
    return 0;
  }
  if (units_duration(str_of(value), &ns) == 0) {
    load->warmup_requests = 0;
    load->warmup_ns = ns;
    return 0;
  }
  return err_add(e, "%s: say how many requests (20) or how long (10s)", place);
}

static const struct option rows[] = {
    {"u url base-url", "URL", OPTION_STRING, AT(url), "Target",
     "the server: with or without /v1 or a path",
     .shown_default = "http://127.0.0.1:8000", .env = "OPENAI_BASE_URL"},
    {"m model", "NAME", OPTION_STRING, CONF(model), .help = "the model's name",
     .shown_default = "the only one that the server lists"},
    {"endpoint", "KIND", OPTION_STRING, AT(endpoint),
     .help =
         "chat, completions, responses, embeddings, embeddings_chat, "
         "pooling, rerank, transcriptions, translations, anthropic, ollama, "
         "ollama_generate, a scenario's own, or a /path behind the URL",
     .shown_default = "what the URL ends in, or chat"},
    {"api-key-env", "NAME", OPTION_STRING, AT(api_key_env),
     .help = "environment variable that holds the API key",
     .shown_default = "OPENAI_API_KEY"},
    {"api-key", "KEY", OPTION_STRING, AT(api_key), .help = "the key itself",
     .secret = true,
     .notice = "--api-key: everybody on this machine can see it in the "
               "process list; --api-key-env NAME is safer"},
    {"H header", "LINE", OPTION_LIST, AT(headers),
     .help = "send this header, \"Name: value\" or Name=value; may be "
             "repeated"},
    {"k insecure", NULL, OPTION_BOOLEAN, CONF(insecure),
     .help = "do not check the server's certificate"},
    {"cacert", "FILE", OPTION_STRING, CONF(cacert),
     .help = "trust the certificates in this PEM file",
     .shown_default = "the system's"},

    {"n num-requests num-prompts", "N", OPTION_COUNT, LOAD(num_requests),
     "Load", "stop after so many requests", .min = 1},
    {"d duration", "TIME", OPTION_DURATION, LOAD(duration_ns),
     .help = "stop after this time: 30s, 5m; whichever comes first",
     .shown_default = "10s, when there is no -n either", .positive = true},
    {"c max-concurrency", "N", OPTION_COUNT, LOAD(max_concurrency),
     .help = "so many requests at a time, each that ends starting the next "
             "(closed loop); with -R: at most so many",
     .shown_default = "1, or no limit with -R", .min = 1},
    {"R request-rate session-rate", "RATE", OPTION_NUMBER, LOAD(request_rate),
     .help = "requests a second whether or not answers come (open loop); "
             "fractions are fine, inf sends all at once",
     .positive = true},
    {"arrival", "SHAPE", OPTION_CHOICE, AT(arrival),
     .help = "gaps between them: poisson, constant or gamma",
     .shown_default = "poisson", .choices = "poisson constant gamma"},
    {"burstiness", "X", OPTION_NUMBER, LOAD(burstiness),
     .help = "shape of gamma gaps: 1 is poisson, below 1 is burstier, inf is "
             "constant",
     .shown_default = "1", .positive = true},
    {"stage", "TEXT", OPTION_LIST, AT(stages),
     .help = "a stretch of the run with a rule of its own, one after the "
             "other: \"30s rate=1..10 linear c=200 label=ramp\"; may be "
             "repeated"},
    {"ramp-up-strategy", "SHAPE", OPTION_CHOICE, AT(ramp_up),
     .help = "raise the rate over -n requests or -d: linear or exponential",
     .choices = "none linear exponential", .shown_default = "none"},
    {"ramp-up-start-rps", "RATE", OPTION_NUMBER, AT(ramp_up_from),
     .help = "where the ramp begins"},
    {"ramp-up-end-rps", "RATE", OPTION_NUMBER, AT(ramp_up_to),
     .help = "where it ends"},
    {"overflow", "WHAT", OPTION_CHOICE, AT(overflow),
     .help = "what is due while -c are in flight: queue (the wait is told "
             "apart) or drop (counted)",
     .shown_default = "queue", .choices = "queue drop"},
    {"max-prefill", "N", OPTION_COUNT, LOAD(max_prefill),
     .help = "at most so many requests that wait for their first token",
     .min = 1},
    {"pacing", "TIME", OPTION_DURATION, LOAD(pacing_ns),
     .help = "closed loop: a slot starts a request at most this often"},
    {"num-sessions", "N", OPTION_COUNT, AT(num_sessions),
     .help = "of a session scenario: so many sessions (-n then bounds the "
             "requests of all)",
     .min = 1},
    {"warmup", "N|TIME", OPTION_CALL,
     .help = "so many requests, or this "
             "long, before measuring",
     .shown_default = "none", .call = set_warmup},
    {"drain", "TIME", OPTION_DURATION, LOAD(drain_ns),
     .help = "at the end wait this long for answers under way, then cancel "
             "them",
     .shown_default = "30s"},
    {"threads", "N", OPTION_UNSIGNED, CONF(threads),
     .help = "worker threads; 0 works on the main one", .shown_default = "1",
     .max = 256},
    {"seed", "N", OPTION_COUNT, CONF(seed),
     .help = "the same seed sends the same requests at the same times",
     .shown_default = "0"},
    {"preconnect", NULL, OPTION_BOOLEAN, CONF(preconnect),
     .help = "do not open connections before time zero", .on = true},
    {"busy-poll", NULL, OPTION_BOOLEAN, CONF(busy_poll),
     .help = "never sleep: a core per thread for punctual sends"},

    {"P param", "NAME=VALUE", OPTION_PAIRS, AT(params), "Requests",
     .help = "set a parameter of the scenario; may be repeated"},
    {"wrk", NULL, OPTION_BOOLEAN, AT(wrk),
     .help = "SCENARIO is a script for wrk: plain HTTP to --url as it stands; "
             "wrk's -t is --threads here"},
    {"sha256", "SUM", OPTION_STRING, AT(sha256),
     .help = "refuse a scenario or pack of any other content"},
    {"max-tokens", "N", OPTION_INTEGER, CONF(max_tokens),
     .help = "longest answer to ask for", .shown_default = "the scenario's",
     .min = 1},
    {"extra-body", "JSON", OPTION_JSON, CONF(extra_body),
     .help = "merge this object into every request; also as "
             "--extra-body.a.b VALUE"},
    {"stream", NULL, OPTION_BOOLEAN, CONF(stream),
     .help = "ask for whole answers: no TTFT, TPOT and ITL then", .on = true},
    {"timeout", "TIME", OPTION_DURATION, CONF(timeout_ns),
     .help = "give up on a request after this time; 0 never",
     .shown_default = "10m"},
    {"ttft-timeout", "TIME", OPTION_DURATION, CONF(ttft_timeout_ns),
     .help = "give up without a first token; 0 never", .shown_default = "0"},
    {"idle-timeout", "TIME", OPTION_DURATION, CONF(idle_timeout_ns),
     .help = "give up on a stream that is silent this long; 0 never",
     .shown_default = "5m"},
    {"lua-memory", "SIZE", OPTION_SIZE, CONF(lua_memory),
     .help = "memory a script may use, per thread", .shown_default = "512M",
     .min = 1 << 20},
    {"max-answer", "SIZE", OPTION_SIZE, CONF(max_answer),
     .help = "of an answer's text, tool calls or raw body a script sees no "
             "more; one in plain JSON that is longer fails",
     .shown_default = "64M", .min = 1 << 10},
    {"max-script-errors", "N", OPTION_COUNT, CONF(max_script_errors),
     .help = "more mistakes of the script end the run", .shown_default = "10"},
    {"unsafe", NULL, OPTION_BOOLEAN, AT(unsafe),
     .help = "give the script all of Lua: files, processes, C"},
    {"preflight", NULL, OPTION_BOOLEAN, AT(preflight),
     .help = "do not try one request first", .on = true},

    {"o output", "FILE", OPTION_STRING, AT(output), "Results",
     .help = "write results as JSON; - is the standard output"},
    {"requests-out", "FILE", OPTION_STRING, AT(requests_out),
     .help = "write a JSON line for each request as it ends"},
    {"percentile-metrics", "LIST", OPTION_STRING, AT(percentile_metrics),
     .help = "latencies to show, of ttft, tpot, itl, e2el, "
             "client_queue_time, e2el_including_client_queue",
     .shown_default = "ttft,tpot,itl"},
    {"metric-percentiles", "LIST", OPTION_STRING, AT(metric_percentiles),
     .help = "percentiles to show: 50,90,99.9", .shown_default = "99"},
    {"threshold", "EXPR", OPTION_LIST, AT(thresholds),
     .help = "exit with 99 unless this holds: \"ttft.p99 < 500ms\", "
             "\"error_rate < 1%\"; with \"abort after 10s\" behind it the "
             "run is stopped as well; may be repeated"},
    {"thresholds", "FILE", OPTION_STRING, AT(thresholds_file),
     .help = "read thresholds from this file, one a line"},
    {"plot", NULL, OPTION_BOOLEAN, AT(plot),
     .help = "draw how TTFTs are spread (stoke find: throughput and p99 of "
             "TTFT over the load); by gnuplot where it is installed"},
    {"metadata", "NAME=VALUE", OPTION_PAIRS, AT(metadata),
     .help = "put this into the results; may be repeated"},
    {"force", NULL, OPTION_BOOLEAN, AT(force),
     .help = "overwrite files that exist"},
    {"q quiet", NULL, OPTION_BOOLEAN, AT(quiet),
     .help = "show the table alone: no progress, no notices"},
    {"config", "FILE", OPTION_STRING, AT(config_file),
     .help = "read options from this file: .json, .yaml, or .lua that returns "
             "a table; flags and the environment go before it"},
    {"print-config", NULL, OPTION_BOOLEAN, AT(print_config),
     .help = "print every option with where it came from, and end"},
    {"version", NULL, OPTION_BOOLEAN, AT(version),
     .help = "print the versions of stoke and its main libraries"},

/* From here on of `stoke find` alone. */
#define FIND_ROWS 8
    {"slo", "EXPR", OPTION_LIST, AT(slos), "Search",
     .help = "what must hold, as in --threshold: \"ttft.p99 < 500ms\"; may be "
             "repeated; without one: the server keeps up with the rate, or "
             "users still bring more throughput. More than 1 % of failures "
             "break a point, unless an SLO speaks of error_rate"},
    {"of", "WHAT", OPTION_CHOICE, AT(find_of),
     .help = "what to raise: rate (requests a second) or concurrency",
     .shown_default = "rate", .choices = "rate concurrency"},
    {"from", "X", OPTION_NUMBER, AT(find_from), .help = "where to begin",
     .shown_default = "1", .positive = true},
    {"most", "X", OPTION_NUMBER, AT(find_most), .help = "where to end",
     .shown_default = "100000", .positive = true},
    {"factor", "X", OPTION_NUMBER, AT(find_factor),
     .help = "growth from point to point until one does not hold",
     .shown_default = "2", .min = 1.05},
    {"precision", "X", OPTION_NUMBER, AT(find_precision),
     .help = "end when the knee is known to this share of it",
     .shown_default = "0.02", .positive = true, .max = 0.5},
    {"window", "TIME", OPTION_DURATION, AT(find_window_ns),
     .help = "length of one look at the server; a point takes several",
     .shown_default = "2s", .min = 0.1},
    {"time-limit", "TIME", OPTION_DURATION, AT(find_limit_ns),
     .help = "end the search after this time, with what is known by then",
     .shown_default = "10m", .positive = true},
};
#define N_ROWS (sizeof rows / sizeof rows[0])

const struct options_spec run_options_spec = {
    .program = "stoke run",
    .usage = "[SCENARIO] [options] [-- arguments of the scenario]",
    .intro = "Put load on an LLM server and measure what it does. SCENARIO is "
             "a Lua file or the name of a ready one (default: chat); it says "
             "what is sent, the options say where to and how fast.",
    .examples =
        "stoke run -u http://127.0.0.1:8000 -c 16 -d 30s\t"
        "sixteen users, one request each at a time, for half a minute\n"
        "stoke run haiku -u host:8000 -R 4 -n 500 -o results.json\t"
        "500 arrivals at random, four a second, however slow the answers are\n"
        "stoke run my.lua -P turns=3 -m llama -c 64 --warmup 10s -d 5m\t"
        "a scenario of your own, with ten seconds to warm up\n"
        "stoke mock --port 8000\t"
        "a server to try all this on\n",
    .footer =
        "Exit status: 0 done; 1 nothing succeeded, the pre-flight request "
        "failed for good, or results could not be written; 2 wrong use, "
        "before any request; 99 a threshold is broken; 130 interrupted, with "
        "results. Of several, 130 goes before 1, and 1 before 99.",
    .rows = rows,
    .n = N_ROWS - FIND_ROWS,
    .max_args = 1,
};

const struct options_spec find_options_spec = {
    .program = "stoke find",
    .usage = "[SCENARIO] [options] [-- arguments of the scenario]",
    .intro = "Find the highest request rate (or concurrency) at which the SLOs "
             "hold: the load grows until they break, then the knee is "
             "bisected. Each point is measured after it has settled, and as "
             "often as its verdict needs; a point that saturates the server "
             "is cut short. Options of `stoke run` say what is sent and where "
             "to.",
    .examples =
        "stoke find -u http://127.0.0.1:8000 --slo 'ttft.p99 < 500ms'\t"
        "the highest rate at which 99 % see a token within half a second\n"
        "stoke find haiku --of concurrency --from 8 --slo 'tpot.mean < 30ms'\t"
        "how many users at a time still read fluently\n"
        "stoke mock --port 8000 --slots 8 --step 10ms\t"
        "a server with a known saturation point to try this on\n",
    .footer = "Exit status: as of `stoke run`; 1 also when not even the first "
              "point holds.",
    .rows = rows,
    .n = N_ROWS,
    .max_args = 1,
};
