#include "stats/group.h"

#include "base/mem.h"
#include "stats/sample.h"
#include "stats/summary_builder.h"

/* Which cells are meant, and the rows in them. */
struct selection {
  const struct metrics *m;
  bool cells[CELLS_MAX];
  const struct metrics_row **rows;
  size_t n;
};

static void select_cells(struct selection *s, const struct metrics *m,
                         const struct filter *f,
                         const struct stage_names *stages)
{
  s->m = m;
  for (size_t i = 0; i < m->cells.n; i++) {
    struct filing x = cells_filing(&m->cells, i);
    s->cells[i] = filter_matches(f, &x, stages);
  }
}

static void select_rows(struct selection *s, const struct metrics *m,
                        const struct filter *f,
                        const struct stage_names *stages)
{
  select_cells(s, m, f, stages);
  s->rows = mem_alloc(m->rows.len * sizeof(struct metrics_row *) + 1);
  s->n = 0;
  EACH_ROW(m, row)
  if (s->cells[row->cell])
    s->rows[s->n++] = row;
}

/* ---- counts ---- */

static void add_row(struct group *g, const struct metrics_row *row)
{
  g->sent++;
  g->outcomes[row->outcome]++;
  g->good += row->good;
  if (row->outcome != OUTCOME_OK)
    return;
  g->input_tokens += row->prompt_tokens;
  g->output_tokens += row->tokens;
}

static void count(struct group *g, const struct selection *s)
{
  uint64_t first = UINT64_MAX, last = 0;
  *g = (struct group){.duration_s = NAN};
  for (size_t i = 0; i < s->n; i++) {
    const struct metrics_row *row = s->rows[i];
    add_row(g, row);
    first = row->sent_ns < first ? row->sent_ns : first;
    last = row->done_ns > last ? row->done_ns : last;
  }
  g->completed = g->outcomes[OUTCOME_OK];
  g->cancelled = g->outcomes[OUTCOME_CANCELLED];
  g->failed = g->sent - g->completed - g->cancelled;
  if (s->n)
    g->duration_s = ns_to_sec(ns_since(first, last));
}

void group_count(struct group *g, const struct metrics *m,
                 const struct filter *f, const struct stage_names *stages)
{
  struct selection s;
  select_rows(&s, m, f, stages);
  count(g, &s);
  mem_free(s.rows);
}

/* ---- latencies ---- */

static size_t collect(const struct selection *s, enum figure f, double *out)
{
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++) {
    double x = row_figure(s->rows[i], f);
    if (!isnan(x))
      out[n++] = x;
  }
  sample_sort(out, n);
  return n;
}

static void add_gaps(const struct selection *s, struct hist *out)
{
  for (size_t i = 0; i < s->m->cells.n; i++)
    if (s->cells[i])
      hist_merge(out, &s->m->cells.list[i].itl);
}

void group_build(struct group *g, const struct metrics *m,
                 const struct filter *f, const struct stage_names *stages,
                 const struct summary *percentiles)
{
  struct selection s;
  struct hist itl = {0};
  double *values;
  select_rows(&s, m, f, stages);
  count(g, &s);
  values = mem_alloc(s.n * sizeof *values + 1);
  for (int i = 0; i < FIGURE_COUNT; i++)
    if (i != FIGURE_ITL)
      g->latency[i] =
          latency_of(percentiles, values, collect(&s, (enum figure)i, values));
  add_gaps(&s, &itl);
  g->latency[FIGURE_ITL] = latency_of_hist(percentiles, &itl);
  hist_deinit(&itl);
  mem_free(values);
  mem_free(s.rows);
}

double *group_samples(const struct metrics *m, const struct filter *f,
                      const struct stage_names *stages, enum figure figure,
                      size_t *n)
{
  struct selection s;
  double *values;
  *n = 0;
  if (figure == FIGURE_ITL)
    return f->n ? NULL : metrics_gaps(m, n);
  select_rows(&s, m, f, stages);
  values = mem_alloc(s.n * sizeof *values + 1);
  *n = collect(&s, figure, values);
  mem_free(s.rows);
  return values;
}

void group_gaps(const struct metrics *m, const struct filter *f,
                const struct stage_names *stages, struct hist *out)
{
  struct selection s;
  select_cells(&s, m, f, stages);
  add_gaps(&s, out);
}

/* ---- what there is ---- */

unsigned metrics_turns(const struct metrics *m)
{
  unsigned most = 0;
  for (size_t i = 0; i < m->cells.n; i++)
    if (m->cells.list[i].turn > most)
      most = m->cells.list[i].turn;
  return most;
}

size_t metrics_tags(const struct metrics *m)
{
  return m->cells.n_values;
}

const char *metrics_tag(const struct metrics *m, size_t i)
{
  return m->cells.values[i];
}

uint64_t metrics_crowded(const struct metrics *m)
{
  return m->cells.crowded;
}
