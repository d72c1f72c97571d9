#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"
#include "data/csv.h"
#include "data/flaws.h"
#include "data/indexer.h"

/* 1 with a record and what lies behind it, 0 at the end, -1. */
static int next_record(struct indexer *x, struct str *record, size_t *len)
{
  struct window *w = &x->w;
  for (;;) {
    struct str rest = window_rest(w);
    const char *end =
        csv_record(rest.p, rest.p + rest.len, x->f->separator, w->eof, record);
    if (end) {
      *len = (size_t)(end - rest.p);
      return rest.len > 0;
    }
    if (w->eof) { /* a quote that is not closed: on with the next line */
      end = memchr(rest.p, '\n', rest.len);
      *len = end ? (size_t)(end + 1 - rest.p) : rest.len;
      record->p = NULL;
      return 1;
    }
    if (indexer_more(x) < 0)
      return -1;
  }
}

static bool find_column(struct data_file *f, struct str name, size_t *at)
{
  for (size_t i = 0; i < f->n_columns; i++)
    if (str_eq(str_of(f->columns[i]), name)) {
      *at = i;
      return true;
    }
  return false;
}

static void add_column(struct data_file *f, struct str name)
{
  name = str_trim(name);
  f->columns = mem_resize(f->columns, f->n_columns + 1, sizeof *f->columns);
  f->columns[f->n_columns++] = mem_strndup(name.p ? name.p : "", name.len);
}

static void drop_column(struct data_file *f)
{
  mem_free(f->columns[--f->n_columns]);
}

static int check_columns(struct indexer *x)
{
  struct data_file *f = x->f;
  struct str names = str_of(x->o->require);
  int rc = 0;
  size_t at;
  for (size_t i = 0; i < f->n_columns; i++) {
    if (!f->columns[i][0])
      rc = indexer_broken(x, 0, "column %zu has no name", i + 1);
    else if (find_column(f, str_of(f->columns[i]), &at) && at < i)
      rc = indexer_broken(x, 0, "two columns are called \"%s\"", f->columns[i]);
  }
  while (names.len) {
    struct str name = str_split(&names, '\n');
    if (!find_column(f, name, &at))
      rc = indexer_broken(x, 0, "no column \"%.*s\"", STR_ARG(name));
  }
  return rc;
}

static bool is_trace(struct data_file *f, const char *time, const char *input,
                     const char *output)
{
  return find_column(f, str_of(time), &f->trace_columns[COLUMN_TIME]) &&
         find_column(f, str_of(input), &f->trace_columns[COLUMN_INPUT]) &&
         find_column(f, str_of(output), &f->trace_columns[COLUMN_OUTPUT]);
}

static int trace_format(struct indexer *x)
{
  struct data_file *f = x->f;
  enum data_format wanted = f->info.format, found = DATA_CSV;
  if (is_trace(f, "TIMESTAMP", "ContextTokens", "GeneratedTokens"))
    found = DATA_AZURE;
  else if (is_trace(f, "Timestamp", "Request tokens", "Response tokens"))
    found = DATA_BURSTGPT;
  if (wanted == DATA_GUESS)
    f->info.format = found;
  else if (wanted != DATA_CSV && wanted != found)
    return indexer_broken(
        x, 0, "the columns of %s are %s", data_format_name(wanted),
        wanted == DATA_AZURE ? "TIMESTAMP, ContextTokens, GeneratedTokens"
                             : "Timestamp, Request tokens, Response tokens, …");
  return 0;
}

static int read_header(struct indexer *x)
{
  struct data_file *f = x->f;
  struct str record;
  size_t len;
  int rc = next_record(x, &record, &len);
  if (rc <= 0)
    return rc;
  if (!record.p)
    return indexer_broken(x, 0, "a quote in the header is not closed");
  while (record.p) {
    buf_reset(&x->field);
    if (csv_field(&record, f->separator, &x->field) < 0)
      return indexer_broken(x, 0, "the header has text behind a closing quote");
    add_column(f, buf_str(&x->field));
  }
  /* A comma at the end of each line. */
  if (f->n_columns > 1 && !f->columns[f->n_columns - 1][0])
    drop_column(f);
  x->w.pos += len;
  return check_columns(x) < 0 ? -1 : trace_format(x);
}

/* What is wrong with a field that could be sent, or NULL. */
static const char *field_trouble(const struct data_file *f, size_t column,
                                 struct str field)
{
  const char *name = column < f->n_columns ? f->columns[column] : "";
  double x;
  if (f->shape.lax)
    return NULL;
  if (strcmp(name, "prompt") == 0)
    return field.len ? NULL : "is empty";
  field = str_trim(field);
  if ((strcmp(name, "output_len") == 0 || strcmp(name, "max_tokens") == 0) &&
      field.len &&
      (units_number(field, &x) < 0 || x != floor(x) || x < 0 || x >= 1e9))
    return "is no whole number";
  return NULL;
}

static bool check_fields(struct indexer *x, struct str record, char why[160])
{
  const struct data_file *f = x->f;
  const char *trouble;
  size_t n = 0;
  while (record.p) {
    buf_reset(&x->field);
    if (csv_field(&record, f->separator, &x->field) < 0) {
      snprintf(why, 160, "text behind the closing quote of field %zu", n + 1);
      return false;
    }
    if ((trouble = field_trouble(f, n, buf_str(&x->field)))) {
      snprintf(why, 160, "\"%s\" %s", f->columns[n], trouble);
      return false;
    }
    n++;
  }
  if (n == f->n_columns || (n == f->n_columns + 1 && !x->field.len))
    return true;
  snprintf(why, 160, "%zu field%s, but there are %zu columns", n,
           n == 1 ? "" : "s", f->n_columns);
  return false;
}

static void check_record(struct indexer *x, struct str record, uint64_t offset)
{
  struct data_file *f = x->f;
  struct data_moment m = {0};
  char why[160];
  bool good = check_fields(x, record, why);
  bool timed = data_format_is_trace(f->info.format);
  if (good && timed) {
    good = data_csv_moment(f, record, &x->field, &m, why) == 0;
    /* Requests that failed are logged with no tokens at all. */
    if (good && m.input_len == 0) {
      f->info.left_out++;
      return;
    }
  }
  if (!good) {
    indexer_bad_row(x, offset, why);
    return;
  }
  f->info.flaws += flaws_bytes(record);
  if (timed)
    indexer_keep_timed(x, offset, record.len, m.seconds);
  else
    indexer_keep(x, offset, record.len);
}

int indexer_csv(struct indexer *x)
{
  struct str record;
  size_t len;
  int rc = read_header(x);
  if (rc < 0)
    return -1;
  while ((rc = next_record(x, &record, &len)) > 0) {
    if (!record.p)
      indexer_bad_row(x, window_offset(&x->w), "a quote is not closed");
    else if (str_trim(record).len)
      check_record(x, record, window_offset(&x->w));
    x->w.pos += len;
  }
  return rc;
}
