#include "data/added_tokens.h"

#include "base/mem.h"
#include "data/byte_alphabet.h"
#include "data/tokenizer_limits.h"
#include "data/utf8.h"

/* ---- reading ---- */

/* The id of a text in the vocabulary, or TOKEN_NONE. */
static uint32_t vocabulary_id(const struct token_index *index, struct str text)
{
  struct byte_alphabet alphabet;
  struct buf bytes = {0};
  uint32_t id;
  if (index->kind != TOKEN_BPE_BYTES)
    return token_index_find(index, text, false);
  byte_alphabet_init(&alphabet);
  id = byte_alphabet_read(&alphabet, &bytes, text) == 0
           ? token_index_find(index, buf_str(&bytes), false)
           : token_index_find(index, text, true);
  buf_free(&bytes);
  return id;
}

static void set_id(struct added_tokens *a, uint32_t id, size_t place)
{
  if (id >= a->end) {
    a->of = mem_resize(a->of, id + 1, sizeof *a->of);
    memset(a->of + a->end, 0, (id + 1 - a->end) * sizeof *a->of);
    a->end = id + 1;
  }
  a->of[id] = (uint32_t)place + 1;
}

static bool flag(const json_value *v, const char *name)
{
  return json_true(json_get(v, name));
}

/* A list under way. */
struct listing {
  struct added_tokens *a;
  const struct token_index *index;
  const struct normalizer *n;
  struct normalizer_scratch scratch;
  struct token_trie texts; /* their places in a->token */
  uint32_t next;           /* id of the next new text */
  bool as_numbered;
  const char *path;
  struct err *e;
};

static bool same(const struct added_token *x, const struct added_token *y)
{
  return x->single_word == y->single_word && x->lstrip == y->lstrip &&
         x->rstrip == y->rstrip && x->normalized == y->normalized &&
         x->special == y->special;
}

static int too_long(const struct listing *l, const char *text)
{
  return err_add(l->e, "%s: added_tokens: %.40s… is longer than %d bytes",
                 l->path, text, TOKENIZER_ADDED_MAX);
}

/* 1 when the list had it before. */
static int repeated(struct listing *l, const struct added_token *t)
{
  struct str text = str_of(t->text);
  size_t end;
  uint32_t place;
  if (!token_trie_starts(&l->texts, text, &end, &place) || end != text.len)
    return 0;
  if (same(t, &l->a->token[place]))
    return 1;
  return err_add(l->e,
                 "%s: added_tokens: %s is listed twice, with different "
                 "flags",
                 l->path, t->text);
}

static int choose_id(struct listing *l, const json_value *v,
                     struct added_token *t)
{
  double number = json_double(json_get(v, "id"), -1);
  t->id = vocabulary_id(l->index, str_of(t->text));
  if (l->as_numbered)
    t->id =
        number >= 0 && number < TOKEN_ID_LIMIT ? (uint32_t)number : TOKEN_NONE;
  else if (t->id == TOKEN_NONE)
    t->id = l->next++;
  return t->id < TOKEN_ID_LIMIT
             ? 0
             : err_add(l->e, "%s: added_tokens: the id of %s is out of reach",
                       l->path, t->text);
}

/* Where the token is looked for. */
static int place(struct listing *l, const struct added_token *t)
{
  struct str text = str_of(t->text);
  size_t head = 0;
  if (!t->normalized) {
    token_trie_add(&l->a->raw, text, t->id);
    return 0;
  }
  if (normalizer_run(l->n, &l->scratch, &text, &head) < 0)
    return err_add(l->e, "%s: added_tokens: %s cannot be normalized", l->path,
                   t->text);
  if (!text.len)
    return err_add(l->e,
                   "%s: added_tokens: nothing is left of %s when it is "
                   "normalized",
                   l->path, t->text);
  if (text.len > TOKENIZER_ADDED_MAX)
    return too_long(l, t->text);
  token_trie_add(&l->a->normalized, text, t->id);
  return 0;
}

static int add(struct listing *l, const json_value *v)
{
  struct added_tokens *a = l->a;
  const char *text = json_text(json_get(v, "content"));
  struct added_token t = {
      .single_word = flag(v, "single_word"),
      .lstrip = flag(v, "lstrip"),
      .rstrip = flag(v, "rstrip"),
      .normalized = flag(v, "normalized"),
      .special = flag(v, "special"),
  };
  int before;
  if (!text)
    return err_add(l->e, "%s: added_tokens: one without content", l->path);
  if (strlen(text) > TOKENIZER_ADDED_MAX)
    return too_long(l, text);
  t.text = (char *)text; /* not owned yet */
  before = *text ? repeated(l, &t) : 1;
  if (before)
    return before < 0 ? -1 : 0;
  if (choose_id(l, v, &t) < 0 || place(l, &t) < 0)
    return -1;
  token_trie_add(&l->texts, str_of(text), (uint32_t)a->n);
  set_id(a, t.id, a->n);
  t.text = mem_strdup(text);
  a->token[a->n++] = t;
  return 0;
}

int added_tokens_init(struct added_tokens *a, const json_value *v,
                      const struct token_index *index,
                      const struct normalizer *n, bool as_numbered,
                      const char *path, struct err *e)
{
  struct listing l = {.a = a,
                      .index = index,
                      .n = n,
                      .next = index->count,
                      .as_numbered = as_numbered,
                      .path = path,
                      .e = e};
  size_t count = 0;
  int result = 0;
  *a = (struct added_tokens){.unicode = n->unicode};
  for (const json_value *i = json_first(v); i; i = json_next(i))
    count++;
  a->token = mem_zalloc(count, sizeof *a->token);
  for (const json_value *i = json_first(v); i && result == 0; i = json_next(i))
    result = add(&l, i);
  normalizer_scratch_free(&l.scratch);
  token_trie_free(&l.texts);
  return result;
}

void added_tokens_deinit(struct added_tokens *a)
{
  for (size_t i = 0; i < a->n; i++)
    mem_free(a->token[i].text);
  mem_free(a->token);
  mem_free(a->of);
  token_trie_free(&a->raw);
  token_trie_free(&a->normalized);
}

/* ---- finding ---- */

/* \w of the regex crate. */
static bool word(const struct unicode *u, const char *p)
{
  const char *next;
  uint32_t c = utf8_next(p, &next);
  return unicode_get(u, c) & UNICODE_WORD || c == 0x200c || c == 0x200d;
}

static bool space(const struct unicode *u, const char *p)
{
  const char *next;
  return unicode_get(u, utf8_next(p, &next)) & UNICODE_SPACE;
}

/* Does the token at [*start, *end) count? Takes in the blanks that it
 * strips, but not what was handed out before. */
static bool accept(const struct added_walk *w, const struct added_token *t,
                   size_t *start, size_t *end)
{
  const struct unicode *u = w->tokens->unicode;
  const char *p = w->text.p + *start, *q = w->text.p + *end;
  const char *stop = w->text.p + w->text.len;
  if (t->single_word &&
      ((p > w->text.p && word(u, utf8_back(p))) || (q < stop && word(u, q))))
    return false;
  while (t->lstrip && p > w->text.p && space(u, utf8_back(p)))
    p = utf8_back(p);
  while (t->rstrip && q < stop && space(u, q))
    q += utf8_size((unsigned char)*q);
  *start = (size_t)(p - w->text.p);
  *end = (size_t)(q - w->text.p);
  if (t->lstrip && *start < w->done)
    *start = w->done;
  return true;
}

void added_walk_init(struct added_walk *w, const struct added_tokens *a,
                     const struct token_trie *trie, struct str text)
{
  *w = (struct added_walk){
      .tokens = a, .trie = trie, .text = text, .pending_id = TOKEN_NONE};
}

bool added_walk_next(struct added_walk *w, struct str *text, uint32_t *id)
{
  size_t start, end;
  *id = w->pending_id;
  if (*id != TOKEN_NONE) {
    w->pending_id = TOKEN_NONE;
    w->done = w->pending;
    return true;
  }
  while (token_trie_find(w->trie, w->text, w->from, &start, &end, id)) {
    const struct added_token *t = added_tokens_get(w->tokens, *id);
    w->from = end;
    if (!accept(w, t, &start, &end))
      continue;
    if (w->done >= start) {
      w->done = end;
      /* Nothing but blanks that the one before had stripped. */
      if (start >= end)
        continue;
      return true;
    }
    *text = (struct str){w->text.p + w->done, start - w->done};
    w->pending = end;
    w->pending_id = *id;
    *id = TOKEN_NONE;
    return true;
  }
  *id = TOKEN_NONE;
  *text = (struct str){w->text.p + w->done, w->text.len - w->done};
  w->done = w->text.len;
  return text->len > 0;
}
