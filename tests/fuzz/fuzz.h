/* fuzz.h -- what the fuzzers share.
 * The last bytes of an input choose how it is used, so that any file is a
 * seed as it is. */
#ifndef STOKE_TESTS_FUZZ_H
#define STOKE_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Always on, whatever NDEBUG says. */
#define FUZZ_CHECK(x)                                                          \
  do {                                                                         \
    if (!(x)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                  \
      abort();                                                                 \
    }                                                                          \
  } while (0)

/* The last byte, taken off; 0 when there is none. */
static inline unsigned fuzz_take(struct str *s)
{
  return s->len ? (unsigned char)s->p[--s->len] : 0;
}

/* Lengths of the pieces that an input is cut into: mostly short ones. */
static inline size_t fuzz_piece(uint32_t *state, size_t left)
{
  size_t n;
  *state = *state * 1664525u + 1013904223u;
  n = *state >> 28 ? 1 + (*state >> 24) % 7 : 1 + (*state >> 20) % 300;
  return n < left ? n : left;
}

/* A piece in memory of its own, so that a read beyond it is seen. */
static inline char *fuzz_copy(const char *p, size_t len)
{
  char *copy = malloc(len ? len : 1);
  if (len)
    memcpy(copy, p, len);
  return copy;
}

#endif
