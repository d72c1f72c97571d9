/* wire_line.h -- what a wire made of some bytes, as one line of text.
 *
 *   C0 Hi|C0 there@2|T0|-> ok stop 5/2/-/- text=Hi there
 *
 * Payloads first: the letters of what they carried (Content, Reasoning,
 * reFusal, Audio, Tool), the choice, the text, the usage in their event. Then
 * the outcome and whatever else differs from an empty result. */
#ifndef STOKE_TESTS_WIRE_LINE_H
#define STOKE_TESTS_WIRE_LINE_H

#include "net/wire.h"

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

#endif
