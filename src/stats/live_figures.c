#include "stats/live_figures.h"

#include <math.h>

#include "base/mem.h"
#include "stats/judge_impl.h"

bool thresholds_abort(const struct thresholds *all)
{
  for (size_t i = 0; i < all->n; i++)
    if (all->list[i].abort)
      return true;
  return false;
}

void live_figures_init(struct live_figures *l, const struct thresholds *all,
                       const struct stage_names *stages, const struct slo *slo,
                       const struct custom *custom)
{
  *l = (struct live_figures){.all = all, .stages = *stages, .slo = *slo};
  l->tallies = mem_zalloc(all->n, sizeof *l->tallies);
  custom_like(&l->custom, custom);
}

void live_figures_deinit(struct live_figures *l)
{
  for (size_t i = 0; l->tallies && i < l->all->n; i++)
    hist_deinit(&l->tallies[i].hist);
  mem_free(l->tallies);
  custom_deinit(&l->custom);
  sessions_deinit(&l->sessions);
  *l = (struct live_figures){0};
}

static bool figure_of(const struct record *r, enum figure f, uint64_t *ns)
{
  double tpot;
  switch (f) {
  case FIGURE_TTFT: return record_ttft(r, ns);
  case FIGURE_TTFAT: return record_ttfat(r, ns);
  case FIGURE_TTFB: return r->outcome == OUTCOME_OK && record_ttfb(r, ns);
  case FIGURE_TPOT:
    if (!record_tpot(r, &tpot))
      return false;
    *ns = (uint64_t)llround(tpot);
    return true;
  case FIGURE_E2EL: return record_e2el(r, ns);
  case FIGURE_QUEUE: return r->outcome == OUTCOME_OK && record_queue(r, ns);
  case FIGURE_TTFT_DUE: return record_ttft_due(r, ns);
  case FIGURE_E2EL_DUE: return record_e2el_due(r, ns);
  default: return false;
  }
}

static void add_gap(uint64_t gap_ns, void *ud)
{
  hist_add(ud, gap_ns);
}

static void count(struct group *g, const struct record *r,
                  const struct slo *run)
{
  struct slo s = slo_of(run, r);
  g->sent++;
  g->outcomes[r->outcome]++;
  g->good += slo_good(&s, r);
  if (r->outcome == OUTCOME_OK) {
    g->completed++;
    g->input_tokens += r->prompt_tokens > 0 ? (uint64_t)r->prompt_tokens : 0;
    g->output_tokens += r->tokens > 0 ? (uint64_t)r->tokens : 0;
  } else if (r->outcome == OUTCOME_CANCELLED) {
    g->cancelled++;
  } else {
    g->failed++;
  }
}

static void add_to(struct tally *tally, const struct threshold *t,
                   const struct record *r, const struct slo *slo)
{
  uint64_t ns;
  if (t->subject != SUBJECT_FIGURE)
    count(&tally->counts, r, slo);
  else if (t->which != FIGURE_ITL && figure_of(r, (enum figure)t->which, &ns))
    hist_add(&tally->hist, ns);
  else if (t->which == FIGURE_ITL && r->outcome == OUTCOME_OK)
    record_gaps(r, add_gap, &tally->hist);
}

void live_figures_add(struct live_figures *l, const struct record *r)
{
  struct filing x = {turn_filed(r->turn), r->stage, r->tags};
  if (r->phase == PHASE_WARMUP)
    return;
  for (size_t i = 0; i < l->all->n; i++) {
    const struct threshold *t = &l->all->list[i];
    if (t->abort && filter_matches(&t->filter, &x, &l->stages))
      add_to(&l->tallies[i], t, r, &l->slo);
  }
}

static void merge_counts(struct group *into, const struct group *from)
{
  into->sent += from->sent;
  into->completed += from->completed;
  into->failed += from->failed;
  into->cancelled += from->cancelled;
  into->good += from->good;
  into->input_tokens += from->input_tokens;
  into->output_tokens += from->output_tokens;
  for (int o = 0; o < OUTCOME_COUNT; o++)
    into->outcomes[o] += from->outcomes[o];
}

void live_figures_merge(struct live_figures *into,
                        const struct live_figures *from)
{
  for (size_t i = 0; i < from->all->n; i++) {
    merge_counts(&into->tallies[i].counts, &from->tallies[i].counts);
    hist_merge(&into->tallies[i].hist, &from->tallies[i].hist);
  }
  custom_merge(&into->custom, &from->custom);
  sessions_merge(&into->sessions, &from->sessions);
}

double live_figures_value(const struct live_figures *l, size_t threshold,
                          double elapsed_s)
{
  const struct threshold *t = &l->all->list[threshold];
  const struct tally *tally = &l->tallies[threshold];
  double value;
  if (judge_apart(t, &l->custom, &l->sessions, elapsed_s, &value))
    return value;
  if (t->subject == SUBJECT_FIGURE)
    return judge_hist(t, &tally->hist);
  return tally->counts.sent ? judge_counts(t, &tally->counts, elapsed_s) : NAN;
}
