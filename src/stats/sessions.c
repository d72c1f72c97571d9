#include "stats/sessions.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static const char other[] = "(other)";

void sessions_deinit(struct sessions *s)
{
  hist_deinit(&s->duration);
  hist_deinit(&s->active);
  *s = (struct sessions){0};
}

uint64_t sessions_started(const struct sessions *s)
{
  uint64_t n = 0;
  for (int i = 0; i < SESSION_ENDS; i++)
    n += s->ends[i];
  return n;
}

static void add_reason(struct sessions *s, enum session_end end,
                       const char *text, uint64_t count)
{
  struct session_reason *r = s->reasons;
  char shown[sizeof r->text];
  size_t i = 0;
  snprintf(shown, sizeof shown, "%s", text && *text ? text : "no reason given");
  while (i < s->n_reasons && (r[i].end != end || strcmp(r[i].text, shown) != 0))
    i++;
  if (i >= SESSION_REASONS - 1) {
    i = SESSION_REASONS - 1;
    snprintf(shown, sizeof shown, "%s", other);
  }
  if (i >= s->n_reasons) {
    r[i].end = end;
    memcpy(r[i].text, shown, sizeof shown);
    s->n_reasons = i + 1;
  }
  r[i].count += count;
}

static void add_turns(struct sessions *s, const struct session_record *r)
{
  uint64_t planned = r->planned > r->turns ? r->planned : r->turns;
  s->turns_planned += planned;
  s->turns_done += r->turns;
  s->turns_skipped += planned - r->turns;
  if (r->turns > s->max_turns)
    s->max_turns = r->turns;
}

void sessions_add(struct sessions *s, const struct session_record *r)
{
  uint64_t took = ns_since(r->started_ns, r->ended_ns);
  if (r->phase == PHASE_WARMUP)
    return;
  s->ends[r->end]++;
  s->think_ns += r->think_ns;
  add_turns(s, r);
  if (r->end != SESSION_COMPLETED) {
    add_reason(s, r->end, r->reason, 1);
    return;
  }
  hist_add(&s->duration, took);
  hist_add(&s->active, ns_since(r->think_ns, took));
}

void sessions_merge(struct sessions *into, const struct sessions *from)
{
  for (int i = 0; i < SESSION_ENDS; i++)
    into->ends[i] += from->ends[i];
  into->turns_planned += from->turns_planned;
  into->turns_done += from->turns_done;
  into->turns_skipped += from->turns_skipped;
  into->think_ns += from->think_ns;
  if (from->max_turns > into->max_turns)
    into->max_turns = from->max_turns;
  hist_merge(&into->duration, &from->duration);
  hist_merge(&into->active, &from->active);
  for (size_t i = 0; i < from->n_reasons; i++)
    add_reason(into, from->reasons[i].end, from->reasons[i].text,
               from->reasons[i].count);
}
