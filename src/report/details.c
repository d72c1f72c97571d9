#include "report/details.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "report/field.h"

struct details_shard {
  struct detail *list;
  size_t n, cap;
};

/* ---- life ---- */

void details_init(struct details *d, unsigned workers)
{
  *d = (struct details){
      .shards = mem_zalloc(workers ? workers : 1, sizeof *d->shards),
      .n_shards = workers ? workers : 1,
  };
}

static void free_list(struct detail *list, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    mem_free(list[i].gaps);
    mem_free(list[i].text);
    mem_free(list[i].error);
  }
  mem_free(list);
}

void details_free(struct details *d)
{
  for (unsigned i = 0; i < d->n_shards; i++)
    free_list(d->shards[i].list, d->shards[i].n);
  mem_free(d->shards);
  free_list(d->list, d->n);
  *d = (struct details){0};
}

/* ---- in ---- */

static void add_gap(uint64_t gap_ns, void *ud)
{
  struct detail *d = ud;
  d->gaps[d->n_gaps++] = gap_ns;
}

/* A role's event comes before all others, a finish's behind them. */
static void add_hollows(struct detail *d, const struct record *r)
{
  if (!d->streamed || !r->first_token_ns)
    return;
  if (r->role_ns) {
    memmove(d->gaps + 1, d->gaps, d->n_gaps * sizeof *d->gaps);
    d->gaps[0] = ns_since(r->role_ns, r->first_token_ns);
    d->n_gaps++;
    d->ttft_ns = ns_since(r->sent_ns, r->role_ns);
  }
  if (r->finish_ns >= r->last_token_ns) {
    d->gaps[d->n_gaps++] = ns_since(r->last_token_ns, r->finish_ns);
    d->end_ns = r->finish_ns;
    if (d->ok)
      d->e2el_ns = ns_since(r->sent_ns, r->finish_ns);
  }
}

static char *copy(const char *text)
{
  return text && text[0] ? mem_strdup(text) : NULL;
}

static void fill(struct detail *d, const struct record *r,
                 const struct details *all)
{
  *d = (struct detail){
      .id = r->id,
      .sent_ns = r->sent_ns,
      .end_ns = r->last_token_ns ? r->last_token_ns : r->done_ns,
      .ok = r->outcome == OUTCOME_OK,
      .cancelled = r->outcome == OUTCOME_CANCELLED,
      .streamed = r->streamed,
      .ttft_ns = ns_since(r->sent_ns, r->first_token_ns),
      .input = r->prompt_tokens > 0 ? r->prompt_tokens : 0,
  };
  record_queue(r, &d->queue_ns);
  if (!r->streamed && d->ok)
    d->end_ns = r->done_ns;
  if (!r->streamed)
    d->ttft_ns = 0;
  d->gaps = mem_alloc((r->n_events + 2) * sizeof *d->gaps);
  record_gaps(r, add_gap, d);
  if (d->ok) {
    d->output = r->tokens > 0 ? r->tokens : 0;
    record_e2el(r, &d->e2el_ns);
  } else {
    d->error = copy(r->message && r->message[0] ? r->message
                                                : outcome_text(r->outcome));
  }
  if (all->hollows)
    add_hollows(d, r);
  if (all->texts && r->text.len)
    d->text = mem_strndup(r->text.p, r->text.len);
}

void details_add(struct details *d, unsigned worker, const struct record *r)
{
  struct details_shard *s = &d->shards[worker];
  if (r->phase != PHASE_MEASURE || r->http)
    return;
  if (s->n == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 256;
    s->list = mem_resize(s->list, s->cap, sizeof *s->list);
  }
  fill(&s->list[s->n++], r, d);
}

static int by_id(const void *pa, const void *pb)
{
  const struct detail *a = pa, *b = pb;
  return a->id < b->id ? -1 : a->id > b->id;
}

void details_sort(struct details *d)
{
  for (unsigned i = 0; i < d->n_shards; i++) {
    struct details_shard *s = &d->shards[i];
    d->list = mem_resize(d->list, d->n + s->n + 1, sizeof *d->list);
    if (s->n)
      memcpy(d->list + d->n, s->list, s->n * sizeof *s->list);
    d->n += s->n;
    mem_free(s->list);
    *s = (struct details_shard){0};
  }
  qsort(d->list, d->n, sizeof *d->list, by_id);
}

/* ---- out ---- */

void details_write_inputs(struct json_writer *w, const struct details *d)
{
  field_array(w, "input_lens");
  for (size_t i = 0; i < d->n; i++)
    json_integer(w, d->list[i].input);
  json_end_array(w);
}

void details_write_lengths(struct json_writer *w, const struct details *d)
{
  details_write_inputs(w, d);
  field_array(w, "output_lens");
  for (size_t i = 0; i < d->n; i++)
    json_integer(w, d->list[i].output);
  json_end_array(w);
  field_array(w, "ttfts");
  for (size_t i = 0; i < d->n; i++)
    json_number(w, ns_to_sec(d->list[i].ttft_ns));
  json_end_array(w);
  field_array(w, "itls");
  for (size_t i = 0; i < d->n; i++) {
    json_begin_array(w);
    for (size_t k = 0; k < d->list[i].n_gaps; k++)
      json_number(w, ns_to_sec(d->list[i].gaps[k]));
    json_end_array(w);
  }
  json_end_array(w);
}

void details_write_starts(struct json_writer *w, const struct details *d)
{
  field_array(w, "start_times");
  for (size_t i = 0; i < d->n; i++)
    json_number(w, ns_to_sec(d->list[i].sent_ns));
  json_end_array(w);
}

void details_write_errors(struct json_writer *w, const struct details *d)
{
  field_array(w, "errors");
  for (size_t i = 0; i < d->n; i++)
    json_string(w, str_of(d->list[i].error ? d->list[i].error : ""));
  json_end_array(w);
}

void details_write_texts(struct json_writer *w, const struct details *d)
{
  field_array(w, "generated_texts");
  for (size_t i = 0; i < d->n; i++)
    json_string(w, str_of(d->list[i].text ? d->list[i].text : ""));
  json_end_array(w);
  details_write_errors(w, d);
}
