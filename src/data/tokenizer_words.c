/* tokenizer_words.c -- the ids that may be strung together. */
#include "data/tokenizer_parts.h"
#include "data/utf8.h"

/* A blank or SentencePiece's mark (WordPiece has none), then two or more of a
 * to z. */
static bool word_like(struct str key, enum token_kind kind)
{
  if (str_starts(key, STR(" ")))
    key.p++, key.len--;
  else if (str_starts(key, STR("\u2581")))
    key.p += 3, key.len -= 3;
  else if (kind != TOKEN_WORDPIECE)
    return false;
  for (size_t i = 0; i < key.len; i++)
    if (key.p[i] < 'a' || key.p[i] > 'z')
      return false;
  return key.len >= 2;
}

static bool comes_back(const struct tokenizer *t, struct tokenizer_scratch *s,
                       const uint32_t *ids, size_t n, struct buf *text)
{
  buf_reset(text);
  s->count.n = 0;
  return tokenizer_decode(t, s, ids, n, 0, text) == 0 &&
         tokenizer_encode(t, s, buf_str(text), 0, &s->count) == 0 &&
         s->count.n == n && memcmp(s->count.ids, ids, n * sizeof *ids) == 0;
}

/* Could a merge join the end of one word with the start of the next? */
static bool mends(const struct token_index *x, struct str key)
{
  const char *next;
  uint32_t first = utf8_next(key.p, &next), seam;
  seam = token_seam((unsigned char)key.p[key.len - 1], first);
  return x->seams && x->seams[seam / 64] >> seam % 64 & 1;
}

void tokenizer_words(const struct tokenizer *t, struct tokenizer_scratch *s,
                     struct token_list *out)
{
  struct buf text = {0};
  uint32_t before = TOKEN_NONE;
  for (uint32_t id = 0; id < t->index.n; id++) {
    struct str key = token_index_key(&t->index, id);
    uint32_t row[4] = {id, id, before, id};
    if (!token_index_has(&t->index, id) || !word_like(key, t->index.kind) ||
        added_tokens_get(&t->added, id) || mends(&t->index, key) ||
        !comes_back(t, s, row, before == TOKEN_NONE ? 2 : 4, &text))
      continue;
    token_list_add(out, id);
    before = id;
  }
  buf_free(&text);
}
