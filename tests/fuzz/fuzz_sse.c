/* The SSE parser against the standard's algorithm written down as it stands
 * there, on the whole text at once. */
#include "base/buf.h"
#include "fuzz.h"
#include "net/sse.h"

static void write_event(struct buf *out, struct str name, struct str data,
                        bool has_data, bool unfinished)
{
  buf_addf(out, "%c%c", unfinished ? '?' : '.', has_data ? 'd' : '-');
  buf_addstr(out, name);
  buf_addc(out, '\0');
  buf_addstr(out, data);
  buf_addc(out, '\0');
}

static int on_event(const struct sse_event *e, void *ud)
{
  FUZZ_CHECK(e->comment.len <= 300);
  write_event(ud, e->name, e->data, e->data.p != NULL, e->unfinished);
  return 0;
}

/* ---- the reference ---- */

struct reference {
  struct buf *out, name, data;
  bool has_data;
};

static void dispatch(struct reference *r, bool unfinished)
{
  struct str data = buf_str(&r->data);
  data.len -= r->has_data; /* the last LF */
  if (r->has_data || r->name.len)
    write_event(r->out, buf_str(&r->name), data, r->has_data, unfinished);
  buf_reset(&r->name);
  buf_reset(&r->data);
  r->has_data = false;
}

static void field(struct reference *r, struct str line)
{
  struct str value = line, name = str_split(&value, ':');
  if (value.len && value.p[0] == ' ')
    value = (struct str){value.p + 1, value.len - 1};
  if (str_eq(name, STR("data"))) {
    buf_addstr(&r->data, value);
    buf_addc(&r->data, '\n');
    r->has_data = true;
  } else if (str_eq(name, STR("event"))) {
    buf_reset(&r->name);
    buf_addstr(&r->name, value);
  }
}

static void reference(struct buf *out, struct str s)
{
  struct reference r = {.out = out};
  if (str_starts(s, STR("\xef\xbb\xbf")))
    s = (struct str){s.p + 3, s.len - 3};
  while (s.len) {
    size_t n = 0;
    while (n < s.len && s.p[n] != '\r' && s.p[n] != '\n')
      n++;
    if (n == 0)
      dispatch(&r, false);
    else
      field(&r, (struct str){s.p, n});
    n += n + 1 < s.len && s.p[n] == '\r' && s.p[n + 1] == '\n' ? 2
         : n < s.len                                           ? 1
                                                               : 0;
    s = (struct str){s.p + n, s.len - n};
  }
  dispatch(&r, true);
  buf_free(&r.name);
  buf_free(&r.data);
}

/* ---- */

static void feed_in_pieces(struct sse *s, struct str in, uint32_t state)
{
  while (in.len) {
    size_t n = fuzz_piece(&state, in.len);
    char *copy = fuzz_copy(in.p, n);
    FUZZ_CHECK(sse_feed(s, copy, n) == 0);
    free(copy);
    in = (struct str){in.p + n, in.len - n};
  }
  FUZZ_CHECK(sse_end(s) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct str in = {(const char *)data, size};
  struct buf want = {0}, whole = {0}, pieces = {0};
  uint32_t state = fuzz_take(&in) | fuzz_take(&in) << 8;
  struct sse s;
  reference(&want, in);

  sse_init(&s, 0, on_event, &whole);
  FUZZ_CHECK(sse_feed(&s, in.p, in.len) == 0);
  FUZZ_CHECK(sse_end(&s) == 0);
  FUZZ_CHECK(str_eq(buf_str(&whole), buf_str(&want)));

  /* The same parser again, after a reset. */
  sse_reset(&s);
  s.ud = &pieces;
  feed_in_pieces(&s, in, state);
  FUZZ_CHECK(str_eq(buf_str(&pieces), buf_str(&want)));

  sse_deinit(&s);
  buf_free(&want);
  buf_free(&whole);
  buf_free(&pieces);
  return 0;
}
