#include "data/charsmap.h"

#include "base/mem.h"
#include "data/base64.h"
#include "data/grapheme.h"
#include "data/utf8.h"

int charsmap_init(struct charsmap *m, struct str text)
{
  struct buf bytes = {0};
  uint32_t size;
  *m = (struct charsmap){0};
  if (base64_decode(&bytes, text) < 0 || bytes.len < 4)
    goto bad;
  memcpy(&size, bytes.p, 4);
  if (size < 4 || size > bytes.len - 4)
    goto bad;
  m->trie_n = size / 4;
  m->trie = mem_alloc(m->trie_n * 4);
  memcpy(m->trie, bytes.p + 4, m->trie_n * 4);
  buf_shift(&bytes, 4 + m->trie_n * 4);
  m->replacements = bytes;
  return utf8_valid(buf_str(&bytes)) == bytes.len ? 0 : -1;
bad:
  buf_free(&bytes);
  return -1;
}

void charsmap_deinit(struct charsmap *m)
{
  mem_free(m->trie);
  buf_free(&m->replacements);
}

/* Darts' units: a label or a value, and where the children are. */
static uint32_t children(uint32_t unit)
{
  return unit >> 10 << ((unit & 1u << 9) >> 6);
}

/* The replacement of the shortest prefix of `part` that has one: the Rust
 * library takes the first it finds. */
static bool look_up(const struct charsmap *m, struct str part, struct str *to)
{
  uint32_t node = children(m->trie[0]);
  for (size_t i = 0; i < part.len; i++) {
    unsigned char c = (unsigned char)part.p[i];
    uint32_t unit, at;
    const char *stop;
    node ^= c;
    if (c == 0 || node >= m->trie_n)
      return false;
    unit = m->trie[node];
    if ((unit & (1u << 31 | 0xff)) != c)
      return false;
    node ^= children(unit);
    if (!(unit >> 8 & 1))
      continue;
    at = node < m->trie_n ? m->trie[node] & 0x7fffffff : UINT32_MAX;
    if (at > m->replacements.len ||
        (at < m->replacements.len &&
         utf8_continues((unsigned char)m->replacements.p[at])))
      return false;
    to->p = m->replacements.p + at;
    to->len = m->replacements.len - at;
    stop = to->len ? memchr(to->p, '\0', to->len) : NULL;
    if (stop)
      to->len = (size_t)(stop - to->p);
    return true;
  }
  return false;
}

/* A run under way. Characters, not bytes, tell where the head ends: the n-th
 * of a replacement counts as the n-th of what it replaces, or the last. What
 * was replaced by nothing before anything was written is `owed`: the Rust
 * library forgets to count it, so what comes next counts as what it was. */
struct mapping {
  const struct charsmap *map;
  struct buf *out;
  size_t before;
  size_t head, head_out; /* in characters, in bytes */
  size_t at, owed;       /* in characters */
  bool changed;
};

/* How many bytes of `to`, which stands for `n` characters, are head. */
static void count_head(struct mapping *r, struct str to, size_t n)
{
  const char *p = to.p, *end = to.p + to.len;
  for (size_t i = 0; p < end; i++) {
    if (r->at - r->owed + (i < n ? i : n - 1) >= r->head)
      return;
    p += utf8_size((unsigned char)*p);
    r->head_out = r->out->len - r->before + (size_t)(p - to.p);
  }
}

static void put(struct mapping *r, struct str from, struct str to)
{
  if (r->at - r->owed < r->head) {
    size_t n = utf8_count(from);
    count_head(r, to, n);
    if (r->out->len == r->before && !to.len)
      r->owed += n;
    r->at += n;
  }
  buf_addstr(r->out, to);
}

static bool replace(struct mapping *r, const char *from, size_t len)
{
  struct str part = {from, len}, to;
  if (!look_up(r->map, part, &to))
    return false;
  put(r, part, to);
  r->changed = true;
  return true;
}

/* Small clusters are looked up as a whole, then everything by character. */
static void cluster(struct mapping *r, const char *p, const char *end)
{
  if (end - p < 6 && replace(r, p, (size_t)(end - p)))
    return;
  while (p < end) {
    size_t n = utf8_size((unsigned char)*p);
    if (!replace(r, p, n))
      put(r, (struct str){p, n}, (struct str){p, n});
    p += n;
  }
}

bool charsmap_run(const struct charsmap *m, const struct unicode *u,
                  struct str in, struct buf *out, size_t *head)
{
  const char *p = in.p, *end = in.p + in.len, *next;
  struct mapping r = {.map = m, .out = out, .before = out->len};
  r.head = utf8_count((struct str){in.p, *head});
  for (; p < end && !out->toobig; p = next) {
    next = grapheme_end(u, p, end);
    cluster(&r, p, next);
  }
  if (!r.changed) {
    out->len = r.before;
    return false;
  }
  *head = r.head_out;
  return true;
}
