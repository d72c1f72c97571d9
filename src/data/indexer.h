/* indexer.h -- the one pass over a data file, for the files that make it up:
 * data_index.c (the frame, lines and JSON arrays) and data_index_csv.c.
 * The file is cut into rows, each is checked and its place kept. A bad row is
 * an error or is left out, as the user wants; where it is not clear any more
 * where rows begin, the file is broken and the pass ends. */
#ifndef STOKE_DATA_INDEXER_H
#define STOKE_DATA_INDEXER_H

#include "data/data_impl.h"
#include "data/window.h"

struct indexer {
  struct data_file *f;
  const struct data_options *o;
  struct err *e;
  struct window w;
  uint64_t bad;  /* rows that are errors */
  double *times; /* of a trace's rows */
  uint64_t times_cap;
  bool unsorted;              /* they are */
  bool decided;               /* a row had something to send; */
  uint64_t blank;             /* until then: rows that had nothing */
  struct buf field;           /* a CSV field */
  struct buf before;          /* the messages of the last row that was kept */
  struct buf first;           /* the first row that was skipped, in words */
  uint64_t line, line_offset; /* the last line that was counted */
};

/* Add what is wrong, with the line at `offset`. Always -1. */
int indexer_broken(struct indexer *x, uint64_t offset, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void indexer_bad_row(struct indexer *x, uint64_t offset, const char *why);
/* As window_more; -1 when the file cannot be read on. */
int indexer_more(struct indexer *x);
void indexer_keep(struct indexer *x, uint64_t offset, size_t len);
/* A trace's rows come in the order of their times. */
void indexer_keep_timed(struct indexer *x, uint64_t offset, size_t len,
                        double seconds);

/* data_index_csv.c: all rows. 0, or -1 when the file is broken. */
int indexer_csv(struct indexer *x);

#endif
