#include "report/notes.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"

/* Below this the reasons for failures are what a reader needs first. */
#define SUCCESS_ENOUGH 0.9
/* Kinds of an outcome that are shown; the results file has all. */
#define SAMPLES_SHOWN 3

const char *outcome_hint(enum outcome o, int status)
{
  switch (o) {
  case OUTCOME_DNS: return "check the host name in --url";
  case OUTCOME_CONNECT:
    return "is the server running, and are host and port in --url right?";
  case OUTCOME_TLS:
    return "http instead of https? a private certificate needs --cacert FILE "
           "or --insecure";
  case OUTCOME_PROXY:
    return "check http_proxy, https_proxy and no_proxy in the environment";
  case OUTCOME_CLIENT_RESOURCE:
    return "raise `ulimit -n`, lower --max-concurrency, or use more machines";
  case OUTCOME_AUTH:
    return status == 403 ? "the key may not use this model or path"
                         : "check the key ($OPENAI_API_KEY, --api-key-env)";
  case OUTCOME_NOT_FOUND:
    return "check the path (/v1 once, chat or completions) and --model";
  case OUTCOME_UNPROCESSABLE:
    return "the body doesn't fit the path: check which API it is, and what is "
           "sent";
  case OUTCOME_CONTEXT_LENGTH: return "use shorter prompts or answers";
  case OUTCOME_RATE_LIMITED: return "lower --request-rate or --max-concurrency";
  case OUTCOME_REDIRECT: return "put the address it points to into --url";
  case OUTCOME_NOT_JSON:
    return "is --url an API address? a web page or a gateway answered";
  case OUTCOME_EMPTY:
    return "the stream ended without a token: check the length that is asked "
           "for, and the model's stop conditions";
  case OUTCOME_TIMEOUT_TTFT: return "see --ttft-timeout";
  case OUTCOME_TIMEOUT_IDLE: return "see --idle-timeout";
  case OUTCOME_TIMEOUT_TOTAL: return "see --timeout";
  default: return NULL;
  }
}

static const char *plural(uint64_t n)
{
  return n == 1 ? "" : "s";
}

static double percent(uint64_t part, uint64_t whole)
{
  return whole ? 100 * (double)part / (double)whole : 0;
}

/* ---- failures ---- */

static void write_sample(struct buf *out, const struct error_group *g)
{
  buf_addf(out, "%13llux ", (unsigned long long)g->count);
  if (g->status)
    buf_addf(out, "status %d%s", g->status, g->message[0] ? ": " : "");
  if (g->message[0])
    buf_adds(out, g->message);
  else if (!g->status)
    buf_adds(out, "(no message)");
  buf_addc(out, '\n');
}

/* The kinds of one outcome, most frequent first, and what to try. */
static void write_outcome(struct buf *out, const struct summary *s,
                          enum outcome o)
{
  size_t shown = 0, kinds = 0;
  const char *hint = NULL;
  buf_addf(out, "  %7llu %5.1f %%  %s: %s\n",
           (unsigned long long)s->outcomes[o], percent(s->outcomes[o], s->sent),
           outcome_name(o), outcome_text(o));
  for (size_t i = 0; i < s->errors.len; i++) {
    const struct error_group *g = &s->errors.groups[i];
    if (g->outcome != o)
      continue;
    if (kinds++ == 0)
      hint = outcome_hint(o, g->status);
    if (shown < SAMPLES_SHOWN && (g->status || g->message[0]))
      shown++, write_sample(out, g);
  }
  if (kinds > SAMPLES_SHOWN)
    buf_addf(out, "                and %zu more kinds, in the results file\n",
             kinds - SAMPLES_SHOWN);
  if (hint)
    buf_addf(out, "                hint: %s\n", hint);
}

/* Outcomes but ok, most frequent first. */
static void write_failures(struct buf *out, const struct summary *s)
{
  uint64_t below = UINT64_MAX;
  buf_adds(out, "Requests that did not succeed:\n");
  for (;;) {
    uint64_t most = 0;
    for (int o = 1; o < OUTCOME_COUNT; o++)
      if (s->outcomes[o] < below && s->outcomes[o] > most)
        most = s->outcomes[o];
    if (!most)
      break;
    for (int o = 1; o < OUTCOME_COUNT; o++)
      if (s->outcomes[o] == most)
        write_outcome(out, s, (enum outcome)o);
    below = most;
  }
}

static bool failures_first(const struct summary *s)
{
  return summary_success_rate(s) < SUCCESS_ENOUGH;
}

/* ---- before the table ---- */

static void write_stopped(struct buf *out, const struct summary *s,
                          const struct run_info *r)
{
  uint64_t asked = r->num_sessions ? r->num_sessions : r->num_requests;
  uint64_t begun = r->num_sessions ? r->sessions_begun : s->sent;
  bool short_of = asked && begun < asked;
  if (!short_of && !r->interrupted)
    return;
  buf_addf(out, "Stopped early (%s)",
           r->stop_reason ? r->stop_reason : "no reason was told");
  if (asked)
    buf_addf(out, ": %llu of %llu %s", (unsigned long long)begun,
             (unsigned long long)asked,
             r->num_sessions ? "sessions began" : "requests were sent");
  buf_adds(out, ".\n");
}

static void write_limited(struct buf *out, const struct client_verdict *v)
{
  if (!v->limited)
    return;
  buf_adds(out, "LIMITED BY THE CLIENT: these figures say more about this "
                "client than about the server.\n");
  for (size_t i = 0; i < v->n; i++)
    buf_addf(out, "  - %s\n", v->reasons[i]);
}

void notes_before(struct buf *out, const struct summary *s,
                  const struct run_info *r)
{
  write_stopped(out, s, r);
  write_limited(out, &s->verdict);
  if (failures_first(s)) {
    buf_addf(out, "Only %.1f %% of the requests succeeded.\n",
             summary_success_rate(s) * 100);
    write_failures(out, s);
  }
}

/* ---- after the table ---- */

static void write_success(struct buf *out, const struct summary *s,
                          const struct run_info *r)
{
  if (s->sent == 0) {
    bool over = r->stop_reason && strcmp(r->stop_reason, "exhausted") == 0;
    buf_addf(out, "Success rate: n/a (no request was sent%s)\n",
             over ? ": the scenario had nothing to send; is a return missing?"
                  : "");
    return;
  }
  buf_adds(out, "Success rate: ");
  if (isnan(summary_success_rate(s)))
    buf_adds(out, "n/a");
  else
    buf_addf(out, "%.2f %%", summary_success_rate(s) * 100);
  buf_addf(out, " (%llu of %llu request%s", (unsigned long long)s->completed,
           (unsigned long long)s->sent, plural(s->sent));
  if (s->cancelled)
    buf_addf(out, "; %llu cancelled", (unsigned long long)s->cancelled);
  if (s->unsent)
    buf_addf(out, "; %llu due but never sent", (unsigned long long)s->unsent);
  buf_adds(out, ")\n");
}

static void add_ms(struct buf *out, const char *what, double ms)
{
  if (!isnan(ms))
    buf_addf(out, ", %s %.2f ms", what, ms);
}

static void write_verdict(struct buf *out, const struct summary *s)
{
  double most = 0;
  for (size_t i = 0; i < s->client.threads; i++)
    most = fmax(most, s->client.cpu_share[i]);
  buf_addf(out, "Client: %s", s->verdict.limited ? "limited, see above" : "ok");
  add_ms(out, "send lag p99", s->send_lag.p[LATENCY_P99]);
  add_ms(out, "loop lag p99", s->loop_lag.p[LATENCY_P99]);
  if (s->client.threads)
    buf_addf(out, ", busiest thread %.0f %% of a CPU", most * 100);
  if (!isnan(s->planned_rps))
    buf_addf(out, ", %.4g of %.4g requests/s", s->achieved_rps, s->planned_rps);
  if (s->retries)
    buf_addf(out, ", %llu sent again", (unsigned long long)s->retries);
  buf_addc(out, '\n');
}

static void note_streams(struct buf *out, const struct summary *s)
{
  if (s->not_streamed)
    buf_addf(out,
             "note: %llu response%s %s not streamed (content-type %s): no "
             "TTFT, TPOT and ITL for %s\n",
             (unsigned long long)s->not_streamed, plural(s->not_streamed),
             s->not_streamed == 1 ? "was" : "were",
             s->content_type[0] ? s->content_type : "missing",
             s->not_streamed == 1 ? "it" : "them");
  if (s->bunched * 2 > s->many_events)
    buf_addf(out,
             "note: streams look buffered: in %.0f %% of the answers all "
             "chunks came within 1 ms; is there a proxy on the way?\n",
             percent(s->bunched, s->many_events));
}

static void note_tokens(struct buf *out, const struct summary *s)
{
  uint64_t chunks = s->output_sources[TOKENS_CHUNKS];
  uint64_t own = s->output_sources[TOKENS_TOKENIZER];
  uint64_t planned = s->prompt_sources[TOKENS_PLANNED];
  if (chunks)
    buf_addf(out,
             "note: output tokens are approximate: counted as chunks in %.0f "
             "%% of the answers, which told no usage\n",
             percent(chunks, s->completed));
  if (own)
    buf_addf(out,
             "note: output tokens by our tokenizer in %.0f %% of the answers, "
             "which told no usage\n",
             percent(own, s->completed));
  if (planned)
    buf_addf(out,
             "note: prompt tokens are as planned in %.0f %% of the answers, "
             "which told no usage\n",
             percent(planned, s->completed));
  if (s->tokens_per_chunk > 1.05)
    buf_addf(out,
             "note: %.2f tokens a chunk: ITL is the time between chunks, "
             "TPOT the time per token\n",
             s->tokens_per_chunk);
}

static void note_prompts(struct buf *out, const struct summary *s)
{
  double planned = (double)s->planned_tokens;
  double actual = (double)s->planned_actual_tokens;
  uint64_t n = s->planned_requests;
  if (s->cached_tokens * 100 >= s->input_tokens && s->cached_tokens)
    buf_addf(out,
             "note: %.1f %% of the prompt tokens came from the server's cache: "
             "TTFT is that of a warm server\n",
             percent(s->cached_tokens, s->input_tokens));
  if (n && fabs(actual - planned) > 0.02 * planned)
    buf_addf(out,
             "note: prompts were planned with %.0f tokens and had %.0f (mean; "
             "%+.1f %%): the figures use what the server counted\n",
             planned / (double)n, actual / (double)n,
             planned > 0 ? 100 * (actual - planned) / planned : 100);
}

static void note_answers(struct buf *out, const struct summary *s)
{
  if (s->no_token)
    buf_addf(out,
             "note: %llu request%s had no token: in no TTFT, TPOT or ITL\n",
             (unsigned long long)s->no_token, plural(s->no_token));
  if (s->refusals)
    buf_addf(out, "note: %llu answer%s held a refusal\n",
             (unsigned long long)s->refusals, plural(s->refusals));
  if (s->empty_length * 2 > s->completed)
    buf_addf(out,
             "note: %.0f %% of the answers ended by length before any answer "
             "text (reasoning took it all): raise --max-tokens\n",
             percent(s->empty_length, s->completed));
}

static void note_capped(struct buf *out, const struct summary *s,
                        const struct run_info *r)
{
  /* Only where there is a timetable: a closed loop always waits for a slot. */
  if (isnan(s->planned_rps) || s->capped * 100 <= s->sent)
    return;
  buf_addf(out,
           "note: %.0f %% of the requests waited for a free slot "
           "(--max-concurrency %llu): queue p99 %.1f ms; the rate asked for "
           "was not reached by the server\n",
           percent(s->capped, s->sent), (unsigned long long)r->max_concurrency,
           s->latency[FIGURE_QUEUE].p[LATENCY_P99]);
}

static void note_script(struct buf *out, const struct client *c)
{
  double worst = ns_to_ms(c->script_worst_ns);
  double share = c->wall_ns ? (double)c->script_ns / (double)c->wall_ns : 0;
  if (worst > CLIENT_SCRIPT_MS)
    buf_addf(out, "note: a script hook held the loop for %.1f ms (%s)\n", worst,
             c->script_place);
  if (share > CLIENT_SCRIPT_SHARE)
    buf_addf(out, "note: script hooks took %.0f %% of the time\n", share * 100);
}

static void note_bug(struct buf *out, const struct summary *s)
{
  if (s->inconsistent)
    buf_addf(out,
             "note: %llu record%s contradict themselves: a bug of stoke, "
             "please report it\n",
             (unsigned long long)s->inconsistent, plural(s->inconsistent));
}

void notes_after(struct buf *out, const struct summary *s,
                 const struct run_info *r)
{
  if (s->sent > s->completed && !failures_first(s))
    write_failures(out, s);
  write_success(out, s, r);
  write_verdict(out, s);
  note_streams(out, s);
  note_tokens(out, s);
  note_prompts(out, s);
  note_answers(out, s);
  note_capped(out, s, r);
  note_script(out, &s->client);
  note_bug(out, s);
}
