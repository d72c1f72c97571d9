#include "report/table.h"

#include <math.h>
#include <stdio.h>

#define WIDTH 50

/* `text` in the middle of a line of `fill`; the right side takes the odd
 * one. */
static void heading(struct buf *out, const char *text, char fill)
{
  size_t len = strlen(text), pad = len < WIDTH ? WIDTH - len : 0;
  for (size_t i = 0; i < pad / 2; i++)
    buf_addc(out, fill);
  buf_adds(out, text);
  for (size_t i = 0; i < pad - pad / 2; i++)
    buf_addc(out, fill);
  buf_addc(out, '\n');
}

static void line(struct buf *out, const char *label, const char *value)
{
  buf_addf(out, "%-40s %-10s\n", label, value);
}

static void count(struct buf *out, const char *label, uint64_t n)
{
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)n);
  line(out, label, text);
}

static void number(struct buf *out, const char *label, double x)
{
  char text[64];
  snprintf(text, sizeof text, "%.2f", x);
  line(out, label, isnan(x) ? "n/a" : text);
}

/* Were tokens counted at all? With no answer there were none: 0 is right. */
static bool known(const struct summary *s, const uint64_t *sources)
{
  return sources[TOKENS_NONE] < s->completed || s->completed == 0;
}

static void tokens(struct buf *out, const char *label, bool is_known,
                   uint64_t n)
{
  if (is_known)
    count(out, label, n);
  else
    line(out, label, "n/a");
}

static void write_counts(struct buf *out, const struct summary *s,
                         const struct run_info *r)
{
  count(out, "Successful requests:", s->completed);
  count(out, "Failed requests:", s->failed);
  if (r->max_concurrency)
    count(out, "Maximum request concurrency:", r->max_concurrency);
  if (r->request_rate > 0 && isfinite(r->request_rate))
    number(out, "Request rate configured (RPS):", r->request_rate);
  number(out, "Benchmark duration (s):", s->duration_s);
  tokens(out, "Total input tokens:", known(s, s->prompt_sources),
         s->input_tokens);
  if (!r->pooling)
    tokens(out, "Total generated tokens:", known(s, s->output_sources),
           s->output_tokens);
}

/* What is known of the tokens of answers without text: those read. */
static void write_pooling_rates(struct buf *out, const struct summary *s,
                                const struct run_info *r)
{
  number(out, "Request throughput (req/s):", s->request_throughput);
  if (r->counts_sequences)
    number(out, "Input throughput (inputs/s):",
           (double)r->input_sequences / s->duration_s);
  if (s->slo)
    number(out, "Request goodput (req/s):", s->request_goodput);
  if (!r->counts_sequences)
    number(out,
           "Peak concurrent requests:", (double)s->max_concurrent_requests);
  number(out, "Total token throughput (tok/s):",
         known(s, s->prompt_sources) ? (double)s->input_tokens / s->duration_s
                                     : NAN);
}

static void write_rates(struct buf *out, const struct summary *s)
{
  bool in = known(s, s->prompt_sources), made = known(s, s->output_sources);
  number(out, "Request throughput (req/s):", s->request_throughput);
  if (s->slo)
    number(out, "Request goodput (req/s):", s->request_goodput);
  number(out,
         "Output token throughput (tok/s):", made ? s->output_throughput : NAN);
  number(out,
         "Peak output token throughput (tok/s):", s->max_output_tokens_per_s);
  number(out, "Peak concurrent requests:", (double)s->max_concurrent_requests);
  if (s->audio_s > 0)
    number(out, "RTFx (Inverse Real-Time Factor):", s->audio_s / s->duration_s);
  number(out, "Total token throughput (tok/s):",
         made && in ? s->total_token_throughput : NAN);
}

static void labelled(struct buf *out, const char *what, enum block b, double x)
{
  char label[96];
  snprintf(label, sizeof label, "%s %s (ms):", what, block_label(b));
  number(out, label, x);
}

static void write_block(struct buf *out, const struct summary *s, enum block b)
{
  const struct latency *l = &s->latency[block_figure(b)];
  char name[32], label[40];
  heading(out, block_title(b), '-');
  labelled(out, "Mean", b, l->mean);
  labelled(out, "Median", b, l->p[LATENCY_P50]);
  for (size_t i = 0; i < s->n_percentiles; i++) {
    snprintf(label, sizeof label, "P%s",
             percentile_name(s->percentiles[i], name));
    labelled(out, label, b, l->user[i]);
  }
}

static void write_probes(struct buf *out, const struct probe_figures *p)
{
  heading(out, "Probe Requests", '-');
  count(out, "Probe requests completed:", p->completed);
  count(out, "Probe requests failed:", p->failed);
  number(out, "Median probe E2EL (ms):", p->median_ms);
  number(out, "P99 probe E2EL (ms):", p->p99_ms);
  number(out, "Max probe E2EL (ms):", p->max_ms);
}

static void write_spec_decode(struct buf *out, const struct spec_decode *d)
{
  char label[48];
  heading(out, "Speculative Decoding", '-');
  number(out,
         "Acceptance rate (%):", 100 * d->accepted_tokens / d->draft_tokens);
  number(out, "Acceptance length:", 1 + d->accepted_tokens / d->drafts);
  count(out, "Drafts:", (uint64_t)d->drafts);
  count(out, "Draft tokens:", (uint64_t)d->draft_tokens);
  count(out, "Accepted tokens:", (uint64_t)d->accepted_tokens);
  if (d->n_positions)
    buf_adds(out, "Per-position acceptance (%):\n");
  for (size_t i = 0; i < d->n_positions; i++) {
    snprintf(label, sizeof label, "  Position %zu:", i);
    number(out, label, 100 * d->per_position[i] / d->drafts);
  }
}

/* A canvas takes one step to be committed; the others are denoising. */
static void write_diffusion(struct buf *out, const struct diffusion *d,
                            double duration_s)
{
  double canvases = d->committed * d->steps / d->positions;
  double denoising = d->steps - canvases;
  heading(out, "Diffusion Decoding", '-');
  number(out, "Committed throughput (tok/s):", d->committed / duration_s);
  number(out, "Denoising steps per canvas:", denoising / canvases);
  number(out, "Committed per denoising step:", d->committed / denoising);
  count(out, "Committed tokens:", (uint64_t)d->committed);
  count(out, "Denoising steps:", (uint64_t)denoising);
  count(out, "Canvas positions evaluated:", (uint64_t)d->positions);
}

void table_write(struct buf *out, const struct summary *s,
                 const struct run_info *r, unsigned blocks)
{
  blocks = blocks_shown(blocks, r);
  heading(out, " Serving Benchmark Result ", '=');
  write_counts(out, s, r);
  if (r->pooling)
    write_pooling_rates(out, s, r);
  else
    write_rates(out, s);
  if (r->probes && r->probes->completed)
    write_probes(out, r->probes);
  for (int b = 0; b < BLOCK_COUNT; b++)
    if (blocks & 1u << b)
      write_block(out, s, (enum block)b);
  if (r->diffusion)
    write_diffusion(out, r->diffusion, s->duration_s);
  else if (r->spec_decode)
    write_spec_decode(out, r->spec_decode);
  heading(out, "", '=');
}
