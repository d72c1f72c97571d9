/* stoke bench serve: run's machinery behind vLLM's flags. What is said on the
 * standard output before the table, and in which order, is vLLM's. */
#include "cli/cmd_bench.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "cli/bench_explain.h"
#include "cli/bench_files.h"
#include "cli/bench_options.h"
#include "cli/bench_probe.h"
#include "cli/bench_ramp.h"
#include "cli/bench_server.h"
#include "cli/mask.h"
#include "cli/preflight.h"
#include "cli/run_command.h"
#include "report/details.h"
#include "report/output.h"
#include "report/vllm_figures.h"

enum { GO_ON = -1, FAILED = 1, MISUSED = 2 };

/* What one invocation owns. */
struct serve {
  struct bench bench;
  struct bench_timetable ramp;
  struct rate_change *changes;
  struct details details;
  const struct run_options *options;
  const struct request *sample; /* or NULL */
  bool detailed; /* all records are kept, not only those that failed */
  bool saves_details;
  struct bench_probe *probe;
  struct probe_figures probes;
  bool probed;
  struct bench_counters before, counters;
  struct bench_files files;
};

static enum options_result read_options(struct run_options *r, int argc,
                                        char *const argv[], struct err *e,
                                        void *ud)
{
  struct serve *s = ud;
  return bench_options_read(&s->bench, r, argc, argv, e);
}

static void say(const char *line)
{
  printf("%s\n", line);
}

/* ---- the load is settled ---- */

/* The only stage: exactly the arrivals of the ramp. */
static void lay_ramp(struct serve *s, struct load *l)
{
  const struct bench_flags *f = &s->bench.flags;
  const struct bench_ramp ramp = {
      .exponential = f->ramp_up == 2,
      .by_number = f->metric_mode == 1,
      .from = f->ramp_up_from,
      .to = f->ramp_up_to,
      .n = l->num_requests,
      .burstiness = f->burstiness,
      .seed = f->seed,
  };
  struct stage *stage = mem_new(struct stage);
  s->ramp = bench_ramp_make(&ramp);
  *stage = load_stage(l, 0);
  stage->label = mem_strdup("ramp");
  stage->offsets = s->ramp.offsets; /* the load's from here on */
  stage->n_offsets = l->num_requests;
  stage->num_requests = 0;
  stage->rate = (struct ramp){.from = ramp.from, .to = ramp.to};
  l->stages = stage;
  l->n_stages = 1;
}

static void show_namespace(const struct bench_flags *f,
                           const struct option_list *secrets)
{
  struct buf line = {0};
  bench_flags_show(f, &line);
  mask_known(&line, secrets);
  fputs(buf_cstr(&line), stdout);
  buf_free(&line);
}

static void settled(struct run_options *r, void *ud)
{
  struct serve *s = ud;
  const struct bench_flags *f = &s->bench.flags;
  if (f->ramp_up && !s->bench.timed)
    lay_ramp(s, &r->config.load);
  show_namespace(f, &r->secrets);
  if (!f->temperature && s->bench.backend && s->bench.backend->samples)
    say("WARNING: no --temperature: the server's own default holds, which "
        "need not be greedy. For greedy answers add --temperature=0.");
  fflush(stdout);
}

/* ---- before the load ---- */

static void show_traffic(const struct bench_flags *f)
{
  struct buf text = {0};
  if (f->ramp_up) {
    printf("Traffic ramp-up strategy: %s.\n",
           f->ramp_up == 1 ? "linear" : "exponential");
    printf("Will increase RPS from %g to %g RPS over the duration of the "
           "benchmark.\n",
           f->ramp_up_from, f->ramp_up_to);
  } else {
    bench_show_float(&text, f->request_rate);
    printf("Traffic request rate: %s\n", buf_cstr(&text));
  }
  buf_reset(&text);
  bench_show_float(&text, f->burstiness);
  printf("Burstiness factor: %s (%s)\n", buf_cstr(&text),
         f->burstiness == 1 ? "Poisson process" : "Gamma distribution");
  if (f->max_concurrency)
    printf("Maximum request concurrency: %llu\n",
           (unsigned long long)f->max_concurrency);
  else
    say("Maximum request concurrency: None");
  buf_free(&text);
}

static int wait_ready(const struct serve *s, const struct run_stand *at)
{
  const struct bench_flags *f = &s->bench.flags;
  const struct preflight p = {
      .config = &at->options->config,
      .request = at->sample,
      .secrets = &at->options->secrets,
      .key_from = run_options_key_source(at->options),
      .quiet = true,
  };
  say("Starting initial single prompt test run...");
  if (!f->ready_timeout_ns || !at->sample) {
    say("Skipping endpoint ready check.");
    return GO_ON;
  }
  printf("Waiting for endpoint to become up in %g seconds\n",
         ns_to_sec(f->ready_timeout_ns));
  fflush(stdout);
  if (preflight_wait(&p, f->ready_timeout_ns) < 0) {
    log_line("Initial test run failed: no request succeeded within "
             "--ready-check-timeout-sec %g",
             ns_to_sec(f->ready_timeout_ns));
    return FAILED;
  }
  say("Initial test run completed.");
  return GO_ON;
}

/* What cannot be profiled can still be measured. */
static void profile(const struct config *c, bool start)
{
  struct err e = {0};
  say(start ? "Starting profiler..." : "Stopping profiler...");
  if (bench_profile(c, start, &e) == 0)
    say(start ? "Profiler started" : "Profiler stopped");
  else
    log_line("%.*s", STR_ARG(str_trim(str_of(err_text(&e)))));
  err_free(&e);
}

/* Before the load is when a file that cannot be written costs nothing. */
static int open_files(struct serve *s, struct run_options *o)
{
  struct err e = {0};
  int rc;
  if (!bench_files_wanted(&s->bench.flags))
    return GO_ON;
  s->bench.path = bench_file_name(&s->bench, o->config.model);
  rc = bench_files_check(&s->bench, &e);
  if (rc < 0)
    log_plain("%s", err_text(&e));
  err_free(&e);
  if (bench_saves(&s->bench.flags))
    o->output = mem_strdup(s->bench.path);
  return rc < 0 ? MISUSED : GO_ON;
}

static int begin(const struct run_stand *at, void *ud)
{
  struct serve *s = ud;
  struct run_options *o = at->options;
  const struct bench_flags *f = &s->bench.flags;
  int status = open_files(s, o);
  s->options = o;
  s->sample = at->sample;
  if (status == GO_ON)
    status = wait_ready(s, at);
  if (status != GO_ON)
    return status;
  s->saves_details = f->save_detailed && bench_saves(f);
  /* What a batch held that was answered depends on which one it was. */
  s->detailed = s->saves_details || s->bench.batch > 1 || f->metric_mode == 1 ||
                f->plot_timeline || f->plot_dataset_stats;
  details_init(&s->details, o->config.threads);
  s->details.texts = o->config.keep_text;
  s->details.hollows = f->metric_mode == 1;
  if (f->num_warmups)
    printf("Warming up with %llu requests...\n",
           (unsigned long long)f->num_warmups);
  fflush(stdout);
  return GO_ON;
}

/* ---- the load, and after it ---- */

static void start_probe(struct serve *s)
{
  double rate = s->bench.flags.probe_rate;
  if (rate <= 0)
    return;
  s->probe = bench_probe_start(&s->options->config, s->sample, rate);
  if (!s->probe)
    log_line("--probe-request-rate: there is no tiny request for this "
             "backend, so no probes are sent");
}

static void measuring(void *ud)
{
  struct serve *s = ud;
  const struct config *c = &s->options->config;
  if (s->bench.flags.num_warmups)
    say("Warmup run completed.");
  bench_counters_ask(c, &s->before);
  say("Starting main benchmark run...");
  if (s->bench.flags.profile)
    profile(c, true);
  show_traffic(&s->bench.flags);
  fflush(stdout);
  start_probe(s);
}

static void on_record(unsigned worker, const struct record *r, void *ud)
{
  struct serve *s = ud;
  if (s->detailed || r->outcome != OUTCOME_OK)
    details_add(&s->details, worker, r);
}

static void end(const struct run_stand *at, void *ud)
{
  struct serve *s = ud;
  const struct config *c = &at->options->config;
  if (s->probe) {
    bench_probe_stop(s->probe, &s->probes);
    s->probe = NULL;
    s->probed = true;
  }
  if (s->bench.flags.profile)
    profile(c, false);
  if (s->before.has_spec_decode || s->before.has_diffusion) {
    bench_counters_ask(c, &s->counters);
    bench_counters_since(&s->before, &s->counters);
  }
  details_sort(&s->details);
  fflush(stdout);
}

static void describe_ramp(struct serve *s, struct run_info *info)
{
  const struct bench_flags *f = &s->bench.flags;
  const struct bench_timetable *t = &s->ramp;
  if (!f->ramp_up || s->bench.timed)
    return;
  s->changes = mem_alloc((t->n_changes + 1) * sizeof *s->changes);
  for (size_t i = 0; i < t->n_changes; i++)
    s->changes[i] = (struct rate_change){
        t->changes[i].rps, info->started_wall_ns + t->changes[i].at_ns};
  info->ramp_strategy = f->ramp_up == 1 ? "linear" : "exponential";
  info->ramp_from = f->ramp_up_from;
  info->ramp_to = f->ramp_up_to;
  info->rate_changes = s->changes;
  info->n_rate_changes = t->n_changes;
}

/* The first ones; why, with counts, is told with the table. */
static void show_failures(const struct serve *s)
{
  const struct details *d = &s->details;
  unsigned shown = 0;
  for (size_t i = 0; i < d->n && shown < 10; i++) {
    struct buf line = {0};
    if (d->list[i].ok || d->list[i].cancelled)
      continue;
    if (!shown)
      say("Failed requests during benchmark run detected (capping to 10):");
    buf_adds(&line, d->list[i].error);
    mask_known(&line, &s->options->secrets);
    buf_disarm(&line);
    printf("Error %u: %s\n", shown++, buf_cstr(&line));
    buf_free(&line);
  }
  fflush(stdout);
}

/* Of the requests that were answered. An embedding model gets the question as
 * a text more. */
static uint64_t count_sequences(const struct serve *s,
                                const struct summary *sum)
{
  const struct bench_flags *f = &s->bench.flags;
  uint64_t prompts = f->num_prompts > 0 ? (uint64_t)f->num_prompts : 0;
  uint64_t batch = s->bench.batch, last = (prompts + batch - 1) / batch;
  uint64_t n = sum->completed * (batch + f->data.no_reranker);
  /* The last one of the data set has what the others left. */
  for (size_t i = 0; i < s->details.n; i++)
    if (s->details.list[i].ok && s->details.list[i].id == last)
      n -= last * batch - prompts;
  return n;
}

static void describe(struct summary *sum, struct run_info *info, void *ud)
{
  struct serve *s = ud;
  const struct bench_flags *f = &s->bench.flags;
  info->endpoint_type = s->bench.backend->name;
  info->backend = f->backend ? f->backend : s->bench.backend->name;
  info->label = f->label;
  if (f->model)
    info->model_id = f->model;
  info->tokenizer_id = f->data.tokenizer ? f->data.tokenizer : info->model_id;
  info->burstiness = f->burstiness;
  info->n_stages = 0; /* at most one, of which there are the figures */
  info->metric_mode = f->metric_mode == 1 ? "vllm" : "stoke";
  if (f->num_prompts > 0)
    info->num_prompts = (uint64_t)f->num_prompts;
  info->counts_sequences = info->pooling;
  if (info->pooling)
    info->input_sequences = count_sequences(s, sum);
  describe_ramp(s, info);
  if (s->saves_details)
    info->details = &s->details;
  if (s->probed)
    info->probes = &s->probes;
  if (s->counters.has_spec_decode)
    info->spec_decode = &s->counters.spec_decode;
  if (s->counters.has_diffusion)
    info->diffusion = &s->counters.diffusion;
  if (f->metric_mode == 1)
    vllm_figures_apply(sum, &s->details, &s->options->config.slo);
  bench_files_describe(&s->files, sum, info);
  show_failures(s);
  bench_explain(s->options, s->sample, sum);
}

/* ---- the command ---- */

static int serve(int argc, char *const argv[])
{
  struct serve s = {0};
  const struct run_front front = {
      .spec = &bench_options_spec,
      .read = read_options,
      .reword = bench_reword,
      .settled = settled,
      .begin = begin,
      .measuring = measuring,
      .record = on_record,
      .end = end,
      .describe = describe,
      .first_model = true,
      .ud = &s,
  };
  int status;
  signal(SIGPIPE, SIG_IGN); /* a reader that had enough stops no benchmark */
  status = run_command(&front, argc, argv);
  if (s.files.described &&
      bench_files_write(&s.bench, &s.details, &s.files) < 0 && status == 0)
    status = FAILED;
  bench_files_free(&s.files);
  details_free(&s.details);
  mem_free(s.changes);
  mem_free(s.ramp.changes);
  bench_free(&s.bench);
  return status;
}

static void usage(FILE *to)
{
  fputs("Usage: stoke bench serve [options]\n\n"
        "  serve      what `vllm bench serve` does: the same flags, table and "
        "files\n\n"
        "`stoke bench serve --help` shows the options. What else vLLM has "
        "under `bench`\n"
        "is `stoke sweep` for `sweep`; `latency` and `throughput` load a model "
        "into\n"
        "their own process, which stoke does not.\n",
        to);
}

int cmd_bench(int argc, char *const argv[])
{
  if (argc > 0 && strcmp(argv[0], "serve") == 0)
    return serve(argc - 1, argv + 1);
  if (argc > 0 &&
      (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
    usage(stdout);
    return 0;
  }
  if (argc > 0)
    log_line("bench %s: no such command; there is `stoke bench serve`",
             argv[0]);
  usage(stderr);
  return MISUSED;
}
