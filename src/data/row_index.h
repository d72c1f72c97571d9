/* row_index.h -- where the rows of a file are: 8 bytes each.
 * 40 bits of offset (1 TiB) and 24 of length; the few rows that are longer
 * stand in a list of their own. */
#ifndef STOKE_DATA_ROW_INDEX_H
#define STOKE_DATA_ROW_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct long_row {
  uint64_t row, len;
};

/* Zeroed: empty. */
struct row_index {
  uint64_t *packed;
  uint64_t n, cap;
  struct long_row *longer; /* by row */
  size_t n_longer;
};

#define ROW_INDEX_MAX_OFFSET ((UINT64_C(1) << 40) - 1)

/* Offsets come in ascending order and are at most ROW_INDEX_MAX_OFFSET. */
void row_index_add(struct row_index *x, uint64_t offset, uint64_t len);
/* Forget the last row. */
void row_index_drop(struct row_index *x);
/* Row `i` < n. */
uint64_t row_index_offset(const struct row_index *x, uint64_t i);
uint64_t row_index_length(const struct row_index *x, uint64_t i);
/* Order the rows by `keys` (n of them, one a row; reordered with the rows);
 * those with equal keys stay in the order of the file. */
void row_index_sort(struct row_index *x, double *keys);
/* Give back what was reserved for more. */
void row_index_trim(struct row_index *x);
void row_index_free(struct row_index *x);

#endif
