#include "data/normalizer.h"

#include "base/mem.h"
#include "data/byte_alphabet.h"
#include "data/tokenizer_limits.h"
#include "data/utf8.h"

/* ---- reading ---- */

struct reading {
  struct normalizer *n;
  const char *path;
  struct err *e;
};

static struct normal_step *add(struct reading *r, enum normal_kind kind)
{
  struct normalizer *n = r->n;
  n->step = mem_resize(n->step, n->n + 1, sizeof *n->step);
  n->step[n->n] = (struct normal_step){.kind = kind};
  return &n->step[n->n++];
}

static void add_form(struct reading *r, enum normal_form form)
{
  add(r, NORMAL_FORM)->form = form;
}

static bool field(const json_value *v, const char *name, bool otherwise)
{
  const json_value *f = json_get(v, name);
  return json_is_boolean(f) ? json_true(f) : otherwise;
}

static int read_replace(struct reading *r, const json_value *v)
{
  const json_value *pattern = json_get(v, "pattern");
  const char *text = json_text(json_get(pattern, "String"));
  const char *regex = json_text(json_get(pattern, "Regex"));
  const char *to = json_text(json_get(v, "content"));
  struct normal_step *step;
  if ((!text && !regex) || !to || (text && !*text))
    return err_add(r->e,
                   "%s: normalizer Replace needs a pattern (String or "
                   "Regex) and a content",
                   r->path);
  step = add(r, text ? NORMAL_REPLACE : NORMAL_REPLACE_REGEX);
  buf_adds(&step->to, to);
  if (text)
    buf_adds(&step->from, text);
  return text ? 0 : regex_init(&step->regex, str_of(regex), r->path, r->e);
}

static int read_precompiled(struct reading *r, const json_value *v)
{
  const char *map = json_text(json_get(v, "precompiled_charsmap"));
  if (!map || charsmap_init(&add(r, NORMAL_PRECOMPILED)->map, str_of(map)) < 0)
    return err_add(r->e,
                   "%s: normalizer Precompiled: its precompiled_charsmap "
                   "is damaged",
                   r->path);
  return 0;
}

static void read_bert(struct reading *r, const json_value *v)
{
  bool lower = field(v, "lowercase", true);
  if (field(v, "clean_text", true))
    add(r, NORMAL_BERT_CLEAN);
  if (field(v, "handle_chinese_chars", true))
    add(r, NORMAL_BERT_SPACE);
  if (field(v, "strip_accents", lower)) {
    add_form(r, NORMAL_NFD);
    add(r, NORMAL_BERT_ACCENTS);
  }
  if (lower)
    add(r, NORMAL_LOWERCASE);
}

static int read_simple(struct reading *r, const char *type)
{
  static const struct {
    const char *name;
    enum normal_kind kind;
    enum normal_form form;
  } simple[] = {
      {"NFC", NORMAL_FORM, NORMAL_NFC},
      {"NFD", NORMAL_FORM, NORMAL_NFD},
      {"NFKC", NORMAL_FORM, NORMAL_NFKC},
      {"NFKD", NORMAL_FORM, NORMAL_NFKD},
      {"Lowercase", NORMAL_LOWERCASE, 0},
      {"StripAccents", NORMAL_STRIP_MARKS, 0},
      {"Nmt", NORMAL_NMT, 0},
      {"ByteLevel", NORMAL_BYTES, 0},
  };
  for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
    if (strcmp(type, simple[i].name) == 0) {
      add(r, simple[i].kind)->form = simple[i].form;
      return 0;
    }
  return err_add(r->e, "%s: the normalizer %s is not supported", r->path, type);
}

static int read_step(struct reading *r, const json_value *v)
{
  const char *type = json_text(json_get(v, "type"));
  int result = 0;
  if (!type)
    return err_add(r->e, "%s: a normalizer without a type", r->path);
  if (strcmp(type, "Sequence") == 0) {
    const json_value *all = json_get(v, "normalizers");
    for (const json_value *i = json_first(all); i; i = json_next(i))
      if (read_step(r, i) < 0)
        result = -1;
    return result;
  }
  if (strcmp(type, "Replace") == 0)
    return read_replace(r, v);
  if (strcmp(type, "Precompiled") == 0)
    return read_precompiled(r, v);
  if (strcmp(type, "Prepend") == 0) {
    const char *text = json_text(json_get(v, "prepend"));
    buf_adds(&add(r, NORMAL_PREPEND)->to, text ? text : "");
    return 0;
  }
  if (strcmp(type, "Strip") == 0) {
    struct normal_step *step = add(r, NORMAL_STRIP);
    step->left = field(v, "strip_left", true);
    step->right = field(v, "strip_right", true);
    return 0;
  }
  if (strcmp(type, "BertNormalizer") == 0) {
    read_bert(r, v);
    return 0;
  }
  return read_simple(r, type);
}

int normalizer_init(struct normalizer *n, const json_value *v,
                    const struct unicode *u, const char *path, struct err *e)
{
  struct reading r = {n, path, e};
  *n = (struct normalizer){.unicode = u};
  if (!v || json_is_null(v))
    return 0;
  return tokenizer_check_steps(v, "normalizers", "normalizer", path, e) < 0
             ? -1
             : read_step(&r, v);
}

void normalizer_deinit(struct normalizer *n)
{
  for (size_t i = 0; i < n->n; i++) {
    buf_free(&n->step[i].from);
    buf_free(&n->step[i].to);
    regex_deinit(&n->step[i].regex);
    charsmap_deinit(&n->step[i].map);
  }
  mem_free(n->step);
}

void normalizer_scratch_free(struct normalizer_scratch *s)
{
  buf_free(&s->buf[0]);
  buf_free(&s->buf[1]);
  regex_scratch_free(&s->regex);
}

/* ---- steps that go character by character ---- */

/* What one character becomes, at most four others; how many. */
static unsigned change(const struct unicode *u, enum normal_kind kind,
                       uint32_t c, uint32_t to[4])
{
  uint32_t record = unicode_get(u, c);
  to[0] = c;
  switch (kind) {
  case NORMAL_LOWERCASE: return unicode_lower(c, to);
  case NORMAL_STRIP_MARKS: return record & UNICODE_MARK ? 0 : 1;
  case NORMAL_BERT_ACCENTS: return record & UNICODE_NONSPACING ? 0 : 1;
  case NORMAL_BERT_CLEAN:
    if (c == '\t' || c == '\n' || c == '\r')
      to[0] = ' ';
    else if (c == 0 || c == 0xfffd || record & UNICODE_OTHER)
      return 0;
    else if (record & UNICODE_SPACE)
      to[0] = ' ';
    return 1;
  case NORMAL_BERT_SPACE:
    if ((c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
        (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
        (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
        (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f)) {
      to[0] = to[2] = ' ';
      to[1] = c;
      return 3;
    }
    return 1;
  case NORMAL_NMT:
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) ||
        c == 0x7f || c == 0x8f || c == 0x9f)
      return 0;
    if (c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
        (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
        c == 0x2581 || c == 0xfeff || c == 0xfffd)
      to[0] = ' ';
    return 1;
  default: return 1;
  }
}

static bool change_all(const struct normalizer *n, enum normal_kind kind,
                       struct str in, struct buf *out, size_t *head)
{
  const char *p = in.p, *end = in.p + in.len, *next;
  size_t head_out = 0;
  for (; p < end; p = next) {
    uint32_t to[4], c = utf8_next(p, &next);
    unsigned m = change(n->unicode, kind, c, to);
    for (unsigned i = 0; i < m; i++)
      utf8_add(out, to[i]);
    if ((size_t)(p - in.p) < *head)
      head_out = out->len;
  }
  *head = head_out;
  return true;
}

static bool to_letters(struct str in, struct buf *out, size_t *head)
{
  struct byte_alphabet alphabet;
  size_t head_out;
  byte_alphabet_init(&alphabet);
  byte_alphabet_write(&alphabet, out, (struct str){in.p, *head});
  head_out = out->len;
  byte_alphabet_write(&alphabet, out,
                      (struct str){in.p + *head, in.len - *head});
  *head = head_out;
  return true;
}

/* ---- the others ---- */

static bool strip(const struct normalizer *n, const struct normal_step *step,
                  struct str in, struct buf *out, size_t *head)
{
  const char *p = in.p, *end = in.p + in.len, *next;
  while (step->left && p < end &&
         unicode_get(n->unicode, utf8_next(p, &next)) & UNICODE_SPACE)
    p = next;
  while (step->right && p < end) {
    const char *last = utf8_back(end);
    if (!(unicode_get(n->unicode, utf8_next(last, &next)) & UNICODE_SPACE))
      break;
    end = last;
  }
  if (p == in.p && end == in.p + in.len)
    return false;
  buf_add(out, p, (size_t)(end - p));
  *head = *head > (size_t)(p - in.p) ? *head - (size_t)(p - in.p) : 0;
  if (*head > out->len)
    *head = out->len;
  return true;
}

static bool prepend(const struct normal_step *step, struct str in,
                    struct buf *out, size_t *head)
{
  if (!in.len || !step->to.len)
    return false;
  buf_addstr(out, buf_str(&step->to));
  buf_addstr(out, in);
  if (*head)
    *head += step->to.len;
  return true;
}

/* A replacement under way: what stands for a match counts as its last
 * character. */
struct replacing {
  struct str in;
  struct buf *out;
  size_t at, head, head_out;
};

static void keep(struct replacing *r, size_t to)
{
  size_t before = r->out->len;
  buf_add(r->out, r->in.p + r->at, to - r->at);
  if (r->at < r->head)
    r->head_out = before + (to < r->head ? to : r->head) - r->at;
  r->at = to;
}

static void put(struct replacing *r, const struct buf *to, size_t start,
                size_t end)
{
  keep(r, start);
  buf_addstr(r->out, buf_str(to));
  if (r->head && (end == 0 || end - 1 < r->head))
    r->head_out = r->out->len;
  r->at = end;
}

static bool replace_text(const struct normal_step *step, struct str in,
                         struct buf *out, size_t *head)
{
  struct replacing r = {.in = in, .out = out, .head = *head};
  struct str rest = in;
  ptrdiff_t found = str_find(rest, buf_str(&step->from));
  if (found < 0)
    return false;
  for (; found >= 0; found = str_find(rest, buf_str(&step->from))) {
    size_t start = r.at + (size_t)found;
    put(&r, &step->to, start, start + step->from.len);
    rest = (struct str){in.p + r.at, in.len - r.at};
  }
  keep(&r, in.len);
  *head = r.head_out;
  return true;
}

/* 1: changed, 0: not, -1: the pattern gave up. */
static int replace_regex(const struct normal_step *step,
                         struct normalizer_scratch *s, struct str in,
                         struct buf *out, size_t *head)
{
  struct replacing r = {.in = in, .out = out, .head = *head};
  struct regex_walk w = {0};
  size_t start, end;
  int got;
  if (!in.len)
    return 0;
  while ((got = regex_next(&step->regex, &s->regex, in, &w, &start, &end)) > 0)
    put(&r, &step->to, start, end);
  if (got < 0 || !w.any)
    return got;
  keep(&r, in.len);
  *head = r.head_out;
  return 1;
}

static int run_step(const struct normalizer *n, const struct normal_step *step,
                    struct normalizer_scratch *s, struct str in,
                    struct buf *out, size_t *head)
{
  switch (step->kind) {
  case NORMAL_FORM: return normal_form(n->unicode, step->form, in, out, head);
  case NORMAL_STRIP: return strip(n, step, in, out, head);
  case NORMAL_PREPEND: return prepend(step, in, out, head);
  case NORMAL_REPLACE: return replace_text(step, in, out, head);
  case NORMAL_REPLACE_REGEX: return replace_regex(step, s, in, out, head);
  case NORMAL_PRECOMPILED:
    return charsmap_run(&step->map, n->unicode, in, out, head);
  case NORMAL_BYTES: return to_letters(in, out, head);
  default: return change_all(n, step->kind, in, out, head);
  }
}

int normalizer_run(const struct normalizer *n, struct normalizer_scratch *s,
                   struct str *text, size_t *head)
{
  unsigned which = 0;
  size_t room = tokenizer_room(text->len);
  for (size_t i = 0; i < n->n && text->len; i++) {
    struct buf *out = &s->buf[which];
    int changed;
    buf_reset(out);
    out->max = room;
    out->toobig = false;
    changed = run_step(n, &n->step[i], s, *text, out, head);
    if (changed < 0 || out->toobig)
      return -1;
    if (changed) {
      *text = buf_str(out);
      which = 1 - which;
    }
  }
  return 0;
}
