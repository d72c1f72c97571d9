#include "cli/bench_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/bench_bodies.h"
#include "cli/bench_files.h"
#include "cli/config_file.h"
#include "report/blocks.h"
#include "stats/slo.h"

/* One translation under way. */
struct job {
  struct bench *b;
  const char *dataset; /* its name */
  struct bench_flags *f;
  struct run_options *r;
  struct err *e;
};

static bool is_given(const struct job *j, const char *key)
{
  return options_source(&j->f->options, key) != OPTION_DEFAULT;
}

static void notice(struct job *j, const char *text)
{
  option_list_add(&j->r->options.notices, str_of(text));
}

/* ---- run's options ---- */

static void set(struct job *j, const char *key, const char *value)
{
  struct buf place = {0};
  buf_addf(&place, "--%s %s", key, value);
  options_set(&j->r->options, key, value, OPTION_FLAG, buf_cstr(&place), j->e);
  buf_free(&place);
}

static void set_text(struct job *j, const char *key, const char *value)
{
  if (value)
    set(j, key, value);
}

static void set_number(struct job *j, const char *key, double x)
{
  char text[40];
  snprintf(text, sizeof text, "%.17g", x);
  set(j, key, text);
}

static void set_list(struct job *j, const char *key,
                     const struct option_list *l)
{
  for (size_t i = 0; i < l->n; i++)
    set(j, key, l->items[i]);
}

static void set_param(struct job *j, const char *name, const char *value)
{
  struct buf pair = {0};
  buf_addf(&pair, "%s=%s", name, value);
  set(j, "param", buf_cstr(&pair));
  buf_free(&pair);
}

/* ---- the data ---- */

static void key_of(const struct option *row, char name[64])
{
  struct str key = option_key(row);
  snprintf(name, 64, "%.*s", STR_ARG(key));
  for (char *c = name; *c; c++)
    *c = *c == '-' ? '_' : *c;
}

static void pass_data(struct job *j)
{
  const struct options *o = &j->f->options;
  char name[64];
  for (size_t i = 0; i < o->spec->n; i++) {
    const struct option *row = &o->spec->rows[i];
    const void *at = (const char *)j->f + row->at;
    if (!bench_is_data(row) || o->source[i] == OPTION_DEFAULT)
      continue;
    key_of(row, name);
    if (row->kind == OPTION_BOOLEAN)
      set_param(j, name, *(const bool *)at ? "true" : "false");
    else
      set_param(j, name, *(char *const *)at);
  }
}

static bool is_dataset_name(const char *s)
{
  return s[0] && !strpbrk(s, "./\\");
}

/* In 2024 --dataset was a ShareGPT file. */
static void pass_dataset(struct job *j)
{
  struct bench_flags *f = j->f;
  const char *name = f->dataset_name;
  if (f->dataset && is_dataset_name(f->dataset) && !name) {
    name = f->dataset;
  } else if (f->dataset) {
    if (f->data.dataset_path)
      err_add(j->e, "--dataset %s: there is --dataset-path too; leave one out",
              f->dataset);
    set_param(j, "dataset_path", f->dataset);
    name = name ? name : "sharegpt";
  }
  if (name && strcmp(name, "custom_mm") == 0) {
    notice(j, "--dataset-name custom_mm: it is custom_image today");
    name = "custom_image";
  }
  j->dataset = name ? name : "random";
  if (f->data.dataset_path && (strncmp(j->dataset, "random", 6) == 0 ||
                               strcmp(j->dataset, "prefix_repetition") == 0))
    err_add(j->e,
            "--dataset-path %s: Cannot use '%s' dataset with --dataset-path; "
            "say which one the file is: --dataset-name sharegpt, custom, hf",
            f->data.dataset_path, j->dataset);
  if (name)
    set_param(j, "dataset_name", name);
}

static void pass_loras(struct job *j)
{
  struct buf list = {0};
  for (size_t i = 0; i < j->f->lora_modules.n; i++)
    buf_addf(&list, "%s%s", i ? "," : "", j->f->lora_modules.items[i]);
  if (list.len)
    set_param(j, "lora_modules", buf_cstr(&list));
  buf_free(&list);
}

static void pass_requests(struct job *j)
{
  struct bench_flags *f = j->f;
  char text[32];
  pass_dataset(j);
  pass_data(j);
  if (f->custom_skip)
    set_param(j, "skip_chat_template", "true");
  if (f->chat_template_kwargs && j->b->backend &&
      strcmp(j->b->backend->api, "completions") == 0)
    set_param(j, "chat_template_kwargs", f->chat_template_kwargs);
  pass_loras(j);
  snprintf(text, sizeof text, "%" PRId64,
           f->num_prompts > 0 ? f->num_prompts : -1);
  set_param(j, "num_prompts", text);
  if (f->request_id_prefix)
    set_param(j, "request_id_prefix", f->request_id_prefix);
  run_options_name_requests(j->r, "bench");
  if (j->b->backend && j->b->backend->images)
    set_param(j, "image_embeddings", j->b->backend->images);
}

/* ---- the load ---- */

static void check_ramp(struct job *j)
{
  const struct bench_flags *f = j->f;
  bool both =
      is_given(j, "ramp-up-start-rps") && is_given(j, "ramp-up-end-rps");
  if (!f->ramp_up) {
    if (is_given(j, "ramp-up-start-rps") || is_given(j, "ramp-up-end-rps"))
      notice(j, "--ramp-up-start-rps and --ramp-up-end-rps have no effect "
                "without --ramp-up-strategy");
    return;
  }
  if (isfinite(f->request_rate))
    err_add(j->e,
            "--request-rate %g: When using ramp-up, do not specify "
            "--request-rate; --ramp-up-start-rps and "
            "--ramp-up-end-rps say it",
            f->request_rate);
  if (!both) {
    err_add(j->e, "--ramp-up-strategy: both --ramp-up-start-rps and "
                  "--ramp-up-end-rps must be specified");
    return;
  }
  if (f->ramp_up_from > f->ramp_up_to)
    err_add(j->e,
            "--ramp-up-start-rps %g: Ramp-up start RPS must be less than "
            "end RPS (%g)",
            f->ramp_up_from, f->ramp_up_to);
  if (f->ramp_up == 2 && f->ramp_up_from == 0)
    err_add(j->e, "--ramp-up-start-rps 0: For exponential ramp-up, the start "
                  "RPS cannot be 0");
  if (f->ramp_up_to == 0)
    err_add(j->e, "--ramp-up-end-rps 0: a ramp must lead somewhere");
  if (f->num_prompts < 1)
    err_add(j->e, "--num-prompts %" PRId64 ": a ramp needs to know how many",
            f->num_prompts);
}

/* Texts a request: --num-prompts counts texts. */
static uint64_t batch_of(struct job *j)
{
  const char *text = j->f->data.random_batch_size;
  int64_t batch;
  if (text && strncmp(j->dataset, "random", 6) == 0 &&
      units_integer(str_of(text), &batch) == 0 && batch >= 1)
    j->b->batch = (uint64_t)batch;
  return j->b->batch;
}

/* Who says when requests leave: the flags, or the data set. That is a trace
 * with times of its own, or, when all rows are wanted at once, the scenario,
 * which knows how many there are. */
static void pass_rate(struct job *j)
{
  const struct bench_flags *f = j->f;
  bool asked = is_given(j, "self-timed");
  bool trace = strcmp(j->dataset, "timed_trace") == 0;
  bool flags = isfinite(f->request_rate) || f->ramp_up;
  if (trace && (!asked || f->self_timed)) {
    if (flags)
      notice(j, "timed_trace: the trace says when requests leave, so "
                "--request-rate and ramps have no effect (--no-self-timed "
                "has them say it)");
    j->b->timed = true;
  }
  if (asked || (f->num_prompts <= 0 && flags && !trace))
    set_param(j, "self_timed", f->self_timed ? "true" : "false");
  if (!j->b->timed && (f->num_prompts > 0 || flags))
    set_number(j, "request-rate", f->ramp_up ? INFINITY : f->request_rate);
}

static void pass_load(struct job *j)
{
  const struct bench_flags *f = j->f;
  struct load *l = &j->r->config.load;
  check_ramp(j);
  j->r->until_exhausted = f->num_prompts <= 0;
  if (f->num_prompts > 0)
    set_number(j, "num-requests",
               ceil((double)f->num_prompts / (double)batch_of(j)));
  pass_rate(j);
  if (f->max_concurrency)
    set_number(j, "max-concurrency", (double)f->max_concurrency);
  if (isfinite(f->request_rate) && !f->ramp_up && !j->b->timed) {
    if (isinf(f->burstiness))
      set(j, "arrival", "constant");
    else if (f->burstiness != 1)
      set_number(j, "burstiness", f->burstiness);
  }
  set_number(j, "seed", (double)f->seed);
  set_number(j, "threads", f->threads);
  l->warmup_requests = f->num_warmups;
  l->warmup_at_once = true;
  l->drain_ns = 24 * 3600 * NS_PER_SEC;
  j->r->config.timeout_ns = f->timeout_ns;
  if (f->probe_rate < 0)
    err_add(j->e, "--probe-request-rate %g: must not be negative",
            f->probe_rate);
}

/* ---- results ---- */

static void read_goodput(struct job *j)
{
  const struct option_list *l = &j->f->goodput;
  for (size_t i = 0; i < l->n; i++) {
    struct err one = {0};
    if (slo_parse(&j->r->config.slo, str_of(l->items[i]), &one) < 0)
      err_add(j->e, "--%.*s", STR_ARG(str_trim(str_of(err_text(&one)))));
    err_free(&one);
  }
}

static void read_timeline(struct job *j)
{
  struct str rest = str_of(j->f->timeline_thresholds);
  double *ms = j->b->thresholds_ms;
  size_t n = 0;
  bool good = true;
  ms[0] = 25;
  ms[1] = 50;
  while (rest.p) {
    struct str one = str_trim(str_split(&rest, ','));
    double x;
    good = good && units_number(one, &x) == 0 && x >= 0 && n < 2;
    if (good)
      ms[n++] = x;
  }
  if (j->f->timeline_thresholds && (!good || n != 2))
    err_add(j->e,
            "--timeline-itl-thresholds %s: Invalid "
            "--timeline-itl-thresholds format; two numbers of ms, as "
            "25,50",
            j->f->timeline_thresholds);
}

/* What was asked for and would silently come to nothing. */
static void notice_unsaved(struct job *j)
{
  const struct bench_flags *f = j->f;
  bool file = bench_files_wanted(f);
  if (f->result_filename && !file)
    notice(j, "--result-filename: nothing is saved without --save-result");
  if (f->save_detailed && !bench_saves(f))
    notice(j, "--save-detailed: nothing is saved without --save-result");
}

/* Metrics that are none are none to vLLM either, which says nothing. */
static void pass_metrics(struct job *j)
{
  struct str list = str_of(j->f->percentile_metrics);
  struct buf known = {0}, text = {0};
  if (!list.p)
    return;
  while (list.p) {
    struct str name = str_trim(str_split(&list, ','));
    if (block_find(name) >= 0) {
      buf_addf(&known, "%s%.*s", known.len ? "," : "", STR_ARG(name));
    } else if (name.len) {
      buf_reset(&text);
      buf_addf(&text,
               "--percentile-metrics %.*s: no such metric, so it is left out",
               STR_ARG(name));
      notice(j, buf_cstr(&text));
    }
  }
  set(j, "percentile-metrics", buf_cstr(&known));
  buf_free(&known);
  buf_free(&text);
}

static void pass_results(struct job *j)
{
  const struct bench_flags *f = j->f;
  pass_metrics(j);
  set_text(j, "metric-percentiles", f->metric_percentiles);
  set_list(j, "metadata", &f->metadata);
  set_list(j, "threshold", &f->thresholds);
  set_text(j, "requests-out", f->requests_out);
  read_goodput(j);
  read_timeline(j);
  notice_unsaved(j);
  bench_files_make_folder(j->f, j->e);
  /* As there, an earlier file of that name is replaced. */
  j->r->force = true;
  j->r->append = f->append_result;
  j->r->no_live = f->disable_tqdm;
  j->r->print_config = f->print_config;
}

/* ---- everything ---- */

static void pass_target(struct job *j)
{
  struct bench_flags *f = j->f;
  j->b->backend = bench_backend_of(f, j->r, j->e);
  bench_target_set(f, j->b->backend, j->r, j->e);
  set_text(j, "model", f->served_model_name ? f->served_model_name : f->model);
  set_text(j, "api-key-env", f->api_key_env);
  set_text(j, "api-key", f->api_key);
  set_text(j, "cacert", f->cacert);
  set_list(j, "header", &f->headers);
  if (f->insecure)
    set(j, "insecure", "yes");
}

static void translate(struct job *j)
{
  option_list_add(&j->r->options.args, STR("builtin:bench"));
  pass_target(j);
  pass_requests(j);
  bench_bodies_set(j->f, j->b->backend, j->r, j->e);
  pass_load(j);
  pass_results(j);
  j->r->preflight = false;
  j->r->config.fail_fast = RUN_FAIL_FAST;
  j->r->config.keep_text = j->f->save_detailed && bench_saves(j->f);
}

/* Scripts that put flags together tend to do this by accident. */
static void notice_repeated(struct job *j, int argc, char *const argv[])
{
  const struct options_spec *spec = &bench_options_spec;
  bool *seen = mem_zalloc(spec->n, sizeof *seen);
  for (int i = 0; i < argc; i++) {
    const char *value;
    const struct option *row =
        argv[i][0] == '-' ? options_match(spec, argv[i], &value) : NULL;
    struct buf text = {0};
    if (!row || row->kind == OPTION_LIST || row->kind == OPTION_PAIRS ||
        row->kind == OPTION_JSON)
      continue;
    if (seen[row - spec->rows]) {
      buf_addf(&text, "--%.*s: given more than once; the last one counts",
               STR_ARG(option_key(row)));
      notice(j, buf_cstr(&text));
      buf_free(&text);
    }
    seen[row - spec->rows] = true;
  }
  mem_free(seen);
}

enum options_result bench_options_read(struct bench *b, struct run_options *r,
                                       int argc, char *const argv[],
                                       struct err *e)
{
  struct job j = {.b = b, .f = &b->flags, .r = r, .e = e};
  struct options *o = &b->flags.options;
  unsigned before = e->count;
  enum options_result result;
  bench_flags_init(&b->flags);
  b->batch = 1;
  run_options_init(r, &run_options_spec);
  result = options_parse(o, argc, argv, e);
  if (result != OPTIONS_HELP && b->flags.config_file)
    config_file_read(o, b->flags.config_file, e);
  r->options.help_word = o->help_word;
  r->version = b->flags.version;
  if (result == OPTIONS_HELP || r->version)
    return result == OPTIONS_HELP ? result : OPTIONS_OK;
  if (o->args.n && e->count == before)
    err_add(e, "%s: scenario: `stoke bench serve` has its own",
            b->flags.config_file);
  translate(&j);
  notice_repeated(&j, argc, argv);
  for (size_t i = 0; i < o->notices.n; i++)
    option_list_add(&r->options.notices, str_of(o->notices.items[i]));
  run_options_check(r, e);
  if (r->config.base_url)
    bench_target_notice_environment(r);
  return e->count > before ? OPTIONS_ERROR : OPTIONS_OK;
}

void bench_free(struct bench *b)
{
  bench_flags_free(&b->flags);
  mem_free(b->path);
}
