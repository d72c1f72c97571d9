#include "stats/record.h"

#include <assert.h>

#include "base/clock.h"

const char *token_source_name(enum token_source s)
{
  static const char *const names[] = {"none", "usage", "tokenizer", "chunks",
                                      "planned"};
  assert(s < TOKEN_SOURCES);
  return names[s];
}

/* later - earlier when both happened. */
static bool between(uint64_t earlier, uint64_t later, uint64_t *out)
{
  if (!earlier || !later)
    return false;
  *out = ns_since(earlier, later);
  return true;
}

static bool succeeded(const struct record *r)
{
  return r->outcome == OUTCOME_OK;
}

/* The instant that ends the latency of an answer. */
static uint64_t answer_end(const struct record *r)
{
  return r->streamed ? r->last_token_ns : r->done_ns;
}

bool record_queue(const struct record *r, uint64_t *out)
{
  *out = r->due_ns ? ns_since(r->due_ns, r->sent_ns) : 0;
  return r->sent_ns != 0;
}

bool record_ttft(const struct record *r, uint64_t *out)
{
  return succeeded(r) && r->streamed &&
         between(r->sent_ns, r->first_token_ns, out);
}

bool record_ttfat(const struct record *r, uint64_t *out)
{
  return succeeded(r) && r->streamed &&
         between(r->sent_ns, r->first_answer_ns, out);
}

bool record_ttfb(const struct record *r, uint64_t *out)
{
  return between(r->sent_ns, r->first_byte_ns, out);
}

bool record_e2el(const struct record *r, uint64_t *out)
{
  return succeeded(r) && between(r->sent_ns, answer_end(r), out);
}

bool record_tpot(const struct record *r, double *out_ns)
{
  uint64_t ns;
  if (!succeeded(r) || !r->streamed || r->tokens < 2 ||
      !between(r->first_token_ns, r->last_token_ns, &ns))
    return false;
  *out_ns = (double)ns / (double)(r->tokens - 1);
  return true;
}

/* From due where there is one: a record without a timetable was due when it
 * was sent. */
static uint64_t due(const struct record *r)
{
  return r->due_ns ? r->due_ns : r->sent_ns;
}

bool record_ttft_due(const struct record *r, uint64_t *out)
{
  return record_ttft(r, out) && between(due(r), r->first_token_ns, out);
}

bool record_e2el_due(const struct record *r, uint64_t *out)
{
  return record_e2el(r, out) && between(due(r), answer_end(r), out);
}

bool record_connect(const struct record *r, uint64_t *out)
{
  return !r->reused && between(r->sent_ns, r->connected_ns, out);
}

void record_gaps(const struct record *r, record_gap_cb *gap, void *ud)
{
  uint64_t last[RECORD_EVENT_MAX_CHOICE + 1], seen = 0;
  for (size_t i = 0; i < r->n_events; i++) {
    unsigned choice = r->events[i].choice;
    uint64_t at = r->events[i].after_ns, bit = UINT64_C(1) << choice;
    if (seen & bit)
      gap(ns_since(last[choice], at), ud);
    seen |= bit;
    last[choice] = at;
  }
}

/* weight / weights of the tokens, rounded down. */
static uint64_t share(uint64_t tokens, uint64_t weight, uint64_t weights)
{
  /* One token an event is the usual case, and a division per event is not
   * free at millions of events a second. */
  if (tokens == weights)
    return weight;
  return (uint64_t)((unsigned __int128)weight * tokens / weights);
}

/* Tokens that usage told inside the stream; 0 when it told none. */
static uint64_t tokens_told(const struct record *r)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < r->n_events; i++)
    sum += r->events[i].tokens;
  return sum;
}

/* Whatever its usage says. */
static bool is_without_tokens(const struct record *r)
{
  return r->outcome == OUTCOME_EMPTY || (r->streamed && !r->last_token_ns);
}

void record_token_times(const struct record *r, record_token_cb *arrived,
                        void *ud)
{
  uint64_t told = tokens_told(r), weight = 0, given = 0;
  uint64_t weights = told ? told : r->n_events;
  uint64_t tokens = r->tokens >= 0 ? (uint64_t)r->tokens : r->n_events;
  if (r->n_events == 0) {
    uint64_t at = r->last_token_ns ? r->last_token_ns : r->done_ns;
    if (tokens && at && !is_without_tokens(r))
      arrived(at, tokens, ud);
    return;
  }
  /* Rounding the running total, not each share, keeps the sum exact. */
  for (size_t i = 0; i < r->n_events; i++) {
    uint64_t upto;
    weight += told ? r->events[i].tokens : 1;
    upto = share(tokens, weight, weights);
    if (upto > given)
      arrived(r->sent_ns + r->events[i].after_ns, upto - given, ud);
    given = upto;
  }
}

static bool events_consistent(const struct record *r)
{
  for (size_t i = 1; i < r->n_events; i++)
    if (r->events[i].after_ns < r->events[i - 1].after_ns)
      return false;
  return true;
}

bool record_consistent(const struct record *r)
{
  /* In the order in which they must have happened. `headers` and `written`
   * are no part of it: an answer may start before the body was sent. */
  const uint64_t order[] = {
      r->due_ns,          r->sent_ns,       r->first_byte_ns, r->first_token_ns,
      r->first_answer_ns, r->last_token_ns, r->done_ns};
  uint64_t before = 0;
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    if (order[i] && order[i] < before)
      return false;
    before = order[i] ? order[i] : before;
  }
  /* What the script broke before it could be sent has no instants. */
  if (!r->sent_ns)
    return r->outcome != OUTCOME_OK && !r->first_byte_ns && !r->first_token_ns;
  return r->done_ns && !r->first_token_ns == !r->last_token_ns &&
         (!r->first_answer_ns || r->first_token_ns) && events_consistent(r);
}
