#include "data/bpe.h"

#include "base/mem.h"
#include "data/utf8.h"

/* Up to here scanning for the lowest rank beats a heap. */
#define SHORT 48

/* ---- configuration ---- */

/* The text of a field, or NULL when it is null or "". */
static char *text_field(const json_value *model, const char *name)
{
  const char *text = json_text(json_get(model, name));
  return text && *text ? mem_strdup(text) : NULL;
}

static bool ascii(const char *s)
{
  for (; s && *s; s++)
    if (*s <= ' ' || *s > '~')
      return false;
  return true;
}

/* Will every character find a token or the tokens of its bytes? */
static bool complete(const struct bpe *b)
{
  for (int c = 0; c < 256; c++)
    if (b->index->byte[c] == TOKEN_NONE)
      return false;
  return b->index->kind == TOKEN_BPE_BYTES ? !b->prefix && !b->suffix
                                           : b->byte_fallback;
}

static int find_unk(struct bpe *b, const json_value *model, const char *path,
                    struct err *e)
{
  const char *text = json_text(json_get(model, "unk_token"));
  b->unk = text ? token_index_find(b->index, str_of(text), false) : TOKEN_NONE;
  if (text && b->unk == TOKEN_NONE)
    b->unk = token_index_find(b->index, str_of(text), true);
  if (text && b->unk == TOKEN_NONE && !complete(b))
    return err_add(e, "%s: model.unk_token %s is not in the vocabulary", path,
                   text);
  return 0;
}

int bpe_init(struct bpe *b, const struct token_index *index,
             const json_value *model, const char *path, struct err *e)
{
  bool bytes = index->kind == TOKEN_BPE_BYTES;
  unsigned before = e->count;
  *b = (struct bpe){
      .index = index,
      .ignore_merges = json_true(json_get(model, "ignore_merges")),
      .fuse_unk = json_true(json_get(model, "fuse_unk")),
      .byte_fallback = json_true(json_get(model, "byte_fallback")),
      .prefix = text_field(model, "continuing_subword_prefix"),
      .suffix = text_field(model, "end_of_word_suffix"),
  };
  if (json_double(json_get(model, "dropout"), 0) != 0)
    err_add(e,
            "%s: model.dropout makes every encoding different; set it to "
            "null",
            path);
  if (bytes && (!ascii(b->prefix) || !ascii(b->suffix)))
    err_add(e,
            "%s: continuing_subword_prefix or end_of_word_suffix outside "
            "of ASCII is not supported with ByteLevel",
            path);
  if (b->byte_fallback && (b->prefix || b->suffix))
    err_add(e,
            "%s: byte_fallback is not supported together with "
            "continuing_subword_prefix or end_of_word_suffix",
            path);
  if (bytes && b->byte_fallback && !complete(b))
    err_add(e,
            "%s: byte_fallback is not supported with ByteLevel when bytes "
            "have no token",
            path);
  find_unk(b, model, path, e);
  return e->count == before ? 0 : -1;
}

void bpe_deinit(struct bpe *b)
{
  mem_free(b->prefix);
  mem_free(b->suffix);
}

void bpe_scratch_free(struct bpe_scratch *s)
{
  mem_free(s->id);
  mem_free(s->rank);
  mem_free(s->made);
  mem_free(s->next);
  mem_free(s->back);
  mem_free(s->heap);
  buf_free(&s->text);
}

static void reserve(struct bpe_scratch *s, size_t n)
{
  if (n <= s->cap)
    return;
  s->cap = n + n / 2 + SHORT;
  s->id = mem_resize(s->id, s->cap, sizeof *s->id);
  s->rank = mem_resize(s->rank, s->cap, sizeof *s->rank);
  s->made = mem_resize(s->made, s->cap, sizeof *s->made);
  s->next = mem_resize(s->next, s->cap, sizeof *s->next);
  s->back = mem_resize(s->back, s->cap, sizeof *s->back);
}

/* ---- the symbols a word starts as ---- */

/* The token of one character of a word, dressed as its place demands. */
static uint32_t symbol(const struct bpe *b, struct bpe_scratch *s, struct str c,
                       bool first, bool last)
{
  if ((first || !b->prefix) && (!last || !b->suffix))
    return token_index_find(b->index, c, false);
  buf_reset(&s->text);
  if (!first && b->prefix)
    buf_adds(&s->text, b->prefix);
  buf_addstr(&s->text, c);
  if (last && b->suffix)
    buf_adds(&s->text, b->suffix);
  return token_index_find(b->index, buf_str(&s->text), false);
}

/* The tokens of a character's bytes into `to`; 0 when one has none. */
static size_t bytes_of(const struct bpe *b, struct str c, uint32_t *to)
{
  for (size_t i = 0; i < c.len; i++)
    if ((to[i] = b->index->byte[(unsigned char)c.p[i]]) == TOKEN_NONE)
      return 0;
  return c.len;
}

/* An unknown token waits until a known one follows, since it may still be
 * fused; bytes do not make it come out, again as in the Rust tokenizers. */
static size_t symbols(const struct bpe *b, struct bpe_scratch *s,
                      struct str word)
{
  bool bytes = b->index->kind == TOKEN_BPE_BYTES, waiting = false;
  const char *p = word.p, *end = p + word.len, *next;
  size_t n = 0;
  for (; p < end; p = next) {
    struct str c;
    uint32_t id;
    size_t fallen = 0;
    next = p + (bytes ? 1 : utf8_size((unsigned char)*p));
    c = (struct str){p, (size_t)(next - p)};
    id = symbol(b, s, c, p == word.p, next == end);
    if (id == TOKEN_NONE && b->byte_fallback)
      fallen = bytes_of(b, c, s->id + n);
    n += fallen;
    if (fallen || (id == TOKEN_NONE && b->unk == TOKEN_NONE))
      continue;
    if (waiting && (id != TOKEN_NONE || !b->fuse_unk))
      s->id[n++] = b->unk;
    waiting = id == TOKEN_NONE;
    if (!waiting)
      s->id[n++] = id;
  }
  if (waiting)
    s->id[n++] = b->unk;
  return n;
}

/* ---- merging ---- */

static void look(const struct bpe *b, struct bpe_scratch *s, size_t at,
                 uint32_t right)
{
  const struct token_merge *m = token_index_merge(b->index, s->id[at], right);
  s->rank[at] = m ? m->rank : TOKEN_NONE;
  s->made[at] = m ? m->id : TOKEN_NONE;
}

/* The lowest rank, found by looking at all. */
static size_t merge_short(const struct bpe *b, struct bpe_scratch *s, size_t n)
{
  for (size_t i = 0; i + 1 < n; i++)
    look(b, s, i, s->id[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; i++)
      if (s->rank[i] < s->rank[best])
        best = i;
    if (s->rank[best] == TOKEN_NONE)
      break;
    s->id[best] = s->made[best];
    n--;
    memmove(s->id + best + 1, s->id + best + 2, (n - best - 1) * 4);
    if (best + 1 < n) {
      memmove(s->rank + best + 1, s->rank + best + 2, (n - best - 1) * 4);
      memmove(s->made + best + 1, s->made + best + 2, (n - best - 1) * 4);
      look(b, s, best, s->id[best + 1]);
    }
    if (best > 0)
      look(b, s, best - 1, s->id[best]);
  }
  return n;
}

/* A heap of rank << 32 | place. An entry whose place has another rank by now
 * is out of date. */
static void push(struct bpe_scratch *s, size_t *n, uint64_t key)
{
  size_t at = (*n)++;
  if (*n > s->heap_cap) {
    s->heap_cap = *n * 2;
    s->heap = mem_resize(s->heap, s->heap_cap, sizeof *s->heap);
  }
  while (at && s->heap[(at - 1) / 2] > key) {
    s->heap[at] = s->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  s->heap[at] = key;
}

static uint64_t pop(struct bpe_scratch *s, size_t *n)
{
  uint64_t top = s->heap[0], last = s->heap[--*n];
  size_t at = 0, child;
  while ((child = at * 2 + 1) < *n) {
    if (child + 1 < *n && s->heap[child + 1] < s->heap[child])
      child++;
    if (s->heap[child] >= last)
      break;
    s->heap[at] = s->heap[child];
    at = child;
  }
  s->heap[at] = last;
  return top;
}

static void look_and_push(const struct bpe *b, struct bpe_scratch *s,
                          size_t *heap_n, uint32_t at)
{
  if (s->next[at] == TOKEN_NONE) {
    s->rank[at] = TOKEN_NONE;
    return;
  }
  look(b, s, at, s->id[s->next[at]]);
  if (s->rank[at] != TOKEN_NONE)
    push(s, heap_n, (uint64_t)s->rank[at] << 32 | at);
}

static size_t merge_long(const struct bpe *b, struct bpe_scratch *s, size_t n)
{
  size_t heap_n = 0, kept = 0;
  for (uint32_t i = 0; i < n; i++) {
    s->next[i] = i + 1 < n ? i + 1 : TOKEN_NONE;
    s->back[i] = i ? i - 1 : TOKEN_NONE;
    look_and_push(b, s, &heap_n, i);
  }
  while (heap_n) {
    uint64_t top = pop(s, &heap_n);
    uint32_t at = (uint32_t)top, gone = s->next[at];
    if (s->rank[at] != top >> 32 || gone == TOKEN_NONE)
      continue;
    s->id[at] = s->made[at];
    s->next[at] = s->next[gone];
    if (s->next[at] != TOKEN_NONE)
      s->back[s->next[at]] = at;
    s->rank[gone] = TOKEN_NONE;
    look_and_push(b, s, &heap_n, at);
    if (s->back[at] != TOKEN_NONE)
      look_and_push(b, s, &heap_n, s->back[at]);
  }
  for (uint32_t i = 0; n && i != TOKEN_NONE; i = s->next[i])
    s->id[kept++] = s->id[i];
  return kept;
}

/* The word's symbols, merged; they are in s->id. */
static size_t merge(const struct bpe *b, struct bpe_scratch *s, struct str word)
{
  size_t n;
  /* One symbol for a byte, and one unknown token more. */
  reserve(s, word.len + 1);
  n = symbols(b, s, word);
  return n <= SHORT ? merge_short(b, s, n) : merge_long(b, s, n);
}

void bpe_mark_whole(const struct bpe *b)
{
  struct bpe_scratch s = {0};
  for (uint32_t id = 0; id < b->index->n; id++) {
    struct str key = token_index_key(b->index, id);
    if (token_index_has(b->index, id) && key.len &&
        !(b->index->flag[id] & TOKEN_RAW) && merge(b, &s, key) == 1 &&
        s.id[0] == id)
      token_index_mark(b->index, id, TOKEN_WHOLE);
  }
  bpe_scratch_free(&s);
}

void bpe_encode(const struct bpe *b, struct bpe_scratch *s, struct str word,
                bool whole, struct token_list *out)
{
  uint32_t id = token_index_find(b->index, word, false);
  size_t n;
  if (id != TOKEN_NONE &&
      ((whole && b->ignore_merges) || b->index->flag[id] & TOKEN_WHOLE)) {
    token_list_add(out, id);
    return;
  }
  n = merge(b, s, word);
  if (n)
    memcpy(token_list_reserve(out, n), s->id, n * sizeof *s->id);
  out->n += n;
}
