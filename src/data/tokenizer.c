#include "data/tokenizer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "data/added_tokens.h"
#include "data/bpe.h"
#include "data/normalizer.h"
#include "data/post_processor.h"
#include "data/pretokenizer.h"
#include "data/token_cache.h"
#include "data/token_decoder.h"
#include "data/tokenizer_file.h"
#include "data/unigram.h"
#include "data/utf8.h"
#include "data/word_cache.h"
#include "data/wordpiece.h"

/* Smaller files are read faster than their index. */
#define CACHE_FROM (256 * 1024)

struct tokenizer {
  struct unicode unicode;
  struct token_index index;
  void *block; /* the index's, when it was built; else it is mapped */
  bool mapped;
  struct normalizer normalizer;
  struct added_tokens added;
  struct pretokenizer pretokenizer;
  struct post_processor post;
  struct token_decoder decoder;
  struct bpe bpe; /* one of these, by index.kind */
  struct unigram unigram;
  struct wordpiece wordpiece;
};

struct tokenizer_scratch {
  struct buf repaired, joined;
  struct normalizer_scratch normalizer;
  struct pretokenizer_scratch pretokenizer;
  struct bpe_scratch bpe;
  struct unigram_scratch unigram;
  struct token_decoder_scratch decoder;
  struct word_cache words;
  struct token_list count;
};

/* ---- opening ---- */

/* Maps a file; {NULL, 0} and a message when that cannot be done. */
static struct str map_file(const char *path, struct err *e)
{
  struct stat st;
  void *p;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) < 0) {
    err_add(e, "%s: %s", path, strerror(errno));
    if (fd >= 0)
      close(fd);
    return (struct str){NULL, 0};
  }
  if (!S_ISREG(st.st_mode) || st.st_size == 0) {
    err_add(e, "%s: %s", path,
            S_ISREG(st.st_mode) ? "the file is empty" : "not a file");
    close(fd);
    return (struct str){NULL, 0};
  }
  p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd,
           0);
  if (p == MAP_FAILED)
    err_add(e, "%s: %s", path, strerror(errno));
  close(fd);
  return p == MAP_FAILED ? (struct str){NULL, 0}
                         : (struct str){p, (size_t)st.st_size};
}

/* The index of a file, from the cache or built. */
static int open_index(struct tokenizer *t, const char *path, struct err *e)
{
  struct str text = map_file(path, e);
  struct token_source source;
  size_t size;
  if (!text.p)
    return -1;
  token_file_hash(text.p, text.len, source.hash);
  source.size = text.len;
  if (text.len >= CACHE_FROM && token_cache_load(&t->index, &source) == 0) {
    t->mapped = true;
  } else {
    t->block = tokenizer_file_read(path, text, &source, &size, e);
    if (t->block && token_index_open(&t->index, t->block, size, &source) < 0)
      err_add(e, "%s: the vocabulary is damaged", path);
    if (t->block && !e->count && text.len >= CACHE_FROM)
      token_cache_save(t->block, size, &source);
  }
  munmap((void *)(uintptr_t)text.p, text.len);
  return e->count ? -1 : 0;
}

static void init_model(struct tokenizer *t, const json_value *model,
                       const char *path, struct err *e)
{
  switch (t->index.kind) {
  case TOKEN_BPE:
  case TOKEN_BPE_BYTES: bpe_init(&t->bpe, &t->index, model, path, e); break;
  case TOKEN_UNIGRAM:
    unigram_init(&t->unigram, &t->index, model, path, e);
    break;
  case TOKEN_WORDPIECE:
    wordpiece_init(&t->wordpiece, &t->index, model, path, e);
    break;
  case TOKEN_KINDS: break;
  }
}

/* Every part says what it cannot do, so that one look tells all. */
static int init_parts(struct tokenizer *t, const char *path, struct err *e)
{
  json_value *config = json_parse(t->index.config, NULL);
  if (!config)
    return err_add(e, "%s: its configuration is not valid JSON", path);
  init_model(t, json_get(config, "model"), path, e);
  normalizer_init(&t->normalizer, json_get(config, "normalizer"), &t->unicode,
                  path, e);
  pretokenizer_init(&t->pretokenizer, json_get(config, "pre_tokenizer"),
                    &t->unicode, path, e);
  post_processor_init(&t->post, json_get(config, "post_processor"), path, e);
  token_decoder_init(&t->decoder, json_get(config, "decoder"), path, e);
  if (!e->count)
    added_tokens_init(&t->added, json_get(config, "added_tokens"), &t->index,
                      &t->normalizer, json_get(config, "encoding") != NULL,
                      path, e);
  json_free(config);
  return e->count ? -1 : 0;
}

struct tokenizer *tokenizer_open(const char *path, struct err *e)
{
  struct tokenizer *t = mem_new(struct tokenizer);
  struct buf file = {0};
  struct stat st;
  unsigned before = e->count;
  struct err own = {0};
  buf_adds(&file, path);
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    buf_adds(&file, "/tokenizer.json");
  unicode_init(&t->unicode);
  t->added.raw.only = t->added.normalized.only = -1;
  if (open_index(t, buf_cstr(&file), &own) == 0)
    init_parts(t, buf_cstr(&file), &own);
  if (own.count) {
    buf_addstr(&e->text, buf_str(&own.text));
    e->count = before + own.count;
    tokenizer_free(t);
    t = NULL;
  }
  err_free(&own);
  buf_free(&file);
  return t;
}

void tokenizer_free(struct tokenizer *t)
{
  if (!t)
    return;
  added_tokens_deinit(&t->added);
  normalizer_deinit(&t->normalizer);
  pretokenizer_deinit(&t->pretokenizer);
  post_processor_deinit(&t->post);
  token_decoder_deinit(&t->decoder);
  bpe_deinit(&t->bpe);
  wordpiece_deinit(&t->wordpiece);
  if (t->mapped)
    token_cache_close(&t->index);
  mem_free(t->block);
  unicode_deinit(&t->unicode);
  mem_free(t);
}

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

static void add_all(struct token_list *out, const struct token_list *ids)
{
  for (size_t i = 0; i < ids->n; i++)
    token_list_add(out, ids->ids[i]);
}

int tokenizer_encode(const struct tokenizer *t, struct tokenizer_scratch *s,
                     struct str text, unsigned flags, struct token_list *out)
{
  struct encoding x = {t, s, out};
  struct added_walk w;
  struct str whole, part;
  uint32_t id;
  if (text.len >= UINT32_MAX)
    return -1;
  whole = utf8_repair(text, &s->repaired);
  if (flags & TOKENIZER_ADD_SPECIAL)
    add_all(out, &t->post.before);
  added_walk_init(&w, &t->added, &t->added.raw, whole);
  while (added_walk_next(&w, &part, &id)) {
    if (id != TOKEN_NONE)
      token_list_add(out, id);
    else if (encode_part(&x, part,
                         part.p == whole.p ? utf8_size((unsigned char)*part.p)
                                           : 0) < 0)
      return -1;
  }
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

/* A blank or SentencePiece's mark, then two or more of a to z. */
static bool word_like(struct str key)
{
  if (str_starts(key, STR(" ")))
    key.p++, key.len--;
  else if (str_starts(key, STR("\u2581")))
    key.p += 3, key.len -= 3;
  else
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
    if (!token_index_has(&t->index, id) || !word_like(key) ||
        added_tokens_get(&t->added, id) || mends(&t->index, key) ||
        !comes_back(t, s, row, before == TOKEN_NONE ? 2 : 4, &text))
      continue;
    token_list_add(out, id);
    before = id;
  }
  buf_free(&text);
}
