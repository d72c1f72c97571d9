/* random_records.h -- a run of random records, the same for a seed. */
#ifndef STOKE_TESTS_RANDOM_RECORDS_H
#define STOKE_TESTS_RANDOM_RECORDS_H

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "make_record.h"

#define RANDOM_EVENTS 40

struct random_records {
  struct record *records;
  struct record_event *events;
  size_t n;
};

static inline struct record
random_stream(struct rng *r, struct record_event *ev, uint64_t sent)
{
  size_t n = 1 + rng_below(r, RANDOM_EVENTS);
  struct record rec = make_stream(ev, n, sent, 1 + rng_below(r, 300 * MS), 0);
  uint64_t at = rec.first_token_ns;
  int choices = rng_bool(r, 0.1) ? 2 : 1;
  bool told = rng_bool(r, 0.3);
  int64_t sum = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t tokens = told ? rng_int(r, 0, 5) : 0;
    at += i ? rng_below(r, 60 * MS) : 0;
    sum += tokens;
    ev[i] = record_event_make(sent, at, (int)rng_below(r, (uint64_t)choices),
                              tokens);
  }
  rec.last_token_ns = at;
  rec.done_ns = at + rng_below(r, MS);
  rec.first_answer_ns = rng_bool(r, 0.1) ? 0 : rec.first_token_ns;
  rec.tokens = told ? sum : rng_int(r, 0, (int64_t)n * 3);
  if (rng_bool(r, 0.1)) {
    rec.tokens = (int64_t)n;
    rec.token_source = TOKENS_CHUNKS;
  }
  return rec;
}

static inline struct record random_failure(struct rng *r, uint64_t sent)
{
  static const char *const words[] = {"overloaded", "port 8001 refused",
                                      "port 8002 refused", NULL};
  /* Few enough that all groups of errors are kept (errors.h). */
  static const enum outcome kinds[] = {OUTCOME_HTTP_5XX, OUTCOME_CANCELLED,
                                       OUTCOME_RESET, OUTCOME_EMPTY};
  enum outcome o = kinds[rng_below(r, 4)];
  return make_failed(sent, rng_below(r, 200 * MS), o,
                     rng_bool(r, 0.5) ? 500 + (int)rng_below(r, 3) : 0,
                     words[rng_below(r, 4)]);
}

static inline struct record random_record(struct rng *r,
                                          struct record_event *ev)
{
  static const char *const finish[] = {"stop", "length", "tool_calls", ""};
  uint64_t sent = T0 + rng_below(r, 5 * NS_PER_SEC);
  struct record rec;
  if (rng_bool(r, 0.15))
    rec = random_failure(r, sent);
  else if (rng_bool(r, 0.15))
    rec = make_plain(sent, rng_below(r, 900 * MS), rng_int(r, 0, 100));
  else
    rec = random_stream(r, ev, sent);
  if (rec.outcome == OUTCOME_OK) {
    strcpy(rec.finish_reason, finish[rng_below(r, 4)]);
    rec.prompt_tokens = rng_int(r, -1, 900);
    rec.cached_tokens = rng_int(r, -1, 50);
    rec.planned_prompt_tokens = rng_int(r, -1, 900);
  }
  if (rng_bool(r, 0.1)) {
    rec.reused = false;
    rec.connected_ns = sent + rng_below(r, MS);
  }
  rec.due_ns = sent - rng_below(r, rng_bool(r, 0.1) ? 30 * MS : MS / 10);
  rec.capped = rng_bool(r, 0.05);
  rec.phase = rng_bool(r, 0.05) ? PHASE_WARMUP : PHASE_MEASURE;
  rec.slo_tpot_ns = rng_bool(r, 0.3) ? rng_below(r, 60 * MS) : 0;
  return rec;
}

static inline struct random_records random_records(uint64_t seed, size_t n)
{
  struct random_records all = {
      .n = n,
      .records = mem_zalloc(n, sizeof(struct record)),
      .events = mem_zalloc(n * RANDOM_EVENTS, sizeof(struct record_event))};
  struct rng r;
  rng_init(&r, seed, RNG_MOCK, 1);
  for (size_t i = 0; i < n; i++) {
    all.records[i] = random_record(&r, all.events + i * RANDOM_EVENTS);
    all.records[i].id = i + 1;
  }
  return all;
}

static inline void random_records_free(struct random_records *all)
{
  mem_free(all->records);
  mem_free(all->events);
}

#endif
