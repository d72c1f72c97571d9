#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "data/flaws.h"
#include "data/foreign.h"
#include "data/indexer.h"

enum { BAD_ROWS_TOLD = 10 };

#define BOM STR("\xef\xbb\xbf")

/* ---- what is wrong ---- */

static uint64_t line_of(struct indexer *x, uint64_t offset)
{
  if (offset < x->line_offset)
    x->line = x->line_offset = 0;
  x->line += data_newlines(x->f->fd, x->line_offset, offset);
  x->line_offset = offset;
  return x->line + 1;
}

int indexer_broken(struct indexer *x, uint64_t offset, const char *fmt, ...)
{
  char words[200];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(words, sizeof words, fmt, ap);
  va_end(ap);
  return err_add(x->e, "%s:%llu: %s", x->f->shown,
                 (unsigned long long)line_of(x, offset), words);
}

void indexer_bad_row(struct indexer *x, uint64_t offset, const char *why)
{
  if (x->o->skip_bad_rows) {
    if (!x->f->info.skipped++)
      buf_addf(&x->first, "%llu: %s", (unsigned long long)line_of(x, offset),
               why);
  } else if (x->bad++ < BAD_ROWS_TOLD) {
    indexer_broken(x, offset, "%s", why);
  }
}

int indexer_more(struct indexer *x)
{
  switch (window_more(&x->w)) {
  case WINDOW_FULL:
    return indexer_broken(
        x, window_offset(&x->w),
        "a row of more than %d MiB begins here (or a quote or bracket "
        "is not closed)",
        WINDOW_MAX >> 20);
  case WINDOW_ERROR:
    return err_add(x->e, "%s: %s", x->f->shown, strerror(x->w.error));
  default: return 0;
  }
}

/* ---- rows ---- */

void indexer_keep(struct indexer *x, uint64_t offset, size_t len)
{
  row_index_add(&x->f->rows, offset, len);
}

void indexer_keep_timed(struct indexer *x, uint64_t offset, size_t len,
                        double seconds)
{
  uint64_t n = x->f->rows.n;
  if (n == x->times_cap) {
    x->times_cap = n ? 2 * n : 1024;
    x->times = mem_resize(x->times, x->times_cap, sizeof *x->times);
  }
  x->unsorted |= n && seconds < x->times[n - 1];
  x->times[n] = seconds;
  indexer_keep(x, offset, len);
}

static void call_it_json(struct data_file *f)
{
  if (f->info.format == DATA_GUESS)
    f->info.format =
        f->info.container == CONTAINER_ARRAY ? DATA_JSON : DATA_JSONL;
}

static void guess_format(struct data_file *f)
{
  if (f->info.format == DATA_GUESS)
    f->info.format = shape_guess(&f->shape);
  call_it_json(f);
}

/* What the first row has, the others must have too. Not where the caller says
 * that rows need nothing. */
static void learn(struct data_file *f)
{
  struct err ignored = {0};
  if (f->info.format != DATA_JSONL && f->info.format != DATA_JSON)
    return;
  if (shape_has_messages(&f->shape))
    shape_require(&f->shape, "messages", &ignored);
  else
    f->shape.text_prompts =
        shape_has_prompt(&f->shape) || f->shape.seen.root == WALK_STRING;
  err_free(&ignored);
}

/* What stands between the brackets of a JSON array. */
static struct str inside(struct str list)
{
  if (list.len < 2 || list.p[0] != '[')
    return (struct str){0};
  return str_trim((struct str){list.p + 1, list.len - 2});
}

/* Does `list` go on where `before` ends? Byte by byte: who writes histories
 * down writes the same messages the same way each time. */
static bool goes_on(struct str before, struct str list)
{
  before = inside(before);
  list = inside(list);
  if (!before.len || !str_starts(list, before))
    return false;
  list = (struct str){list.p + before.len, list.len - before.len};
  return str_starts(str_trim(list), STR(","));
}

/* A history that accumulates row by row. */
static void check_growth(struct indexer *x)
{
  struct str list = x->f->shape.seen.list;
  if (goes_on(buf_str(&x->before), list)) {
    x->f->info.grown++;
    if (x->o->join)
      row_index_drop(&x->f->rows);
  }
  buf_reset(&x->before);
  buf_addstr(&x->before, list);
}

/* The rows before this one had nothing to send, and this one has. */
static void refuse_blank(struct indexer *x)
{
  struct row_index *rows = &x->f->rows;
  for (uint64_t i = 0; i < x->blank; i++)
    indexer_bad_row(x, row_index_offset(rows, i),
                    "nothing to send, which a row behind it has (require = {} "
                    "where rows need nothing)");
  for (; x->blank; x->blank--)
    row_index_drop(rows);
  x->f->info.flaws = 0;
}

/* Rows say what the file is from the first one on that has something to send.
 * If none has, a script knows what to do with them. True: this one does not,
 * and has been seen to. */
static bool undecided(struct indexer *x, struct str row, uint64_t offset)
{
  struct data_file *f = x->f;
  const struct shape *s = &f->shape;
  char why[160];
  if (x->decided || x->o->require ||
      (f->info.format != DATA_GUESS && f->info.format != DATA_JSON &&
       f->info.format != DATA_JSONL))
    return false;
  if (s->seen.root == WALK_STRING && s->seen.empty) {
    f->info.left_out++;
    return true;
  }
  if (shape_check(s, DATA_JSON, why) == SHAPE_BAD && !shape_sends(s)) {
    indexer_bad_row(x, offset, why);
    return true;
  }
  x->decided = s->seen.root == WALK_STRING || shape_sends(s);
  if (!x->decided) {
    f->info.flaws += flaws_bytes(row) + flaws_escapes(row);
    indexer_keep(x, offset, row.len);
    x->blank++;
  } else if (x->blank && s->seen.root != WALK_STRING) {
    refuse_blank(x);
  }
  return !x->decided;
}

/* A JSON row that was just walked. */
static void check_json(struct indexer *x, struct str row, uint64_t offset)
{
  struct data_file *f = x->f;
  char why[160];
  enum shape_verdict v;
  if (undecided(x, row, offset))
    return;
  guess_format(f);
  v = shape_check(&f->shape, f->info.format, why);
  if (v == SHAPE_BAD) {
    indexer_bad_row(x, offset, why);
  } else if (v == SHAPE_LEFT_OUT) {
    f->info.left_out++;
  } else {
    f->info.flaws += flaws_bytes(row) + flaws_escapes(row);
    if (!f->rows.n && !f->shape.lax)
      learn(f);
    check_growth(x);
    if (data_format_is_trace(f->info.format))
      indexer_keep_timed(x, offset, row.len, shape_seconds(&f->shape));
    else
      indexer_keep(x, offset, row.len);
  }
}

/* `cut`: nothing stands behind the line, not even its end. */
static void json_line(struct indexer *x, struct str line, uint64_t offset,
                      bool cut)
{
  struct str row = str_trim(line);
  const char *end;
  if (!row.len)
    return;
  offset += (uint64_t)(row.p - line.p);
  end = shape_read(&x->f->shape, row.p, row.p + row.len);
  if (end == row.p + row.len)
    check_json(x, row, offset);
  else if (!end && cut && x->f->info.format == DATA_RUN)
    x->f->info.skipped++; /* the run was killed while it wrote this */
  else
    indexer_bad_row(
        x, offset,
        end ? "bad JSON: something follows the value"
            : "bad JSON (a row is one JSON value on a line of its own)");
}

static void text_line(struct indexer *x, struct str line, uint64_t offset)
{
  if (line.len && line.p[line.len - 1] == '\r')
    line.len--;
  if (!str_trim(line).len)
    return;
  x->f->info.flaws += flaws_bytes(line);
  for (const char *p = line.p, *end = p + line.len;
       (p = memchr(p, '\0', (size_t)(end - p))); p++)
    x->f->info.flaws++;
  indexer_keep(x, offset, line.len);
}

/* ---- lines ---- */

/* 1 with a line, 0 at the end, -1. */
static int next_line(struct indexer *x, struct str *line)
{
  struct window *w = &x->w;
  size_t from = 0;
  for (;;) {
    struct str rest = window_rest(w);
    const char *end =
        rest.len > from ? memchr(rest.p + from, '\n', rest.len - from) : NULL;
    if (end || w->eof) {
      *line = (struct str){rest.p, end ? (size_t)(end - rest.p) : rest.len};
      return end || rest.len;
    }
    from = rest.len;
    if (indexer_more(x) < 0)
      return -1;
  }
}

static int index_lines(struct indexer *x)
{
  struct window *w = &x->w;
  struct str line;
  int rc;
  while ((rc = next_line(x, &line)) > 0) {
    /* Files that were put together have the mark of each. */
    size_t mark = str_starts(line, BOM) ? BOM.len : 0;
    struct str text = {line.p + mark, line.len - mark};
    if (x->f->info.container == CONTAINER_JSONL)
      json_line(x, text, window_offset(w) + mark, w->pos + line.len == w->len);
    else
      text_line(x, text, window_offset(w) + mark);
    w->pos += line.len + (w->pos + line.len < w->len);
  }
  return rc;
}

/* ---- a JSON array ---- */

/* The next byte that is no blank, or 0 at the end, or -1. */
static int next_byte(struct indexer *x)
{
  struct window *w = &x->w;
  for (;;) {
    for (; w->pos < w->len; w->pos++)
      if (!strchr(" \t\r\n", w->p[w->pos]) || !w->p[w->pos])
        return w->p[w->pos] ? (unsigned char)w->p[w->pos] : 256;
    if (w->eof)
      return 0;
    if (indexer_more(x) < 0)
      return -1;
  }
}

/* The element that begins here. It is complete when something follows. */
static int element(struct indexer *x)
{
  struct window *w = &x->w;
  for (;;) {
    struct str rest = window_rest(w);
    const char *end = shape_read(&x->f->shape, rest.p, rest.p + rest.len);
    if (end && (w->eof || end < rest.p + rest.len)) {
      struct str row = {rest.p, (size_t)(end - rest.p)};
      check_json(x, row, window_offset(w));
      w->pos += row.len;
      return 0;
    }
    if (w->eof)
      return indexer_broken(
          x, window_offset(w),
          "bad JSON in the element that begins here (or the file is "
          "cut off)");
    if (indexer_more(x) < 0)
      return -1;
  }
}

static int array_end(struct indexer *x)
{
  x->w.pos++;
  if (next_byte(x) == 0)
    return 0;
  return indexer_broken(x, window_offset(&x->w),
                        "text behind the end of the array");
}

static int index_array(struct indexer *x)
{
  int c = next_byte(x);
  if (c != '[')
    return indexer_broken(x, window_offset(&x->w),
                          "a JSON array must begin with [ (is it JSON Lines? "
                          "format = \"jsonl\")");
  x->w.pos++;
  if ((c = next_byte(x)) == ']')
    return array_end(x);
  while (c > 0) {
    if (element(x) < 0)
      return -1;
    if ((c = next_byte(x)) == ']')
      return array_end(x);
    if (c > 0 && c != ',')
      return indexer_broken(x, window_offset(&x->w),
                            "bad JSON: a comma or ] is missing here");
    x->w.pos++;
    c = c > 0 ? next_byte(x) : c;
  }
  return c < 0 ? -1
               : indexer_broken(x, window_offset(&x->w),
                                "the array is not closed: the file is cut off");
}

/* ---- the file ---- */

static int begin(struct indexer *x)
{
  struct data_file *f = x->f;
  struct str head;
  const char *what;
  if (indexer_more(x) < 0)
    return -1;
  head = window_rest(&x->w);
  if ((what = foreign_file(head)))
    return err_add(x->e, "%s: %s", f->shown, what);
  if (str_starts(head, BOM)) {
    x->w.pos = BOM.len;
    head = window_rest(&x->w);
  }
  f->info.format = x->o->format;
  f->info.guessed = x->o->format == DATA_GUESS;
  f->info.container = data_container(&f->info.format, str_of(f->path), head);
  if (f->info.container != CONTAINER_ARRAY && (what = foreign_lines(head)))
    return err_add(x->e, "%s: %s", f->shown, what);
  f->separator = x->o->separator;
  if (!f->separator)
    f->separator = str_ends(str_of(f->path), STR(".tsv")) ? '\t' : ',';
  return 0;
}

static int require(struct indexer *x)
{
  struct str names = str_of(x->o->require);
  int rc = 0;
  x->f->shape.lax = x->o->require && !*x->o->require;
  if (x->f->info.container == CONTAINER_CSV)
    return 0;
  while (names.len && rc == 0) {
    struct str name = str_split(&names, '\n');
    char *copy = mem_strndup(name.p, name.len);
    rc = shape_require(&x->f->shape, copy, x->e);
    mem_free(copy);
  }
  return rc;
}

static int rows(struct indexer *x)
{
  switch (x->f->info.container) {
  case CONTAINER_ARRAY: return index_array(x);
  case CONTAINER_CSV: return indexer_csv(x);
  default: return index_lines(x);
  }
}

static int none_left(struct indexer *x)
{
  const struct data_info *i = &x->f->info;
  struct err *e = x->e;
  if (!i->skipped && !i->left_out)
    return err_add(e, "%s: there are no rows in it", i->shown);
  return err_add(e,
                 "%s: no row is usable as %s: %llu had nothing to send, %llu "
                 "were bad%s%s",
                 i->shown, data_format_name(i->format),
                 (unsigned long long)i->left_out,
                 (unsigned long long)i->skipped,
                 x->first.len ? ", the first at line " : "",
                 x->first.len ? buf_cstr(&x->first) : "");
}

static int verdict(struct indexer *x)
{
  struct data_file *f = x->f;
  if (x->f->info.container != CONTAINER_CSV)
    call_it_json(f);
  if (x->bad > BAD_ROWS_TOLD)
    err_add(x->e, "%s: and %llu more bad rows", f->shown,
            (unsigned long long)(x->bad - BAD_ROWS_TOLD));
  if (x->bad)
    return err_add(x->e, "skip_bad_rows: say this to leave bad rows out and "
                         "count them, or mend them");
  f->info.rows = f->rows.n;
  if (x->unsorted)
    row_index_sort(&f->rows, x->times);
  if (x->times)
    f->t0 = x->times[0];
  row_index_trim(&f->rows);
  return f->rows.n ? 0 : none_left(x);
}

int data_index(struct data_file *f, const struct data_options *o, struct err *e)
{
  struct indexer x = {.f = f, .o = o, .e = e};
  int rc;
  window_init(&x.w, f->fd, 0);
  posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  rc = begin(&x);
  if (rc == 0)
    rc = require(&x);
  if (rc == 0)
    rc = rows(&x);
  if (rc == 0 || x.bad)
    rc = verdict(&x);
  posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM);
  window_free(&x.w);
  mem_free(x.times);
  buf_free(&x.field);
  buf_free(&x.first);
  buf_free(&x.before);
  return rc;
}
