/* cells.h -- what requests are filed under: turn, stage and tags.
 * Every combination that occurs is a cell; a request keeps the number of its
 * cell, so that the figures of any turn, stage, tag or mix of them can be
 * made afterwards from the same rows. Both kinds of names are bounded, because
 * they come from scripts: a tag's value beyond CELLS_TAG_VALUES is filed as
 * "(other)" and counted, so that it can be said. */
#ifndef STOKE_STATS_CELLS_H
#define STOKE_STATS_CELLS_H

#include <stdint.h>

#include "stats/filter.h"
#include "stats/hist.h"
#include "stats/record.h"

#define CELLS_TAG_VALUES 64
#define CELLS_TAG_SETS   256
#define CELLS_MAX        1024

struct cell {
  uint16_t turn; /* turn_filed() */
  uint16_t stage;
  uint16_t tags;   /* a place in `sets` */
  struct hist itl; /* gaps of its completed requests, ns */
};

/* A zeroed one is valid and empty. */
struct cells {
  struct cell *list;
  size_t n, cap, last;
  char **values; /* "class=long", in order of appearance */
  size_t n_values;
  char **sets; /* "class=long,kind=x"; the first is "" */
  size_t n_sets;
  uint64_t crowded; /* requests of which a tag was filed as "(other)" */
};

void cells_deinit(struct cells *c);
/* The number of the record's cell. */
uint16_t cells_file(struct cells *c, const struct record *r);
/* Adds `from`, and writes to map[i] what its cell i is in `into`. */
void cells_merge(struct cells *into, const struct cells *from, uint16_t *map);
struct filing cells_filing(const struct cells *c, size_t i);

#endif
