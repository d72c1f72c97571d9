/* ask.h -- what a request body asks for.
 * Reads the JSON of chats, completions and the other APIs as a server
 * does: what it needs, strictly, and nothing else. */
#ifndef STOKE_MOCK_ASK_H
#define STOKE_MOCK_ASK_H

#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "mock/api.h"

#define MOCK_ASK_NAME 128

struct mock_ask {
  enum mock_api api;
  bool chat; /* the answer may think and call tools */
  bool stream, usage, usage_each, ignore_eos;
  int64_t max_tokens; /* -1: not said */
  int64_t choices;    /* n, times the number of prompts */
  char model[MOCK_ASK_NAME];
  char function[MOCK_ASK_NAME]; /* name of the first tool, or "" */
  uint64_t prompt_tokens;       /* whitespace-separated words */
  int64_t inputs;               /* texts to embed, documents to rank */
  int64_t dimensions;           /* of a vector */
  int64_t top;                  /* documents that a ranking names */
  json_value *root;             /* owned */
  const json_value *mock;       /* the body's "mock" object, or NULL */
  json_value *events;           /* mock.events: [[at_ms, "bytes"], ...] */
};

/* Called for the words of the prompt in order; a token id is the word of its
 * bytes (a double's). */
typedef void mock_ask_word_cb(struct str word, void *ud);

/* Fill *a (zeroed here; `api` says the endpoint, and the body is JSON: a form
 * was made so). Returns 0, or -1 with the
 * answer's status and vLLM's words in *status and *why. mock_ask_deinit in
 * both cases. */
int mock_ask_read(struct mock_ask *a, enum mock_api api, struct str body,
                  int *status, struct buf *why);
void mock_ask_words(const struct mock_ask *a, mock_ask_word_cb *word, void *ud);
void mock_ask_deinit(struct mock_ask *a);

/* A fast 64-bit hash of bytes (not cryptographic). */
uint64_t mock_hash(uint64_t seed, struct str s);

#endif
