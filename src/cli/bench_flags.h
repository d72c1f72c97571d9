/* bench_flags.h -- the flags of `vllm bench serve`, and of its ancestors.
 * One table, as every command here has; what the flags come to is in
 * bench_options.h. Flags about the data are kept as text: they are parameters
 * of the scenario `bench`, which knows their types. */
#ifndef STOKE_CLI_BENCH_FLAGS_H
#define STOKE_CLI_BENCH_FLAGS_H

#include "cli/options.h"

/* Parameters of the scenario `bench` of the same name.
 * X(field, "flag", "VALUE", kind, "default", "what it does") */
#define BENCH_DATA_LIST(X)                                                     \
  X(dataset_path, "dataset-path", "PATH", STRING, NULL,                        \
    "the file of the data set")                                                \
  X(input_len, "input-len", "N", STRING, NULL,                                 \
    "the same as --random-input-len")                                          \
  X(output_len, "output-len", "N", STRING, NULL,                               \
    "tokens to ask for, whichever data set")                                   \
  X(logprobs, "logprobs", "N", STRING, NULL,                                   \
    "ask for that many log probabilities (completions)")                       \
  X(lora_assignment, "lora-assignment", "HOW", STRING, "random",               \
    "which request gets which adapter: random or round-robin")                 \
  X(tokenizer, "tokenizer", "PATH", STRING, NULL,                              \
    "tokenizer.json, a folder with one, or a name in the local hub cache")     \
  X(tokenizer_mode, "tokenizer-mode", "MODE", STRING, "auto",                  \
    "auto, hf, slow or mistral; the file says it all here")                    \
  X(random_input_len, "random-input-len", "N", STRING, "1024",                 \
    "random: tokens a prompt")                                                 \
  X(random_output_len, "random-output-len", "N", STRING, "128",                \
    "random: tokens an answer")                                                \
  X(random_range_ratio, "random-range-ratio", "R", STRING, "0.0",              \
    "random: lengths vary by this share, 0 to below 1; or {\"input\": a, "     \
    "\"output\": b}")                                                          \
  X(random_prefix_len, "random-prefix-len", "N", STRING, "0",                  \
    "random: tokens that all prompts begin with")                              \
  X(random_batch_size, "random-batch-size", "N", STRING, "1",                  \
    "random: texts a request (embeddings)")                                    \
  X(random_mm_base_items_per_request, "random-mm-base-items-per-request", "N", \
    STRING, "1", "random-mm: pictures and videos a request")                   \
  X(random_mm_num_mm_items_range_ratio, "random-mm-num-mm-items-range-ratio",  \
    "R", STRING, "0.0", "random-mm: their number varies by this share")        \
  X(random_mm_limit_mm_per_prompt, "random-mm-limit-mm-per-prompt", "JSON",    \
    STRING, "{\"image\": 255, \"video\": 1}",                                  \
    "random-mm: at most so many of a kind")                                    \
  X(random_mm_bucket_config, "random-mm-bucket-config", "DICT", STRING, NULL,  \
    "random-mm: sizes and how often, {(256, 256, 1): 0.5, ...}")               \
  X(sharegpt_output_len, "sharegpt-output-len", "N", STRING, NULL,             \
    "sharegpt: tokens an answer, instead of the recorded one's")               \
  X(custom_output_len, "custom-output-len", "N", STRING, "256",                \
    "custom: tokens an answer; -1: the file's output_tokens")                  \
  X(sonnet_input_len, "sonnet-input-len", "N", STRING, "550",                  \
    "sonnet: tokens a prompt")                                                 \
  X(sonnet_output_len, "sonnet-output-len", "N", STRING, "150",                \
    "sonnet: tokens an answer")                                                \
  X(sonnet_prefix_len, "sonnet-prefix-len", "N", STRING, "200",                \
    "sonnet: tokens that all prompts begin with")                              \
  X(prefix_repetition_prefix_len, "prefix-repetition-prefix-len", "N", STRING, \
    "256", "prefix_repetition: tokens a prefix")                               \
  X(prefix_repetition_suffix_len, "prefix-repetition-suffix-len", "N", STRING, \
    "256", "prefix_repetition: tokens behind it")                              \
  X(prefix_repetition_num_prefixes, "prefix-repetition-num-prefixes", "N",     \
    STRING, "10", "prefix_repetition: how many prefixes")                      \
  X(prefix_repetition_output_len, "prefix-repetition-output-len", "N", STRING, \
    "128", "prefix_repetition: tokens an answer")                              \
  X(spec_bench_output_len, "spec-bench-output-len", "N", STRING, "256",        \
    "spec_bench: tokens an answer")                                            \
  X(spec_bench_category, "spec-bench-category", "NAME", STRING, NULL,          \
    "spec_bench: only this category")                                          \
  X(speed_bench_dataset_subset, "speed-bench-dataset-subset", "NAME", STRING,  \
    "qualitative", "speed_bench: which file of the folder")                    \
  X(speed_bench_output_len, "speed-bench-output-len", "N", STRING, "4096",     \
    "speed_bench: tokens an answer")                                           \
  X(speed_bench_category, "speed-bench-category", "NAME", STRING, NULL,        \
    "speed_bench: only this category")                                         \
  X(timed_trace_chunk_hash_size, "timed-trace-chunk-hash-size", "N", STRING,   \
    "16", "timed_trace: tokens a hash id stands for (Mooncake: 512)")          \
  X(timed_trace_sec_multiplier, "timed-trace-sec-multiplier", "X", STRING,     \
    "1", "timed_trace: seconds a unit of its timestamps (ms: 0.001)")          \
  X(timed_trace_label_timestamp, "timed-trace-label-timestamp", "KEY", STRING, \
    "timestamp", "timed_trace: key of the timestamp")                          \
  X(timed_trace_label_input_length, "timed-trace-label-input-length", "KEY",   \
    STRING, "input_length", "timed_trace: key of the prompt's length")         \
  X(timed_trace_label_output_length, "timed-trace-label-output-length", "KEY", \
    STRING, "output_length", "timed_trace: key of the answer's length")        \
  X(timed_trace_label_hash_ids, "timed-trace-label-hash-ids", "KEY", STRING,   \
    "hash_ids", "timed_trace: key of the hash ids")                            \
  X(hf_subset, "hf-subset", "NAME", STRING, NULL, "hf: the subset")            \
  X(hf_split, "hf-split", "NAME", STRING, NULL, "hf: the split")               \
  X(hf_name, "hf-name", "NAME", STRING, NULL,                                  \
    "hf: the hub's name of a local --dataset-path")                            \
  X(hf_output_len, "hf-output-len", "N", STRING, NULL, "hf: tokens an answer") \
  X(bfcl_categories, "bfcl-categories", "LIST", STRING, NULL,                  \
    "hf, BFCL: only these categories")                                         \
  X(blazedit_min_distance, "blazedit-min-distance", "X", STRING, "0.0",        \
    "hf, blazedit: smallest edit")                                             \
  X(blazedit_max_distance, "blazedit-max-distance", "X", STRING, "1.0",        \
    "hf, blazedit: largest edit")

/* The same without a value. X(field, "flag", "what it does") */
#define BENCH_SWITCH_LIST(X)                                                   \
  X(no_oversample, "no-oversample",                                            \
    "a data set that is too small ends the run early")                         \
  X(skip_bad_rows, "skip-bad-rows",                                            \
    "leave bad rows of a file out, and count them")                            \
  X(disable_shuffle, "disable-shuffle", "take the rows in the file's order")   \
  X(skip_chat_template, "skip-chat-template",                                  \
    "completions get the bare prompts, not as a chat's text")                  \
  X(ignore_eos, "ignore-eos",                                                  \
    "ask the server to go on to the full length (always for random)")          \
  X(skip_tokenizer_init, "skip-tokenizer-init", "use no tokenizer")            \
  X(no_reranker, "no-reranker",                                                \
    "random-rerank: the model embeds and does not rank")                       \
  X(enable_multimodal_chat, "enable-multimodal-chat",                          \
    "prompts are messages with parts")                                         \
  X(custom_ensure_client_side_data, "custom-ensure-client-side-data",          \
    "custom_image: fetch images here and send them inline")

struct bench_data {
#define X(field, ...) char *field;
  BENCH_DATA_LIST(X)
#undef X
#define X(field, ...) bool field;
  BENCH_SWITCH_LIST(X)
#undef X
};

struct bench_flags {
  struct options options;

  /* target */
  char *backend, *endpoint_type, *base_url, *host, *protocol, *endpoint;
  uint64_t port;
  char *model, *served_model_name, *api_key, *api_key_env, *cacert;
  struct option_list headers;
  bool insecure;
  char *request_id_prefix;

  /* load */
  int64_t num_prompts;
  double request_rate, burstiness;
  uint64_t max_concurrency;
  int ramp_up; /* as in run_options: 0 none, 1 linear, 2 exponential */
  double ramp_up_from, ramp_up_to;
  uint64_t num_warmups, seed;
  uint64_t ready_timeout_ns, timeout_ns;
  double probe_rate;
  bool self_timed;
  unsigned threads;

  /* requests */
  char *temperature, *top_p, *top_k, *min_p, *frequency_penalty,
      *presence_penalty, *repetition_penalty, *best_of;
  char *extra_body, *chat_template_kwargs;
  char *dataset_name, *dataset; /* the second: of 2024, a path */
  struct option_list lora_modules;
  struct bench_data data;
  bool profile;

  /* results */
  char *percentile_metrics, *metric_percentiles, *timeline_thresholds;
  struct option_list goodput, metadata, thresholds;
  bool save_result, save_detailed, append_result, plot_timeline,
      plot_dataset_stats, disable_tqdm;
  char *result_dir, *result_filename, *label, *requests_out, *config_file;
  int metric_mode; /* 0: ours, 1: vLLM's */
  bool print_config, version;

  bool custom_skip;
  bool use_beam_search, trust_remote_code, no_stream;
  char *log_config_file, *asr_min, *asr_max;
};

extern const struct options_spec bench_options_spec;

/* Does this row belong to `data`? */
bool bench_is_data(const struct option *row);

/* The defaults, and an empty `options`. Free in any case. */
void bench_flags_init(struct bench_flags *f);
void bench_flags_free(struct bench_flags *f);
/* A float as Python prints it: 5.0, 0.5, inf. */
void bench_show_float(struct buf *out, double x);
/* vLLM's first line: "Namespace(…)" with every flag, secrets replaced. In
 * bench_namespace.c. */
void bench_flags_show(const struct bench_flags *f, struct buf *out);

#endif
