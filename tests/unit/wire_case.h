/* wire_case.h -- what a wire made of some bytes, as one line of text.
 *
 *   C0 Hi|C0 there@2|T0|-> ok stop 5/2/-/- text=Hi there
 *
 * Payloads first: the letters of what they carried (Content, Reasoning,
 * reFusal, Audio, Tool), the choice, the text, the usage in their event. Then
 * the outcome and whatever else differs from an empty result. */
#ifndef STOKE_TESTS_WIRE_CASE_H
#define STOKE_TESTS_WIRE_CASE_H

#include "net/wire.h"
#include "pieces.h"

struct wire_case {
  const char *dialect;
  unsigned choices;
  int status;               /* 0: 200 */
  const char *content_type; /* NULL: text/event-stream */
  bool cut;                 /* the message didn't end properly */
  bool raw;
};

static inline void write_field(struct buf *out, unsigned fields, unsigned of,
                               char letter)
{
  if (fields & of)
    buf_addc(out, letter);
}

static inline int write_payload(const struct wire_payload *p, void *ud)
{
  struct buf *out = ud;
  unsigned tool = 1u << WIRE_TOOL_NAME | 1u << WIRE_TOOL_ARGUMENTS;
  write_field(out, p->fields, 1u << WIRE_CONTENT, 'C');
  write_field(out, p->fields, 1u << WIRE_REASONING, 'R');
  write_field(out, p->fields, 1u << WIRE_REFUSAL, 'F');
  write_field(out, p->fields, 1u << WIRE_AUDIO, 'A');
  write_field(out, p->fields, tool, 'T');
  buf_addf(out, "%d", p->choice);
  if (p->text.len)
    buf_addf(out, " %.*s", STR_ARG(p->text));
  if (p->completion_tokens >= 0)
    buf_addf(out, "@%lld", (long long)p->completion_tokens);
  buf_addc(out, '|');
  return 0;
}

static inline void write_tokens(struct buf *out, int64_t n, char behind)
{
  if (n >= 0)
    buf_addf(out, "%lld", (long long)n);
  else
    buf_addc(out, '-');
  if (behind)
    buf_addc(out, behind);
}

static inline void write_usage(struct buf *out, const struct wire_usage *u)
{
  if (u->prompt_tokens < 0 && u->completion_tokens < 0 &&
      u->cached_tokens < 0 && u->reasoning_tokens < 0)
    return;
  buf_addc(out, ' ');
  write_tokens(out, u->prompt_tokens, '/');
  write_tokens(out, u->completion_tokens, '/');
  write_tokens(out, u->cached_tokens, '/');
  write_tokens(out, u->reasoning_tokens, 0);
}

static inline void write_result(struct buf *out, const struct wire_result *r)
{
  buf_addf(out, "-> %s", outcome_name(r->outcome));
  if (r->finish_reason[0])
    buf_addf(out, " %s", r->finish_reason);
  write_usage(out, &r->usage);
  if (r->choices > 1)
    buf_addf(out, " choices=%u", r->choices);
  if (r->refusals)
    buf_addf(out, " refusals=%u", r->refusals);
  if (r->content_type_odd)
    buf_adds(out, " odd");
  if (!r->streamed)
    buf_adds(out, " plain");
  if (r->text.len)
    buf_addf(out, " text=%.*s", STR_ARG(r->text));
  if (r->reasoning.len)
    buf_addf(out, " reasoning=%.*s", STR_ARG(r->reasoning));
  for (size_t i = 0; i < r->n_tool_calls; i++) {
    const struct wire_tool_call *c = &r->tool_calls[i];
    buf_addf(out, " tool=%d.%d %.*s %.*s(%.*s)", c->choice, c->index,
             STR_ARG(buf_str(&c->id)), STR_ARG(buf_str(&c->name)),
             STR_ARG(buf_str(&c->arguments)));
  }
  if (r->error_type[0])
    buf_addf(out, " type=%s", r->error_type);
  if (r->error_code)
    buf_addf(out, " code=%d", r->error_code);
  if (r->message[0])
    buf_addf(out, " message=%s", r->message);
}

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
