/* wire_int.h -- the inside of a wire, for the wire files alone. */
#ifndef STOKE_NET_WIRE_INT_H
#define STOKE_NET_WIRE_INT_H

#include "net/dialect.h"
#include "net/kept.h"
#include "net/ndjson.h"
#include "net/sse.h"
#include "base/walk.h"
#include "net/wire.h"

enum wire_mode {
  WIRE_MODE_GUESS, /* the first bytes decide; they are in `waiting` */
  WIRE_MODE_SSE,
  WIRE_MODE_NDJSON,
  WIRE_MODE_PLAIN, /* one document, read at its end */
  WIRE_MODE_BYTES, /* an error's body, or raw */
  WIRE_MODE_OVER,  /* beyond repair: nothing more is read */
};

enum { WIRE_TEXTS = 4 }; /* content, reasoning, refusal, audio */

struct wire_tool { /* a fragment of a tool call, borrowed from the event */
  int64_t index;   /* -1: not told */
  struct walk_value id, name, arguments; /* raw.len 0: not told */
};

/* What the event in hand has said so far about the choice in hand. All raw
 * strings are borrowed from the event. */
struct wire_choice {
  struct str texts[WIRE_TEXTS];
  struct wire_tool tool;
  bool has_tool;
  int64_t index; /* -1: not told */
  struct str finish;
  unsigned fields; /* what was non-empty: payload */
  unsigned parts;  /* those of them that came as elements of an array */
  struct str text; /* the first one */
};

/* What the walker reported of an event: places whose values mean something. */
struct wire_read {
  struct str values[24];
  unsigned n; /* more than fit: not all are known */
};

struct wire_event {
  struct wire_choice choice;
  bool choice_is_clean;        /* it holds nothing of the event before */
  int position;                /* elements of choices[] that ended */
  int64_t completion_tokens;   /* -1: not in this event */
  struct wire_payload waiting; /* told when the event's usage is known */
  bool is_waiting;
  unsigned told;  /* payloads told or waiting */
  unsigned texts; /* in them */
  bool effects;   /* it said more than text: never predicted from */
  bool listed;    /* there were elements in choices[] */
  bool failed;    /* its error member or kind says so */
  struct wire_read read;
};

/* The last event that was nothing but one text between two fixed pieces: the
 * next one usually differs in the text alone, or in one value besides that
 * nobody reads. */
struct wire_shape {
  struct buf bytes; /* the piece in front, up to the opening quote; then the
                     * one behind, from the closing quote */
  size_t prefix, suffix; /* 0: nothing learnt */
  size_t hole, hole_len; /* in bytes: that value; hole 0: there is none */
  bool hole_is_string;   /* else digits */
  unsigned tries;        /* to find one */
  const struct paths *paths;
  struct wire_payload payload;
  struct kept *kept; /* where its text goes; NULL: nowhere */
};

struct wire_tools {
  struct wire_tool_call *calls;
  struct joiner *joiners; /* one per call, for its arguments */
  size_t n, room;
  struct wire_tool *pending; /* of the choice in hand, whose index may come
                              * behind them */
  size_t n_pending, pending_room;
};

struct wire {
  struct wire_config c;
  wire_payload_cb *cb;
  void *ud;
  enum wire_mode mode, declared; /* what it is; what the head said */
  int status;
  bool is_success;
  bool complete; /* the message ended properly; known in wire_end */
  struct sse sse;
  struct ndjson ndjson;
  struct buf waiting; /* the first bytes, while they say too little */
  struct buf body;
  uint64_t n_bytes;
  int stopped; /* what the callback returned */

  struct wire_event event;
  struct wire_shape shape;
  struct kept text, reasoning, refusal;
  struct wire_tools tools;
  int64_t cached_beside; /* -1: not told */

  bool done;   /* "[DONE]" */
  bool ended;  /* the dialect's own end */
  bool answer; /* something that only an API answer says was seen */
  uint64_t chosen[WIRE_MAX_CHOICES / 64];   /* choices with payload */
  uint64_t finished[WIRE_MAX_CHOICES / 64]; /* choices with a finish */
  struct wire_result r;
};

/* ---- wire_event.c: one JSON document ---- */

/* Read an event. -1 when it isn't JSON; what it said before the trouble may
 * have been recorded. w->stopped holds what the callback returned. */
int wire_event_read(struct wire *w, struct str name, struct str data);
/* More than text is about to change: true when that may go on. */
bool wire_settle(struct wire *w);
/* Read a plain answer. 0, or -1 when it isn't JSON. */
int wire_event_read_plain(struct wire *w, struct str document);

/* ---- wire_tools.c: tool calls, merged ---- */

void wire_tools_reset(struct wire_tools *t);
void wire_tools_free(struct wire_tools *t);
/* One fragment of the choice in hand; borrowed until _merge. */
void wire_tools_add(struct wire_tools *t, const struct wire_tool *fragment);
/* The choice in hand is `choice`. `max` bounds the arguments of a call. */
void wire_tools_merge(struct wire_tools *t, int choice, size_t max);
void wire_tools_end(struct wire_tools *t);

/* ---- wire_shape.c: the fast path ---- */

/* `data` is the shape's pieces with another non-empty text between: the
 * walker would tell the shape's payload with this *text. */
bool wire_shape_match(const struct wire_shape *s, const struct paths *paths,
                      struct str data, struct str *text);
/* The walker has read `data`, `read` and nothing else of it. */
void wire_shape_learn(struct wire_shape *s, const struct paths *paths,
                      struct str data, const struct wire_payload *payload,
                      const struct wire_read *read);
void wire_shape_forget(struct wire_shape *s);

/* ---- wire.c ---- */

/* The request failed; the first failure is kept. `message` may be NULL. */
void wire_fail(struct wire *w, enum outcome o, const char *message);
/* The same with the words that `body` holds. */
void wire_fail_with(struct wire *w, enum outcome o, struct str body);
/* ... and with ours: "what: the beginning of text". */
void wire_fail_quoting(struct wire *w, enum outcome o, const char *what,
                       struct str text);
/* No more bytes will come to guess from. */
void wire_settle_mode(struct wire *w);

#endif
