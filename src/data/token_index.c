#include "data/token_index.h"

#include "base/mem.h"
#include "data/utf8.h"

/* Changes whenever a block's bytes, their meaning, or what is checked before
 * one is made do. */
#define VERSION 3

struct header {
  char magic[8];
  uint32_t version, kind, n, zero;
  struct token_source source;
  uint64_t size;
  uint64_t hash[2]; /* of everything else */
  struct {
    uint64_t at, size;
  } section[TOKEN_SECTIONS];
};

static const char magic[8] = "stokeTK";

static uint64_t aligned(uint64_t at)
{
  return (at + 63) & ~UINT64_C(63);
}

void token_file_hash(const void *block, size_t len, uint64_t out[2])
{
  /* Four lanes, so that the products overlap; the tail goes in as one word
   * string by token_hash. */
  const char *p = block;
  uint64_t lane[4] = {TOKEN_HASH_A, TOKEN_HASH_B, ~TOKEN_HASH_A, ~TOKEN_HASH_B};
  uint64_t tail;
  size_t left = len;
  for (; left >= 64; p += 64, left -= 64)
    for (int i = 0; i < 4; i++)
      lane[i] = token_mix(token_read(p + 16 * i, 8) ^ TOKEN_HASH_B,
                          token_read(p + 16 * i + 8, 8) ^ lane[i]);
  tail = token_hash(p, left);
  out[0] = token_mix(lane[0] ^ tail, lane[1] ^ TOKEN_HASH_A ^ len);
  out[1] = token_mix(lane[2] ^ tail, lane[3] ^ TOKEN_HASH_B ^ len);
}

/* Of a whole block but the place where that stands. */
static void block_hash(const struct header *h, uint64_t out[2])
{
  struct header own = *h;
  uint64_t head[2];
  memset(own.hash, 0, sizeof own.hash);
  token_file_hash(&own, sizeof own, head);
  token_file_hash(h + 1, h->size - sizeof *h, out);
  out[0] = token_mix(out[0] ^ TOKEN_HASH_A, head[0] ^ TOKEN_HASH_B);
  out[1] = token_mix(out[1] ^ TOKEN_HASH_A, head[1] ^ TOKEN_HASH_B);
}

void *token_index_build(enum token_kind kind, uint32_t n,
                        const struct str part[TOKEN_SECTIONS],
                        const struct token_source *source, size_t *size)
{
  struct header h = {
      .version = VERSION, .kind = kind, .n = n, .source = *source};
  uint64_t at = aligned(sizeof h);
  char *block;
  memcpy(h.magic, magic, sizeof magic);
  for (int i = 0; i < TOKEN_SECTIONS; i++) {
    h.section[i].at = at;
    h.section[i].size = part[i].len;
    at = aligned(at + part[i].len);
  }
  h.size = at;
  block = mem_zalloc(1, at);
  for (int i = 0; i < TOKEN_SECTIONS; i++)
    if (part[i].len)
      memcpy(block + h.section[i].at, part[i].p, part[i].len);
  memcpy(block, &h, sizeof h);
  block_hash((struct header *)(void *)block, h.hash);
  memcpy(block, &h, sizeof h);
  *size = at;
  return block;
}

/* A section of `count` items of `item` bytes, or NULL. */
static const void *section(const struct header *h, enum token_section s,
                           uint64_t count, size_t item)
{
  return h->section[s].size == count * item ? (const char *)h + h->section[s].at
                                            : NULL;
}

/* A hash table's mask when its size is a power of two. */
static bool table(const struct header *h, enum token_section s, size_t item,
                  uint32_t *mask)
{
  uint64_t count = h->section[s].size / item;
  *mask = (uint32_t)(count - 1);
  return count > 0 && count <= UINT32_MAX && !(count & (count - 1)) &&
         section(h, s, count, item);
}

static bool header_good(const struct header *h, size_t size,
                        const struct token_source *source)
{
  uint64_t hash[2], end = aligned(sizeof *h);
  if (size < sizeof *h || memcmp(h->magic, magic, sizeof magic) != 0 ||
      h->version != VERSION || h->kind >= TOKEN_KINDS || h->size != size ||
      h->n > TOKEN_ID_LIMIT || memcmp(&h->source, source, sizeof *source) != 0)
    return false;
  for (int i = 0; i < TOKEN_SECTIONS; i++) {
    if (h->section[i].at != end || h->section[i].size > size - end)
      return false;
    end = aligned(end + h->section[i].size);
    if (end > size)
      return false;
  }
  block_hash(h, hash);
  return end == size && memcmp(hash, h->hash, sizeof hash) == 0;
}

static bool id_good(const struct token_index *x, uint32_t id)
{
  return id < x->n && x->flag[id] & TOKEN_PRESENT;
}

/* Keys lie in order and inside, and those that are text are UTF-8. */
static bool keys_good(struct token_index *x, uint64_t size)
{
  if (x->offset[0] != 0 || x->offset[x->n] != size)
    return false;
  for (uint32_t id = 0; id < x->n; id++)
    if (x->offset[id] > x->offset[id + 1])
      return false;
  for (uint32_t id = 0; id < x->n; id++) {
    struct str key = token_index_key(x, id);
    x->count += x->flag[id] & TOKEN_PRESENT;
    if ((x->kind != TOKEN_BPE_BYTES || x->flag[id] & TOKEN_RAW) &&
        utf8_valid(key) != key.len)
      return false;
  }
  return true;
}

/* Every search ends at an empty slot, and what it finds is a token. */
static bool tables_good(const struct token_index *x)
{
  uint64_t free_slots = 0, free_merges = 0;
  for (uint64_t i = 0; i <= x->slot_mask; i++) {
    if (x->slot[i].id == TOKEN_NONE)
      free_slots++;
    else if (!id_good(x, x->slot[i].id))
      return false;
  }
  for (uint64_t i = 0; i <= x->merge_mask; i++) {
    if (x->merge[i].left == TOKEN_NONE)
      free_merges++;
    else if (!id_good(x, x->merge[i].id))
      return false;
  }
  for (int i = 0; i < 256; i++)
    if (x->byte[i] != TOKEN_NONE && !id_good(x, x->byte[i]))
      return false;
  for (uint32_t i = 0; i < x->sorted_n; i++)
    if (!id_good(x, x->sorted[i]))
      return false;
  return free_slots && free_merges;
}

int token_index_open(struct token_index *x, const void *block, size_t size,
                     const struct token_source *source)
{
  const struct header *h = block;
  *x = (struct token_index){.block = block, .size = size};
  if (!header_good(h, size, source))
    return -1;
  x->kind = (enum token_kind)h->kind;
  x->n = h->n;
  x->config = (struct str){(const char *)block + h->section[TOKEN_CONFIG].at,
                           h->section[TOKEN_CONFIG].size};
  x->offset = section(h, TOKEN_OFFSETS, (uint64_t)x->n + 1, 4);
  x->flag = section(h, TOKEN_FLAGS, x->n, 1);
  x->keys = (const char *)block + h->section[TOKEN_KEYS].at;
  x->slot = section(h, TOKEN_SLOTS, h->section[TOKEN_SLOTS].size / 8, 8);
  x->merge = section(h, TOKEN_MERGES, h->section[TOKEN_MERGES].size / 16, 16);
  x->byte = section(h, TOKEN_BYTES, 256, 4);
  x->sorted_n = (uint32_t)(h->section[TOKEN_SORTED].size / 4);
  x->sorted = section(h, TOKEN_SORTED, x->sorted_n, 4);
  if (!x->offset || !x->flag || !x->byte || !x->sorted ||
      !table(h, TOKEN_SLOTS, sizeof *x->slot, &x->slot_mask) ||
      !table(h, TOKEN_MERGES, sizeof *x->merge, &x->merge_mask))
    return -1;
  if (x->kind == TOKEN_UNIGRAM &&
      !(x->score = section(h, TOKEN_SCORES, x->n, 8)))
    return -1;
  if (h->section[TOKEN_SEAMS].size)
    x->seams = section(h, TOKEN_SEAMS, (1u << TOKEN_SEAM_BITS) / 64, 8);
  return keys_good(x, h->section[TOKEN_KEYS].size) && tables_good(x) ? 0 : -1;
}

void token_index_mark(const struct token_index *x, uint32_t id, uint8_t flag)
{
  ((uint8_t *)(uintptr_t)x->flag)[id] |= flag;
}

void token_index_seal(const struct token_index *x)
{
  struct header *h = (struct header *)(uintptr_t)x->block;
  uint64_t hash[2];
  block_hash(h, hash);
  memcpy(h->hash, hash, sizeof hash);
}
