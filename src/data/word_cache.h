/* word_cache.h -- the ids of the words that were met lately (header only).
 * Text repeats its words: most of them need no merging a second time. One
 * cache line an entry, one place a word, the newest wins; words that do not
 * fit are simply not kept. A cache belongs to one tokenizer and one thread. */
#ifndef STOKE_DATA_WORD_CACHE_H
#define STOKE_DATA_WORD_CACHE_H

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "data/token_hash.h"
#include "data/token_list.h"

#define WORD_CACHE_KEY  24
#define WORD_CACHE_IDS  8
#define WORD_CACHE_BITS 15

struct word_entry {
  uint32_t tag;
  uint16_t len; /* 0: empty */
  uint16_t n;
  char key[WORD_CACHE_KEY];
  uint32_t ids[WORD_CACHE_IDS];
};

struct word_cache {
  struct word_entry *entry;
};

static inline void word_cache_init(struct word_cache *c)
{
  c->entry = (struct word_entry *)mem_zalloc((size_t)1 << WORD_CACHE_BITS,
                                             sizeof *c->entry);
}

static inline void word_cache_deinit(struct word_cache *c)
{
  mem_free(c->entry);
}

/* Appends the ids of a word that is known. */
static inline bool word_cache_get(const struct word_cache *c, const char *word,
                                  size_t len, uint64_t hash,
                                  struct token_list *out)
{
  const struct word_entry *e = &c->entry[hash & ((1u << WORD_CACHE_BITS) - 1)];
  uint32_t *to;
  if (e->tag != (uint32_t)(hash >> 32) || e->len != len || len == 0 ||
      memcmp(e->key, word, len) != 0)
    return false;
  to = token_list_reserve(out, WORD_CACHE_IDS);
  memcpy(to, e->ids, sizeof e->ids);
  out->n += e->n;
  return true;
}

static inline void word_cache_put(struct word_cache *c, const char *word,
                                  size_t len, uint64_t hash,
                                  const uint32_t *ids, size_t n)
{
  struct word_entry *e = &c->entry[hash & ((1u << WORD_CACHE_BITS) - 1)];
  if (len > WORD_CACHE_KEY || n > WORD_CACHE_IDS)
    return;
  e->tag = (uint32_t)(hash >> 32);
  e->len = (uint16_t)len;
  e->n = (uint16_t)n;
  memcpy(e->key, word, len);
  if (n)
    memcpy(e->ids, ids, n * sizeof *ids);
}

#endif
