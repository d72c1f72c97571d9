#include "mock/pipe.h"

#include <assert.h>

#include <zlib.h>

#include "base/mem.h"

/* More than this is given back when it is empty. */
#define KEPT (64 << 10)

void mock_pipe_begin(struct mock_pipe *p, const struct mock_plan *plan,
                     bool chunked)
{
  p->plan = plan;
  p->chunked = chunked;
  p->started = false;
  p->passed = p->due = 0;
  mock_pipe_reset(p);
  if (p->gz) {
    deflateEnd(p->gz);
    mem_free(p->gz);
    p->gz = NULL;
  }
  if (plan->encoding == MOCK_GZIP) {
    p->gz = mem_new(z_stream);
    /* 16: a gzip header, not zlib's. */
    deflateInit2(p->gz, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                 Z_DEFAULT_STRATEGY);
  }
}

void mock_pipe_reset(struct mock_pipe *p)
{
  p->held_at = 0;
  if (p->held.cap > KEPT)
    buf_free(&p->held);
  else
    buf_reset(&p->held);
}

void mock_pipe_deinit(struct mock_pipe *p)
{
  if (p->gz)
    deflateEnd(p->gz);
  mem_free(p->gz);
  buf_free(&p->packed);
  buf_free(&p->held);
  *p = (struct mock_pipe){0};
}

/* ---- events ---- */

static void end_line(const struct mock_pipe *p, struct buf *text)
{
  static const struct str ends[] = {
      [MOCK_LF] = STR("\n"), [MOCK_CRLF] = STR("\r\n"), [MOCK_CR] = STR("\r")};
  buf_addstr(text, ends[p->plan->line_end]);
}

static void add_data(const struct mock_pipe *p, struct str data,
                     struct buf *text)
{
  buf_add(text, "data: ", 6);
  buf_addstr(text, data);
  end_line(p, text);
}

void mock_pipe_event(struct mock_pipe *p, const char *name, struct str data,
                     struct buf *text)
{
  const char *comma = NULL;
  if (p->plan->comments) {
    buf_adds(text, ": mock");
    end_line(p, text);
  }
  if (name) {
    buf_adds(text, "event: ");
    buf_adds(text, name);
    end_line(p, text);
  }
  if (p->plan->multi_line && data.len)
    comma = memchr(data.p, ',', data.len);
  if (comma) {
    size_t first = (size_t)(comma - data.p) + 1;
    add_data(p, (struct str){data.p, first}, text);
    data = (struct str){data.p + first, data.len - first};
  }
  if (data.len)
    add_data(p, data, text);
  end_line(p, text);
}

void mock_pipe_comment(struct mock_pipe *p, const char *words, struct buf *text)
{
  buf_adds(text, ": ");
  buf_adds(text, words);
  end_line(p, text);
  end_line(p, text);
}

/* ---- bytes ---- */

static void add_hex(struct buf *out, size_t x)
{
  char digits[16];
  size_t n = sizeof digits;
  do
    digits[--n] = "0123456789abcdef"[x & 15];
  while (x >>= 4);
  buf_add(out, digits + n, sizeof digits - n);
}

static void frame(struct mock_pipe *p, struct str s, struct buf *out)
{
  if (!s.len)
    return;
  p->passed += s.len;
  if (!p->chunked) {
    buf_addstr(out, s);
    return;
  }
  add_hex(out, s.len);
  buf_add(out, "\r\n", 2);
  buf_addstr(out, s);
  buf_add(out, "\r\n", 2);
}

static bool in_pieces(const struct mock_plan *plan)
{
  return plan->split || plan->split_at >= 0 || plan->cut_byte >= 0;
}

static void pass(struct mock_pipe *p, struct str s, struct buf *out)
{
  if (!in_pieces(p->plan)) {
    frame(p, s, out);
    return;
  }
  if (!mock_pipe_holds(p))
    mock_pipe_reset(p);
  buf_addstr(&p->held, s);
}

static void compress_part(struct mock_pipe *p, struct str s, int mode,
                          struct buf *out)
{
  buf_reset(&p->packed);
  p->gz->next_in = (Bytef *)(uintptr_t)s.p;
  p->gz->avail_in = (uInt)s.len;
  do {
    char *to = buf_reserve(&p->packed, 16384);
    assert(to); /* `packed` has no ceiling */
    p->gz->next_out = (Bytef *)to;
    p->gz->avail_out = 16384;
    deflate(p->gz, mode);
    p->packed.len += 16384 - p->gz->avail_out;
  } while (p->gz->avail_out == 0);
  pass(p, buf_str(&p->packed), out);
}

static void put(struct mock_pipe *p, struct str body, struct buf *out)
{
  if (p->gz)
    compress_part(p, body, Z_SYNC_FLUSH, out);
  else if (p->plan->encoding == MOCK_BR)
    /* Not Brotli: but who cannot read it will not know. */
    pass(p, (struct str){"\x8b\x02\x80\xff\xfe", 5}, out);
  else
    pass(p, body, out);
}

void mock_pipe_put(struct mock_pipe *p, struct str body, struct buf *out)
{
  if (p->plan->bom && !p->started)
    put(p, STR("\xef\xbb\xbf"), out);
  p->started = true;
  put(p, body, out);
}

void mock_pipe_flush(struct mock_pipe *p, struct buf *out)
{
  if (p->gz)
    compress_part(p, STR(""), Z_FINISH, out);
}

void mock_pipe_end(struct mock_pipe *p, struct buf *out)
{
  if (p->chunked)
    buf_add(out, "0\r\n\r\n", 5);
}

/* Bytes up to the next cut, of `left`. */
static size_t piece_size(const struct mock_pipe *p, size_t left)
{
  const struct mock_plan *plan = p->plan;
  size_t n = left;
  if (plan->split && n > (size_t)plan->split)
    n = (size_t)plan->split;
  if (plan->split_at > (int64_t)p->passed &&
      n > (uint64_t)plan->split_at - p->passed)
    n = (size_t)((uint64_t)plan->split_at - p->passed);
  if (plan->cut_byte >= 0 && n > (uint64_t)plan->cut_byte - p->passed)
    n = (size_t)((uint64_t)plan->cut_byte - p->passed);
  return n;
}

bool mock_pipe_piece(struct mock_pipe *p, uint64_t now, struct buf *out)
{
  const struct mock_plan *plan = p->plan;
  struct str s = {p->held.p + p->held_at, p->held.len - p->held_at};
  s.len = piece_size(p, s.len);
  frame(p, s, out);
  p->held_at += s.len;
  if (plan->split || plan->split_at == (int64_t)p->passed)
    p->due = now + plan->split_delay_ns;
  return plan->cut_byte < 0 || p->passed < (uint64_t)plan->cut_byte;
}
