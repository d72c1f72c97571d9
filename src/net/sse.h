/* sse.h -- incremental parser for text/event-stream (WHATWG HTML 9.2.6).
 * Bytes go in as they come off the wire, in pieces of any size; one callback
 * per event comes out, the same for every way of cutting the stream. It knows
 * nothing of HTTP or JSON and reads no clock.
 *
 * As the standard has it: one BOM in front is dropped; a line ends at LF, CR
 * or CRLF; data lines of an event are joined by LF; one blank after the colon
 * is dropped; an event ends at an empty line; unknown fields are ignored.
 * `id` and `retry` are ignored too: a measured request never reconnects.
 * In two places it tells more than a browser would, and leaves the judgement
 * to the caller:
 * - an event that has a name but no data is handed out (data.p is NULL):
 *   servers announce errors so;
 * - sse_end hands out an event whose empty line never came, marked
 *   `unfinished`. */
#ifndef STOKE_NET_SSE_H
#define STOKE_NET_SSE_H

#include "base/buf.h"

/* Everything is borrowed: valid until the callback returns. */
struct sse_event {
  struct str name;    /* the last event: line, or "" */
  struct str data;    /* p is NULL when there was no data: line at all */
  struct str comment; /* the last comment of the event, <= 300 bytes */
  bool unfinished;
};

/* Return nonzero to stop; sse_feed then returns that value. */
typedef int sse_event_cb(const struct sse_event *e, void *ud);

#define SSE_MAX_EVENT ((size_t)16 << 20)

struct sse { /* read and written by sse.c alone */
  sse_event_cb *cb;
  void *ud;
  size_t max_event; /* may be changed between streams */
  struct buf line;  /* a line that the end of a piece cut */
  struct buf data;  /* the event's data, once it had to be copied */
  struct str whole; /* its only data line so far, still in the caller's piece */
  struct buf name, comment;
  bool has_data, skip_lf;
  unsigned char bom; /* bytes of it seen; 3: the start is behind us */
};

/* `max_event` bounds one line and the data of one event, 0: SSE_MAX_EVENT. */
void sse_init(struct sse *s, size_t max_event, sse_event_cb *cb, void *ud);
void sse_deinit(struct sse *s);
/* Back to the start of a stream; memory is kept, up to a ceiling. */
void sse_reset(struct sse *s);
/* Parse `len` more bytes. Returns 0, or -1 when an event exceeds max_event,
 * or what the callback returned. After a nonzero return call sse_reset. */
int sse_feed(struct sse *s, const char *p, size_t len);
/* No more bytes will come. Returns as sse_feed. */
int sse_end(struct sse *s);

#endif
