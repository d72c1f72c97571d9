/* blast.h -- prepared answers: whole responses, built once, sent by pointer.
 * A page is the complete response for requests that ask for the same thing;
 * sending it costs a few large writes and no work per token. */
#ifndef STOKE_MOCK_BLAST_H
#define STOKE_MOCK_BLAST_H

#include "mock/ask.h"

#define MOCK_PAGES 64

struct mock_page {
  enum mock_api api;
  bool stream, usage, usage_each;
  int64_t choices;
  uint64_t tokens, prompt, cached;
  char model[MOCK_ASK_NAME], function[MOCK_ASK_NAME];
  struct buf bytes;
  uint64_t events;
};

struct mock_blast {
  struct mock_page *pages;
  size_t count;
};

void mock_blast_deinit(struct mock_blast *b);
/* The page for this request, an empty one to be filled if there was none yet;
 * NULL when there are MOCK_PAGES others. */
struct mock_page *mock_blast_page(struct mock_blast *b,
                                  const struct mock_ask *a, uint64_t tokens,
                                  uint64_t cached);

#endif
