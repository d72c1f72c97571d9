#include "data/pretokenizer.h"

#include "base/mem.h"
#include "data/utf8.h"

void pretokenizer_scratch_free(struct pretokenizer_scratch *s)
{
  for (size_t i = 0; i < s->n; i++)
    buf_free(&s->changed[i]);
  mem_free(s->changed);
  regex_scratch_free(&s->regex);
}

struct run {
  const struct pretokenizer *p;
  struct pretokenizer_scratch *s;
  pretokenizer_word_cb *cb;
  void *ud;
  bool gave_up;
};

static void run_step(struct run *r, size_t at, struct str text, size_t head);

/* A part of `text` for the step behind `at`. */
static void hand_on(struct run *r, size_t at, struct str text, size_t head,
                    const char *start, const char *end)
{
  size_t skipped = (size_t)(start - text.p);
  if (start == end)
    return;
  run_step(r, at + 1, (struct str){start, (size_t)(end - start)},
           head > skipped ? head - skipped : 0);
}

/* Matches and what is between them, in order, become words by the behavior.
 * One part is held back, since the next may still join it. */
struct splitter {
  struct run *run;
  const struct split_step *step;
  size_t at, head;
  struct str text;
  const char *start, *end; /* held back; NULL: nothing is */
  bool was_match;          /* the part before */
  bool held_match;
};

static void release(struct splitter *x)
{
  if (x->start)
    hand_on(x->run, x->at, x->text, x->head, x->start, x->end);
  x->start = NULL;
}

static bool joins(const struct splitter *x, bool match)
{
  switch (x->step->behavior) {
  case SPLIT_CONTIGUOUS: return match == x->was_match;
  case SPLIT_MERGED_WITH_PREVIOUS: return match && !x->was_match;
  case SPLIT_MERGED_WITH_NEXT: return x->was_match && !match;
  default: return false;
  }
}

static void part(struct splitter *x, const char *start, const char *end,
                 bool match)
{
  match = match != x->step->invert;
  if (x->start && joins(x, match)) {
    x->end = end;
  } else {
    release(x);
    if (x->step->behavior != SPLIT_REMOVED || !match)
      x->start = start, x->end = end;
  }
  x->was_match = match;
}

/* What is between the last match and this one, then the match. */
static void matched(struct splitter *x, const char **done, const char *start,
                    const char *end)
{
  if (*done < start)
    part(x, *done, start, false);
  part(x, start, end, true);
  *done = end;
}

/* Where the match at p ends, or NULL; for the kinds that look at one place. */
static const char *match_at(const struct run *r, const struct split_step *step,
                            const char *p, const char *end)
{
  const char *next;
  uint32_t c, record;
  if (step->kind == SPLIT_PATTERN)
    return word_pattern_match(step->pattern, &r->p->classes, p, end);
  c = utf8_next(p, &next);
  record = unicode_get(r->p->unicode, c);
  switch (step->kind) {
  case SPLIT_SPACE: return record & UNICODE_SPACE ? next : NULL;
  case SPLIT_NUMERIC: return record & UNICODE_NUMERIC ? next : NULL;
  case SPLIT_PUNCTUATION:
    return record & UNICODE_PUNCTUATION ||
                   (c < 0x80 && strchr("$+<=>^`|~", (int)c) && c)
               ? next
               : NULL;
  default: return NULL;
  }
}

static void split_by_place(struct splitter *x)
{
  const char *p = x->text.p, *end = p + x->text.len, *done = p;
  while (p < end) {
    const char *stop = match_at(x->run, x->step, p, end);
    if (stop)
      matched(x, &done, p, stop);
    p = stop ? stop : p + utf8_size((unsigned char)*p);
  }
  if (done < end)
    part(x, done, end, false);
}

/* A text, which may be one character. */
static void split_by_text(struct splitter *x)
{
  const char *done = x->text.p, *end = done + x->text.len;
  struct str needle = buf_str(&x->step->text);
  for (;;) {
    struct str rest = {done, (size_t)(end - done)};
    ptrdiff_t found = str_find(rest, needle);
    if (found < 0)
      break;
    matched(x, &done, rest.p + found, rest.p + found + needle.len);
  }
  if (done < end)
    part(x, done, end, false);
}

static void split_by_regex(struct splitter *x)
{
  const char *done = x->text.p, *end = done + x->text.len;
  struct regex_walk w = {0};
  size_t start, stop;
  int got;
  while ((got = regex_next(&x->step->regex, &x->run->s->regex, x->text, &w,
                           &start, &stop)) > 0)
    matched(x, &done, x->text.p + start, x->text.p + stop);
  if (got < 0)
    x->run->gave_up = true;
  if (done < end)
    part(x, done, end, false);
}

static void split_fixed(struct run *r, size_t at, struct str text, size_t head)
{
  const char *p = text.p, *end = p + text.len;
  while (p < end) {
    const char *start = p;
    for (size_t i = r->p->step[at].length; i && p < end; i--)
      p += utf8_size((unsigned char)*p);
    hand_on(r, at, text, head, start, p);
  }
}

/* Well-known patterns that leave nothing out: each match is a word. */
static void split_plain(struct run *r, size_t at, struct str text, size_t head)
{
  const struct split_step *step = &r->p->step[at];
  const char *p = text.p, *end = p + text.len;
  bool last = at + 1 == r->p->n;
  while (p < end) {
    const char *stop =
        word_pattern_match(step->pattern, &r->p->classes, p, end);
    if (last)
      r->cb((struct str){p, (size_t)(stop - p)}, r->ud);
    else
      hand_on(r, at, text, head, p, stop);
    p = stop;
  }
}

static void metaspace(const struct split_step *step, struct str text,
                      size_t *head, struct buf *out)
{
  const struct buf *mark = &step->text;
  size_t head_in = *head;
  bool marked = text.p[0] == ' ' || str_starts(text, buf_str(mark));
  *head = 0;
  if (!marked && (step->prepend == METASPACE_ALWAYS ||
                  (step->prepend == METASPACE_FIRST && head_in)))
    buf_addstr(out, buf_str(mark));
  for (size_t i = 0; i < text.len;) {
    const char *blank = memchr(text.p + i, ' ', text.len - i);
    size_t to = blank ? (size_t)(blank - text.p) : text.len;
    buf_add(out, text.p + i, to - i);
    if (i < head_in)
      *head = out->len - (to < head_in ? 0 : to - head_in);
    if (blank)
      buf_addstr(out, buf_str(mark));
    if (blank && to < head_in)
      *head = out->len;
    i = to + (blank != NULL);
  }
}

/* The steps that write a new text, each into its own buffer: the words of
 * one are cut by the steps behind it while it is still in use. */
static void change(struct run *r, size_t at, struct str text, size_t head)
{
  const struct split_step *step = &r->p->step[at];
  struct buf *out = &r->s->changed[at];
  if (step->kind == CHANGE_PREFIX_SPACE && text.p[0] == ' ') {
    run_step(r, at + 1, text, head);
    return;
  }
  buf_reset(out);
  if (step->kind == CHANGE_METASPACE) {
    metaspace(step, text, &head, out);
  } else if (step->kind == CHANGE_PREFIX_SPACE) {
    buf_addc(out, ' ');
    buf_addstr(out, text);
    head += head > 0;
  } else {
    byte_alphabet_write(&r->p->alphabet, out, (struct str){text.p, head});
    byte_alphabet_write(&r->p->alphabet, out,
                        (struct str){text.p + head, text.len - head});
  }
  run_step(r, at + 1, buf_str(out), head);
}

static void run_step(struct run *r, size_t at, struct str text, size_t head)
{
  const struct split_step *step;
  struct splitter x = {.run = r, .at = at, .head = head, .text = text};
  if (at == r->p->n) {
    r->cb(text, r->ud);
    return;
  }
  step = x.step = &r->p->step[at];
  if (step->plain) {
    split_plain(r, at, text, head);
    return;
  }
  switch (step->kind) {
  case SPLIT_FIXED: split_fixed(r, at, text, head); return;
  case SPLIT_REGEX: split_by_regex(&x); break;
  case SPLIT_TEXT:
  case SPLIT_CHARACTER: split_by_text(&x); break;
  case CHANGE_PREFIX_SPACE:
  case CHANGE_METASPACE:
  case CHANGE_LETTERS: change(r, at, text, head); return;
  default: split_by_place(&x); break;
  }
  release(&x);
}

int pretokenizer_run(const struct pretokenizer *p,
                     struct pretokenizer_scratch *s, struct str text,
                     size_t head, pretokenizer_word_cb *cb, void *ud)
{
  struct run r = {.p = p, .s = s, .cb = cb, .ud = ud};
  if (s->n < p->n) {
    s->changed = mem_resize(s->changed, p->n, sizeof *s->changed);
    memset(s->changed + s->n, 0, (p->n - s->n) * sizeof *s->changed);
    s->n = p->n;
  }
  if (text.len)
    run_step(&r, 0, text, head);
  return r.gave_up ? -1 : 0;
}
