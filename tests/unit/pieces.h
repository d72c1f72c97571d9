/* pieces.h -- feeding a parser in pieces that end where memory ends.
 * Each piece is copied to lie right in front of a page that cannot be
 * touched, so that one byte too many read is a crash and not luck. */
#ifndef STOKE_TESTS_PIECES_H
#define STOKE_TESTS_PIECES_H

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/str.h"

struct pieces {
  char *map, *edge; /* edge: the first byte that faults */
  size_t room;
};

static inline struct pieces pieces_new(size_t longest)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t room = (longest / page + 1) * page;
  struct pieces g = {.room = room};
  g.map = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert(g.map != MAP_FAILED);
  assert(mprotect(g.map + room, page, PROT_NONE) == 0);
  g.edge = g.map + room;
  return g;
}

static inline void pieces_free(struct pieces *g)
{
  munmap(g->map, g->room + (size_t)sysconf(_SC_PAGESIZE));
}

/* `s` at the edge; valid until the next call. */
static inline struct str pieces_at_edge(struct pieces *g, struct str s)
{
  assert(s.len <= g->room);
  if (s.len)
    memcpy(g->edge - s.len, s.p, s.len);
  return (struct str){g->edge - s.len, s.len};
}

#endif
