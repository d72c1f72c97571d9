#include "net/sse.h"

#include "base/scan.h"

/* An event that lies whole in one piece is never copied: `whole` points at its
 * data line there. What is left over at the end of a piece moves to `data`
 * and `line`, and the search for the line's end goes on behind it, so every
 * byte is looked at once. */

enum {
  COMMENT_MAX = 300,
  BOM_DONE = 3,
  KEEP_MAX = 256 << 10, /* memory that outlives a stream */
};

void sse_init(struct sse *s, size_t max_event, sse_event_cb *cb, void *ud)
{
  *s = (struct sse){
      .cb = cb, .ud = ud, .max_event = max_event ? max_event : SSE_MAX_EVENT};
}

void sse_deinit(struct sse *s)
{
  buf_free(&s->line);
  buf_free(&s->data);
  buf_free(&s->name);
  buf_free(&s->comment);
}

static void forget_event(struct sse *s)
{
  s->has_data = false;
  s->whole = (struct str){NULL, 0};
  buf_reset(&s->data);
  buf_reset(&s->name);
  buf_reset(&s->comment);
}

void sse_reset(struct sse *s)
{
  forget_event(s);
  buf_recycle(&s->line, KEEP_MAX);
  buf_recycle(&s->data, KEEP_MAX);
  s->skip_lf = false;
  s->bom = 0;
}

/* The piece that `whole` points into is about to go. */
static void copy_whole(struct sse *s)
{
  buf_addstr(&s->data, s->whole);
  s->whole = (struct str){NULL, 0};
}

static int dispatch(struct sse *s, bool unfinished)
{
  struct sse_event e = {.name = buf_str(&s->name),
                        .comment = buf_str(&s->comment),
                        .unfinished = unfinished};
  int rc = 0;
  if (s->has_data)
    e.data = s->whole.p ? s->whole : buf_str(&s->data);
  if (s->has_data && !e.data.p)
    e.data = STR("");
  if (s->has_data || e.name.len)
    rc = s->cb(&e, s->ud);
  forget_event(s);
  return rc;
}

static int add_data(struct sse *s, struct str value, bool stays)
{
  if (!s->has_data && stays) {
    s->whole = value;
  } else {
    copy_whole(s);
    if (s->data.len + value.len + s->has_data > s->max_event)
      return -1;
    if (s->has_data)
      buf_addc(&s->data, '\n');
    buf_addstr(&s->data, value);
  }
  s->has_data = true;
  return 0;
}

/* What stands behind the colon, without one blank. */
static struct str value_from(struct str line, size_t at)
{
  at += at < line.len && line.p[at] == ' ';
  return (struct str){line.p + at, line.len - at};
}

static void set(struct buf *b, struct str value)
{
  buf_reset(b);
  buf_addstr(b, value);
}

static int other_field(struct sse *s, struct str line, bool stays)
{
  const char *colon = memchr(line.p, ':', line.len);
  struct str name = {line.p, colon ? (size_t)(colon - line.p) : line.len};
  struct str value = value_from(line, colon ? name.len + 1 : line.len);
  if (name.len == 0) {
    value.len = value.len < COMMENT_MAX ? value.len : COMMENT_MAX;
    set(&s->comment, value);
  } else if (str_eq(name, STR("event"))) {
    set(&s->name, value);
  } else if (str_eq(name, STR("data"))) {
    return add_data(s, value, stays);
  }
  return 0;
}

/* `stays`: the line lies in the caller's piece and not in s->line. */
static int take_line(struct sse *s, struct str line, bool stays)
{
  if (line.len == 0)
    return dispatch(s, false);
  if (line.len > s->max_event)
    return -1;
  if (line.len >= 5 && memcmp(line.p, "data:", 5) == 0)
    return add_data(s, value_from(line, 5), stays);
  return other_field(s, line, stays);
}

static int take_cut_line(struct sse *s, struct str rest)
{
  int rc;
  buf_addstr(&s->line, rest);
  rc = take_line(s, buf_str(&s->line), false);
  buf_reset(&s->line);
  return rc;
}

static const char bom[] = "\xef\xbb\xbf";

/* What only looked like a BOM belongs to the first line. */
static void start_is_behind(struct sse *s)
{
  if (s->bom < BOM_DONE)
    buf_add(&s->line, bom, s->bom);
  s->bom = BOM_DONE;
}

/* Drops a BOM, over pieces. */
static const char *skip_bom(struct sse *s, const char *p, const char *end)
{
  while (s->bom < BOM_DONE && p < end && *p == bom[s->bom]) {
    s->bom++;
    p++;
  }
  if (p < end)
    start_is_behind(s);
  return p;
}

/* Behind a line's end at `p`; of a CRLF the LF may come with the next piece.
 */
static const char *skip_line_end(struct sse *s, const char *p, const char *end)
{
  if (*p == '\r') {
    if (p + 1 == end)
      s->skip_lf = true;
    else if (p[1] == '\n')
      p++;
  }
  return p + 1;
}

int sse_feed(struct sse *s, const char *p, size_t len)
{
  const char *end = p + len, *stop;
  int rc = 0;
  if (s->bom < BOM_DONE)
    p = skip_bom(s, p, end);
  if (s->skip_lf && p < end) {
    p += *p == '\n';
    s->skip_lf = false;
  }
  while (p < end && rc == 0) {
    struct str line = {p, 0};
    stop = scan_line(p, end);
    line.len = (size_t)(stop - p);
    if (stop == end) {
      if (s->line.len + line.len > s->max_event)
        return -1;
      buf_addstr(&s->line, line);
      break;
    }
    p = skip_line_end(s, stop, end);
    rc = s->line.len ? take_cut_line(s, line) : take_line(s, line, true);
  }
  copy_whole(s);
  return rc;
}

int sse_end(struct sse *s)
{
  int rc = 0;
  start_is_behind(s);
  if (s->line.len)
    rc = take_cut_line(s, (struct str){NULL, 0});
  return rc ? rc : dispatch(s, true);
}
