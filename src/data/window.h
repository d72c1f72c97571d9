/* window.h -- a file as a stretch of memory that moves over it.
 * Read with pread, not mapped: mapped pages would count as the process's own
 * and a file that shrinks would kill it. The memory is as large as the longest
 * record needs, at most WINDOW_MAX. */
#ifndef STOKE_DATA_WINDOW_H
#define STOKE_DATA_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { WINDOW_MAX = 64 << 20 };

struct window {
  int fd; /* borrowed */
  char *p;
  size_t len, cap;
  size_t pos;  /* what lies before it is done with */
  uint64_t at; /* in the file, of p[0] */
  bool eof;    /* the file ends with p[len - 1] */
  int error;   /* errno of a read that failed */
};

enum window_result { WINDOW_READ, WINDOW_EOF, WINDOW_FULL, WINDOW_ERROR };

void window_init(struct window *w, int fd, uint64_t at);
void window_free(struct window *w);
/* Keep what is not done with and read on behind it; moves the memory. */
enum window_result window_more(struct window *w);

static inline struct str window_rest(const struct window *w)
{
  return (struct str){w->p + w->pos, w->len - w->pos};
}

/* Where the rest begins in the file. */
static inline uint64_t window_offset(const struct window *w)
{
  return w->at + w->pos;
}

/* Exactly `len` bytes at `at`. 0, or -1 with errno (0: the file is shorter). */
int window_read_at(int fd, char *to, size_t len, uint64_t at);

#endif
