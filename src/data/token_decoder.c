#include "data/token_decoder.h"

#include "base/mem.h"
#include "data/tokenizer_limits.h"
#include "data/utf8.h"

/* ---- reading ---- */

struct reading {
  struct token_decoder *d;
  const char *path;
  struct err *e;
};

static struct decode_step *add(struct reading *r, enum decode_kind kind)
{
  struct token_decoder *d = r->d;
  d->step = mem_resize(d->step, d->n + 1, sizeof *d->step);
  d->step[d->n] = (struct decode_step){.kind = kind};
  return &d->step[d->n++];
}

static const char *text_of(const json_value *v, const char *name,
                           const char *otherwise)
{
  const char *text = json_text(json_get(v, name));
  return text ? text : otherwise;
}

static size_t count_of(const json_value *v, const char *name)
{
  double n = json_double(json_get(v, name), 0);
  return n > 0 && n < 1e9 ? (size_t)n : 0;
}

static int read_replace(struct reading *r, const json_value *v)
{
  const json_value *pattern = json_get(v, "pattern");
  const char *text = json_text(json_get(pattern, "String"));
  const char *regex = json_text(json_get(pattern, "Regex"));
  struct decode_step *step;
  if ((!text && !regex) || (text && !*text))
    return err_add(r->e,
                   "%s: decoder Replace needs a pattern, String or "
                   "Regex",
                   r->path);
  step = add(r, text ? DECODE_REPLACE : DECODE_REPLACE_REGEX);
  buf_adds(&step->to, text_of(v, "content", ""));
  if (text)
    buf_adds(&step->from, text);
  return text ? 0 : regex_init(&step->regex, str_of(regex), r->path, r->e);
}

static void read_strip(struct reading *r, const json_value *v)
{
  struct decode_step *step = add(r, DECODE_STRIP);
  buf_adds(&step->from, text_of(v, "content", " "));
  step->start = count_of(v, "start");
  step->stop = count_of(v, "stop");
}

static void read_metaspace(struct reading *r, const json_value *v)
{
  struct decode_step *step = add(r, DECODE_METASPACE);
  const json_value *prefix = json_get(v, "add_prefix_space");
  const char *scheme = text_of(v, "prepend_scheme", "always");
  buf_adds(&step->from, text_of(v, "replacement", "\u2581"));
  step->flag = strcmp(scheme, "never") != 0 &&
               (!json_is_boolean(prefix) || json_true(prefix));
}

static int read_step(struct reading *r, const json_value *v)
{
  const char *type = text_of(v, "type", "");
  struct decode_step *step;
  int result = 0;
  if (strcmp(type, "Sequence") == 0) {
    const json_value *all = json_get(v, "decoders");
    for (const json_value *i = json_first(all); i; i = json_next(i))
      if (read_step(r, i) < 0)
        result = -1;
    return result;
  }
  if (strcmp(type, "Replace") == 0)
    return read_replace(r, v);
  if (strcmp(type, "ByteLevel") == 0) {
    add(r, DECODE_BYTE_LEVEL);
  } else if (strcmp(type, "ByteFallback") == 0) {
    add(r, DECODE_BYTE_FALLBACK);
  } else if (strcmp(type, "Fuse") == 0) {
    add(r, DECODE_FUSE);
  } else if (strcmp(type, "Strip") == 0) {
    read_strip(r, v);
  } else if (strcmp(type, "Metaspace") == 0) {
    read_metaspace(r, v);
  } else if (strcmp(type, "WordPiece") == 0) {
    step = add(r, DECODE_WORDPIECE);
    buf_adds(&step->from, text_of(v, "prefix", "##"));
    step->flag = json_true(json_get(v, "cleanup"));
  } else if (strcmp(type, "BPEDecoder") == 0) {
    buf_adds(&add(r, DECODE_SUFFIX)->from, text_of(v, "suffix", "</w>"));
  } else {
    return err_add(r->e, "%s: the decoder %s is not supported", r->path,
                   *type ? type : "without a type");
  }
  return 0;
}

/* Replace, ByteFallback, Fuse: what is replaced must not be in a byte's name,
 * as no character beyond ASCII is. */
static bool starts_as_sentencepiece(const struct token_decoder *d)
{
  return d->n >= 3 && d->step[0].kind == DECODE_REPLACE &&
         (unsigned char)d->step[0].from.p[0] >= 0x80 &&
         d->step[1].kind == DECODE_BYTE_FALLBACK &&
         d->step[2].kind == DECODE_FUSE;
}

int token_decoder_init(struct token_decoder *d, const json_value *v,
                       const char *path, struct err *e)
{
  struct reading r = {d, path, e};
  *d = (struct token_decoder){.given = v && !json_is_null(v)};
  byte_alphabet_init(&d->alphabet);
  if (d->given &&
      (tokenizer_check_steps(v, "decoders", "decoder", path, e) < 0 ||
       read_step(&r, v) < 0))
    return -1;
  d->fused = starts_as_sentencepiece(d);
  return 0;
}

void token_decoder_deinit(struct token_decoder *d)
{
  for (size_t i = 0; i < d->n; i++) {
    buf_free(&d->step[i].from);
    buf_free(&d->step[i].to);
    regex_deinit(&d->step[i].regex);
  }
  mem_free(d->step);
}

void token_decoder_scratch_free(struct token_decoder_scratch *s)
{
  for (int i = 0; i < 2; i++) {
    buf_free(&s->row[i].bytes);
    mem_free(s->row[i].end);
  }
  buf_free(&s->text);
  regex_scratch_free(&s->regex);
}

bool token_decoder_joins_bytes(const struct token_decoder *d)
{
  return d->n == 1 && d->step[0].kind == DECODE_BYTE_LEVEL;
}

/* ---- rows ---- */

void text_row_reset(struct text_row *r)
{
  buf_reset(&r->bytes);
  r->n = 0;
}

void text_row_close(struct text_row *r)
{
  if (r->n == r->cap) {
    r->cap = r->cap * 2 + 64;
    r->end = mem_resize(r->end, r->cap, sizeof *r->end);
  }
  r->end[r->n++] = r->bytes.len;
}

static struct str text_at(const struct text_row *r, size_t i)
{
  size_t start = i ? r->end[i - 1] : 0, len = r->end[i] - start;
  return (struct str){len ? r->bytes.p + start : NULL, len};
}

/* ---- steps ---- */

static void byte_level(const struct token_decoder *d, const struct text_row *in,
                       struct text_row *out, struct buf *bytes)
{
  buf_reset(bytes);
  for (size_t i = 0; i < in->n; i++) {
    struct str text = text_at(in, i);
    if (byte_alphabet_read(&d->alphabet, bytes, text) < 0)
      buf_addstr(bytes, text);
  }
  utf8_add_repaired(&out->bytes, buf_str(bytes));
  text_row_close(out);
}

static int hex(char c)
{
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/* The byte that "<0x41>" is, or -1. Rust's number parser takes a + too. */
static int byte_of(struct str text)
{
  int hi, lo;
  if (text.len != 6 || memcmp(text.p, "<0x", 3) != 0 || text.p[5] != '>')
    return -1;
  lo = hex(text.p[4]);
  hi = text.p[3] == '+' ? 0 : hex(text.p[3]);
  return hi < 0 || lo < 0 ? -1 : hi * 16 + lo;
}

/* Bytes in a row: their text, or a U+FFFD for each. `apart`: as a text of the
 * row each. */
static void flush_bytes(struct text_row *out, struct buf *bytes, bool apart)
{
  if (!bytes->len)
    return;
  if (utf8_valid(buf_str(bytes)) == bytes->len) {
    buf_addstr(&out->bytes, buf_str(bytes));
  } else {
    for (size_t i = 0; i < bytes->len; i++) {
      buf_adds(&out->bytes, "\xef\xbf\xbd");
      if (apart && i + 1 < bytes->len)
        text_row_close(out);
    }
  }
  if (apart)
    text_row_close(out);
  buf_reset(bytes);
}

static void byte_fallback(const struct text_row *in, struct text_row *out,
                          struct buf *bytes)
{
  buf_reset(bytes);
  for (size_t i = 0; i < in->n; i++) {
    struct str text = text_at(in, i);
    int byte = byte_of(text);
    if (byte >= 0) {
      buf_addc(bytes, (char)byte);
      continue;
    }
    flush_bytes(out, bytes, true);
    buf_addstr(&out->bytes, text);
    text_row_close(out);
  }
  flush_bytes(out, bytes, true);
}

static void add_replaced(struct buf *out, struct str text, struct str from,
                         struct str to)
{
  ptrdiff_t at;
  while (from.len && (at = str_find(text, from)) >= 0) {
    buf_add(out, text.p, (size_t)at);
    buf_addstr(out, to);
    text.p += (size_t)at + from.len;
    text.len -= (size_t)at + from.len;
  }
  buf_addstr(out, text);
}

static int add_replaced_regex(struct buf *out, struct str text,
                              const struct decode_step *step,
                              struct regex_scratch *s)
{
  struct regex_walk w = {0};
  size_t done = 0, start, end;
  int got;
  if (!text.len)
    return 0;
  while ((got = regex_next(&step->regex, s, text, &w, &start, &end)) > 0) {
    buf_add(out, text.p + done, start - done);
    buf_addstr(out, buf_str(&step->to));
    done = end;
  }
  buf_add(out, text.p + done, text.len - done);
  return got;
}

static void add_stripped(struct buf *out, struct str text,
                         const struct decode_step *step)
{
  struct str cut = buf_str(&step->from);
  for (size_t i = step->start; i && cut.len && str_starts(text, cut); i--)
    text.p += cut.len, text.len -= cut.len;
  for (size_t i = step->stop; i && cut.len && str_ends(text, cut); i--)
    text.len -= cut.len;
  buf_addstr(out, text);
}

/* The spelling repairs of BERT's detokenizer, one after the other. */
static void add_clean(struct buf *out, struct str text)
{
  static const char *const repair[][2] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  struct buf a = {0}, b = {0};
  buf_addstr(&a, text);
  for (size_t i = 0; i < sizeof repair / sizeof *repair; i++) {
    struct buf swap = a;
    buf_reset(&b);
    add_replaced(&b, buf_str(&a), str_of(repair[i][0]), str_of(repair[i][1]));
    a = b, b = swap;
  }
  buf_addstr(out, buf_str(&a));
  buf_free(&a);
  buf_free(&b);
}

static void add_wordpiece(struct buf *out, struct str text, bool first,
                          const struct decode_step *step, struct buf *room)
{
  struct str prefix = buf_str(&step->from);
  buf_reset(room);
  if (!first && prefix.len && str_starts(text, prefix))
    text.p += prefix.len, text.len -= prefix.len;
  else if (!first && prefix.len)
    buf_addc(room, ' ');
  buf_addstr(room, text);
  if (step->flag)
    add_clean(out, buf_str(room));
  else
    buf_addstr(out, buf_str(room));
}

/* One text of a row; the steps that keep the row's length. */
static int one(const struct decode_step *step, struct token_decoder_scratch *s,
               struct str text, bool first, bool last, struct buf *out)
{
  switch (step->kind) {
  case DECODE_REPLACE:
    add_replaced(out, text, buf_str(&step->from), buf_str(&step->to));
    return 0;
  case DECODE_REPLACE_REGEX:
    return add_replaced_regex(out, text, step, &s->regex);
  case DECODE_STRIP: add_stripped(out, text, step); return 0;
  case DECODE_METASPACE:
    add_replaced(out, text, buf_str(&step->from),
                 first && step->flag ? STR("") : STR(" "));
    return 0;
  case DECODE_WORDPIECE:
    add_wordpiece(out, text, first, step, &s->text);
    return 0;
  case DECODE_SUFFIX:
    add_replaced(out, text, buf_str(&step->from), last ? STR("") : STR(" "));
    return 0;
  default: buf_addstr(out, text); return 0;
  }
}

/* The first three steps of SentencePiece's decoders. */
static void run_fused(const struct token_decoder *d,
                      struct token_decoder_scratch *s)
{
  const struct decode_step *replace = &d->step[0];
  const struct text_row *in = &s->row[0];
  struct text_row *out = &s->row[1];
  text_row_reset(out);
  buf_reset(&s->text);
  for (size_t i = 0; i < in->n; i++) {
    struct str text = text_at(in, i);
    int byte = byte_of(text);
    if (byte >= 0) {
      buf_addc(&s->text, (char)byte);
      continue;
    }
    flush_bytes(out, &s->text, false);
    add_replaced(&out->bytes, text, buf_str(&replace->from),
                 buf_str(&replace->to));
  }
  flush_bytes(out, &s->text, false);
  text_row_close(out);
}

static int run_step(const struct token_decoder *d,
                    const struct decode_step *step,
                    struct token_decoder_scratch *s, const struct text_row *in,
                    struct text_row *out)
{
  if (step->kind == DECODE_BYTE_LEVEL) {
    byte_level(d, in, out, &s->text);
    return 0;
  }
  if (step->kind == DECODE_BYTE_FALLBACK) {
    byte_fallback(in, out, &s->text);
    return 0;
  }
  for (size_t i = 0; i < in->n; i++) {
    if (one(step, s, text_at(in, i), i == 0, i + 1 == in->n, &out->bytes) < 0)
      return -1;
    if (step->kind != DECODE_FUSE)
      text_row_close(out);
  }
  if (step->kind == DECODE_FUSE)
    text_row_close(out);
  return 0;
}

int token_decoder_run(const struct token_decoder *d,
                      struct token_decoder_scratch *s, struct buf *out)
{
  unsigned which = d->fused;
  size_t room = tokenizer_decode_room(s->row[0].bytes.len);
  s->row[0].bytes.max = s->row[1].bytes.max = room;
  s->row[0].bytes.toobig = s->row[1].bytes.toobig = false;
  if (d->fused)
    run_fused(d, s);
  for (size_t i = d->fused ? 3 : 0; i < d->n; i++) {
    text_row_reset(&s->row[1 - which]);
    if (run_step(d, &d->step[i], s, &s->row[which], &s->row[1 - which]) < 0)
      return -1;
    which = 1 - which;
    if (s->row[which].bytes.toobig)
      return -1;
  }
  for (size_t i = 0; i < s->row[which].n; i++) {
    if (i && !d->given)
      buf_addc(out, ' ');
    buf_addstr(out, text_at(&s->row[which], i));
  }
  return 0;
}
