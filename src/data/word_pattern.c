#include "data/word_pattern.h"

#include "data/utf8.h"

#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CL100K(digits)                                                         \
  CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                         \
              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"                 \
              "\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K(contraction, digits)                                             \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" contraction                     \
  "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" contraction "|" digits         \
  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct {
  enum word_pattern pattern;
  const char *text;
} texts[] = {
    {WORD_GPT2, "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
                " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    {WORD_CL100K, CL100K("\\p{N}{1,3}")},
    {WORD_QWEN2, CL100K("\\p{N}")},
    {WORD_O200K, O200K(CONTRACTION "?", "\\p{N}{1,3}")},
    {WORD_TEKKEN, O200K("", "\\p{N}")},
    {WORD_DEEPSEEK,
     "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
     "[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|"
     "\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},
    {WORD_NUMBERS3, "\\p{N}{1,3}"},
    {WORD_NUMBER, "\\p{N}"},
    {WORD_CJK, "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"},
    {WORD_WHITESPACE, "\\w+|[^\\w\\s]+"},
};

enum word_pattern word_pattern_find(struct str regex)
{
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].pattern != WORD_WHITESPACE &&
        str_eq(regex, str_of(texts[i].text)))
      return texts[i].pattern;
  return WORD_PATTERN_NONE;
}

const char *word_pattern_text(enum word_pattern w)
{
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].pattern == w)
      return texts[i].text;
  return "";
}

bool word_pattern_covers(enum word_pattern w)
{
  return w >= WORD_GPT2 && w <= WORD_TEKKEN;
}

/* ---- classes ---- */

enum {
  LETTER = 1,
  NUMBER = 2,
  SPACE = 4,
  LINE_END = 8,
  UPPER_ISH = 16, /* Lu Lt Lm Lo M */
  LOWER_ISH = 32, /* Ll Lm Lo M */
  MARK = 64,
  PUNCTUATION = 128, /* P and S */
};

static uint8_t class_of(uint32_t record)
{
  uint8_t space = record & UNICODE_SPACE ? SPACE : 0;
  if (record & UNICODE_LINE_END)
    return SPACE | LINE_END;
  switch (record & UNICODE_CATEGORY) {
  case UNICODE_LU:
  case UNICODE_LT: return LETTER | UPPER_ISH;
  case UNICODE_LL: return LETTER | LOWER_ISH;
  case UNICODE_LM:
  case UNICODE_LO: return LETTER | UPPER_ISH | LOWER_ISH;
  case UNICODE_MN:
  case UNICODE_MC:
  case UNICODE_ME: return MARK | UPPER_ISH | LOWER_ISH;
  case UNICODE_ND:
  case UNICODE_NL:
  case UNICODE_NO: return NUMBER;
  case UNICODE_PC:
  case UNICODE_PD:
  case UNICODE_PS:
  case UNICODE_PE:
  case UNICODE_PI:
  case UNICODE_PF:
  case UNICODE_PO:
  case UNICODE_SM:
  case UNICODE_SC:
  case UNICODE_SK:
  case UNICODE_SO: return PUNCTUATION;
  default: return space;
  }
}

void word_classes_init(struct word_classes *c, const struct unicode *u)
{
  c->unicode = u;
  for (unsigned i = 0; i < UNICODE_RECORDS; i++)
    c->of[i] = class_of(unicode_record[i]);
  for (uint32_t i = 0; i < 128; i++)
    c->ascii[i] = c->of[unicode_index(u, i)];
}

static inline uint8_t class_at(const struct word_classes *c, const char *p,
                               const char **next)
{
  unsigned char b = (unsigned char)*p;
  if (b < 0x80) {
    *next = p + 1;
    return c->ascii[b];
  }
  return c->of[unicode_index(c->unicode, utf8_next(p, next))];
}

/* ---- pieces that the patterns share ---- */

/* Where the characters of class `any` that start at p end. */
static inline const char *run(const struct word_classes *c, const char *p,
                              const char *end, uint8_t any)
{
  const char *next;
  while (p < end && class_at(c, p, &next) & any)
    p = next;
  return p;
}

/* Those of none of the classes. */
static inline const char *run_not(const struct word_classes *c, const char *p,
                                  const char *end, uint8_t any)
{
  const char *next;
  while (p < end && !(class_at(c, p, &next) & any))
    p = next;
  return p;
}

static const char *numbers(const struct word_classes *c, const char *p,
                           const char *end, int most)
{
  const char *next;
  for (; most && p < end && class_at(c, p, &next) & NUMBER; most--)
    p = next;
  return p;
}

static const char *line_ends(const char *p, const char *end)
{
  while (p < end && (*p == '\r' || *p == '\n'))
    p++;
  return p;
}

/* 's 't 're 've 'm 'll 'd at p, or NULL. In any case, where U+017F is an s. */
static const char *contraction(const char *p, const char *end, bool any_case)
{
  char a = end - p > 1 ? p[1] : '\0', b = end - p > 2 ? p[2] : '\0';
  if (p >= end || *p != '\'')
    return NULL;
  if (any_case) {
    if (a == '\xc5' && b == '\xbf')
      return p + 3;
    a |= 0x20, b |= 0x20;
  }
  if (a == 's' || a == 't' || a == 'm' || a == 'd')
    return p + 2;
  if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') ||
      (a == 'l' && b == 'l'))
    return p + 3;
  return NULL;
}

/* \s+(?!\S)|\s+ : all blanks but the last before a word. */
static const char *blanks(const struct word_classes *c, const char *p,
                          const char *end)
{
  const char *stop = run(c, p, end, SPACE), *last;
  if (stop == end || stop == p)
    return stop > p ? stop : NULL;
  last = utf8_back(stop);
  return last > p ? last : stop;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ : up to the last line end among the blanks. */
static const char *lines_or_blanks(const struct word_classes *c, const char *p,
                                   const char *end)
{
  const char *stop = run(c, p, end, SPACE), *last;
  for (last = stop; last > p; last--)
    if (last[-1] == '\r' || last[-1] == '\n')
      return last;
  if (stop == end || stop == p)
    return stop > p ? stop : NULL;
  last = utf8_back(stop);
  return last > p ? last : stop;
}

/* ---- the patterns ---- */

static const char *gpt2(const struct word_classes *c, const char *p,
                        const char *end)
{
  const char *stop = contraction(p, end, false), *next;
  const char *word = *p == ' ' && p + 1 < end ? p + 1 : p;
  uint8_t k = class_at(c, word, &next);
  if (stop)
    return stop;
  if (k & LETTER)
    return run(c, next, end, LETTER);
  if (k & NUMBER)
    return run(c, next, end, NUMBER);
  if (!(k & SPACE))
    return run_not(c, next, end, LETTER | NUMBER | SPACE);
  return blanks(c, p, end);
}

/* ` ?[^\s\p{L}\p{N}]+` at p, or NULL. */
static const char *symbols(const struct word_classes *c, const char *p,
                           const char *end)
{
  const char *start = *p == ' ' ? p + 1 : p;
  const char *stop = run_not(c, start, end, LETTER | NUMBER | SPACE);
  return stop > start ? stop : NULL;
}

static const char *cl100k(const struct word_classes *c, const char *p,
                          const char *end, int digits)
{
  const char *next, *stop;
  uint8_t k = class_at(c, p, &next);
  if (k & LETTER)
    return run(c, next, end, LETTER);
  if (k & NUMBER)
    return numbers(c, p, end, digits);
  if (*p == '\'' && (stop = contraction(p, end, true)))
    return stop;
  if (!(k & LINE_END) && (stop = run(c, next, end, LETTER)) > next)
    return stop;
  stop = symbols(c, p, end);
  return stop ? line_ends(stop, end) : lines_or_blanks(c, p, end);
}

/* UPPER* LOWER+ at p, or NULL. The upper-ish run gives back what it must: all
 * behind its last character that is lower-ish too. */
static const char *capped_word(const struct word_classes *c, const char *p,
                               const char *end)
{
  const char *next, *last = NULL;
  while (p < end) {
    uint8_t k = class_at(c, p, &next);
    if (!(k & UPPER_ISH))
      break;
    p = next;
    if (k & LOWER_ISH)
      last = p;
  }
  if (p < end && class_at(c, p, &next) & LOWER_ISH)
    return run(c, next, end, LOWER_ISH);
  return last;
}

/* The two word alternatives of o200k, tried in their order. */
static const char *o200k_word(const struct word_classes *c, const char *p,
                              const char *end)
{
  const char *next, *stop;
  uint8_t k = class_at(c, p, &next);
  bool prefix = !(k & (LETTER | NUMBER | LINE_END));
  bool word = k & (UPPER_ISH | LOWER_ISH);
  if (prefix && (stop = capped_word(c, next, end)))
    return stop;
  if (word && (stop = capped_word(c, p, end)))
    return stop;
  if (prefix && (stop = run(c, next, end, UPPER_ISH)) > next)
    return stop;
  return word ? run(c, p, end, UPPER_ISH) : NULL;
}

static const char *o200k(const struct word_classes *c, const char *p,
                         const char *end, bool contractions, int digits)
{
  const char *stop = o200k_word(c, p, end), *more;
  if (stop) {
    more = contractions ? contraction(stop, end, true) : NULL;
    return more ? more : stop;
  }
  stop = numbers(c, p, end, digits);
  if (stop > p)
    return stop;
  stop = symbols(c, p, end);
  if (!stop)
    return lines_or_blanks(c, p, end);
  while (stop < end && (*stop == '\r' || *stop == '\n' || *stop == '/'))
    stop++;
  return stop;
}

static bool ascii_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *deepseek(const struct word_classes *c, const char *p,
                            const char *end)
{
  const char *next, *stop;
  uint8_t k = class_at(c, p, &next);
  if (k & PUNCTUATION && next == p + 1 && next < end && ascii_letter(*next)) {
    while (next < end && ascii_letter(*next))
      next++;
    return next;
  }
  if (k & (LETTER | MARK))
    return run(c, next, end, LETTER | MARK);
  if (!(k & (LINE_END | PUNCTUATION)) &&
      (stop = run(c, next, end, LETTER | MARK)) > next)
    return stop;
  stop = *p == ' ' ? p + 1 : p;
  next = run(c, stop, end, PUNCTUATION);
  return next > stop ? line_ends(next, end) : lines_or_blanks(c, p, end);
}

static const char *cjk(const char *p, const char *end)
{
  const char *start = p, *next;
  for (; p < end; p = next) {
    uint32_t c = utf8_next(p, &next);
    if ((c < 0x4e00 || c > 0x9fa5) && (c < 0x3040 || c > 0x30ff))
      break;
  }
  return p > start ? p : NULL;
}

/* A word character, another, or a blank. In the regex crate \w has the two
 * joiners too. */
static int word_kind(const struct word_classes *c, const char *p,
                     const char **next)
{
  uint32_t at = utf8_next(p, next), record = unicode_get(c->unicode, at);
  if (record & UNICODE_WORD || at == 0x200c || at == 0x200d)
    return 'w';
  return record & UNICODE_SPACE ? ' ' : '.';
}

static const char *whitespace(const struct word_classes *c, const char *p,
                              const char *end)
{
  const char *next;
  int kind = word_kind(c, p, &next);
  if (kind == ' ')
    return NULL;
  do
    p = next;
  while (p < end && word_kind(c, p, &next) == kind);
  return p;
}

const char *word_pattern_match(enum word_pattern w,
                               const struct word_classes *c, const char *p,
                               const char *end)
{
  const char *stop;
  switch (w) {
  case WORD_GPT2: return gpt2(c, p, end);
  case WORD_CL100K: return cl100k(c, p, end, 3);
  case WORD_QWEN2: return cl100k(c, p, end, 1);
  case WORD_O200K: return o200k(c, p, end, true, 3);
  case WORD_TEKKEN: return o200k(c, p, end, false, 1);
  case WORD_DEEPSEEK: return deepseek(c, p, end);
  case WORD_NUMBERS3:
    stop = numbers(c, p, end, 3);
    return stop > p ? stop : NULL;
  case WORD_NUMBER: stop = numbers(c, p, end, 1); return stop > p ? stop : NULL;
  case WORD_CJK: return cjk(p, end);
  case WORD_WHITESPACE: return whitespace(c, p, end);
  case WORD_PATTERN_NONE:
  case WORD_PATTERNS: break;
  }
  return NULL;
}
