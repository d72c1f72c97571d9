/* http.h -- reading HTTP/1.x requests, over llhttp.
 * Bytes go in as they come; after each whole request the parser stops until
 * mock_http_next. Answers are not its business. */
#ifndef STOKE_MOCK_HTTP_H
#define STOKE_MOCK_HTTP_H

#include <stdint.h>

#include <llhttp/llhttp.h>

#include "base/buf.h"

#define MOCK_HTTP_HEADERS 64

struct mock_http_span {
  uint32_t at, len; /* in `text` */
};

struct mock_http {
  llhttp_t parser;
  struct buf text; /* the target, then names and values */
  struct mock_http_span target;
  struct mock_http_span names[MOCK_HTTP_HEADERS], values[MOCK_HTTP_HEADERS];
  unsigned headers;
  struct buf body;
  bool complete, keep_alive, too_large;
};

/* Both ceilings in bytes. A zeroed mock_http may be deinitialised. */
void mock_http_init(struct mock_http *h, size_t max_head, size_t max_body);
void mock_http_deinit(struct mock_http *h);
/* Get ready for the next request; memory of a large body is given back. */
void mock_http_next(struct mock_http *h);

/* Reads at most `len` bytes and says how many; fewer only when a request is
 * complete. -1: this is not HTTP, or too large (h->too_large). */
ptrdiff_t mock_http_feed(struct mock_http *h, const char *p, size_t len);

/* The rest are valid while h->complete; what they return is borrowed until
 * mock_http_next. */
struct str mock_http_method(const struct mock_http *h);
/* Without the query. */
struct str mock_http_path(const struct mock_http *h);
struct str mock_http_name(const struct mock_http *h, unsigned i);
struct str mock_http_value(const struct mock_http *h, unsigned i);
/* The first header of that name; {NULL, 0} when there is none. */
struct str mock_http_header(const struct mock_http *h, struct str name);

#endif
