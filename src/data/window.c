#include "data/window.h"

#include <errno.h>
#include <unistd.h>

#include "base/mem.h"

enum { FIRST = 1 << 20 };

void window_init(struct window *w, int fd, uint64_t at)
{
  *w = (struct window){.fd = fd, .at = at, .cap = FIRST};
  w->p = mem_alloc(w->cap);
}

void window_free(struct window *w)
{
  mem_free(w->p);
  w->p = NULL;
}

/* Room behind `len`: by dropping what is done with, else by growing. */
static bool make_room(struct window *w)
{
  size_t left = w->len - w->pos;
  if (left == w->cap) {
    if (w->cap >= WINDOW_MAX)
      return false;
    w->cap *= 2;
    w->p = mem_resize(w->p, w->cap, 1);
  }
  memmove(w->p, w->p + w->pos, left);
  w->at += w->pos;
  w->len = left;
  w->pos = 0;
  return true;
}

enum window_result window_more(struct window *w)
{
  ssize_t n;
  if (w->eof)
    return WINDOW_EOF;
  if (!make_room(w))
    return WINDOW_FULL;
  do
    n = pread(w->fd, w->p + w->len, w->cap - w->len, (off_t)(w->at + w->len));
  while (n < 0 && errno == EINTR);
  if (n < 0) {
    w->error = errno;
    return WINDOW_ERROR;
  }
  w->len += (size_t)n;
  w->eof = n == 0;
  return n ? WINDOW_READ : WINDOW_EOF;
}

int window_read_at(int fd, char *to, size_t len, uint64_t at)
{
  while (len) {
    ssize_t n = pread(fd, to, len, (off_t)at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n == 0)
      errno = 0;
    if (n <= 0)
      return -1;
    to += n;
    at += (uint64_t)n;
    len -= (size_t)n;
  }
  return 0;
}
