#include "stats/summary_builder.h"

static void add_counts(struct summary *s, const struct summary *o)
{
  s->sent += o->sent;
  s->completed += o->completed;
  s->cancelled += o->cancelled;
  s->failed += o->failed;
  s->unsent += o->unsent;
  s->retries += o->retries;
  s->good += o->good;
  s->good_tokens += o->good_tokens;
  s->slo |= o->slo;
  s->input_tokens += o->input_tokens;
  s->output_tokens += o->output_tokens;
  s->cached_tokens += o->cached_tokens;
  s->reasoning_tokens += o->reasoning_tokens;
  s->audio_s += o->audio_s;
  for (int i = 0; i < OUTCOME_COUNT; i++)
    s->outcomes[i] += o->outcomes[i];
}

static void divide_anew(struct summary *s)
{
  double d = s->window_s;
  s->duration_s = d;
  s->achieved_rps = ratio((double)s->sent, d);
  s->request_throughput = ratio((double)s->completed, d);
  s->output_throughput = ratio((double)s->output_tokens, d);
  s->total_token_throughput =
      ratio((double)(s->input_tokens + s->output_tokens), d);
  s->request_goodput = s->slo ? ratio((double)s->good, d) : NAN;
  s->token_goodput = s->slo ? ratio((double)s->good_tokens, d) : NAN;
  s->good_share = s->slo ? ratio((double)s->good, (double)s->sent) : NAN;
}

void summary_merge(struct summary *s, const struct summary *o)
{
  add_counts(s, o);
  s->window_s += o->window_s;
  divide_anew(s);
  if (o->max_concurrent_requests > s->max_concurrent_requests)
    s->max_concurrent_requests = o->max_concurrent_requests;
  for (int f = 0; f < FIGURE_COUNT; f++) {
    hist_merge(&s->hist[f], &o->hist[f]);
    s->latency[f] = latency_of_hist(s, &s->hist[f]);
  }
  s->itl_exact = false;
  s->verdict.limited |= o->verdict.limited;
}
