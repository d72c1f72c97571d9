/* conn.h -- one connection: bytes in to requests, bytes out in order.
 * Writing is the owner's: bytes are appended to `out` (or lent as `page`) and
 * sent by mock_conn_flush at once; what the socket does not take follows when
 * it is writable. Nothing here is freed in the middle of a call: a closed
 * connection has fd -1 and is recycled in the next turn of the loop. */
#ifndef STOKE_MOCK_CONN_H
#define STOKE_MOCK_CONN_H

#include <ev.h>

#include "base/list.h"
#include "mock/deadline.h"
#include "mock/exchange.h"
#include "mock/http.h"

struct mock;

struct mock_conn {
  struct list node; /* of the server's open, closed or free ones */
  struct mock *m;
  int fd;
  ev_io readable, writable;
  struct mock_deadline idle; /* close when idle; or: read on in `rest` */
  uint64_t number, requests, accept_ns, request_bytes;
  struct mock_http http;
  struct buf rest; /* came behind the request that is being answered */
  struct buf out;
  size_t out_at;
  struct str page; /* borrowed bytes that follow `out` */
  struct mock_exchange x;
};

enum mock_close { MOCK_FIN, MOCK_RST };

/* Serve a connected, non-blocking socket. */
void mock_conn_open(struct mock *m, int fd, uint64_t now);
/* Close now. An exchange under way is abandoned (see exchange.h). */
void mock_conn_close(struct mock_conn *c, enum mock_close how);
/* Recycle what was closed. */
void mock_conn_reap(struct mock *m);
/* Free the memory of a connection that is in no list any more. */
void mock_conn_free(struct mock_conn *c);

/* Send as much as the socket takes. An error closes the connection. */
void mock_conn_flush(struct mock_conn *c);
static inline size_t mock_conn_backlog(const struct mock_conn *c)
{
  return c->out.len - c->out_at + c->page.len;
}
/* The exchange is over and everything is written: next request, or close. */
void mock_conn_next(struct mock_conn *c, bool keep);

#endif
