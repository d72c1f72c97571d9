/* content.h -- what one choice of an answer says, event by event.
 * An event holds up to `chunk` tokens of one kind; reasoning comes first.
 * Tool calls come interleaved: event e belongs to call e % calls, whose first
 * event names the function and whose others are pieces of its arguments. */
#ifndef STOKE_MOCK_CONTENT_H
#define STOKE_MOCK_CONTENT_H

#include "mock/plan.h"

struct mock_content {
  const struct mock_plan *plan;
  uint64_t seed;
  uint64_t tokens; /* of the choice */
  uint64_t chunk;
  uint64_t reasoning, tool_calls; /* both <= tokens */
  uint64_t events;
};

enum mock_kind {
  MOCK_CONTENT,
  MOCK_REASONING,
  MOCK_TOOL_NAME,
  MOCK_TOOL_ARGS,
  MOCK_REFUSAL
};

struct mock_piece {
  enum mock_kind kind;
  uint64_t call; /* of a tool piece */
  uint64_t first, tokens;
};

void mock_content_init(struct mock_content *c, const struct mock_plan *plan,
                       uint64_t seed, uint64_t tokens, bool chat);
/* Event `e` < c->events. */
struct mock_piece mock_content_piece(const struct mock_content *c, uint64_t e);
/* Append its text, as the inside of a JSON string. */
void mock_content_text(const struct mock_content *c, uint64_t e,
                       struct buf *out);

#endif
