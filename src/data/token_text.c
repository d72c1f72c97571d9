#include "data/token_text.h"

#include <stdlib.h>

enum { ATTEMPTS = 64 };

/* ' ' and the letters of a word, which may begin with a mark in the
 * vocabulary. */
static void add_word(struct token_text *x, struct str key)
{
  while (key.len && (key.p[0] < 'a' || key.p[0] > 'z'))
    key.p++, key.len--;
  buf_addc(&x->words, ' ');
  buf_addstr(&x->words, key);
}

/* Is the word that was added last one token without the blank as well? */
static bool one_bare(const struct token_text *x, const struct tokenizer *t,
                     struct tokenizer_scratch *s)
{
  struct str word = {x->words.p + x->at[x->n] + 1,
                     x->words.len - x->at[x->n] - 1};
  size_t count = 0;
  return tokenizer_count(t, s, word, 0, &count) == 0 && count == 1;
}

void token_text_init(struct token_text *x, const struct tokenizer *t,
                     struct tokenizer_scratch *s)
{
  struct token_list ids = {0};
  *x = (struct token_text){.n = 0};
  tokenizer_words(t, s, &ids);
  x->at = mem_zalloc(ids.n + 1, sizeof *x->at);
  for (size_t i = 0; i < ids.n; i++) {
    add_word(x, tokenizer_token(t, ids.ids[i]));
    if (one_bare(x, t, s))
      x->n++;
    else
      x->words.len = x->at[x->n];
    x->at[x->n] = (uint32_t)x->words.len;
  }
  token_list_free(&ids);
}

void token_text_deinit(struct token_text *x)
{
  buf_free(&x->words);
  mem_free(x->at);
  *x = (struct token_text){.n = 0};
}

int token_text_draw(const struct token_text *x, struct rng *r, size_t n,
                    struct buf *out)
{
  for (size_t i = 0; i < n; i++) {
    size_t k = (size_t)rng_below(r, x->n), at = x->at[k];
    size_t bare = out->len == 0;
    buf_add(out, x->words.p + at + bare, x->at[k + 1] - at - bare);
  }
  return out->toobig ? -1 : 0;
}

bool token_text_is(const struct tokenizer *t, struct tokenizer_scratch *s,
                   struct str text, size_t start, size_t n)
{
  size_t before = 0, count;
  struct str head = {text.p, start};
  return tokenizer_count(t, s, head, 0, &before) == 0 &&
         tokenizer_count(t, s, text, 0, &count) == 0 && count == before + n;
}

/* Take the last `n` words off again, but nothing in front of `start`. */
static void drop_words(struct buf *out, size_t start, size_t n)
{
  while (n > 0 && out->len > start) {
    out->len--;
    while (out->len > start && out->p[out->len] != ' ')
      out->len--;
    n--;
  }
}

/* How many words make about `tokens`, when `words` made `count`. */
static size_t share(size_t tokens, size_t words, size_t count)
{
  size_t n = count ? tokens * words / count : tokens;
  return n ? n : 1;
}

int token_text_exact(const struct token_text *x, const struct tokenizer *t,
                     struct tokenizer_scratch *s, struct rng *r, size_t n,
                     struct buf *out)
{
  size_t start = out->len, before = 0, count, words = n, k;
  if (tokenizer_count(t, s, buf_str(out), 0, &before) < 0 ||
      token_text_draw(x, r, n, out) < 0)
    return -1;
  for (int i = 0; i < ATTEMPTS; i++) {
    if (tokenizer_count(t, s, buf_str(out), 0, &count) < 0)
      return -1;
    if (count == before + n)
      return 0;
    if (count > before + n) {
      k = share(count - before - n, words, count - before);
      drop_words(out, start, k);
      words -= k < words ? k : words;
    } else {
      k = share(before + n - count, words, count - before);
      words += k;
      if (token_text_draw(x, r, k, out) < 0)
        return -1;
    }
  }
  return -1;
}
