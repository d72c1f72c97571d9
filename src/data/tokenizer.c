#include "data/tokenizer_parts.h"
#include "data/utf8.h"

struct tokenizer_scratch *tokenizer_scratch_new(const struct tokenizer *t)
{
  struct tokenizer_scratch *s = mem_new(struct tokenizer_scratch);
  (void)t;
  word_cache_init(&s->words);
  return s;
}

void tokenizer_scratch_free(struct tokenizer_scratch *s)
{
  if (!s)
    return;
  buf_free(&s->repaired);
  buf_free(&s->joined);
  normalizer_scratch_free(&s->normalizer);
  pretokenizer_scratch_free(&s->pretokenizer);
  bpe_scratch_free(&s->bpe);
  unigram_scratch_free(&s->unigram);
  token_decoder_scratch_free(&s->decoder);
  word_cache_deinit(&s->words);
  token_list_free(&s->count);
  mem_free(s);
}

/* ---- encoding ---- */

struct encoding {
  const struct tokenizer *t;
  struct tokenizer_scratch *s;
  struct token_list *out;
};

static void encode_word(struct encoding *x, struct str word, bool whole)
{
  const struct tokenizer *t = x->t;
  switch (t->index.kind) {
  case TOKEN_BPE:
  case TOKEN_BPE_BYTES:
    bpe_encode(&t->bpe, &x->s->bpe, word, whole, x->out);
    break;
  case TOKEN_UNIGRAM:
    unigram_encode(&t->unigram, &x->s->unigram, word, x->out);
    break;
  case TOKEN_WORDPIECE: wordpiece_encode(&t->wordpiece, word, x->out); break;
  case TOKEN_KINDS: break;
  }
}

static void cached_word(struct encoding *x, struct str word, bool whole)
{
  uint64_t hash;
  size_t before = x->out->n;
  if (word.len > WORD_CACHE_KEY) {
    encode_word(x, word, whole);
    return;
  }
  hash = token_hash(word.p, word.len);
  if (word_cache_get(&x->s->words, word.p, word.len, hash, x->out))
    return;
  encode_word(x, word, whole);
  if (x->out->n > before)
    word_cache_put(&x->s->words, word.p, word.len, hash, x->out->ids + before,
                   x->out->n - before);
}

/* A text that nothing split, cut where no merge can reach across. */
static void cut_at_seams(struct encoding *x, struct str text)
{
  const uint64_t *seams = x->t->index.seams;
  const char *p = text.p, *end = p + text.len, *start = p, *next;
  uint32_t last = utf8_next(p, &p);
  for (; p < end; p = next) {
    uint32_t c = utf8_next(p, &next), seam = token_seam(last, c);
    if (!(seams[seam / 64] >> seam % 64 & 1)) {
      cached_word(x, (struct str){start, (size_t)(p - start)}, false);
      start = p;
    }
    last = c;
  }
  cached_word(x, (struct str){start, (size_t)(end - start)}, false);
}

static void on_word(struct str word, void *ud)
{
  struct encoding *x = ud;
  const struct tokenizer *t = x->t;
  if (!t->index.seams) {
    cached_word(x, word, true);
    return;
  }
  if (t->bpe.ignore_merges) {
    uint32_t id = token_index_find(&t->index, word, false);
    if (id != TOKEN_NONE) {
      token_list_add(x->out, id);
      return;
    }
  }
  cut_at_seams(x, word);
}

/* A part of the input without special tokens. */
static int encode_part(struct encoding *x, struct str text, size_t head)
{
  const struct tokenizer *t = x->t;
  struct added_walk w;
  struct str part, whole = text;
  uint32_t id;
  if (normalizer_run(&t->normalizer, &x->s->normalizer, &whole, &head) < 0)
    return -1;
  if (!whole.len)
    return 0;
  added_walk_init(&w, &t->added, &t->added.normalized, whole);
  while (added_walk_next(&w, &part, &id)) {
    size_t skipped;
    if (id != TOKEN_NONE) {
      token_list_add(x->out, id);
      continue;
    }
    skipped = (size_t)(part.p - whole.p);
    if (pretokenizer_run(&t->pretokenizer, &x->s->pretokenizer, part,
                         head > skipped ? head - skipped : 0, on_word, x) < 0)
      return -1;
  }
  return 0;
}

static int encode_parts(struct encoding *x, struct str text)
{
  struct added_walk w;
  struct str part;
  uint32_t id;
  added_walk_init(&w, &x->t->added, &x->t->added.raw, text);
  while (added_walk_next(&w, &part, &id)) {
    size_t head = 0;
    if (id != TOKEN_NONE) {
      token_list_add(x->out, id);
      continue;
    }
    if (part.p == text.p)
      head = utf8_size((unsigned char)*part.p);
    if (encode_part(x, part, head) < 0)
      return -1;
  }
  return 0;
}

static void add_all(struct token_list *out, const struct token_list *ids)
{
  for (size_t i = 0; i < ids->n; i++)
    token_list_add(out, ids->ids[i]);
}

int tokenizer_encode(const struct tokenizer *t, struct tokenizer_scratch *s,
                     struct str text, unsigned flags, struct token_list *out)
{
  struct encoding x = {t, s, out};
  struct str whole;
  if (text.len >= UINT32_MAX)
    return -1;
  whole = utf8_repair(text, &s->repaired);
  if (flags & TOKENIZER_ADD_SPECIAL)
    add_all(out, &t->post.before);
  if (whole.len && encode_parts(&x, whole) < 0)
    return -1;
  if (flags & TOKENIZER_ADD_SPECIAL)
    add_all(out, &t->post.after);
  return 0;
}

int tokenizer_count(const struct tokenizer *t, struct tokenizer_scratch *s,
                    struct str text, unsigned flags, size_t *n)
{
  int result;
  s->count.n = 0;
  result = tokenizer_encode(t, s, text, flags, &s->count);
  *n = s->count.n;
  return result;
}

/* ---- decoding ---- */

static bool left_out(const struct tokenizer *t, uint32_t id, unsigned flags)
{
  return flags & TOKENIZER_SKIP_SPECIAL && tokenizer_is_special(t, id);
}

/* A token's bytes, when the decoder only joins them. */
static void add_bytes(const struct tokenizer *t, uint32_t id, struct buf *out)
{
  const struct added_token *a = added_tokens_get(&t->added, id);
  struct str text = a ? str_of(a->text) : token_index_key(&t->index, id);
  if ((!a && t->index.kind == TOKEN_BPE_BYTES) ||
      byte_alphabet_read(&t->decoder.alphabet, out, text) < 0)
    buf_addstr(out, text);
}

/* A token's text as the file spells it. */
static void add_text(const struct tokenizer *t, uint32_t id, struct buf *out)
{
  const struct added_token *a = added_tokens_get(&t->added, id);
  if (a)
    buf_adds(out, a->text);
  else if (t->index.kind == TOKEN_BPE_BYTES && !(t->index.flag[id] & TOKEN_RAW))
    byte_alphabet_write(&t->decoder.alphabet, out,
                        token_index_key(&t->index, id));
  else
    buf_addstr(out, token_index_key(&t->index, id));
}

int tokenizer_decode(const struct tokenizer *t, struct tokenizer_scratch *s,
                     const uint32_t *ids, size_t n, unsigned flags,
                     struct buf *out)
{
  bool join = token_decoder_joins_bytes(&t->decoder);
  struct text_row *row = &s->decoder.row[0];
  buf_reset(&s->joined);
  text_row_reset(row);
  for (size_t i = 0; i < n; i++) {
    if ((!added_tokens_get(&t->added, ids[i]) &&
         !token_index_has(&t->index, ids[i])) ||
        left_out(t, ids[i], flags))
      continue;
    if (join) {
      add_bytes(t, ids[i], &s->joined);
    } else {
      add_text(t, ids[i], &row->bytes);
      text_row_close(row);
    }
  }
  if (!join)
    return token_decoder_run(&t->decoder, &s->decoder, out);
  utf8_add_repaired(out, buf_str(&s->joined));
  return 0;
}

/* ---- the vocabulary ---- */

uint32_t tokenizer_vocab_size(const struct tokenizer *t)
{
  return t->added.end > t->index.n ? t->added.end : t->index.n;
}

struct str tokenizer_token(const struct tokenizer *t, uint32_t id)
{
  const struct added_token *a = added_tokens_get(&t->added, id);
  if (a)
    return str_of(a->text);
  return token_index_has(&t->index, id) ? token_index_key(&t->index, id)
                                        : (struct str){NULL, 0};
}

bool tokenizer_is_special(const struct tokenizer *t, uint32_t id)
{
  const struct added_token *a = added_tokens_get(&t->added, id);
  return a && a->special;
}
