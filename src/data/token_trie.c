#include "data/token_trie.h"

#include "base/mem.h"
#include "data/token_hash.h"

/* A hash table of (parent, byte) -> child; child 0 ends a search, since the
 * root is nobody's child. */
struct token_trie_edge {
  uint32_t parent, byte, child;
};

void token_trie_free(struct token_trie *t)
{
  mem_free(t->edge);
  mem_free(t->value);
  *t = (struct token_trie){.only = -1};
}

static struct token_trie_edge *edge_of(const struct token_trie *t,
                                       uint32_t parent, unsigned char byte)
{
  uint32_t at = (uint32_t)token_pair_hash(parent, byte) & t->edge_mask;
  for (;; at = (at + 1) & t->edge_mask) {
    struct token_trie_edge *e = &t->edge[at];
    if (!e->child || (e->parent == parent && e->byte == byte))
      return e;
  }
}

static void grow_edges(struct token_trie *t)
{
  struct token_trie old = *t;
  uint32_t size = t->edge ? (t->edge_mask + 1) * 2 : 64;
  if (t->edge && t->edges * 2 < t->edge_mask)
    return;
  t->edge = mem_zalloc(size, sizeof *t->edge);
  t->edge_mask = size - 1;
  for (uint32_t i = 0; old.edge && i <= old.edge_mask; i++)
    if (old.edge[i].child)
      *edge_of(t, old.edge[i].parent, (unsigned char)old.edge[i].byte) =
          old.edge[i];
  mem_free(old.edge);
}

static uint32_t new_node(struct token_trie *t)
{
  if (t->nodes == t->cap) {
    t->cap = t->cap * 2 + 64;
    t->value = mem_resize(t->value, t->cap, sizeof *t->value);
  }
  t->value[t->nodes] = UINT32_MAX;
  return t->nodes++;
}

static uint32_t child_of(struct token_trie *t, uint32_t parent,
                         unsigned char byte)
{
  struct token_trie_edge *e;
  grow_edges(t);
  e = edge_of(t, parent, byte);
  if (!e->child) {
    *e = (struct token_trie_edge){parent, byte, new_node(t)};
    t->edges++;
  }
  return e->child;
}

void token_trie_add(struct token_trie *t, struct str text, uint32_t value)
{
  unsigned char first = (unsigned char)text.p[0];
  uint32_t node;
  if (!t->nodes) {
    new_node(t); /* the root */
    t->only = first;
  }
  if (t->only != first)
    t->only = -1;
  if (!t->root[first])
    t->root[first] = new_node(t);
  node = t->root[first];
  for (size_t i = 1; i < text.len; i++)
    node = child_of(t, node, (unsigned char)text.p[i]);
  if (t->value[node] == UINT32_MAX)
    t->value[node] = value;
}

/* Walks from one place; the longest text's end, or 0. */
static size_t walk(const struct token_trie *t, struct str in, size_t start,
                   uint32_t *value)
{
  uint32_t node = t->root[(unsigned char)in.p[start]];
  size_t found = 0;
  for (size_t i = start + 1; node; i++) {
    if (t->value[node] != UINT32_MAX) {
      *value = t->value[node];
      found = i;
    }
    if (i == in.len || !t->edge)
      break;
    node = edge_of(t, node, (unsigned char)in.p[i])->child;
  }
  return found;
}

bool token_trie_starts(const struct token_trie *t, struct str in, size_t *end,
                       uint32_t *value)
{
  *end = t->nodes && in.len ? walk(t, in, 0, value) : 0;
  return *end > 0;
}

bool token_trie_find(const struct token_trie *t, struct str in, size_t from,
                     size_t *start, size_t *end, uint32_t *value)
{
  for (size_t at = from; t->nodes && at < in.len; at++) {
    if (t->only >= 0) {
      const char *next = memchr(in.p + at, t->only, in.len - at);
      if (!next)
        return false;
      at = (size_t)(next - in.p);
    } else if (!t->root[(unsigned char)in.p[at]]) {
      continue;
    }
    *end = walk(t, in, at, value);
    if (*end) {
      *start = at;
      return true;
    }
  }
  return false;
}
