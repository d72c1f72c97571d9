#include "report/sessions_out.h"

#include <math.h>

#include "base/clock.h"
#include "base/units.h"
#include "report/field.h"
#include "report/latency_out.h"

static const char *const end_names[] = {"completed", "failed", "cut"};

static void write_reasons(struct json_writer *w, const struct sessions *s)
{
  field_array(w, "reasons");
  for (size_t i = 0; i < s->n_reasons; i++) {
    const struct session_reason *r = &s->reasons[i];
    json_begin_object(w);
    field_text(w, "end", end_names[r->end]);
    field_text(w, "reason", r->text);
    field_count(w, "count", r->count);
    json_end_object(w);
  }
  json_end_array(w);
}

static void write_times(struct json_writer *w, const char *key,
                        const struct hist *h, const struct summary *s)
{
  struct latency l = latency_of_hist(s, h);
  latency_write(w, s, key, &l);
}

void sessions_write(struct json_writer *w, const struct sessions *s,
                    const struct summary *percentiles)
{
  json_begin_object(w);
  field_count(w, "started", sessions_started(s));
  for (int i = 0; i < SESSION_ENDS; i++)
    field_count(w, end_names[i], s->ends[i]);
  field_count(w, "turns_planned", s->turns_planned);
  field_count(w, "turns_done", s->turns_done);
  field_count(w, "turns_skipped", s->turns_skipped);
  field_count(w, "max_turns", s->max_turns);
  field_number(w, "think_s", ns_to_sec(s->think_ns));
  write_times(w, "duration", &s->duration, percentiles);
  write_times(w, "active", &s->active, percentiles);
  write_reasons(w, s);
  json_end_object(w);
}

static void show_times(struct buf *out, const char *what, const struct hist *h)
{
  char p50[32], p99[32];
  if (!h->count)
    return;
  buf_addf(out, "  %-30s p50 %s, p99 %s\n", what,
           units_show_duration((uint64_t)llround(hist_percentile(h, 50)), p50),
           units_show_duration((uint64_t)llround(hist_percentile(h, 99)), p99));
}

void sessions_show(struct buf *out, const struct sessions *s)
{
  buf_addf(out,
           "Sessions: %llu started, %llu completed, %llu failed, %llu cut\n",
           (unsigned long long)sessions_started(s),
           (unsigned long long)s->ends[SESSION_COMPLETED],
           (unsigned long long)s->ends[SESSION_FAILED],
           (unsigned long long)s->ends[SESSION_CUT]);
  for (size_t i = 0; i < s->n_reasons; i++)
    buf_addf(out, "  %llu %s: %s\n", (unsigned long long)s->reasons[i].count,
             end_names[s->reasons[i].end], s->reasons[i].text);
  buf_addf(
      out,
      "  turns: %llu planned, %llu done, %llu skipped; at most %llu in a "
      "session\n",
      (unsigned long long)s->turns_planned, (unsigned long long)s->turns_done,
      (unsigned long long)s->turns_skipped, (unsigned long long)s->max_turns);
  show_times(out, "duration", &s->duration);
  if (s->think_ns)
    show_times(out, "without think time", &s->active);
}
