#include "report/results.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "report/blocks.h"
#include "report/details.h"
#include "report/field.h"
#include "report/results_stoke.h"

/* ---- metadata: keys of the user's between vLLM's ---- */

/* In a Python dict a later key replaces an earlier one in its place. */
static const char *metadata_of(const struct run_info *r, const char *key)
{
  for (size_t i = r->n_metadata; i-- > 0;)
    if (strcmp(r->metadata[i].key, key) == 0)
      return r->metadata[i].value;
  return NULL;
}

/* A setup key, unless the user gave it another value. True: written. */
static bool overridden(struct json_writer *w, const struct run_info *r,
                       const char *key)
{
  const char *value = metadata_of(r, key);
  if (value)
    field_text(w, key, value);
  return value != NULL;
}

/* Keys that vLLM writes before or after the metadata, and ours. */
static bool reserved(const char *key)
{
  static const char *const names[] = {"date",
                                      "endpoint_type",
                                      "backend",
                                      "label",
                                      "model_id",
                                      "tokenizer_id",
                                      "num_prompts",
                                      "request_rate",
                                      "burstiness",
                                      "max_concurrency",
                                      "ramp_up_strategy",
                                      "ramp_up_start_rps",
                                      "ramp_up_end_rps",
                                      "input_lens",
                                      "output_lens",
                                      "ttfts",
                                      "itls",
                                      "start_times",
                                      "generated_texts",
                                      "errors",
                                      "total_input_sequences",
                                      "input_sequence_throughput",
                                      "rps_change_events",
                                      "duration",
                                      "completed",
                                      "failed",
                                      "total_input_tokens",
                                      "total_output_tokens",
                                      "request_throughput",
                                      "request_goodput",
                                      "output_throughput",
                                      "total_token_throughput",
                                      "latencies",
                                      "queue_times",
                                      "max_output_tokens_per_s",
                                      "max_concurrent_requests",
                                      "rtfx",
                                      "stoke"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(key, names[i]) == 0)
      return true;
  return false;
}

/* "mean_ttft_ms" and its like: the last keys, which replace the user's. */
static bool latency_key(const char *key)
{
  struct str s = str_of(key);
  char tail[64];
  if (!str_starts(s, STR("mean_")) && !str_starts(s, STR("median_")) &&
      !str_starts(s, STR("std_")) &&
      !(key[0] == 'p' && key[1] >= '0' && key[1] <= '9'))
    return false;
  for (int b = 0; b < BLOCK_COUNT; b++) {
    snprintf(tail, sizeof tail, "_%s_ms", block_name((enum block)b));
    if (str_ends(s, str_of(tail)))
      return true;
  }
  return false;
}

static void write_metadata(struct json_writer *w, const struct run_info *r)
{
  for (size_t i = 0; i < r->n_metadata; i++) {
    const char *key = r->metadata[i].key;
    bool again = false;
    for (size_t j = 0; j < i; j++)
      again = again || strcmp(r->metadata[j].key, key) == 0;
    if (!again && !reserved(key) && !latency_key(key))
      field_text(w, key, metadata_of(r, key));
  }
}

/* ---- vLLM's groups, in its order ---- */

static void write_setup(struct json_writer *w, const struct summary *s,
                        const struct run_info *r)
{
  char date[16];
  clock_compact(r->started_wall_ns, date);
  if (!overridden(w, r, "date"))
    field_text(w, "date", date);
  if (!overridden(w, r, "endpoint_type"))
    field_text(w, "endpoint_type",
               r->endpoint_type ? r->endpoint_type : r->backend);
  if (!overridden(w, r, "backend"))
    field_text(w, "backend", r->backend);
  if (!overridden(w, r, "label"))
    field_text(w, "label", r->label);
  if (!overridden(w, r, "model_id"))
    field_text(w, "model_id", r->model_id);
  if (!overridden(w, r, "tokenizer_id"))
    field_text(w, "tokenizer_id", r->tokenizer_id);
  if (!overridden(w, r, "num_prompts"))
    field_count(w, "num_prompts", r->num_prompts ? r->num_prompts : s->sent);
  write_metadata(w, r);
}

/* There a ramp's ends are whole numbers. */
static void write_rps(struct json_writer *w, const char *key, double rps)
{
  if (rps == floor(rps) && rps < 1e15)
    field_count(w, key, (uint64_t)rps);
  else
    field_number(w, key, rps);
}

static void write_traffic(struct json_writer *w, const struct run_info *r)
{
  json_key(w, "request_rate");
  if (r->request_rate > 0 && isfinite(r->request_rate))
    json_number(w, r->request_rate);
  else
    json_string(w, STR("inf"));
  field_number(w, "burstiness", r->burstiness);
  json_key(w, "max_concurrency");
  if (r->max_concurrency)
    json_integer(w, (int64_t)r->max_concurrency);
  else
    json_null(w);
  if (!r->ramp_strategy)
    return;
  field_text(w, "ramp_up_strategy", r->ramp_strategy);
  write_rps(w, "ramp_up_start_rps", r->ramp_from);
  write_rps(w, "ramp_up_end_rps", r->ramp_to);
}

static void write_list(struct json_writer *w, const char *key, const double *x,
                       size_t n)
{
  json_key(w, key);
  if (!x) {
    json_null(w);
    return;
  }
  json_begin_array(w);
  for (size_t i = 0; i < n; i++)
    json_number(w, x[i]);
  json_end_array(w);
}

/* The arrays, each in its place; those of single requests only when saved. */
static void write_requests(struct json_writer *w, const struct summary *s,
                           const struct details *d)
{
  if (d)
    details_write_lengths(w, d);
  write_list(w, "latencies", s->latencies_s, s->n_requests);
  if (d)
    details_write_starts(w, d);
  write_list(w, "queue_times", s->queue_times_s, s->n_requests);
  if (d)
    details_write_texts(w, d);
}

/* Of answers without text, by `bench serve`: what there is of them. */
static void write_pooling(struct json_writer *w, const struct summary *s,
                          const struct run_info *r)
{
  field_number(w, "duration", s->duration_s);
  field_count(w, "completed", s->completed);
  field_count(w, "failed", s->failed);
  field_count(w, "total_input_tokens", s->input_tokens);
  field_count(w, "total_input_sequences", r->input_sequences);
  field_number(w, "request_throughput", s->request_throughput);
  field_number(w, "input_sequence_throughput",
               (double)r->input_sequences / s->duration_s);
  field_number(w, "total_token_throughput",
               (double)s->input_tokens / s->duration_s);
  if (r->details)
    details_write_inputs(w, r->details);
  write_list(w, "latencies", s->latencies_s, s->n_requests);
  write_list(w, "queue_times", s->queue_times_s, s->n_requests);
  if (r->details)
    details_write_errors(w, r->details);
}

static void write_result(struct json_writer *w, const struct summary *s,
                         const struct run_info *r)
{
  field_number(w, "duration", s->duration_s);
  field_count(w, "completed", s->completed);
  field_count(w, "failed", s->failed);
  field_count(w, "total_input_tokens", s->input_tokens);
  field_count(w, "total_output_tokens", s->output_tokens);
  field_number(w, "request_throughput", s->request_throughput);
  field_number(w, "request_goodput", s->request_goodput);
  field_number(w, "output_throughput", s->output_throughput);
  field_number(w, "total_token_throughput", s->total_token_throughput);
  write_requests(w, s, r->details);
  field_number(w, "max_output_tokens_per_s", s->max_output_tokens_per_s);
  field_count(w, "max_concurrent_requests", s->max_concurrent_requests);
  field_number(w, "rtfx", s->duration_s > 0 ? s->audio_s / s->duration_s : 0);
}

/* ---- what was measured beside the requests ---- */

static void write_probes(struct json_writer *w, const struct probe_figures *p)
{
  field_count(w, "probe_completed", p->completed);
  field_count(w, "probe_failed", p->failed);
  field_number(w, "probe_median_e2el_ms", p->median_ms);
  field_number(w, "probe_p99_e2el_ms", p->p99_ms);
  field_number(w, "probe_max_e2el_ms", p->max_ms);
}

static void write_rate_changes(struct json_writer *w, const struct run_info *r)
{
  char stamp[32];
  field_array(w, "rps_change_events");
  for (size_t i = 0; i < r->n_rate_changes; i++) {
    json_begin_object(w);
    field_count(w, "rps", r->rate_changes[i].rps);
    clock_rfc3339(r->rate_changes[i].wall_ns, stamp);
    field_text(w, "timestamp", stamp);
    json_end_object(w);
  }
  json_end_array(w);
}

static void write_spec_decode(struct json_writer *w,
                              const struct spec_decode *d)
{
  field_number(w, "spec_decode_acceptance_rate",
               100 * d->accepted_tokens / d->draft_tokens);
  field_number(w, "spec_decode_acceptance_length",
               1 + d->accepted_tokens / d->drafts);
  field_count(w, "spec_decode_num_drafts", (uint64_t)d->drafts);
  field_count(w, "spec_decode_draft_tokens", (uint64_t)d->draft_tokens);
  field_count(w, "spec_decode_accepted_tokens", (uint64_t)d->accepted_tokens);
  field_array(w, "spec_decode_per_position_acceptance_rates");
  for (size_t i = 0; i < d->n_positions; i++)
    json_number(w, d->per_position[i] / d->drafts);
  json_end_array(w);
}

static void write_diffusion(struct json_writer *w, const struct diffusion *d,
                            double duration_s)
{
  double canvases = d->committed * d->steps / d->positions;
  double denoising = d->steps - canvases;
  field_number(w, "diffusion_committed_throughput", d->committed / duration_s);
  field_number(w, "diffusion_steps_per_canvas", denoising / canvases);
  field_number(w, "diffusion_committed_per_step", d->committed / denoising);
  field_count(w, "diffusion_committed_tokens", (uint64_t)d->committed);
  field_count(w, "diffusion_denoising_steps", (uint64_t)denoising);
  field_count(w, "diffusion_canvas_positions", (uint64_t)d->positions);
}

static void write_beside(struct json_writer *w, const struct summary *s,
                         const struct run_info *r)
{
  if (r->probes)
    write_probes(w, r->probes);
  if (r->ramp_strategy)
    write_rate_changes(w, r);
  if (r->spec_decode)
    write_spec_decode(w, r->spec_decode);
  if (r->diffusion)
    write_diffusion(w, r->diffusion, s->duration_s);
}

static void write_block(struct json_writer *w, const struct summary *s,
                        enum block b)
{
  const struct latency *l = &s->latency[block_figure(b)];
  char key[96], name[32];
  snprintf(key, sizeof key, "mean_%s_ms", block_name(b));
  field_number(w, key, l->mean);
  snprintf(key, sizeof key, "median_%s_ms", block_name(b));
  field_number(w, key, l->p[LATENCY_P50]);
  snprintf(key, sizeof key, "std_%s_ms", block_name(b));
  field_number(w, key, l->std);
  for (size_t i = 0; i < s->n_percentiles; i++) {
    snprintf(key, sizeof key, "p%s_%s_ms",
             percentile_name(s->percentiles[i], name), block_name(b));
    field_number(w, key, l->user[i]);
  }
}

void results_write(struct buf *out, const struct summary *s,
                   const struct run_info *r, unsigned blocks)
{
  struct json_writer w = {.out = out, .spaced = true};
  blocks = blocks_shown(blocks, r);
  json_begin_object(&w);
  write_setup(&w, s, r);
  write_traffic(&w, r);
  if (r->pooling && r->counts_sequences)
    write_pooling(&w, s, r);
  else
    write_result(&w, s, r);
  write_beside(&w, s, r);
  for (int b = 0; b < BLOCK_COUNT; b++)
    if (blocks & 1u << b)
      write_block(&w, s, (enum block)b);
  json_key(&w, "stoke");
  results_stoke(&w, s, r);
  json_end_object(&w);
  buf_addc(out, '\n');
}
