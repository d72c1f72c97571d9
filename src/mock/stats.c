#include "mock/stats.h"

#include <math.h>

#include "base/clock.h"
#include "base/json.h"

/* 8 buckets an octave: the octave from the leading bit, the eighth from the
 * three bits below it. */
static unsigned bucket_of(uint64_t ns)
{
  uint64_t us8 = ns * 8 / NS_PER_US; /* eighths of a microsecond */
  unsigned octave, bucket;
  if (us8 < 8)
    return 0;
  octave = 63 - (unsigned)__builtin_clzll(us8); /* >= 3 */
  bucket = (octave - 3) * 8 + (unsigned)(us8 >> (octave - 3) & 7) + 1;
  return bucket < MOCK_LATE_BUCKETS ? bucket : MOCK_LATE_BUCKETS - 1;
}

static uint64_t upper_edge(unsigned bucket)
{
  unsigned octave = (bucket + 7) / 8, eighth = (bucket + 7) % 8;
  if (bucket == 0)
    return NS_PER_US;
  return (uint64_t)(ldexp(9 + eighth, (int)octave - 1) * 1000 / 8);
}

void mock_late_add(struct mock_late *l, uint64_t ns)
{
  l->count++;
  l->buckets[bucket_of(ns)]++;
  if (ns > l->max_ns)
    l->max_ns = ns;
}

uint64_t mock_late_quantile(const struct mock_late *l, double q)
{
  uint64_t want = (uint64_t)ceil(q * (double)l->count), seen = 0;
  for (unsigned i = 0; i < MOCK_LATE_BUCKETS; i++) {
    seen += l->buckets[i];
    if (seen && seen >= want)
      return upper_edge(i) < l->max_ns ? upper_edge(i) : l->max_ns;
  }
  return 0;
}

/* ---- /metrics ---- */

static void family(struct buf *out, const char *name, const char *type,
                   const char *help)
{
  buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void sample(struct buf *out, const char *name, const char *model,
                   const char *more, uint64_t x)
{
  buf_addf(out, "%s{engine=\"0\",%smodel_name=\"%s\"} %llu.0\n", name, more,
           model, (unsigned long long)x);
}

static void one(struct buf *out, const char *model, const char *name,
                const char *type, const char *help, uint64_t x)
{
  family(out, name, type, help);
  sample(out, name, model, "", x);
}

static void successes(const struct mock_stats *s, const char *model,
                      struct buf *out)
{
  static const char name[] = "vllm:request_success_total";
  family(out, name, "counter", "Count of successfully processed requests.");
  sample(out, name, model, "finished_reason=\"stop\",", s->finished_stop);
  sample(out, name, model, "finished_reason=\"length\",", s->finished_length);
  sample(out, name, model, "finished_reason=\"abort\",", s->aborted);
  sample(out, name, model, "finished_reason=\"error\",", s->finished_error);
}

void mock_stats_metrics(const struct mock_stats *s, const char *model,
                        uint64_t running, uint64_t waiting, struct buf *out)
{
  one(out, model, "vllm:num_requests_running", "gauge",
      "Number of requests in model execution batches.", running);
  one(out, model, "vllm:num_requests_waiting", "gauge",
      "Number of requests waiting to be processed.", waiting);
  one(out, model, "vllm:prompt_tokens_total", "counter",
      "Number of prefill tokens processed.", s->prompt_tokens);
  one(out, model, "vllm:prompt_tokens_cached_total", "counter",
      "Number of cached prompt tokens.", s->cached_tokens);
  one(out, model, "vllm:prefix_cache_queries_total", "counter",
      "Prefix cache queries, in terms of number of queried tokens.",
      s->prompt_tokens);
  one(out, model, "vllm:prefix_cache_hits_total", "counter",
      "Prefix cache hits, in terms of number of cached tokens.",
      s->cached_tokens);
  one(out, model, "vllm:generation_tokens_total", "counter",
      "Number of generation tokens processed.", s->generation_tokens);
  successes(s, model, out);
}

/* ---- /stats ---- */

static void add(struct json_writer *w, const char *key, uint64_t x)
{
  json_key(w, key);
  json_integer(w, (int64_t)x);
}

void mock_stats_json(const struct mock_stats *s, uint64_t running,
                     uint64_t waiting, uint64_t now_ns, struct buf *out)
{
  struct json_writer w = {.out = out};
  json_begin_object(&w);
  add(&w, "uptime_ns", ns_since(s->start_ns, now_ns));
  add(&w, "connections", s->connections);
  add(&w, "open", s->open);
  add(&w, "peak_open", s->peak_open);
  add(&w, "requests", s->requests);
  add(&w, "generations", s->generations);
  add(&w, "in_flight", s->in_flight);
  add(&w, "peak_in_flight", s->peak_in_flight);
  add(&w, "running", running);
  add(&w, "waiting", waiting);
  add(&w, "rejected", s->rejected);
  add(&w, "aborted", s->aborted);
  add(&w, "prompt_tokens", s->prompt_tokens);
  add(&w, "cached_tokens", s->cached_tokens);
  add(&w, "generation_tokens", s->generation_tokens);
  add(&w, "bytes_in", s->bytes_in);
  add(&w, "bytes_out", s->bytes_out);
  json_key(&w, "late_ns");
  json_begin_object(&w);
  add(&w, "count", s->late.count);
  add(&w, "p50", mock_late_quantile(&s->late, 0.5));
  add(&w, "p99", mock_late_quantile(&s->late, 0.99));
  add(&w, "max", s->late.max_ns);
  json_end_object(&w);
  json_end_object(&w);
  buf_addc(out, '\n');
}
