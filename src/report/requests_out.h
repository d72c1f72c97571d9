/* requests_out.h -- one JSON line per request, as it ends.
 * Every worker has a writer of its own on one shared descriptor: whole lines
 * are collected and appended with one write(2) (O_APPEND), so lines of
 * several threads never mix and nothing is locked. A killed run loses at most
 * the last second.
 *
 * A line: instants in seconds since time zero (`due_s`, `sent_s`, …), figures
 * in ms (`ttft_ms`, …, `itl_ms` a list); null where there is none. */
#ifndef STOKE_REPORT_REQUESTS_OUT_H
#define STOKE_REPORT_REQUESTS_OUT_H

#include "base/buf.h"
#include "base/err.h"
#include "stats/record.h"

/* The shared descriptor, or -1 and a message; "-" is the standard output.
 * An existing file is refused unless `force`, which empties it. Close with
 * close(2) after all writers. */
int requests_out_open(const char *path, bool force, struct err *e);

struct requests_out {
  int fd;
  uint64_t epoch_ns;   /* time zero of the run */
  uint64_t flushed_ns; /* the last write, monotonic */
  struct buf lines;
  int error; /* errno of the first failed write; 0: none. After it
                        * lines are dropped. */
  uint64_t dropped;
};

void requests_out_init(struct requests_out *o, int fd, uint64_t epoch_ns);
/* Adds a line; writes when 64 KiB or a second (by now_ns) came together. */
void requests_out_add(struct requests_out *o, const struct record *r,
                      uint64_t now_ns);
/* Call a few times a second: writes what is older than a second. */
void requests_out_tick(struct requests_out *o, uint64_t now_ns);
/* Writes the rest. The descriptor stays open. */
void requests_out_deinit(struct requests_out *o);

/* One line with its newline. */
void requests_out_line(struct buf *out, const struct record *r,
                       uint64_t epoch_ns);

#endif
