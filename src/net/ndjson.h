/* ndjson.h -- incremental splitter for newline-delimited JSON.
 * Bytes go in in pieces of any size, one callback per line that isn't blank
 * comes out. Lines end at LF; a CR before it is dropped with the blanks
 * around the line. It doesn't look inside a line. */
#ifndef STOKE_NET_NDJSON_H
#define STOKE_NET_NDJSON_H

#include "base/buf.h"

/* `line` is borrowed until the callback returns. `unfinished`: the stream
 * ended where the newline should be. Return nonzero to stop. */
typedef int ndjson_line_cb(struct str line, bool unfinished, void *ud);

#define NDJSON_MAX_LINE ((size_t)16 << 20)

struct ndjson { /* read and written by ndjson.c alone */
  ndjson_line_cb *cb;
  void *ud;
  size_t max_line; /* may be changed between streams */
  struct buf line; /* the part that came before this piece */
};

/* `max_line` 0: NDJSON_MAX_LINE. */
void ndjson_init(struct ndjson *n, size_t max_line, ndjson_line_cb *cb,
                 void *ud);
void ndjson_deinit(struct ndjson *n);
/* Back to the start of a stream; memory is kept, up to a ceiling. */
void ndjson_reset(struct ndjson *n);
/* 0, -1 when a line exceeds max_line, or what the callback returned. After a
 * nonzero return call ndjson_reset. */
int ndjson_feed(struct ndjson *n, const char *p, size_t len);
/* No more bytes will come. */
int ndjson_end(struct ndjson *n);

#endif
