#include "report/results_stoke.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "report/blocks.h"
#include "report/field.h"
#include "report/host.h"
#include "report/latency_out.h"
#include "report/notes.h"

/* ---- what was run ---- */

static void write_scenario(struct json_writer *w, const struct run_info *r)
{
  field_object(w, "scenario");
  field_text(w, "name", r->scenario_name);
  field_text(w, "version", r->scenario_version);
  field_text(w, "sha256", r->scenario_sha256);
  field_text(w, "pack_sha256", r->pack_sha256);
  field_raw(w, "params", r->params_json, "{}");
  field_boolean(w, "unsafe", r->unsafe);
  json_end_object(w);
}

static void write_load(struct json_writer *w, const struct run_info *r)
{
  field_object(w, "load");
  field_text(w, "loop", r->request_rate > 0 ? "open" : "closed");
  json_key(w, "request_rate");
  if (isinf(r->request_rate))
    json_string(w, STR("inf"));
  else
    json_number(w, r->request_rate > 0 ? r->request_rate : NAN);
  field_text(w, "arrival", r->arrival);
  field_number(w, "burstiness", r->burstiness);
  field_some(w, "max_concurrency", r->max_concurrency);
  field_some(w, "num_requests", r->num_requests);
  if (r->num_sessions)
    field_count(w, "num_sessions", r->num_sessions);
  field_positive(w, "duration_s", r->duration_s);
  field_some(w, "warmup_requests", r->warmup_requests);
  field_positive(w, "warmup_s", r->warmup_s);
  field_number(w, "drain_s", r->drain_s);
  json_end_object(w);
}

static void write_run(struct json_writer *w, const struct run_info *r)
{
  char started[32];
  clock_rfc3339(r->started_wall_ns, started);
  field_count(w, "schema", RESULTS_SCHEMA);
  field_text(w, "kind", "run");
  field_text(w, "version", r->version);
  field_text(w, "metric_mode", r->metric_mode ? r->metric_mode : "stoke");
  field_text(w, "command", r->command);
  field_text(w, "url", r->url);
  field_boolean(w, "insecure", r->insecure);
  write_scenario(w, r);
  field_count(w, "seed", r->seed);
  field_count(w, "threads", r->threads);
  field_text(w, "shard", r->shard);
  field_text(w, "started_at", started);
  field_number(w, "started_at_monotonic_s", ns_to_sec(r->started_ns));
  field_text(w, "clock", r->clock);
  json_key(w, "host");
  host_write(w);
  write_load(w, r);
  field_text(w, "stop_reason", r->stop_reason);
  field_boolean(w, "interrupted", r->interrupted);
}

/* ---- requests ---- */

static void write_outcomes(struct json_writer *w, const struct summary *s)
{
  field_object(w, "outcomes");
  for (int o = 0; o < OUTCOME_COUNT; o++)
    field_count(w, outcome_name((enum outcome)o), s->outcomes[o]);
  json_end_object(w);
}

static void write_errors(struct json_writer *w, const struct summary *s)
{
  field_array(w, "errors");
  for (size_t i = 0; i < s->errors.len; i++) {
    const struct error_group *g = &s->errors.groups[i];
    json_begin_object(w);
    field_text(w, "outcome", outcome_name(g->outcome));
    field_some(w, "status", (uint64_t)g->status);
    field_count(w, "count", g->count);
    field_text(w, "message", g->message[0] ? g->message : NULL);
    field_text(w, "hint", outcome_hint(g->outcome, g->status));
    json_end_object(w);
  }
  json_end_array(w);
}

static void write_steady(struct json_writer *w, const struct steady *t)
{
  json_key(w, "steady");
  if (!t->found) {
    json_null(w);
    return;
  }
  json_begin_object(w);
  field_number(w, "start_s", t->start_s);
  field_number(w, "duration_s", t->duration_s);
  field_number(w, "in_flight", t->in_flight);
  field_count(w, "completed", t->completed);
  field_number(w, "request_throughput", t->request_throughput);
  field_number(w, "output_throughput", t->output_throughput);
  json_end_object(w);
}

static void write_goodput(struct json_writer *w, const struct summary *s)
{
  json_key(w, "goodput");
  if (!s->slo) {
    json_null(w);
    return;
  }
  json_begin_object(w);
  field_count(w, "requests", s->good);
  field_number(w, "share", s->good_share);
  field_number(w, "requests_per_s", s->request_goodput);
  field_number(w, "output_tokens_per_s", s->token_goodput);
  json_end_object(w);
}

static void write_figures(struct json_writer *w, const struct summary *s)
{
  field_object(w, "figures");
  field_count(w, "sent", s->sent);
  field_count(w, "completed", s->completed);
  field_count(w, "failed", s->failed);
  field_count(w, "cancelled", s->cancelled);
  field_count(w, "unsent", s->unsent);
  field_number(w, "success_rate", summary_success_rate(s));
  field_count(w, "warmup_sent", s->warmup_sent);
  field_count(w, "warmup_failed", s->warmup_failed);
  field_number(w, "start_s", s->start_s);
  field_number(w, "duration_s", s->duration_s);
  field_number(w, "window_s", s->window_s);
  field_number(w, "request_throughput", s->request_throughput);
  field_number(w, "output_throughput", s->output_throughput);
  field_number(w, "total_token_throughput", s->total_token_throughput);
  field_number(w, "window_output_throughput", s->window_output_throughput);
  field_count(w, "max_concurrent_requests", s->max_concurrent_requests);
  field_number(w, "max_output_tokens_per_s", s->max_output_tokens_per_s);
  field_number(w, "peak_window_s", s->peak_window_s);
  field_number(w, "capacity_rps", s->capacity_rps);
  write_goodput(w, s);
  write_steady(w, &s->steady);
  json_end_object(w);
}

/* ---- latencies ---- */

static void write_latencies(struct json_writer *w, const struct summary *s)
{
  field_object(w, "latency");
  for (int f = 0; f < FIGURE_COUNT; f++)
    latency_write(w, s, figure_name((enum figure)f), &s->latency[f]);
  json_end_object(w);
}

/* ---- stages ---- */

static void write_ramp(struct json_writer *w, const char *key, double from,
                       double to)
{
  json_key(w, key);
  if (from == 0 && to == 0) {
    json_null(w);
  } else if (isinf(from)) {
    json_string(w, STR("inf"));
  } else if (from == to) {
    json_number(w, from);
  } else {
    json_begin_array(w);
    json_number(w, from);
    json_number(w, to);
    json_end_array(w);
  }
}

static void write_stage(struct json_writer *w, const struct run_stage_info *i)
{
  const struct summary *s = i->summary;
  json_begin_object(w);
  field_text(w, "label", i->label);
  field_number(w, "start_s", i->start_s);
  field_number(w, "duration_s", i->duration_s);
  field_text(w, "requests",
             i->by_end ? "that ended in it" : "that began in it");
  field_object(w, "target");
  write_ramp(w, "request_rate", i->rate_from, i->rate_to);
  write_ramp(w, "max_concurrency", i->concurrency_from, i->concurrency_to);
  field_text(w, "arrival", i->arrival);
  json_end_object(w);
  field_number(w, "planned_rps", s->planned_rps);
  field_number(w, "achieved_rps", s->achieved_rps);
  write_outcomes(w, s);
  write_figures(w, s);
  write_latencies(w, s);
  latency_write(w, s, "send_lag", &s->send_lag);
  json_end_object(w);
}

static void write_stages(struct json_writer *w, const struct run_info *r)
{
  field_array(w, "stages");
  for (size_t i = 0; i < r->n_stages; i++)
    write_stage(w, &r->stages[i]);
  json_end_array(w);
}

/* ---- tokens and answers ---- */

static void write_sources(struct json_writer *w, const char *key,
                          const uint64_t *sources)
{
  field_object(w, key);
  for (int i = 0; i < TOKEN_SOURCES; i++)
    if (sources[i])
      field_count(w, token_source_name((enum token_source)i), sources[i]);
  json_end_object(w);
}

static void write_range(struct json_writer *w, const char *key, uint64_t sum,
                        uint64_t n, int64_t min, int64_t max)
{
  field_object(w, key);
  field_number(w, "mean", (double)sum / (double)n);
  field_known(w, "min", min);
  field_known(w, "max", max);
  json_end_object(w);
}

/* What the data set meant against what the server counted. */
static void write_planned(struct json_writer *w, const struct summary *s)
{
  uint64_t n = s->planned_requests;
  json_key(w, "prompt_lengths");
  if (!n) {
    json_null(w);
    return;
  }
  json_begin_object(w);
  field_count(w, "count", n);
  write_range(w, "planned", s->planned_tokens, n, s->planned_min,
              s->planned_max);
  write_range(w, "actual", s->planned_actual_tokens, n, s->actual_min,
              s->actual_max);
  json_end_object(w);
}

static void write_tokens(struct json_writer *w, const struct summary *s)
{
  field_object(w, "tokens");
  field_count(w, "prompt", s->input_tokens);
  field_count(w, "output", s->output_tokens);
  field_count(w, "cached", s->cached_tokens);
  field_count(w, "reasoning", s->reasoning_tokens);
  field_object(w, "sources");
  write_sources(w, "prompt", s->prompt_sources);
  write_sources(w, "output", s->output_sources);
  json_end_object(w);
  field_count(w, "chunks", s->chunks);
  field_number(w, "per_chunk", s->tokens_per_chunk);
  field_number(w, "prefill_per_s", s->prefill_tokens_per_s);
  write_planned(w, s);
  json_end_object(w);
}

static void write_answers(struct json_writer *w, const struct summary *s)
{
  field_object(w, "answers");
  field_count(w, "streamed", s->streamed);
  field_count(w, "not_streamed", s->not_streamed);
  field_text(w, "not_streamed_content_type",
             s->content_type[0] ? s->content_type : NULL);
  field_count(w, "no_token", s->no_token);
  field_count(w, "refusals", s->refusals);
  field_count(w, "length_without_answer", s->empty_length);
  field_count(w, "events_bunched", s->bunched);
  field_object(w, "finish_reasons");
  for (size_t i = 0; i < s->n_finish; i++)
    field_count(w, s->finish[i].reason, s->finish[i].count);
  json_end_object(w);
  field_count(w, "bytes_in", s->bytes_in);
  field_count(w, "bytes_out", s->bytes_out);
  json_end_object(w);
}

/* ---- series, network, client ---- */

static void write_points(struct json_writer *w, const struct summary *s,
                         const char *key, enum series_kind k)
{
  field_array(w, key);
  for (size_t i = 0; i < s->series_len; i++)
    json_integer(w, (int64_t)s->series[i].n[k]);
  json_end_array(w);
}

static void write_series(struct json_writer *w, const struct summary *s)
{
  field_object(w, "series");
  field_number(w, "interval_s", s->series_interval_s);
  field_number(w, "start_s", s->series_start_s);
  write_points(w, s, "due", SERIES_DUE);
  write_points(w, s, "sent", SERIES_SENT);
  write_points(w, s, "done", SERIES_DONE);
  write_points(w, s, "failed", SERIES_FAILED);
  write_points(w, s, "tokens", SERIES_TOKENS);
  field_array(w, "in_flight");
  for (size_t i = 0; i < s->series_len; i++)
    json_integer(w, (int64_t)s->series_in_flight[i]);
  json_end_array(w);
  json_end_object(w);
}

static double mean_ms(uint64_t ns, uint64_t n)
{
  return n ? ns_to_ms(ns) / (double)n : NAN;
}

static void write_network(struct json_writer *w, const struct summary *s,
                          const struct run_info *r)
{
  field_object(w, "network");
  field_number(w, "dns_ms", mean_ms(r->dns_ns, r->opened));
  field_number(w, "connect_ms", mean_ms(r->connect_ns, r->opened));
  field_number(w, "tls_ms", mean_ms(r->tls_ns, r->opened));
  field_count(w, "opened", r->opened);
  field_count(w, "reused", r->reused);
  latency_write(w, s, "request_connect", &s->connect);
  json_end_object(w);
}

static void write_script(struct json_writer *w, const struct client *c)
{
  field_object(w, "script");
  field_count(w, "calls", c->script_calls);
  field_number(w, "total_s", ns_to_sec(c->script_ns));
  field_number(w, "share",
               c->wall_ns ? (double)c->script_ns / (double)c->wall_ns : NAN);
  field_number(w, "worst_ms", ns_to_ms(c->script_worst_ns));
  field_text(w, "worst_place", c->script_place[0] ? c->script_place : NULL);
  field_number(w, "gc_s", ns_to_sec(c->gc_ns));
  field_array(w, "heap_peak_bytes");
  for (size_t i = 0; i < c->threads; i++)
    json_integer(w, (int64_t)c->heap_peak[i]);
  json_end_array(w);
  json_end_object(w);
}

static void write_verdict(struct json_writer *w, const struct client_verdict *v)
{
  field_text(w, "verdict", v->limited ? "limited" : "ok");
  field_array(w, "reasons");
  for (size_t i = 0; i < v->n; i++)
    json_string(w, str_of(v->reasons[i]));
  json_end_array(w);
}

static void write_client(struct json_writer *w, const struct summary *s)
{
  const struct client *c = &s->client;
  field_object(w, "client");
  write_verdict(w, &s->verdict);
  field_number(w, "planned_rps", s->planned_rps);
  field_number(w, "achieved_rps", s->achieved_rps);
  field_count(w, "capped", s->capped);
  latency_write(w, s, "send_lag", &s->send_lag);
  latency_write(w, s, "loop_lag", &s->loop_lag);
  write_script(w, c);
  field_array(w, "cpu_share");
  for (size_t i = 0; i < c->threads; i++)
    json_number(w, c->cpu_share[i]);
  json_end_array(w);
  field_count(w, "retries", s->retries);
  field_some(w, "open_files", c->open_files);
  field_some(w, "open_files_limit", c->open_files_limit);
  field_count(w, "inconsistent_records", s->inconsistent);
  json_end_object(w);
}

/* ---- the rest ---- */

static void write_hists(struct json_writer *w, const struct summary *s)
{
  field_object(w, "hist");
  for (int f = 0; f < FIGURE_COUNT; f++) {
    json_key(w, figure_name((enum figure)f));
    hist_write(&s->hist[f], w);
  }
  json_end_object(w);
}

/* The words that decide what a number means, beside the numbers. */
static void write_definitions(struct json_writer *w, const struct summary *s)
{
  field_object(w, "definitions");
  field_text(w, "ttft", "first event with payload - sent");
  field_text(w, "tpot",
             "(last - first event with payload) / (tokens - 1), one a "
             "request");
  field_text(w, "itl",
             "gaps between consecutive events with payload of one choice, "
             "pooled over requests");
  field_text(w, "e2el",
             "last event with payload - sent (not streamed: done - sent)");
  field_text(w, "output_throughput", "tokens of completed requests / duration");
  field_text(w, "window_output_throughput",
             "tokens that arrived in the window, of any request / window");
  field_text(w, "itl_percentiles",
             s->itl_exact ? "exact" : "histogram, within 0.1 %");
  json_end_object(w);
}

void results_stoke(struct json_writer *w, const struct summary *s,
                   const struct run_info *r)
{
  json_begin_object(w);
  write_run(w, r);
  write_outcomes(w, s);
  write_errors(w, s);
  write_figures(w, s);
  write_latencies(w, s);
  write_tokens(w, s);
  write_answers(w, s);
  write_stages(w, r);
  field_raw(w, "turns", r->turns_json, "[]");
  field_raw(w, "tags", r->tags_json, "{}");
  field_raw(w, "sessions", r->sessions_json, "null");
  field_raw(w, "http", r->http_json, "{}");
  write_series(w, s);
  write_network(w, s, r);
  write_client(w, s);
  field_raw(w, "thresholds", r->thresholds_json, "[]");
  field_raw(w, "checks", r->checks_json, "[]");
  field_raw(w, "custom", r->custom_json, "{}");
  write_definitions(w, s);
  write_hists(w, s);
  json_end_object(w);
}
