/* data_impl.h -- a data file from the inside, for the two files that make it
 * up: data_file.c (reading rows) and data_index.c (finding them). */
#ifndef STOKE_DATA_DATA_IMPL_H
#define STOKE_DATA_DATA_IMPL_H

#include <time.h>

#include "data/data_file.h"
#include "data/row_index.h"
#include "data/shape.h"

/* A file as it was when it was indexed. */
struct data_version {
  uint64_t size;
  struct timespec written;
  uint64_t ends; /* a hash of its first and last bytes */
};

/* Columns of a CSV trace. */
enum { COLUMN_TIME, COLUMN_INPUT, COLUMN_OUTPUT, COLUMN_COUNT };

struct data_file {
  int fd;
  struct data_version version;
  char *path, *shown;
  struct data_info info;
  struct row_index rows;
  struct shape shape; /* the places to look at in a JSON row */
  char separator;
  char **columns; /* CSV */
  size_t n_columns;
  size_t trace_columns[COLUMN_COUNT];
  double t0; /* of the first row, in the file's own seconds */
};

/* Fill info, rows, columns and t0 from the whole file. -1 with the mistakes. */
int data_index(struct data_file *f, const struct data_options *o,
               struct err *e);
/* Newlines in [from, to) of the file. */
uint64_t data_newlines(int fd, uint64_t from, uint64_t to);
/* As data_moment, but in the file's own seconds and from CSV alone; -1 with
 * the reason. `field` is scratch. */
int data_csv_moment(const struct data_file *f, struct str record,
                    struct buf *field, struct data_moment *out, char why[160]);

#endif
