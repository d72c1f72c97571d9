#include "data/pretokenizer.h"

#include "base/mem.h"
#include "data/utf8.h"

/* ---- reading ---- */

struct reading {
  struct pretokenizer *p;
  const char *path;
  struct err *e;
  bool bytes; /* the last ByteLevel leaves its words bytes */
  bool letters;
};

static struct split_step *add(struct reading *r, enum split_kind kind,
                              enum split_behavior behavior)
{
  struct pretokenizer *p = r->p;
  p->step = mem_resize(p->step, p->n + 1, sizeof *p->step);
  p->step[p->n] = (struct split_step){.kind = kind, .behavior = behavior};
  return &p->step[p->n++];
}

static bool field(const json_value *v, const char *name, bool otherwise)
{
  const json_value *f = json_get(v, name);
  return json_is_boolean(f) ? json_true(f) : otherwise;
}

static const char *type_of(const json_value *v)
{
  const char *type = json_text(json_get(v, "type"));
  return type ? type : "";
}

/* 0, or -1 with a message. A missing one is `otherwise`. */
static int behavior_of(struct reading *r, const json_value *v,
                       enum split_behavior otherwise, enum split_behavior *out)
{
  static const char *const names[] = {"Removed", "Isolated",
                                      "MergedWithPrevious", "MergedWithNext",
                                      "Contiguous"};
  const char *name = json_text(json_get(v, "behavior"));
  *out = otherwise;
  if (!name)
    return 0;
  for (int i = 0; i < 5; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (enum split_behavior)i;
      return 0;
    }
  return err_add(r->e, "%s: the split behavior %s is not known", r->path, name);
}

static struct split_step *add_pattern(struct reading *r, enum word_pattern w,
                                      enum split_behavior behavior, bool invert)
{
  struct split_step *step = add(r, SPLIT_PATTERN, behavior);
  step->pattern = w;
  step->invert = invert;
  step->plain =
      word_pattern_covers(w) &&
      ((behavior == SPLIT_ISOLATED) || (behavior == SPLIT_REMOVED && invert));
  return step;
}

static int read_split(struct reading *r, const json_value *v)
{
  const json_value *pattern = json_get(v, "pattern");
  const char *text = json_text(json_get(pattern, "String"));
  const char *regex = json_text(json_get(pattern, "Regex"));
  bool invert = field(v, "invert", false);
  enum split_behavior behavior;
  struct split_step *step;
  if ((!text && !regex) || (text && !*text))
    return err_add(r->e,
                   "%s: pre_tokenizer Split needs a pattern, String or "
                   "Regex",
                   r->path);
  if (behavior_of(r, v, SPLIT_ISOLATED, &behavior) < 0)
    return -1;
  if (regex && word_pattern_find(str_of(regex))) {
    add_pattern(r, word_pattern_find(str_of(regex)), behavior, invert);
    return 0;
  }
  step = add(r, text ? SPLIT_TEXT : SPLIT_REGEX, behavior);
  step->invert = invert;
  if (text)
    buf_adds(&step->text, text);
  return text ? 0 : regex_init(&step->regex, str_of(regex), r->path, r->e);
}

static int read_byte_level(struct reading *r, const json_value *v)
{
  if (r->letters)
    return err_add(r->e,
                   "%s: pre_tokenizer: more than one ByteLevel is not "
                   "supported",
                   r->path);
  if (field(v, "add_prefix_space", true))
    add(r, CHANGE_PREFIX_SPACE, SPLIT_ISOLATED);
  if (field(v, "use_regex", true))
    add_pattern(r, WORD_GPT2, SPLIT_ISOLATED, false);
  if (!r->bytes)
    add(r, CHANGE_LETTERS, SPLIT_ISOLATED);
  r->letters = true;
  return 0;
}

static int read_metaspace(struct reading *r, const json_value *v)
{
  static const char *const names[] = {"always", "first", "never"};
  const char *scheme = json_text(json_get(v, "prepend_scheme"));
  const char *text = json_text(json_get(v, "replacement"));
  struct split_step *step = add(r, CHANGE_METASPACE, SPLIT_ISOLATED);
  size_t at = r->p->n - 1;
  int known = scheme ? -1 : METASPACE_ALWAYS;
  buf_adds(&step->text, text && *text ? text : "\u2581");
  for (int i = 0; i < 3; i++)
    if (scheme && strcmp(scheme, names[i]) == 0)
      known = i;
  if (known < 0)
    return err_add(r->e,
                   "%s: pre_tokenizer Metaspace: prepend_scheme %s is "
                   "not known",
                   r->path, scheme);
  step->prepend = (enum metaspace_prepend)known;
  /* The older spelling of "never". */
  if (!field(v, "add_prefix_space", true))
    step->prepend = METASPACE_NEVER;
  if (step->text.len != utf8_size((unsigned char)step->text.p[0]))
    return err_add(r->e,
                   "%s: pre_tokenizer Metaspace: the replacement must be "
                   "one character",
                   r->path);
  if (field(v, "split", true)) {
    struct split_step *cut = add(r, SPLIT_CHARACTER, SPLIT_MERGED_WITH_NEXT);
    buf_addstr(&cut->text, buf_str(&r->p->step[at].text));
  }
  return 0;
}

static int read_punctuation(struct reading *r, const json_value *v)
{
  enum split_behavior behavior;
  if (behavior_of(r, v, SPLIT_ISOLATED, &behavior) < 0)
    return -1;
  add(r, SPLIT_PUNCTUATION, behavior);
  return 0;
}

static int read_delimiter(struct reading *r, const json_value *v)
{
  const char *text = json_text(json_get(v, "delimiter"));
  if (!text || !*text)
    return err_add(r->e,
                   "%s: pre_tokenizer CharDelimiterSplit needs a "
                   "delimiter",
                   r->path);
  buf_adds(&add(r, SPLIT_CHARACTER, SPLIT_REMOVED)->text, text);
  return 0;
}

static int read_fixed(struct reading *r, const json_value *v)
{
  double length = json_double(json_get(v, "length"), 5);
  if (length < 1 || length > 1e9)
    return err_add(r->e, "%s: pre_tokenizer FixedLength needs a length",
                   r->path);
  add(r, SPLIT_FIXED, SPLIT_ISOLATED)->length = (size_t)length;
  return 0;
}

static int read_step(struct reading *r, const json_value *v)
{
  const char *type = type_of(v);
  int result = 0;
  if (strcmp(type, "Sequence") == 0) {
    const json_value *all = json_get(v, "pretokenizers");
    for (const json_value *i = json_first(all); i; i = json_next(i))
      if (read_step(r, i) < 0)
        result = -1;
    return result;
  }
  if (strcmp(type, "Split") == 0)
    return read_split(r, v);
  if (strcmp(type, "ByteLevel") == 0)
    return read_byte_level(r, v);
  if (strcmp(type, "Metaspace") == 0)
    return read_metaspace(r, v);
  if (strcmp(type, "Punctuation") == 0)
    return read_punctuation(r, v);
  if (strcmp(type, "CharDelimiterSplit") == 0)
    return read_delimiter(r, v);
  if (strcmp(type, "FixedLength") == 0)
    return read_fixed(r, v);
  if (strcmp(type, "Whitespace") == 0) {
    add_pattern(r, WORD_WHITESPACE, SPLIT_REMOVED, true);
  } else if (strcmp(type, "WhitespaceSplit") == 0) {
    add(r, SPLIT_SPACE, SPLIT_REMOVED);
  } else if (strcmp(type, "BertPreTokenizer") == 0) {
    add(r, SPLIT_SPACE, SPLIT_REMOVED);
    add(r, SPLIT_PUNCTUATION, SPLIT_ISOLATED);
  } else if (strcmp(type, "Digits") == 0) {
    add(r, SPLIT_NUMERIC,
        field(v, "individual_digits", false) ? SPLIT_ISOLATED
                                             : SPLIT_CONTIGUOUS);
  } else {
    return err_add(r->e, "%s: the pre_tokenizer %s is not supported", r->path,
                   *type ? type : "without a type");
  }
  return 0;
}

bool pretokenizer_makes_bytes(const json_value *v)
{
  while (strcmp(type_of(v), "Sequence") == 0) {
    const json_value *last = NULL;
    const json_value *all = json_get(v, "pretokenizers");
    for (const json_value *i = json_first(all); i; i = json_next(i))
      last = i;
    v = last;
  }
  return strcmp(type_of(v), "ByteLevel") == 0;
}

int pretokenizer_init(struct pretokenizer *p, const json_value *v,
                      const struct unicode *u, const char *path, struct err *e)
{
  struct reading r = {.p = p, .path = path, .e = e};
  *p = (struct pretokenizer){.unicode = u};
  word_classes_init(&p->classes, u);
  byte_alphabet_init(&p->alphabet);
  r.bytes = pretokenizer_makes_bytes(v);
  return !v || json_is_null(v) ? 0 : read_step(&r, v);
}

void pretokenizer_deinit(struct pretokenizer *p)
{
  for (size_t i = 0; i < p->n; i++) {
    buf_free(&p->step[i].text);
    regex_deinit(&p->step[i].regex);
  }
  mem_free(p->step);
}

void pretokenizer_scratch_free(struct pretokenizer_scratch *s)
{
  for (size_t i = 0; i < s->n; i++)
    buf_free(&s->changed[i]);
  mem_free(s->changed);
  regex_scratch_free(&s->regex);
}

/* ---- running ---- */

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
