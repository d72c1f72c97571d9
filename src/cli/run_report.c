#include "cli/run_report.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "cli/mask.h"
#include "cli/run_extras.h"
#include "cli/run_plot.h"
#include "cli/run_stages.h"
#include "report/notes.h"
#include "report/output.h"
#include "report/results.h"
#include "report/stage_table.h"
#include "report/table.h"
#include "script/pack.h"
#include "script/wrk.h"
#include "script/merge.h"
#include "script/vm.h"

/* Texts that run_info borrows. */
struct texts {
  struct buf url, params, custom, stop, said;
  struct run_pair *metadata;
};

static void free_texts(struct texts *t)
{
  buf_free(&t->url);
  buf_free(&t->params);
  buf_free(&t->custom);
  buf_free(&t->stop);
  buf_free(&t->said);
  for (struct run_pair *p = t->metadata; p && p->key; p++)
    mem_free((char *)p->key);
  mem_free(t->metadata);
}

/* "k=v" split at the first '='; the list ends in a NULL key. */
static struct run_pair *split_metadata(const struct option_list *list)
{
  struct run_pair *pairs = mem_zalloc(list->n + 1, sizeof *pairs);
  for (size_t i = 0; i < list->n; i++) {
    const char *equals = strchr(list->items[i], '=');
    struct str key = {list->items[i], (size_t)(equals - list->items[i])};
    key = str_trim(key);
    pairs[i].key = mem_strndup(key.p, key.len);
    pairs[i].value = equals + 1;
  }
  return pairs;
}

/* vLLM's name for what was talked to. */
static const char *backend_name(const struct backend *b)
{
  static const char *const names[][2] = {
      {"chat", "openai-chat"},
      {"completions", "openai"},
      {"embeddings", "openai-embeddings"},
      {"rerank", "vllm-rerank"},
      {"transcriptions", "openai-audio"},
      {"translations", "openai-audio"},
  };
  if (!b)
    return "custom";
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(b->name, names[i][0]) == 0)
      return names[i][1];
  return b->name;
}

static bool is_pooling(const struct backend *b)
{
  return b && b->dialect && !wire_dialect_has_payload(b->dialect);
}

static void fill_texts(const struct run_report *r, struct texts *t)
{
  const struct run_result *result = r->result;
  struct json_writer w = {.out = &t->params};
  mask_url(&t->url, str_of(r->options->config.base_url));
  params_write(&r->scenario->params, &w);
  buf_adds(&t->stop, stop_reason_name(result->stop_reason));
  if ((result->stop_reason == STOP_SCRIPT ||
       result->stop_reason == STOP_THRESHOLD ||
       result->stop_reason == STOP_HOPELESS) &&
      result->stop_detail[0])
    buf_addf(&t->stop, ": %s", result->stop_detail);
  t->metadata = split_metadata(&r->options->metadata);
}

static struct run_info make_info(const struct run_report *r, struct texts *t)
{
  const struct config *c = &r->options->config;
  const struct load *load = &c->load;
  const struct run_result *result = r->result;
  bool open = load->request_rate > 0;
  bool sessions = scenario_has(r->scenario, HOOK_SESSION);
  uint64_t items = r->options->until_exhausted ? 0 : load->num_requests;
  uint64_t requests = sessions ? c->max_requests : items;
  return (struct run_info){
      .started_wall_ns = result->epoch_wall_ns,
      .started_ns = result->epoch_ns,
      .backend = backend_name(result->backend),
      .pooling = is_pooling(result->backend),
      .model_id = c->model,
      .num_prompts = sessions ? 0 : items,
      .metadata = t->metadata,
      .n_metadata = r->options->metadata.n,
      .request_rate = load->request_rate,
      .arrival = !open                               ? NULL
                 : load->arrival == ARRIVAL_CONSTANT ? "constant"
                                                     : "poisson",
      .burstiness = load->burstiness,
      .max_concurrency = load->max_concurrency,
      .duration_s = ns_to_sec(load->duration_ns),
      .warmup_s = ns_to_sec(load->warmup_ns),
      .drain_s = ns_to_sec(load->drain_ns),
      .num_requests = requests,
      .num_sessions = sessions ? items : 0,
      .sessions_begun = sessions_started(&result->sessions),
      .warmup_requests = load->warmup_requests,
      .version = stoke_version,
      .command = r->command,
      .url = buf_cstr(&t->url),
      .scenario_name = r->scenario->name,
      .scenario_version = r->scenario->version,
      .scenario_sha256 = r->scenario->sha256,
      .pack_sha256 = r->scenario->pack ? r->scenario->pack->sha256 : NULL,
      .params_json = buf_cstr(&t->params),
      .seed = c->seed,
      .threads = c->threads,
      .clock = result->clock == NET_CLOCK_KERNEL ? "kernel" : "readable",
      .insecure = c->insecure,
      .unsafe = r->scenario->unsafe,
      .stop_reason = buf_cstr(&t->stop),
      .interrupted = result->signal != 0,
      .opened = result->net.opened,
      .reused = result->net.reused,
      .dns_ns = result->net.dns_ns,
      .connect_ns = result->net.connect_ns,
      .tls_ns = result->net.tls_ns,
  };
}

/* `object` on top of what was added to the custom section already. */
static void add_custom(struct texts *t, struct str object)
{
  struct buf merged = {0};
  if (!object.len)
    return;
  if (t->custom.len)
    merge_objects(&merged, buf_str(&t->custom), object);
  else
    buf_addstr(&merged, object);
  buf_free(&t->custom);
  t->custom = merged;
}

/* For wrk's done(). */
static void fill_figures(const struct run_report *r, const struct summary *s,
                         struct wrk_figures *f)
{
  const struct run_result *result = r->result;
  wrk_count(f, s->outcomes);
  f->latency = samples_latency(result->metrics);
  f->rate = samples_rate(result->metrics, result->threads);
  f->requests = f->latency.n;
  f->bytes = s->bytes_in;
  f->duration_us = (uint64_t)(s->duration_s * 1e6);
}

/* What control(run) reported, and the scenario's own summary(): into the
 * results, or as text. */
static bool ask_scenario(const struct run_report *r, const struct summary *s,
                         struct run_extras *x, struct run_info *info,
                         struct texts *t)
{
  struct buf json = {0}, answer = {0};
  struct wrk_figures figures = {0};
  bool ok;
  add_custom(t, buf_str(&r->result->reports));
  run_extras_fill(x, buf_str(&t->custom), info);
  if (!scenario_has(r->scenario, HOOK_SUMMARY) || !r->result->vm)
    return true;
  results_write(&json, s, info, r->options->blocks);
  if (r->scenario->wrk_url)
    fill_figures(r, s, &figures);
  vm_figures(r->result->vm, &figures);
  if (r->result->exits)
    vm_threads(r->result->vm, r->result->exits, r->result->threads);
  ok = vm_summary(r->result->vm, buf_str(&json), &answer, &t->said) == VM_OK;
  if (ok) {
    add_custom(t, buf_str(&answer));
    run_extras_fill(x, buf_str(&t->custom), info);
  }
  vm_figures(r->result->vm, NULL);
  samples_free(&figures.latency);
  samples_free(&figures.rate);
  buf_free(&json);
  buf_free(&answer);
  return ok;
}

/* A reader that has had enough (a pipe to head) is no failure. */
static int print(FILE *to, struct str text)
{
  if (fwrite(text.p, 1, text.len, to) == text.len && fflush(to) == 0)
    return 0;
  if (errno == EPIPE)
    return 0;
  log_line("the table could not be written: %s", strerror(errno));
  return -1;
}

static bool stdout_is_taken(const struct run_options *o)
{
  return (o->output && strcmp(o->output, "-") == 0) ||
         (o->requests_out && strcmp(o->requests_out, "-") == 0);
}

/* Everything for people. It stays off stdout when JSON goes there. */
static int show(const struct run_report *r, const struct summary *s,
                const struct run_extras *x, const struct run_info *info,
                const struct texts *t)
{
  const struct run_options *o = r->options;
  struct buf out = {0};
  int rc;
  notes_before(&out, s, info);
  /* Figures over all points of a search say nothing, and its windows are too
   * many to read; it says itself what it found. */
  if (!r->scenario->driver) {
    table_write(&out, s, info, o->blocks);
    stage_table_write(&out, info);
  }
  buf_addstr(&out, buf_str(&r->result->said));
  notes_after(&out, s, info);
  run_extras_show(x, &out);
  if (t->said.len) {
    buf_addstr(&out, buf_str(&t->said));
    if (out.p[out.len - 1] != '\n')
      buf_addc(&out, '\n');
  }
  mask_known(&out, &o->secrets);
  buf_disarm(&out);
  rc = print(stdout_is_taken(o) ? stderr : stdout, buf_str(&out));
  buf_free(&out);
  return rc;
}

static int save(const struct run_report *r, const struct summary *s,
                const struct run_info *info)
{
  const struct run_options *o = r->options;
  struct buf json = {0};
  struct err e = {0};
  int rc;
  if (!o->output)
    return 0;
  results_write(&json, s, info, o->blocks);
  mask_known(&json, &o->secrets);
  rc = o->append
           ? output_append(o->output, buf_str(&json), &e)
           : output_save_or_print(o->output, o->force, buf_str(&json), &e);
  if (rc < 0)
    log_plain("%s", err_text(&e));
  else if (!o->quiet && strcmp(o->output, "-") != 0)
    log_line("results are in %s", o->output);
  buf_free(&json);
  err_free(&e);
  return rc;
}

/* More errors than allowed, or one that a VM did not survive. */
static bool script_failed(const struct run_report *r)
{
  struct script_errors *errors = r->result->errors;
  return errors &&
         (script_errors_gave_up(errors) ||
          script_errors_total(errors) > r->options->config.max_script_errors);
}

/* Nor is there one that only was not finished. */
static bool all_sessions_failed(const struct run_report *r)
{
  const uint64_t *ends = r->result->sessions.ends;
  return ends[SESSION_FAILED] && !ends[SESSION_COMPLETED] && !ends[SESSION_CUT];
}

/* A scenario may well do without requests: its sessions call s:http, say. */
static bool nothing_succeeded(const struct run_report *r,
                              const struct summary *s)
{
  const uint64_t *ends = r->result->sessions.ends;
  return s->sent ? s->completed == 0 : !ends[SESSION_COMPLETED];
}

/* `wrong`: something went wrong after the run. */
static int exit_status(const struct run_report *r, const struct summary *s,
                       const struct run_extras *extras, bool wrong)
{
  if (r->result->signal)
    return 130;
  if (wrong || nothing_succeeded(r, s) || all_sessions_failed(r) ||
      script_failed(r) || r->result->control_failed ||
      r->result->teardown_failed || r->result->exit_failed)
    return 1;
  return run_extras_broken(extras) ? 99 : 0;
}

int run_report(const struct run_report *r)
{
  struct texts t = {0};
  struct run_stages stages;
  struct summary s;
  struct summary_config sc = {.n_percentiles = r->options->n_percentiles,
                              .request_rate =
                                  r->options->config.load.request_rate};
  struct run_extras extras;
  struct run_info info;
  bool wrong;
  int status;
  memcpy(sc.percentiles, r->options->percentiles, sizeof sc.percentiles);
  if (sc.request_rate == 0)
    sc.request_rate = run_stages_rate(r->result);
  r->result->client.open_files = r->open_files;
  r->result->client.open_files_limit = r->open_files_limit;
  summary_build(&s, r->result->metrics, &r->result->client, &sc);
  fill_texts(r, &t);
  run_stages_build(&stages, r->result, &sc);
  info = make_info(r, &t);
  info.stages = stages.list;
  info.n_stages = stages.n;
  if (r->front->describe)
    r->front->describe(&s, &info, r->front->ud);
  run_extras_init(&extras, r->scenario, r->result, &s,
                  &r->options->config.thresholds);
  wrong = !ask_scenario(r, &s, &extras, &info, &t);
  wrong |= show(r, &s, &extras, &info, &t) < 0;
  if (r->options->plot)
    run_plot(&s, &info, r->options->blocks, r->scenario->driver,
             stdout_is_taken(r->options));
  wrong |= save(r, &s, &info) < 0;
  status = exit_status(r, &s, &extras, wrong);
  run_extras_deinit(&extras);
  run_stages_free(&stages);
  summary_deinit(&s);
  free_texts(&t);
  return status;
}
