#include "stats/metrics.h"

#include <assert.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stats/metrics_data.h"

/* Streams of this many events that came within BUNCHED_NS were not sent as
 * they were made: something on the way held them back. */
#define MANY_EVENTS 8
#define BUNCHED_NS  NS_PER_MS

struct metrics *metrics_new(const struct metrics_config *c)
{
  struct metrics *m = mem_new(struct metrics);
  m->config = *c;
  column_init(&m->rows, sizeof(struct metrics_row));
  column_init(&m->gaps, sizeof(uint64_t));
  series_init(&m->series, c->epoch_ns);
  return m;
}

void metrics_free(struct metrics *m)
{
  if (!m)
    return;
  column_deinit(&m->rows);
  column_deinit(&m->gaps);
  cells_deinit(&m->cells);
  hist_deinit(&m->connect);
  series_deinit(&m->series);
  errors_deinit(&m->errors);
  mem_free(m);
}

uint64_t metrics_count(const struct metrics *m)
{
  return m->rows.len;
}

void metrics_window(struct metrics *m, uint64_t start_ns, uint64_t end_ns)
{
  m->window_start_ns = start_ns;
  m->window_end_ns = end_ns;
}

void metrics_unsent(struct metrics *m, uint64_t due_ns)
{
  m->counts.unsent++;
  if (due_ns > m->unsent_due_ns)
    m->unsent_due_ns = due_ns;
  series_add(&m->series, SERIES_DUE, due_ns, 1);
}

/* ---- one record ---- */

/* The figure in ns, NaN where it is null. */
static double figure(bool (*of)(const struct record *, uint64_t *),
                     const struct record *r)
{
  uint64_t ns;
  return of(r, &ns) ? (double)ns : NAN;
}

static uint64_t known(int64_t tokens)
{
  return tokens > 0 ? (uint64_t)tokens : 0;
}

static uint32_t saturated(int64_t tokens)
{
  return known(tokens) < UINT32_MAX ? (uint32_t)known(tokens) : UINT32_MAX;
}

static struct metrics_row *add_row(struct metrics *m, const struct record *r)
{
  struct metrics_row *row = column_push(&m->rows);
  *row = (struct metrics_row){.id = r->id,
                              .due_ns = r->due_ns ? r->due_ns : r->sent_ns,
                              .sent_ns = r->sent_ns,
                              .done_ns = r->done_ns,
                              .tokens = saturated(r->tokens),
                              .prompt_tokens = saturated(r->prompt_tokens),
                              .cell = cells_file(&m->cells, r),
                              .outcome = (uint8_t)r->outcome,
                              .capped = r->capped};
  row->ttft = figure(record_ttft, r);
  row->ttfat = figure(record_ttfat, r);
  row->ttfb = r->outcome == OUTCOME_OK ? figure(record_ttfb, r) : NAN;
  row->e2el = figure(record_e2el, r);
  if (!record_tpot(r, &row->tpot))
    row->tpot = NAN;
  return row;
}

struct gap_sink {
  struct metrics *m;
  struct hist *itl;
};

static void add_gap(uint64_t gap_ns, void *ud)
{
  struct gap_sink *sink = ud;
  struct metrics *m = sink->m;
  hist_add(sink->itl, gap_ns);
  if (++m->itl_count <= METRICS_ITL_EXACT)
    *(uint64_t *)column_push(&m->gaps) = gap_ns;
  else if (m->gaps.len)
    column_deinit(&m->gaps);
}

static void add_tokens(uint64_t at_ns, uint64_t tokens, void *ud)
{
  struct metrics *m = ud;
  series_add(&m->series, SERIES_TOKENS, at_ns, tokens);
  m->counts.tokens_arrived += tokens;
  if (!m->window_end_ns || at_ns <= m->window_end_ns)
    m->counts.window_tokens += tokens;
}

static void add_series(struct metrics *m, const struct record *r)
{
  bool ok = r->outcome == OUTCOME_OK;
  series_add(&m->series, SERIES_DUE, r->due_ns ? r->due_ns : r->sent_ns, 1);
  series_add(&m->series, SERIES_SENT, r->sent_ns, 1);
  series_add(&m->series, ok ? SERIES_DONE : SERIES_FAILED, r->done_ns, 1);
  record_token_times(r, add_tokens, m);
}

static void add_token_counts(struct metrics_counts *c, const struct record *r)
{
  uint64_t ttft;
  c->input_tokens += known(r->prompt_tokens);
  c->output_tokens += known(r->tokens);
  c->cached_tokens += known(r->cached_tokens);
  c->reasoning_tokens += known(r->reasoning_tokens);
  c->audio_ns += r->audio_ns;
  c->output_sources[r->token_source]++;
  c->prompt_sources[r->prompt_token_source]++;
  if (!r->streamed)
    return;
  c->chunks += r->chunks;
  c->chunk_tokens += known(r->tokens);
  if (r->prompt_tokens > 0 && record_ttft(r, &ttft)) {
    c->prefill_tokens += known(r->prompt_tokens);
    c->prefill_ns += ttft;
  }
}

static void narrow(int64_t *min, int64_t *max, int64_t x, bool first)
{
  if (first || x < *min)
    *min = x;
  if (first || x > *max)
    *max = x;
}

/* What the data set meant against what the server counted. */
static void add_planned(struct metrics *m, const struct record *r)
{
  bool first = m->counts.planned_requests == 0;
  if (r->planned_prompt_tokens < 0 || r->prompt_tokens < 0 ||
      r->prompt_token_source == TOKENS_PLANNED)
    return;
  m->counts.planned_requests++;
  m->counts.planned_tokens += known(r->planned_prompt_tokens);
  m->counts.planned_actual_tokens += known(r->prompt_tokens);
  narrow(&m->planned_min, &m->planned_max, r->planned_prompt_tokens, first);
  narrow(&m->actual_min, &m->actual_max, r->prompt_tokens, first);
}

static void add_finish(struct metrics *m, const char *reason, uint64_t count)
{
  size_t i = 0;
  while (i < m->n_finish && strcmp(m->finish[i].reason, reason) != 0)
    i++;
  /* The last place is for all that finds none. */
  if (i == m->n_finish && i == FINISH_MAX - 1)
    reason = "other";
  if (i == m->n_finish && i < FINISH_MAX) {
    snprintf(m->finish[i].reason, sizeof m->finish[i].reason, "%s", reason);
    m->n_finish++;
  }
  m->finish[i < FINISH_MAX ? i : FINISH_MAX - 1].count += count;
}

static void note_content_type(struct metrics *m, uint64_t id, const char *type)
{
  if (!type || !*type || (m->content_type[0] && id >= m->content_type_id))
    return;
  m->content_type_id = id;
  snprintf(m->content_type, sizeof m->content_type, "%s", type);
}

static void add_shape(struct metrics *m, const struct record *r)
{
  struct metrics_counts *c = &m->counts;
  if (r->stream_asked && r->streamed)
    c->streamed++;
  if (r->stream_asked && !r->streamed) {
    c->not_streamed++;
    note_content_type(m, r->id, r->content_type);
  }
  if (r->streamed && r->n_events >= MANY_EVENTS) {
    c->many_events++;
    c->bunched += ns_since(r->first_token_ns, r->last_token_ns) <= BUNCHED_NS;
  }
  c->refusals += r->refusals > 0;
  c->empty_length += strcmp(r->finish_reason, "length") == 0 && r->streamed &&
                     !r->first_answer_ns;
  if (r->finish_reason[0])
    add_finish(m, r->finish_reason, 1);
}

static bool add_slo(struct metrics *m, const struct record *r)
{
  struct slo s = slo_of(&m->config.slo, r);
  bool good = slo_good(&s, r);
  m->counts.slo_requests += slo_set(&s);
  if (good) {
    m->counts.good++;
    m->counts.good_tokens += known(r->tokens);
  }
  return good;
}

static void add_completed(struct metrics *m, const struct record *r,
                          uint16_t cell)
{
  struct gap_sink sink = {m, &m->cells.list[cell].itl};
  record_gaps(r, add_gap, &sink);
  add_token_counts(&m->counts, r);
  add_planned(m, r);
  add_shape(m, r);
}

static void add_warmup(struct metrics_counts *c, const struct record *r)
{
  c->warmup_sent++;
  c->warmup_failed += r->outcome != OUTCOME_OK;
}

static void add_measured(struct metrics *m, const struct record *r)
{
  struct metrics_counts *c = &m->counts;
  struct metrics_row *row;
  uint64_t ns;
  c->outcomes[r->outcome]++;
  c->inconsistent += !record_consistent(r);
  c->retries += r->attempts > 1 ? r->attempts - 1 : 0;
  c->capped += r->capped;
  c->bytes_in += r->bytes_in;
  c->bytes_out += r->bytes_out;
  c->no_token +=
      r->outcome == OUTCOME_EMPTY ||
      (r->outcome == OUTCOME_OK && r->streamed && !r->first_token_ns);
  row = add_row(m, r);
  add_series(m, r);
  row->good = add_slo(m, r);
  if (record_connect(r, &ns))
    hist_add(&m->connect, ns);
  if (r->outcome == OUTCOME_OK)
    add_completed(m, r, row->cell);
  else
    errors_add(&m->errors, r->outcome, r->status, r->id, r->message);
}

/* What never left (a script that failed before) has an instant all the same,
 * or a zero would count as the start of the run. */
static void add_never_sent(struct metrics *m, const struct record *r)
{
  struct record copy = *r;
  uint64_t at = r->done_ns ? r->done_ns : r->due_ns;
  copy.sent_ns = copy.done_ns = at ? at : m->config.epoch_ns;
  copy.due_ns = copy.sent_ns;
  add_measured(m, &copy);
}

void metrics_set_epoch(struct metrics *m, uint64_t epoch_ns)
{
  assert(metrics_count(m) == 0);
  m->config.epoch_ns = m->series.epoch_ns = epoch_ns;
}

void metrics_add(struct metrics *m, const struct record *r)
{
  if (r->phase == PHASE_WARMUP)
    add_warmup(&m->counts, r);
  else if (!r->sent_ns)
    add_never_sent(m, r);
  else
    add_measured(m, r);
}

/* ---- merging ---- */

static void merge_counts(struct metrics_counts *into,
                         const struct metrics_counts *from)
{
  uint64_t *to = (uint64_t *)into;
  const uint64_t *x = (const uint64_t *)from;
  _Static_assert(sizeof *into % sizeof *to == 0, "all uint64_t");
  for (size_t i = 0; i < sizeof *into / sizeof *to; i++)
    to[i] += x[i];
}

static void merge_planned(struct metrics *into, const struct metrics *from)
{
  bool first = into->counts.planned_requests == 0;
  if (from->counts.planned_requests == 0)
    return;
  narrow(&into->planned_min, &into->planned_max, from->planned_min, first);
  narrow(&into->planned_min, &into->planned_max, from->planned_max, false);
  narrow(&into->actual_min, &into->actual_max, from->actual_min, first);
  narrow(&into->actual_min, &into->actual_max, from->actual_max, false);
}

static void merge_window(struct metrics *into, const struct metrics *from)
{
  uint64_t start = from->window_start_ns;
  if (start && (!into->window_start_ns || start < into->window_start_ns))
    into->window_start_ns = start;
  if (from->window_end_ns > into->window_end_ns)
    into->window_end_ns = from->window_end_ns;
}

static void merge_gaps(struct metrics *into, struct metrics *from)
{
  into->itl_count += from->itl_count;
  column_take(&into->gaps, &from->gaps);
  if (into->itl_count > METRICS_ITL_EXACT)
    column_deinit(&into->gaps);
}

/* The rows of `from` get the numbers that their cells have in `into`. */
static void merge_rows(struct metrics *into, struct metrics *from)
{
  uint16_t *map = mem_zalloc(from->cells.n, sizeof *map);
  cells_merge(&into->cells, &from->cells, map);
  for (struct column_block *k = from->rows.first; k; k = k->next) {
    struct metrics_row *row = (void *)k->items, *end = row + k->len;
    for (; row < end; row++)
      row->cell = map[row->cell];
  }
  mem_free(map);
  column_take(&into->rows, &from->rows);
}

/* `m` as it was made. */
static void empty(struct metrics *m)
{
  struct metrics *fresh = metrics_new(&m->config), used = *m;
  *m = *fresh;
  *fresh = used;
  metrics_free(fresh);
}

void metrics_merge(struct metrics *into, struct metrics *from)
{
  if (from->unsent_due_ns > into->unsent_due_ns)
    into->unsent_due_ns = from->unsent_due_ns;
  merge_planned(into, from);
  merge_counts(&into->counts, &from->counts);
  merge_window(into, from);
  merge_gaps(into, from);
  merge_rows(into, from);
  hist_merge(&into->connect, &from->connect);
  series_merge(&into->series, &from->series);
  errors_merge(&into->errors, &from->errors);
  for (size_t i = 0; i < from->n_finish; i++)
    add_finish(into, from->finish[i].reason, from->finish[i].count);
  note_content_type(into, from->content_type_id, from->content_type);
  empty(from);
}
