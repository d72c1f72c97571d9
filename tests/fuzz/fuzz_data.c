/* data: any bytes are a file that is refused with words, or rows that can all
 * be read. The last bytes choose the format and the options. Rows of JSON
 * containers must be JSON that cJSON can read, and a CSV record must come
 * apart into its columns. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "data/csv.h"
#include "data/data_file.h"
#include "data/flaws.h"
#include "fuzz.h"

static void check_record(const struct data_file *f, struct str record)
{
  struct buf field = {0};
  size_t n = 0;
  while (record.p) {
    buf_reset(&field);
    FUZZ_CHECK(csv_field(&record, data_separator(f), &field) == 0);
    n++;
  }
  FUZZ_CHECK(n == data_columns(f) || n == data_columns(f) + 1);
  buf_free(&field);
}

static void check_json(const struct data_file *f, struct str row)
{
  json_value *v;
  (void)data_body(f, row);
  FUZZ_CHECK(flaws_escapes(row) == 0);
  v = json_parse(row, NULL);
  FUZZ_CHECK(v);
  json_free(v);
}

static void check_row(const struct data_file *f, uint64_t i, struct buf *row)
{
  struct data_info info = data_info(f);
  struct data_moment m;
  struct err e = {0};
  FUZZ_CHECK(data_read(f, i, row, &e) == 0);
  FUZZ_CHECK(data_line(f, i) >= 1);
  switch (info.container) {
  case CONTAINER_LINES:
    FUZZ_CHECK(!row->len || !memchr(row->p, '\n', row->len));
    break;
  case CONTAINER_CSV: check_record(f, buf_str(row)); break;
  default: check_json(f, buf_str(row));
  }
  if (data_format_is_trace(info.format)) {
    FUZZ_CHECK(data_moment(f, buf_str(row), &m) == 0);
    FUZZ_CHECK(m.seconds >= 0);
  }
}

static void check_file(const char *path, const struct data_options *o)
{
  struct err e = {0};
  struct buf row = {0};
  struct data_file *f = data_open(path, "f", o, &e);
  FUZZ_CHECK(f ? e.count == 0 : e.count > 0);
  if (f) {
    struct data_info info = data_info(f);
    FUZZ_CHECK(info.rows > 0);
    FUZZ_CHECK(info.format != DATA_GUESS);
    for (uint64_t i = 0; i < info.rows && i < 100; i++)
      check_row(f, i, &row);
  }
  data_close(f);
  buf_free(&row);
  err_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static int fd = -1;
  static char path[64];
  struct str in = {(const char *)data, size};
  unsigned choice = fuzz_take(&in);
  struct data_options o = {.format = (enum data_format)(choice % 11),
                           .skip_bad_rows = choice & 64,
                           .block = 16,
                           .require = choice & 128 ? "a\nb.c" : NULL};
  if (fd < 0) {
    fd = memfd_create("data", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  FUZZ_CHECK(ftruncate(fd, 0) == 0);
  FUZZ_CHECK(pwrite(fd, in.p, in.len, 0) == (ssize_t)in.len);
  check_file(path, &o);
  return 0;
}
