#include "data/row_index.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

enum { LENGTH_BITS = 24, LONGER = (1 << LENGTH_BITS) - 1 };

static void add_longer(struct row_index *x, uint64_t len)
{
  x->longer = mem_resize(x->longer, x->n_longer + 1, sizeof *x->longer);
  x->longer[x->n_longer++] = (struct long_row){x->n, len};
}

void row_index_add(struct row_index *x, uint64_t offset, uint64_t len)
{
  assert(offset <= ROW_INDEX_MAX_OFFSET);
  if (x->n == x->cap) {
    x->cap = x->cap ? x->cap + x->cap / 2 : 1024;
    x->packed = mem_resize(x->packed, x->cap, sizeof *x->packed);
  }
  if (len >= LONGER)
    add_longer(x, len);
  x->packed[x->n++] = offset << LENGTH_BITS | (len < LONGER ? len : LONGER);
}

void row_index_drop(struct row_index *x)
{
  assert(x->n > 0);
  x->n--;
  if (x->n_longer && x->longer[x->n_longer - 1].row == x->n)
    x->n_longer--;
}

uint64_t row_index_offset(const struct row_index *x, uint64_t i)
{
  assert(i < x->n);
  return x->packed[i] >> LENGTH_BITS;
}

uint64_t row_index_length(const struct row_index *x, uint64_t i)
{
  uint64_t len;
  size_t lo = 0, hi = x->n_longer;
  assert(i < x->n);
  len = x->packed[i] & LONGER;
  if (len < LONGER)
    return len;
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (x->longer[mid].row <= i)
      lo = mid;
    else
      hi = mid;
  }
  return x->longer[lo].len;
}

struct keyed {
  double key;
  uint64_t offset, len;
};

static int by_key(const void *a, const void *b)
{
  const struct keyed *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

void row_index_sort(struct row_index *x, double *keys)
{
  uint64_t n = x->n;
  struct keyed *rows = mem_zalloc(n, sizeof *rows);
  for (uint64_t i = 0; i < n; i++)
    rows[i] =
        (struct keyed){keys[i], row_index_offset(x, i), row_index_length(x, i)};
  qsort(rows, n, sizeof *rows, by_key);
  x->n = x->n_longer = 0;
  for (uint64_t i = 0; i < n; i++) {
    row_index_add(x, rows[i].offset, rows[i].len);
    keys[i] = rows[i].key;
  }
  mem_free(rows);
}

void row_index_trim(struct row_index *x)
{
  if (x->n && x->n < x->cap) {
    x->cap = x->n;
    x->packed = mem_resize(x->packed, x->cap, sizeof *x->packed);
  }
}

void row_index_free(struct row_index *x)
{
  mem_free(x->packed);
  mem_free(x->longer);
  *x = (struct row_index){0};
}
