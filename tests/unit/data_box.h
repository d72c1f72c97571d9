/* data_box.h -- data files written from C strings, opened and read. */
#ifndef STOKE_TESTS_DATA_BOX_H
#define STOKE_TESTS_DATA_BOX_H

#include <stdlib.h>
#include <unistd.h>

#include "data/data_file.h"
#include "files.h"

struct data_box {
  struct data_file *file;
  struct err err;
  struct buf row;
  char path[64];
};

static inline struct data_box data_box(const char *name, struct str text,
                                       struct data_options o)
{
  struct data_box b = {0};
  snprintf(b.path, sizeof b.path, "/tmp/stoke-data-%d-%s", (int)getpid(), name);
  file_write(b.path, text);
  b.file = data_open(b.path, name, &o, &b.err);
  return b;
}

static inline const char *data_box_row(struct data_box *b, uint64_t i)
{
  assert_int_equal(data_read(b->file, i, &b->row, &b->err), 0);
  return buf_cstr(&b->row);
}

static inline void data_box_close(struct data_box *b)
{
  remove(b->path);
  data_close(b->file);
  err_free(&b->err);
  buf_free(&b->row);
}

#endif
