/* journal.h -- the server's own account of each request, in JSON lines.
 * Instants are CLOCK_MONOTONIC in ns, the clock of every process on this
 * machine: a client's can be compared with them directly. README.md lists the
 * fields. */
#ifndef STOKE_MOCK_JOURNAL_H
#define STOKE_MOCK_JOURNAL_H

#include <stdint.h>

#include "base/err.h"
#include "mock/deadline.h"
#include "mock/http.h"

/* What there is to say about a request; 0 and NULL: never happened. */
struct mock_record {
  uint64_t number;     /* of the generation requests, from 1 */
  uint64_t connection; /* from 1 */
  uint64_t nth;        /* on its connection, from 1 */
  uint64_t accept_ns;  /* of the connection, by the server */
  uint64_t recv_ns;    /* the kernel had the whole request */
  uint64_t start_ns;   /* it left the waiting line */
  uint64_t headers_ns, first_ns, last_ns; /* written: head, payload events */
  uint64_t end_ns; /* the last byte was written, or it broke off */
  int status;
  bool stream;
  uint64_t prompt_tokens, cached_tokens, planned_tokens;
  uint64_t tokens, events; /* payload that was written */
  uint64_t bytes_in, bytes_out;
  uint64_t blocked; /* times the socket took less than it was given */
  uint64_t late_ns; /* the latest of its events */
  /* When it came: others that ran and waited; all in flight, it included. */
  uint64_t running, waiting, in_flight;
  const char *end; /* how it ended */
  uint64_t *times; /* of payload events, when asked for; owned */
  size_t times_cap;
};

struct mock_journal {
  int fd; /* -1: no journal */
  bool tokens, headers, bodies;
  struct buf out;
  struct mock_deadlines *deadlines;
  struct mock_deadline flush;
};

/* `path` NULL: nothing will be written; "-" is stdout. Returns 0, or -1 and a
 * message. */
int mock_journal_open(struct mock_journal *j, const char *path,
                      struct mock_deadlines *deadlines, struct err *e);
/* Writes what is left. */
void mock_journal_close(struct mock_journal *j);
/* One line; it reaches the file within 50 ms. `h` is the request. */
void mock_journal_add(struct mock_journal *j, const struct mock_record *r,
                      const struct mock_http *h);

/* Note the time of a payload event, when the journal wants them. */
void mock_record_time(struct mock_record *r, uint64_t at);
/* Ready for another request of the same connection, memory kept. */
void mock_record_reset(struct mock_record *r);
void mock_record_deinit(struct mock_record *r);

#endif
