/* reply.h -- the JSON of answers, as vLLM spells it.
 * Pure text: no framing, no time. */
#ifndef STOKE_MOCK_REPLY_H
#define STOKE_MOCK_REPLY_H

#include "mock/api.h"
#include "mock/content.h"

struct mock_usage {
  uint64_t prompt, completion, cached, reasoning;
};

struct mock_reply {
  const struct mock_plan *plan;
  enum mock_api api;
  bool chat;            /* a message, not bare text */
  const char *model;    /* borrowed */
  struct buf head;      /* an event up to the index of its choice */
  char id[40];          /* of tool calls */
  const char *function; /* their name */
};

/* The head is written anew; `number` makes the id, `created` is in seconds.
 * `model` and `function` are borrowed for as long as the reply is used. */
void mock_reply_begin(struct mock_reply *r, const struct mock_plan *plan,
                      enum mock_api api, const char *model,
                      const char *function, uint64_t number, uint64_t created);
void mock_reply_deinit(struct mock_reply *r);

/* What a streamed event says of one choice. */
enum mock_delta {
  MOCK_DELTA_PIECE,
  MOCK_DELTA_ROLE,
  MOCK_DELTA_NULL,
  MOCK_DELTA_EMPTY,
  MOCK_DELTA_NONE
};

struct mock_event {
  enum mock_delta delta;
  uint64_t index; /* of the choice, as said */
  /* of MOCK_DELTA_PIECE: */
  const struct mock_content *content;
  uint64_t event;
  bool with_role;
  const char *finish;             /* NULL: null */
  const struct mock_usage *usage; /* NULL: none */
};

/* Append one event's JSON. */
void mock_reply_event(const struct mock_reply *r, const struct mock_event *e,
                      struct buf *out);
/* The event with empty choices and the usage. */
void mock_reply_usage(const struct mock_reply *r, const struct mock_usage *u,
                      struct buf *out);
/* The data of an event that says something went wrong (MOCK_ERROR_NAMED has
 * none). */
void mock_reply_error(enum mock_error_form form, struct buf *out);

/* The body of an answer that is not streamed: `choices` contents. */
void mock_reply_body(const struct mock_reply *r,
                     const struct mock_content *contents, uint64_t choices,
                     const char *finish, const struct mock_usage *u,
                     struct buf *out);
/* {"error":{…}} with vLLM's keys. `message` is already escaped. */
void mock_reply_failure(int status, const char *message, const char *param,
                        struct buf *out);

/* Append x in decimal (printf is too slow for every token). */
void mock_reply_integer(struct buf *out, uint64_t x);

#endif
