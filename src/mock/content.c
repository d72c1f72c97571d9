#include "mock/content.h"

#include "mock/words.h"

static uint64_t up_to(int64_t x, uint64_t most)
{
  return x < 0 ? 0 : (uint64_t)x < most ? (uint64_t)x : most;
}

static uint64_t events_for(const struct mock_content *c, uint64_t tokens)
{
  return (tokens + c->chunk - 1) / c->chunk;
}

void mock_content_init(struct mock_content *c, const struct mock_plan *plan,
                       uint64_t seed, uint64_t tokens, bool chat)
{
  *c = (struct mock_content){.plan = plan,
                             .seed = seed,
                             .tokens = tokens,
                             .chunk = (uint64_t)plan->chunk};
  if (chat) {
    c->reasoning = up_to(plan->reasoning, tokens);
    c->tool_calls = up_to(plan->tool_calls, tokens - c->reasoning);
  }
  c->events =
      events_for(c, c->reasoning) + events_for(c, c->tokens - c->reasoning);
}

struct mock_piece mock_content_piece(const struct mock_content *c, uint64_t e)
{
  uint64_t thinking = events_for(c, c->reasoning);
  struct mock_piece p = {.kind = MOCK_REASONING};
  uint64_t end = c->reasoning;
  p.first = e * c->chunk;
  if (e >= thinking) {
    p.first = c->reasoning + (e - thinking) * c->chunk;
    end = c->tokens;
    p.kind = c->plan->refusal ? MOCK_REFUSAL : MOCK_CONTENT;
    if (c->tool_calls) {
      p.call = (e - thinking) % c->tool_calls;
      p.kind = e - thinking < c->tool_calls ? MOCK_TOOL_NAME : MOCK_TOOL_ARGS;
    }
  }
  p.tokens = end - p.first < c->chunk ? end - p.first : c->chunk;
  return p;
}

/* The arguments of a call are {"text":"..."}: opened by its second event,
 * closed by its last. A call of one event has {}. */
static void tool_text(const struct mock_content *c, uint64_t e,
                      const struct mock_piece *p, struct buf *out)
{
  uint64_t mine = e - events_for(c, c->reasoning);
  uint64_t all = c->events - events_for(c, c->reasoning);
  bool last = mine + c->tool_calls >= all;
  if (p->kind == MOCK_TOOL_NAME) {
    if (last)
      buf_adds(out, "{}");
    return;
  }
  if (mine < 2 * c->tool_calls)
    buf_adds(out, "{\\\"text\\\":\\\"");
  for (uint64_t k = 0; k < p->tokens; k++)
    mock_words_token(out, MOCK_TEXT_WORDS, c->seed, p->first + k);
  if (last)
    buf_adds(out, "\\\"}");
}

void mock_content_text(const struct mock_content *c, uint64_t e,
                       struct buf *out)
{
  struct mock_piece p = mock_content_piece(c, e);
  if (p.kind == MOCK_TOOL_NAME || p.kind == MOCK_TOOL_ARGS) {
    tool_text(c, e, &p, out);
    return;
  }
  for (uint64_t k = p.first; k < p.first + p.tokens; k++) {
    if ((int64_t)k == c->plan->blank_at)
      continue;
    if (c->plan->huge_bytes >= 0 && (k == 0 || c->plan->huge_all))
      mock_words_fill(out, c->seed, (uint64_t)c->plan->huge_bytes);
    else
      mock_words_token(out, c->plan->text, c->seed, k);
  }
}
