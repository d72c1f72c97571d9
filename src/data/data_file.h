/* data_file.h -- a file of rows: opened, checked and indexed once, then
 * immutable, so that all threads may read it.
 * data_open looks at every byte of the file (hundreds of megabytes a second)
 * and keeps 8 bytes a row; a row is read again each time it is asked for. So a
 * file of many gigabytes takes little memory, and what is wrong with it is
 * said with its line before the first request. A file that is written to while
 * it is in use is noticed at the next row, unless it only grew; one that was
 * deleted or replaced is read on as it was. */
#ifndef STOKE_DATA_DATA_FILE_H
#define STOKE_DATA_DATA_FILE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/format.h"

struct data_options {
  enum data_format format;
  bool skip_bad_rows;
  char separator;      /* of CSV; 0: by name, a comma */
  unsigned block;      /* tokens a hash id stands for; 0: 512 */
  const char *require; /* names with '\n' between: members (columns) that
                        * every row must have, besides what the first one
                        * has to send; NULL: that alone; "": nothing */
  /* Of rows whose messages begin with all of the row before's, keep only the
   * last one: they are one conversation, written down turn by turn. */
  bool join;
};

struct data_file;

/* `shown` is how messages call the file. NULL and the first ten mistakes in
 * *e. Files that are not regular ones are refused. */
struct data_file *data_open(const char *path, const char *shown,
                            const struct data_options *o, struct err *e);
void data_close(struct data_file *f);

struct data_info {
  const char *shown;
  enum data_format format;
  enum data_container container;
  bool guessed;
  uint64_t rows;     /* usable ones */
  uint64_t skipped;  /* bad ones, with skip_bad_rows */
  uint64_t left_out; /* fine, but with nothing to send in them */
  uint64_t grown;    /* begin with all of the row before; see `join` */
  uint64_t flaws;    /* replaced by U+FFFD: bytes and lone surrogates */
};
struct data_info data_info(const struct data_file *f);

/* Row `i` (0-based, < rows) to *out, which is reset first: a line's text, a
 * JSON value, or a CSV record. JSON's lone surrogates are mended. 0, or -1
 * and why with the file: it changed since it was opened. */
int data_read(const struct data_file *f, uint64_t i, struct buf *out,
              struct err *e);
/* The 1-based line where row `i` begins; reads the file up to there. */
uint64_t data_line(const struct data_file *f, uint64_t i);

/* CSV: the columns' names and how fields are separated. */
size_t data_columns(const struct data_file *f);
const char *data_column(const struct data_file *f, size_t i);
char data_separator(const struct data_file *f);

/* Traces: what a row says, from its text as data_read gives it. `seconds`
 * count from the file's first row. */
struct data_moment {
  double seconds;
  uint64_t input_len, output_len;
};
int data_moment(const struct data_file *f, struct str row,
                struct data_moment *out);
/* OpenAI batch: the request's body in a row's text, byte for byte. */
struct str data_body(const struct data_file *f, struct str row);
/* Tokens that a hash id stands for. */
unsigned data_block(const struct data_file *f);

#endif
