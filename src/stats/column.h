/* column.h -- a long list of items of one size that never moves.
 * Made of blocks of 64 KiB: pushing never copies what is there (a growing
 * array would, and stall the loop), and joining two columns moves blocks. */
#ifndef STOKE_STATS_COLUMN_H
#define STOKE_STATS_COLUMN_H

#include <stddef.h>

struct column_block {
  struct column_block *next;
  size_t len; /* items in it */
  _Alignas(16) unsigned char items[];
};

struct column {
  size_t size; /* of an item, bytes */
  size_t len;  /* items in all blocks */
  struct column_block *first, *last;
};

void column_init(struct column *c, size_t size);
void column_deinit(struct column *c);
/* Room for one more item, not initialised; valid as long as the column. */
void *column_push(struct column *c);
/* All of `from`, which is empty afterwards; items have the same size. */
void column_take(struct column *into, struct column *from);

#endif
