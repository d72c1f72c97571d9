/* code_set.h -- sets of code points, as the classes of a pattern need them. */
#ifndef STOKE_DATA_CODE_SET_H
#define STOKE_DATA_CODE_SET_H

#include <stddef.h>

#include "data/unicode.h"

struct code_range {
  uint32_t first, last;
};

/* Zeroed it is empty. Ranges may overlap and lie in any order until
 * code_set_settle. */
struct code_set {
  struct code_range *range;
  size_t n, cap;
};

void code_set_free(struct code_set *s);
void code_set_add(struct code_set *s, uint32_t first, uint32_t last);
void code_set_add_set(struct code_set *s, const struct code_set *other);
/* Every code point whose record r has (r & mask) == value. */
void code_set_add_records(struct code_set *s, uint32_t mask, uint32_t value);
/* Sorted, apart, the fewest ranges. */
void code_set_settle(struct code_set *s);
/* All code points that are not in it. */
void code_set_invert(struct code_set *s);
void code_set_intersect(struct code_set *s, const struct code_set *other);

#endif
