/* pretokenizer_read.c -- the steps that a tokenizer.json asks for. */
#include "data/pretokenizer.h"

#include "base/mem.h"
#include "data/tokenizer_limits.h"
#include "data/utf8.h"

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
  if (!v || json_is_null(v))
    return 0;
  return tokenizer_check_steps(v, "pretokenizers", "pre_tokenizer", path, e) < 0
             ? -1
             : read_step(&r, v);
}

void pretokenizer_deinit(struct pretokenizer *p)
{
  for (size_t i = 0; i < p->n; i++) {
    buf_free(&p->step[i].text);
    regex_deinit(&p->step[i].regex);
  }
  mem_free(p->step);
}
