#include "data/token_builder.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/utf8.h"

void token_builder_init(struct token_builder *b, enum token_kind kind)
{
  *b = (struct token_builder){.kind = kind};
  byte_alphabet_init(&b->alphabet);
}

void token_builder_free(struct token_builder *b)
{
  buf_free(&b->bytes);
  buf_free(&b->scratch);
  mem_free(b->entry);
  mem_free(b->score);
  mem_free(b->merge);
  mem_free(b->offset);
  mem_free(b->flag);
  mem_free(b->keys);
  mem_free(b->slot);
}

/* Makes room for one more of `n` items. */
static void *grow(void *items, uint32_t n, uint32_t *cap, size_t size)
{
  if (n < *cap)
    return items;
  *cap = *cap ? *cap * 2 : 4096;
  return mem_resize(items, *cap, size);
}

/* ---- tokens ---- */

/* What was added to b->bytes from `at` on is the key of `id`. */
static void add_entry(struct token_builder *b, uint32_t id, size_t at,
                      uint8_t flag, double score)
{
  uint32_t cap = b->entry_cap;
  b->entry = grow(b->entry, b->entries, &b->entry_cap, sizeof *b->entry);
  if (b->kind == TOKEN_UNIGRAM)
    b->score = grow(b->score, b->entries, &cap, sizeof *b->score);
  b->entry[b->entries] = (struct token_entry){
      id, (uint32_t)at, (uint32_t)(b->bytes.len - at), flag};
  if (b->kind == TOKEN_UNIGRAM)
    b->score[b->entries] = score;
  b->entries++;
}

/* Appends the key that `text` has; true when it is raw. */
static bool text_key(const struct token_builder *b, struct buf *out,
                     struct str text)
{
  if (b->kind == TOKEN_BPE_BYTES &&
      byte_alphabet_read(&b->alphabet, out, text) == 0)
    return false;
  buf_addstr(out, text);
  return b->kind == TOKEN_BPE_BYTES;
}

void token_builder_add(struct token_builder *b, struct str text, uint32_t id,
                       double score)
{
  size_t at = b->bytes.len;
  bool raw = text_key(b, &b->bytes, text);
  add_entry(b, id, at, (uint8_t)(TOKEN_PRESENT | (raw ? TOKEN_RAW : 0)), score);
}

void token_builder_add_bytes(struct token_builder *b, struct str bytes,
                             uint32_t id)
{
  size_t at = b->bytes.len;
  buf_addstr(&b->bytes, bytes);
  add_entry(b, id, at, TOKEN_PRESENT, 0);
}

/* ---- sealing ---- */

static struct str key_of(const struct token_builder *b, uint32_t id)
{
  return (struct str){b->keys + b->offset[id],
                      b->offset[id + 1] - b->offset[id]};
}

/* Slots for `count` items, at most two thirds full. */
static uint32_t table_size(uint32_t count)
{
  uint32_t size = 16;
  while (size < count + count / 2 + 1)
    size *= 2;
  return size;
}

/* The slot of a key, or the empty one where it belongs. */
static struct token_slot *slot_of(const struct token_builder *b, struct str key,
                                  bool raw)
{
  uint64_t h = token_hash(key.p, key.len);
  uint32_t at = (uint32_t)h & b->slot_mask;
  for (;; at = (at + 1) & b->slot_mask) {
    struct token_slot *s = &b->slot[at];
    if (s->id == TOKEN_NONE ||
        (s->tag == (uint32_t)(h >> 32) && str_eq(key_of(b, s->id), key) &&
         raw == !!(b->flag[s->id] & TOKEN_RAW)))
      return s;
  }
}

/* Ids in the order of their entries become keys in the order of ids. */
static int order(struct token_builder *b, uint32_t *culprit)
{
  uint32_t *entry_of, at = 0;
  int result = 0;
  for (uint32_t i = 0; i < b->entries; i++) {
    if (b->entry[i].id >= TOKEN_ID_LIMIT) {
      *culprit = b->entry[i].id;
      return -1;
    }
    if (b->entry[i].id >= b->n)
      b->n = b->entry[i].id + 1;
  }
  entry_of = mem_alloc((b->n + 1) * sizeof *entry_of);
  memset(entry_of, 0xff, b->n * sizeof *entry_of);
  b->offset = mem_alloc((b->n + 1) * sizeof *b->offset);
  b->flag = mem_zalloc(b->n, 1);
  b->keys = mem_alloc(b->bytes.len);
  for (uint32_t i = 0; i < b->entries; i++) {
    uint32_t *e = &entry_of[b->entry[i].id];
    if (*e != TOKEN_NONE) {
      *culprit = b->entry[i].id;
      result = -1;
    }
    *e = i;
  }
  for (uint32_t id = 0; id < b->n; id++) {
    b->offset[id] = at;
    if (entry_of[id] != TOKEN_NONE) {
      const struct token_entry *e = &b->entry[entry_of[id]];
      b->flag[id] = e->flag;
      if (e->len)
        memcpy(b->keys + at, b->bytes.p + e->at, e->len);
      at += e->len;
    }
  }
  b->offset[b->n] = at;
  mem_free(entry_of);
  return result;
}

/* A key listed twice belongs to its later id. In a JSON object the earlier
 * one then never was. */
static void fill_slots(struct token_builder *b)
{
  uint32_t size = table_size(b->entries);
  b->slot = mem_alloc(size * sizeof *b->slot);
  memset(b->slot, 0xff, size * sizeof *b->slot);
  b->slot_mask = size - 1;
  for (uint32_t i = 0; i < b->entries; i++) {
    uint32_t id = b->entry[i].id;
    struct str key = key_of(b, id);
    struct token_slot *s = slot_of(b, key, b->flag[id] & TOKEN_RAW);
    if (s->id != TOKEN_NONE && b->kind != TOKEN_UNIGRAM)
      b->flag[s->id] &= (uint8_t)~TOKEN_PRESENT;
    *s = (struct token_slot){(uint32_t)(token_hash(key.p, key.len) >> 32), id};
  }
}

static void find_bytes(struct token_builder *b)
{
  for (unsigned c = 0; c < 256; c++) {
    char text[8];
    if (b->kind == TOKEN_BPE_BYTES)
      text[0] = (char)c, text[1] = '\0';
    else
      snprintf(text, sizeof text, "<0x%02X>", c);
    b->byte[c] = token_builder_find_key(
        b, (struct str){text, b->kind == TOKEN_BPE_BYTES ? 1 : 6}, false);
  }
}

int token_builder_seal(struct token_builder *b, uint32_t *culprit)
{
  if (order(b, culprit) < 0)
    return -1;
  fill_slots(b);
  find_bytes(b);
  return 0;
}

uint32_t token_builder_find_key(const struct token_builder *b, struct str key,
                                bool raw)
{
  return slot_of(b, key, raw)->id;
}

uint32_t token_builder_find(struct token_builder *b, struct str text)
{
  bool raw;
  buf_reset(&b->scratch);
  raw = text_key(b, &b->scratch, text);
  return token_builder_find_key(b, buf_str(&b->scratch), raw);
}

/* ---- merges ---- */

void token_builder_merge(struct token_builder *b, uint32_t left, uint32_t right,
                         uint32_t rank, uint32_t id)
{
  b->merge = grow(b->merge, b->merges, &b->merge_cap, sizeof *b->merge);
  b->merge[b->merges++] = (struct token_merge){left, right, rank, id};
}

static struct token_merge *merge_table(const struct token_builder *b,
                                       uint32_t *size)
{
  struct token_merge *table;
  *size = table_size(b->merges);
  table = mem_alloc(*size * sizeof *table);
  memset(table, 0xff, *size * sizeof *table);
  for (uint32_t i = 0; i < b->merges; i++) {
    struct token_merge m = b->merge[i];
    uint32_t at = (uint32_t)token_pair_hash(m.left, m.right) & (*size - 1);
    while (table[at].left != TOKEN_NONE &&
           (table[at].left != m.left || table[at].right != m.right))
      at = (at + 1) & (*size - 1);
    table[at] = m;
  }
  return table;
}

/* ---- finishing ---- */

/* "<0x41>" */
static bool spells_byte(const struct token_builder *b, uint32_t id)
{
  struct str key = key_of(b, id);
  return key.len == 6 && memcmp(key.p, "<0x", 3) == 0;
}

/* Marks what stands side by side in the result of a merge. A text may be cut
 * wherever nothing is marked, if every character has a token or bytes that
 * no merge touches. NULL: it may not. */
static uint64_t *seam_map(const struct token_builder *b, bool fallback)
{
  uint64_t *map;
  if (b->kind != TOKEN_BPE || !fallback)
    return NULL;
  for (int c = 0; c < 256; c++)
    if (b->byte[c] == TOKEN_NONE)
      return NULL;
  for (uint32_t i = 0; i < b->merges; i++)
    if (spells_byte(b, b->merge[i].left) || spells_byte(b, b->merge[i].right))
      return NULL;
  map = mem_zalloc((1u << TOKEN_SEAM_BITS) / 64, sizeof *map);
  for (uint32_t i = 0; i < b->merges; i++) {
    struct str key = key_of(b, b->merge[i].id);
    const char *p = key.p, *end = p + key.len;
    uint32_t last = p < end ? utf8_next(p, &p) : 0;
    while (p < end) {
      uint32_t c = utf8_next(p, &p), seam = token_seam(last, c);
      map[seam / 64] |= UINT64_C(1) << seam % 64;
      last = c;
    }
  }
  return map;
}

struct sortable {
  const char *key;
  uint32_t len, id;
};

static int compare(const void *a, const void *b)
{
  const struct sortable *x = a, *y = b;
  uint32_t len = x->len < y->len ? x->len : y->len;
  int c = len ? memcmp(x->key, y->key, len) : 0;
  return c ? c : (x->len > y->len) - (x->len < y->len);
}

/* Every id that its own key finds, by key. */
static uint32_t *sorted_ids(const struct token_builder *b, uint32_t *n)
{
  struct sortable *all = mem_alloc(b->n * sizeof *all);
  uint32_t *ids;
  *n = 0;
  for (uint32_t id = 0; id < b->n; id++) {
    struct str key = key_of(b, id);
    if (b->flag[id] & TOKEN_PRESENT && key.len &&
        token_builder_find_key(b, key, false) == id)
      all[(*n)++] = (struct sortable){key.p, (uint32_t)key.len, id};
  }
  qsort(all, *n, sizeof *all, compare);
  ids = mem_alloc(*n * sizeof *ids);
  for (uint32_t i = 0; i < *n; i++)
    ids[i] = all[i].id;
  mem_free(all);
  return ids;
}

static double *scores_by_id(const struct token_builder *b)
{
  double *score = mem_zalloc(b->n, sizeof *score);
  for (uint32_t i = 0; i < b->entries; i++)
    score[b->entry[i].id] = b->score[i];
  return score;
}

static struct str part(const void *p, uint32_t n, size_t size)
{
  return (struct str){p, n * size};
}

void *token_builder_finish(struct token_builder *b, bool fallback,
                           struct str config, const struct token_source *source,
                           size_t *size)
{
  bool pieces = b->kind == TOKEN_UNIGRAM || b->kind == TOKEN_WORDPIECE;
  uint32_t merge_size, sorted_n = 0;
  struct token_merge *merge = merge_table(b, &merge_size);
  uint64_t *seams = seam_map(b, fallback);
  uint32_t *sorted = pieces ? sorted_ids(b, &sorted_n) : NULL;
  double *score = b->kind == TOKEN_UNIGRAM ? scores_by_id(b) : NULL;
  struct str parts[TOKEN_SECTIONS] = {
      [TOKEN_CONFIG] = config,
      [TOKEN_OFFSETS] = part(b->offset, b->n + 1, 4),
      [TOKEN_FLAGS] = part(b->flag, b->n, 1),
      [TOKEN_SLOTS] = part(b->slot, b->slot_mask + 1, sizeof *b->slot),
      [TOKEN_MERGES] = part(merge, merge_size, sizeof *merge),
      [TOKEN_BYTES] = part(b->byte, 256, 4),
      [TOKEN_SCORES] = part(score, score ? b->n : 0, sizeof *score),
      [TOKEN_SORTED] = part(sorted, sorted_n, 4),
      [TOKEN_SEAMS] = part(seams, seams ? (1u << TOKEN_SEAM_BITS) / 64 : 0, 8),
      [TOKEN_KEYS] = part(b->keys, b->offset[b->n], 1),
  };
  void *block = token_index_build(b->kind, b->n, parts, source, size);
  mem_free(merge);
  mem_free(seams);
  mem_free(sorted);
  mem_free(score);
  return block;
}
