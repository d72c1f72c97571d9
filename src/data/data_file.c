#include "data/data_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "data/csv.h"
#include "data/data_impl.h"
#include "data/flaws.h"
#include "data/token_hash.h"
#include "data/trace_time.h"
#include "data/window.h"

static int open_file(const char *path, const char *shown, struct err *e)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return err_add(e, "%s: %s", shown, strerror(errno));
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
    return fd;
  close(fd);
  return err_add(e, "%s: not a regular file", shown);
}

/* ---- changes ---- */

/* Of the first and the last bytes of the file's first `size`. */
static uint64_t ends_of(int fd, uint64_t size)
{
  enum { END = 4096 };
  char both[2 * END];
  size_t len = size < END ? (size_t)size : END;
  if (window_read_at(fd, both, len, 0) < 0 ||
      window_read_at(fd, both + len, len, size - len) < 0)
    return 0;
  return token_hash(both, 2 * len);
}

static void note_version(struct data_file *f)
{
  struct stat st = {0};
  fstat(f->fd, &st);
  f->version = (struct data_version){(uint64_t)st.st_size, st.st_mtim, 0};
}

/* Is it still the file that was indexed? One that only grew is: whoever
 * appends to it takes nothing from the rows before. */
static bool unchanged(const struct data_file *f)
{
  const struct data_version *v = &f->version;
  struct stat st;
  if (fstat(f->fd, &st) < 0 || (uint64_t)st.st_size < v->size)
    return false;
  if ((uint64_t)st.st_size > v->size)
    return ends_of(f->fd, v->size) == v->ends;
  return st.st_mtim.tv_sec == v->written.tv_sec &&
         st.st_mtim.tv_nsec == v->written.tv_nsec;
}

/* The index, of a file that nobody writes meanwhile. */
static int index_unchanged(struct data_file *f, const struct data_options *o,
                           struct err *e)
{
  struct stat st;
  int rc;
  note_version(f);
  rc = data_index(f, o, e);
  f->version.ends = ends_of(f->fd, f->version.size);
  if (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size == f->version.size &&
      unchanged(f))
    return rc;
  return err_add(e,
                 "%s: the file changed while it was read: who writes it must "
                 "be done before it is used",
                 f->shown);
}

/* ---- opening ---- */

struct data_file *data_open(const char *path, const char *shown,
                            const struct data_options *o, struct err *e)
{
  struct data_file *f;
  int fd = open_file(path, shown, e);
  if (fd < 0)
    return NULL;
  f = mem_new(struct data_file);
  f->fd = fd;
  f->path = mem_strdup(path);
  f->shown = mem_strdup(shown);
  f->info.shown = f->shown;
  shape_init(&f->shape, o->block ? o->block : 512);
  if (index_unchanged(f, o, e) == 0)
    return f;
  data_close(f);
  return NULL;
}

void data_close(struct data_file *f)
{
  if (!f)
    return;
  close(f->fd);
  for (size_t i = 0; i < f->n_columns; i++)
    mem_free(f->columns[i]);
  mem_free(f->columns);
  row_index_free(&f->rows);
  shape_free(&f->shape);
  mem_free(f->path);
  mem_free(f->shown);
  mem_free(f);
}

struct data_info data_info(const struct data_file *f)
{
  return f->info;
}

size_t data_columns(const struct data_file *f)
{
  return f->n_columns;
}

const char *data_column(const struct data_file *f, size_t i)
{
  return f->columns[i];
}

char data_separator(const struct data_file *f)
{
  return f->separator;
}

unsigned data_block(const struct data_file *f)
{
  return f->shape.block;
}

struct str data_body(const struct data_file *f, struct str row)
{
  return shape_body(&f->shape, row);
}

uint64_t data_newlines(int fd, uint64_t from, uint64_t to)
{
  enum { STEP = 1 << 16 };
  char *step = mem_alloc(STEP);
  uint64_t n = 0;
  while (from < to) {
    size_t len = to - from < STEP ? (size_t)(to - from) : STEP;
    const char *p = step, *end = step + len;
    if (window_read_at(fd, step, len, from) < 0)
      break;
    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
      n++;
      p++;
    }
    from += len;
  }
  mem_free(step);
  return n;
}

uint64_t data_line(const struct data_file *f, uint64_t i)
{
  return 1 + data_newlines(f->fd, 0, row_index_offset(&f->rows, i));
}

int data_read(const struct data_file *f, uint64_t i, struct buf *out,
              struct err *e)
{
  size_t len = (size_t)row_index_length(&f->rows, i);
  char *to;
  buf_reset(out);
  to = buf_reserve(out, len + 1);
  if (window_read_at(f->fd, to, len, row_index_offset(&f->rows, i)) < 0 &&
      errno)
    return err_add(e, "%s: row %llu cannot be read: %s", f->shown,
                   (unsigned long long)i + 1, strerror(errno));
  if (!unchanged(f))
    return err_add(
        e,
        "%s: the file changed while the run read it, and row %llu is "
        "not the one that was checked (a new file that is renamed "
        "into its place does no harm)",
        f->shown, (unsigned long long)i + 1);
  out->len = len;
  if (f->info.container == CONTAINER_JSONL ||
      f->info.container == CONTAINER_ARRAY)
    flaws_mend_escapes(out->p, len);
  return 0;
}

/* ---- traces ---- */

static int token_count(struct str s, uint64_t *out)
{
  double x;
  if (units_number(str_trim(s), &x) < 0 || x < 0 || x != floor(x) || x >= 1e9)
    return -1;
  *out = (uint64_t)x;
  return 0;
}

/* One field into its place of *out. */
static int read_column(const struct data_file *f, size_t i, struct str s,
                       struct data_moment *out)
{
  if (i == f->trace_columns[COLUMN_TIME])
    return trace_time_parse(s, &out->seconds);
  if (i == f->trace_columns[COLUMN_INPUT])
    return token_count(s, &out->input_len);
  if (i == f->trace_columns[COLUMN_OUTPUT])
    return token_count(s, &out->output_len);
  return 0;
}

int data_csv_moment(const struct data_file *f, struct str record,
                    struct buf *field, struct data_moment *out, char why[160])
{
  for (size_t i = 0; i < f->n_columns && record.p; i++) {
    struct str s;
    buf_reset(field);
    if (csv_field(&record, f->separator, field) < 0) {
      snprintf(why, 160, "column \"%.60s\": text behind its closing quote",
               f->columns[i]);
      return -1;
    }
    s = buf_str(field);
    if (read_column(f, i, s, out) < 0) {
      snprintf(why, 160, "column \"%.60s\": \"%.*s\" is no %s", f->columns[i],
               (int)(s.len < 40 ? s.len : 40), s.p ? s.p : "",
               i == f->trace_columns[COLUMN_TIME] ? "time" : "whole number");
      return -1;
    }
  }
  return 0;
}

static int json_moment(const struct data_file *f, struct str row,
                       struct data_moment *out)
{
  struct shape s = f->shape; /* what was seen is ours, the places are shared */
  const char *end = shape_read(&s, row.p, row.p + row.len);
  *out = (struct data_moment){shape_seconds(&s), (uint64_t)s.seen.input.value,
                              (uint64_t)s.seen.output.value};
  return end ? 0 : -1;
}

int data_moment(const struct data_file *f, struct str row,
                struct data_moment *out)
{
  struct buf field = {0};
  char why[160];
  int rc = f->info.container == CONTAINER_CSV
               ? data_csv_moment(f, row, &field, out, why)
               : json_moment(f, row, out);
  out->seconds -= f->t0;
  buf_free(&field);
  return rc;
}
