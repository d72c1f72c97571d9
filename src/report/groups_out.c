#include "report/groups_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/field.h"
#include "report/latency_out.h"

static const struct stage_names no_stages;

/* ---- one group ---- */

static double per_second(uint64_t n, const struct summary *s)
{
  return s->duration_s > 0 ? (double)n / s->duration_s : NAN;
}

static void write_outcomes(struct json_writer *w, const struct group *g)
{
  field_object(w, "outcomes");
  for (int o = 0; o < OUTCOME_COUNT; o++)
    if (g->outcomes[o])
      field_count(w, outcome_name((enum outcome)o), g->outcomes[o]);
  json_end_object(w);
}

static void write_group(struct json_writer *w, const struct group *g,
                        const struct summary *s)
{
  field_count(w, "sent", g->sent);
  field_count(w, "completed", g->completed);
  field_count(w, "failed", g->failed);
  field_count(w, "cancelled", g->cancelled);
  write_outcomes(w, g);
  if (s->slo)
    field_count(w, "good", g->good);
  field_count(w, "input_tokens", g->input_tokens);
  field_count(w, "output_tokens", g->output_tokens);
  field_number(w, "request_throughput", per_second(g->completed, s));
  field_number(w, "output_throughput", per_second(g->output_tokens, s));
  field_object(w, "latency");
  for (int f = 0; f < FIGURE_COUNT; f++)
    latency_write(w, s, figure_name((enum figure)f), &g->latency[f]);
  json_end_object(w);
}

static void set_term(struct filter *f, struct str name, struct str value)
{
  f->n = 1;
  snprintf(f->terms[0].name, FILTER_TEXT, "%.*s", STR_ARG(name));
  snprintf(f->terms[0].value, FILTER_TEXT, "%.*s", STR_ARG(value));
}

/* ---- turns ---- */

void turns_write(struct json_writer *w, const struct metrics *m,
                 const struct summary *s)
{
  char name[16];
  json_begin_array(w);
  for (unsigned turn = 1; turn <= metrics_turns(m); turn++) {
    struct filter f;
    struct group g;
    set_term(&f, STR("turn"), str_of(turn_name(turn, name)));
    group_build(&g, m, &f, &no_stages, s);
    if (!g.sent)
      continue;
    json_begin_object(w);
    field_count(w, "turn", turn);
    field_boolean(w, "and_beyond", turn == TURN_MORE);
    write_group(w, &g, s);
    json_end_object(w);
  }
  json_end_array(w);
}

/* ---- tags ---- */

static int by_name(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In the order of names: the workers' own order is chance. */
static const char **sorted_tags(const struct metrics *m)
{
  size_t n = metrics_tags(m);
  const char **tags = mem_zalloc(n, sizeof *tags);
  for (size_t i = 0; i < n; i++)
    tags[i] = metrics_tag(m, i);
  if (n)
    qsort(tags, n, sizeof *tags, by_name);
  return tags;
}

static struct group group_of(struct str tag, const struct metrics *m,
                             const struct summary *s)
{
  struct str value = tag, name = str_split(&value, '=');
  struct filter f;
  struct group g;
  set_term(&f, name, value);
  group_build(&g, m, &f, &no_stages, s);
  return g;
}

void tags_write(struct json_writer *w, const struct metrics *m,
                const struct summary *s)
{
  const char **tags = sorted_tags(m);
  struct str open = {0};
  json_begin_object(w);
  for (size_t i = 0; i < metrics_tags(m); i++) {
    struct str value = str_of(tags[i]), name = str_split(&value, '=');
    struct group g = group_of(str_of(tags[i]), m, s);
    if (!open.p || !str_eq(open, name)) {
      if (open.p)
        json_end_object(w);
      json_key_str(w, name);
      json_begin_object(w);
      open = name;
    }
    json_key_str(w, value);
    json_begin_object(w);
    write_group(w, &g, s);
    json_end_object(w);
  }
  if (open.p)
    json_end_object(w);
  json_end_object(w);
  mem_free(tags);
}

static void show_ms(struct buf *out, const char *what, double ms)
{
  if (!isnan(ms))
    buf_addf(out, ", %s %.2f ms", what, ms);
}

void tags_show(struct buf *out, const struct metrics *m,
               const struct summary *s)
{
  const char **tags = sorted_tags(m);
  if (metrics_tags(m))
    buf_adds(out, "Tags:\n");
  for (size_t i = 0; i < metrics_tags(m); i++) {
    struct group g = group_of(str_of(tags[i]), m, s);
    const struct latency *ttft = &g.latency[FIGURE_TTFT];
    buf_addf(out, "  %-30s %llu succeeded, %llu failed", tags[i],
             (unsigned long long)g.completed, (unsigned long long)g.failed);
    show_ms(out, "TTFT p50", ttft->p[LATENCY_P50]);
    show_ms(out, "p99", ttft->p[LATENCY_P99]);
    buf_addc(out, '\n');
  }
  if (metrics_crowded(m))
    buf_addf(out,
             "warning: too many different tags: %llu requests are counted "
             "under (other); a tag is for a few classes of requests\n",
             (unsigned long long)metrics_crowded(m));
  mem_free(tags);
}
