/* wire_case.h -- a wire fed with the same bytes in many ways, which must not
 * matter. The result is compared as a line (wire_line.h). */
#ifndef STOKE_TESTS_WIRE_CASE_H
#define STOKE_TESTS_WIRE_CASE_H

#include "pieces.h"
#include "wire_line.h"

struct wire_case {
  const char *dialect;
  unsigned choices;
  int status;               /* 0: 200 */
  const char *content_type; /* NULL: text/event-stream */
  bool cut;                 /* the message didn't end properly */
  bool raw;
};

static inline void case_start(struct wire *w, const struct wire_case *c,
                              struct buf *out)
{
  struct wire_config config = {.dialect = wire_dialect_find(c->dialect),
                               .choices = c->choices,
                               .keep_text = true,
                               .keep_tools = true,
                               .raw = c->raw};
  const char *type = c->content_type ? c->content_type : "text/event-stream";
  wire_start(w, &config, write_payload, out);
  wire_head(w, c->status ? c->status : 200, str_of(type));
}

static inline void case_end(struct wire *w, const struct wire_case *c,
                            struct buf *out)
{
  wire_end(w, !c->cut);
  write_result(out, wire_result(w));
}

/* The line for `in`, fed in steps of `step` bytes. */
static inline void case_run(struct wire *w, const struct wire_case *c,
                            struct pieces *g, struct str in, size_t step,
                            struct buf *out)
{
  case_start(w, c, out);
  for (size_t i = 0; i < in.len; i += step) {
    struct str p = {in.p + i, in.len - i < step ? in.len - i : step};
    p = pieces_at_edge(g, p);
    wire_feed(w, p.p, p.len);
  }
  case_end(w, c, out);
}

/* ... in three pieces. */
static inline void case_run_cut(struct wire *w, const struct wire_case *c,
                                struct pieces *g, struct str in, size_t a,
                                size_t b, struct buf *out)
{
  struct str part[3] = {{in.p, a}, {in.p + a, b - a}, {in.p + b, in.len - b}};
  case_start(w, c, out);
  for (int i = 0; i < 3; i++) {
    struct str p = pieces_at_edge(g, part[i]);
    wire_feed(w, p.p, p.len);
  }
  case_end(w, c, out);
}

static inline void case_assert(struct buf *out, const char *want)
{
  assert_string_equal(buf_cstr(out), want);
  buf_reset(out);
}

/* How far apart the cuts of a long input are, so that a test ends. */
enum { CASE_ALL_PAIRS = 400, CASE_BYTES = 40 << 20 };

static inline void case_check_pairs(struct wire *w, const struct wire_case *c,
                                    struct pieces *g, struct str in,
                                    const char *want)
{
  size_t pairs = CASE_BYTES / (in.len + 1) + 1;
  size_t per_first = pairs / (in.len + 1) + 1;
  size_t first = in.len <= CASE_ALL_PAIRS ? 1 : in.len / pairs + 1;
  size_t second = in.len <= CASE_ALL_PAIRS ? 1 : in.len / per_first + 1;
  struct buf out = {0};
  for (size_t a = 0; a <= in.len; a += first) {
    for (size_t b = a; b <= in.len; b += second) {
      case_run_cut(w, c, g, in, a, b, &out);
      case_assert(&out, want);
    }
  }
  buf_free(&out);
}

/* Whole, in bytes, and cut at pairs of points: at all of them when the input
 * is short. */
static inline void case_check(const struct wire_case *c, struct str in,
                              const char *want)
{
  struct pieces g = pieces_new(in.len);
  struct wire *w = wire_new();
  struct buf out = {0};
  case_run(w, c, &g, in, in.len ? in.len : 1, &out);
  case_assert(&out, want);
  case_run(w, c, &g, in, 1, &out);
  case_assert(&out, want);
  case_check_pairs(w, c, &g, in, want);
  buf_free(&out);
  wire_free(w);
  pieces_free(&g);
}

#endif
