/* The flags of `stoke bench serve`, one row each. */
#include "cli/bench_flags.h"

#include <math.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"

#define AT(field) offsetof(struct bench_flags, field)

#define NO_SPEECH                                                              \
  "--asr-min-audio-len-sec and -max-: have no effect, all recordings are "     \
  "taken"

/* What vLLM does not have is `whole`: no beginning of a flag that is enough
 * there may be too short here. */
static const struct option rows[] = {
    {"backend", "NAME", OPTION_STRING, AT(backend), "Target",
     "what is spoken: vllm or openai (completions), openai-chat, "
     "openai-responses, openai-audio, openai-embeddings, "
     "openai-embeddings-chat, -clip and -vlm2vec, infinity-embeddings and "
     "-clip, vllm-pooling, vllm-rerank",
     .shown_default = "openai"},
    {"base-url", "URL", OPTION_STRING, AT(base_url),
     .help = "the server; goes before --host and --port", .also = "url"},
    {"host", "HOST", OPTION_STRING, AT(host),
     .help = "its name, with or without a scheme",
     .shown_default = "127.0.0.1"},
    {"port", "N", OPTION_COUNT, AT(port), .help = "its port; 443 means https",
     .shown_default = "8000", .min = 1, .max = 65535},
    {"endpoint", "PATH", OPTION_STRING, AT(endpoint),
     .help = "path of the requests", .shown_default = "the backend's"},
    {"model", "NAME", OPTION_STRING, AT(model), .help = "the model's name",
     .shown_default = "the first that the server lists"},
    {"served-model-name", "NAME", OPTION_STRING, AT(served_model_name),
     .help = "its name in requests; --model is then only for the results"},
    {"header", "KEY=VALUE", OPTION_LIST, AT(headers),
     .help = "send these headers, KEY=VALUE or \"Key: value\"", .many = true,
     .none = true, .also = "headers"},
    {"api-key-env", "NAME", OPTION_STRING, AT(api_key_env),
     .help = "environment variable that holds the API key",
     .shown_default = "OPENAI_API_KEY", .whole = true},
    {"api-key", "KEY", OPTION_STRING, AT(api_key), .help = "the key itself",
     .secret = true, .whole = true},
    {"insecure", NULL, OPTION_BOOLEAN, AT(insecure),
     .help = "do not check the server's certificate"},
    {"cacert", "FILE", OPTION_STRING, AT(cacert),
     .help = "trust the certificates in this PEM file",
     .shown_default = "the system's"},
    {"request-id-prefix", "TEXT", OPTION_STRING, AT(request_id_prefix),
     .help = "x-request-id of each request begins with it",
     .shown_default = "of each run its own"},

    {"num-prompts", "N", OPTION_INTEGER, AT(num_prompts), "Load",
     "how many requests; 0 or less: all of a data set", .shown_default = "1000",
     .also = "num-requests"},
    {"request-rate", "RATE", OPTION_NUMBER, AT(request_rate),
     .help = "requests a second, whether or not answers come; inf: all at once",
     .shown_default = "inf", .positive = true},
    {"burstiness", "X", OPTION_NUMBER, AT(burstiness),
     .help = "of the gaps between them: 1 is a Poisson process, below 1 is "
             "burstier",
     .shown_default = "1.0", .positive = true},
    {"max-concurrency", "N", OPTION_COUNT, AT(max_concurrency),
     .help = "at most so many at a time", .shown_default = "no limit",
     .min = 1},
    {"ramp-up-strategy", "SHAPE", OPTION_CHOICE, AT(ramp_up),
     .help = "raise the rate over the run: linear or exponential",
     .choices = "none linear exponential", .shown_default = "none"},
    {"ramp-up-start-rps", "RATE", OPTION_NUMBER, AT(ramp_up_from),
     .help = "where the ramp begins"},
    {"ramp-up-end-rps", "RATE", OPTION_NUMBER, AT(ramp_up_to),
     .help = "where it ends"},
    {"num-warmups", "N", OPTION_COUNT, AT(num_warmups),
     .help = "requests before the measurement, other ones than those of it",
     .shown_default = "0"},
    {"ready-check-timeout-sec", "S", OPTION_DURATION, AT(ready_timeout_ns),
     .help = "try one request until it succeeds, so long; 0: do not",
     .shown_default = "0"},
    {"probe-request-rate", "RATE", OPTION_NUMBER, AT(probe_rate),
     .help = "beside the load, a tiny request so many times a second",
     .shown_default = "0.0"},
    {"self-timed", NULL, OPTION_BOOLEAN, AT(self_timed),
     .help = "timed_trace: requests leave when the trace says"},
    {"seed", "N", OPTION_COUNT, AT(seed),
     .help = "the same seed sends the same requests at the same times",
     .shown_default = "0"},
    {"timeout", "TIME", OPTION_DURATION, AT(timeout_ns),
     .help = "give up on a request after this time; 0 never",
     .shown_default = "6h"},
    {"threads", "N", OPTION_UNSIGNED, AT(threads), .help = "worker threads",
     .shown_default = "1", .max = 256},

    {"dataset-name", "NAME", OPTION_STRING, AT(dataset_name), "Requests",
     "random, sharegpt, custom, custom_image, sonnet, prefix_repetition, "
     "burstgpt, timed_trace, spec_bench, speed_bench, random-mm, "
     "random-rerank, hf",
     .shown_default = "random"},
    {"temperature", "X", OPTION_STRING, AT(temperature),
     .help = "of the sampling; 0: greedy", .shown_default = "the server's"},
    {"top-p", "X", OPTION_STRING, AT(top_p), .help = "of the sampling"},
    {"top-k", "N", OPTION_STRING, AT(top_k), .help = "of the sampling"},
    {"min-p", "X", OPTION_STRING, AT(min_p), .help = "of the sampling"},
    {"frequency-penalty", "X", OPTION_STRING, AT(frequency_penalty),
     .help = "of the sampling"},
    {"presence-penalty", "X", OPTION_STRING, AT(presence_penalty),
     .help = "of the sampling"},
    {"repetition-penalty", "X", OPTION_STRING, AT(repetition_penalty),
     .help = "of the sampling"},
    {"extra-body", "JSON", OPTION_JSON, AT(extra_body),
     .help = "merge this object into every request; also as "
             "--extra-body.a.b VALUE"},
    {"chat-template-kwargs", "JSON", OPTION_JSON, AT(chat_template_kwargs),
     .help = "for the chat template, which the server applies"},
    {"lora-modules", "NAME", OPTION_LIST, AT(lora_modules),
     .help = "adapters: each request names one of them as its model",
     .many = true},
    {"profile", NULL, OPTION_BOOLEAN, AT(profile),
     .help = "start and stop the server's profiler around the run"},
#define X(field, flag, metavar, kind, otherwise, text)                         \
  {flag,           metavar,      OPTION_##kind,                                \
   AT(data.field), .help = text, .shown_default = otherwise},
    BENCH_DATA_LIST(X)
#undef X
#define X(field, flag, text)                                                   \
  {flag, NULL, OPTION_BOOLEAN, AT(data.field), .help = text},
        BENCH_SWITCH_LIST(X)
#undef X

            {"percentile-metrics", "LIST", OPTION_STRING,
             AT(percentile_metrics), "Results",
             "latencies to show, of ttft, tpot, itl, e2el, client_queue_time, "
             "e2el_including_client_queue",
             .shown_default = "ttft,tpot,itl"},
    {"metric-percentiles", "LIST", OPTION_STRING, AT(metric_percentiles),
     .help = "percentiles to show: 50,90,99.9", .shown_default = "99"},
    {"goodput", "KEY:MS", OPTION_LIST, AT(goodput),
     .help = "count requests within these limits: ttft:500 tpot:50 e2el:9000",
     .many = true},
    {"metric-mode", "WHOSE", OPTION_CHOICE, AT(metric_mode),
     .help = "definitions: stoke, or vllm where its differ (a role is a token, "
             "duration from the "
             "start, peaks by whole seconds, ramps by number, 0 for none)",
     .choices = "stoke vllm", .shown_default = "stoke", .whole = true},
    {"save-result", NULL, OPTION_BOOLEAN, AT(save_result),
     .help = "write the results as JSON"},
    {"save-detailed", NULL, OPTION_BOOLEAN, AT(save_detailed),
     .help = "and lengths, times and texts of every request"},
    {"append-result", NULL, OPTION_BOOLEAN, AT(append_result),
     .help = "add the results to the file as one more line"},
    {"result-dir", "DIR", OPTION_STRING, AT(result_dir),
     .help = "folder of the file; made if it is not there"},
    {"result-filename", "NAME", OPTION_STRING, AT(result_filename),
     .help = "its name", .shown_default = "from label, rate, model and time"},
    {"label", "TEXT", OPTION_STRING, AT(label),
     .help = "what the file's name begins with",
     .shown_default = "the backend"},
    {"metadata", "KEY=VALUE", OPTION_PAIRS, AT(metadata),
     .help = "put these into the results", .many = true, .none = true},
    {"requests-out", "FILE", OPTION_STRING, AT(requests_out),
     .help = "write a JSON line for each request as it ends"},
    {"threshold", "EXPR", OPTION_LIST, AT(thresholds),
     .help = "exit with 99 unless this holds, as in `stoke run`"},
    {"plot-timeline", NULL, OPTION_BOOLEAN, AT(plot_timeline),
     .help = "draw every request over time, as an HTML file"},
    {"timeline-itl-thresholds", "A,B", OPTION_STRING, AT(timeline_thresholds),
     .help = "gaps from which on it is coloured, ms", .shown_default = "25,50"},
    {"plot-dataset-stats", NULL, OPTION_BOOLEAN, AT(plot_dataset_stats),
     .help = "draw the lengths of prompts and answers into the same file"},
    {"disable-tqdm", NULL, OPTION_BOOLEAN, AT(disable_tqdm),
     .help = "show no progress"},
    {"config", "FILE", OPTION_STRING, AT(config_file),
     .help = "read flags from this file: .json, .yaml, or .lua that returns a "
             "table; those of the command line go before it"},
    {"print-config", NULL, OPTION_BOOLEAN, AT(print_config),
     .help = "print the options of `stoke run` that this comes to, and end"},
    {"version", NULL, OPTION_BOOLEAN, AT(version),
     .help = "print the versions of stoke and its main libraries"},

    {"endpoint-type", "NAME", OPTION_STRING, AT(endpoint_type), "Older",
     "the backend, before 0.11", .hidden = true, .whole = true},
    {"dataset", "PATH", OPTION_STRING, AT(dataset),
     .help = "a ShareGPT file, before --dataset-path", .hidden = true},
    {"protocol", "SCHEME", OPTION_STRING, AT(protocol), .help = "http or https",
     .hidden = true},
    {"best-of", "N", OPTION_STRING, AT(best_of), .help = "of the sampling",
     .hidden = true},
    {"custom-skip-chat-template", NULL, OPTION_BOOLEAN, AT(custom_skip),
     .help = "--skip-chat-template", .hidden = true},
    {"no-stream", NULL, OPTION_BOOLEAN, AT(no_stream),
     .help = "how Python loads a data set; nothing to do with the answers",
     .hidden = true,
     .notice = "--no-stream: has no effect, files are always read in pieces"},
    {"asr-min-audio-len-sec", "S", OPTION_STRING, AT(asr_min),
     .help = "shortest recording", .hidden = true, .notice = NO_SPEECH},
    {"asr-max-audio-len-sec", "S", OPTION_STRING, AT(asr_max),
     .help = "longest recording", .hidden = true, .notice = NO_SPEECH},
    {"use-beam-search", NULL, OPTION_BOOLEAN, AT(use_beam_search),
     .help = "never did anything", .hidden = true,
     .notice = "--use-beam-search: has no effect, here as there"},
    {"trust-remote-code", NULL, OPTION_BOOLEAN, AT(trust_remote_code),
     .help = "nothing here runs code of a model", .hidden = true,
     .notice = "--trust-remote-code: not needed, no code of a model is run"},
    {"log-config-file", "FILE", OPTION_STRING, AT(log_config_file),
     .help = "of Python's logging", .hidden = true,
     .notice = "--log-config-file: has no effect, it is Python's",
     .whole = true},
};

const struct options_spec bench_options_spec = {
    .program = "stoke bench serve",
    .usage = "--model NAME [options]",
    .intro = "Do what `vllm bench serve` does: the same flags, table, files "
             "and JSON. Beyond them, everything that `stoke run` tells.",
    .examples =
        "stoke bench serve --backend openai-chat --base-url http://h:8000 "
        "--model llama --dataset-name sharegpt --dataset-path sharegpt.json "
        "--num-prompts 500 --request-rate 4\t"
        "500 recorded questions, four a second\n"
        "stoke bench serve --host h --port 443 --model llama "
        "--random-input-len 2048 --max-concurrency 8 --num-prompts 24 "
        "--save-result --result-dir results\t"
        "random prompts, eight at a time, and a JSON file\n",
    .footer =
        "Exit status: 0 done; 1 nothing succeeded, or results could not be "
        "written; 2 wrong use, before any request; 99 a threshold is broken; "
        "130 interrupted, with results.",
    .rows = rows,
    .n = sizeof rows / sizeof rows[0],
};

bool bench_is_data(const struct option *row)
{
  return row->at >= AT(data) && row->at < AT(data) + sizeof(struct bench_data);
}

void bench_flags_init(struct bench_flags *f)
{
  *f = (struct bench_flags){
      .num_prompts = 1000,
      .request_rate = HUGE_VAL,
      .burstiness = 1,
      .timeout_ns = 6 * 3600 * NS_PER_SEC,
      .threads = 1,
      .port = 8000,
  };
  options_init(&f->options, &bench_options_spec, f);
}

void bench_flags_free(struct bench_flags *f)
{
  options_free(&f->options);
}
