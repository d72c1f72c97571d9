/* foreign.h -- the JSON of answers that are not OpenAI's chats and
 * completions: responses, Anthropic's messages, Ollama's lines, embeddings
 * and rankings. Pure text, as reply.h is: no framing, no time. */
#ifndef STOKE_MOCK_FOREIGN_H
#define STOKE_MOCK_FOREIGN_H

#include "mock/ask.h"
#include "mock/reply.h"

/* One event of a stream; `name` is NULL where events have none. */
typedef void mock_foreign_cb(const char *name, struct str data, void *ud);

struct mock_foreign {
  const struct mock_reply *reply;
  const struct mock_content *content;
  const char *finish; /* "length", "stop" or "tool_calls" */
  struct mock_usage usage;
  struct buf *scratch;
  mock_foreign_cb *put;
  void *ud;
};

/* What goes before the first token. */
void mock_foreign_begin(const struct mock_foreign *f);
/* Event `e` of the content, with what must be said around it. */
void mock_foreign_piece(const struct mock_foreign *f, uint64_t e);
/* What ends the stream. */
void mock_foreign_end(const struct mock_foreign *f);

/* The body of an answer in one piece, appended to the scratch. `a` says how
 * many vectors or ranks there are. */
void mock_foreign_body(const struct mock_foreign *f, const struct mock_ask *a);

#endif
