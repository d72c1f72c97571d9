/* live.h -- what is seen while a run goes on, on stderr.
 * On a terminal a few lines are redrawn in place; elsewhere (or with
 * TERM=dumb) a plain line comes every few seconds; nothing when quiet. While
 * it is on, base/log's lines go above it. */
#ifndef STOKE_REPORT_LIVE_H
#define STOKE_REPORT_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct snapshot {
  const char *phase; /* "warm-up", "measure", "drain"; static */
  double elapsed_s;  /* since time zero */
  double eta_s;      /* left until the end; NaN: not known */
  double share;      /* 0..1 done of the run; NaN: not known */
  uint64_t sent, in_flight, done, failed;
  double request_rate; /* per second, of late; NaN: not known */
  double token_rate;
  double ttft_p50_ms, ttft_p99_ms; /* NaN: none yet */
};

enum live_mode { LIVE_OFF, LIVE_LINES, LIVE_PANEL };

/* By what fd is, TERM and `quiet`. */
enum live_mode live_mode(int fd, bool quiet);

struct live;

/* Writes to fd (stderr). Call from one thread. */
struct live *live_new(int fd, enum live_mode mode);
/* Show `s`: the panel now, the plain line when the last is 5 s old. */
void live_update(struct live *l, const struct snapshot *s);
/* Takes the panel away. */
void live_free(struct live *l);

/* The texts alone. The panel has no line longer than `columns` and ends in a
 * newline; the line has none. */
void live_panel(struct buf *out, const struct snapshot *s, int columns,
                bool colour);
void live_line(struct buf *out, const struct snapshot *s);

#endif
