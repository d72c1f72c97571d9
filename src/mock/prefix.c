#include "mock/prefix.h"

#include "base/mem.h"

void mock_prefix_init(struct mock_prefix *p, uint64_t blocks)
{
  uint64_t size = 1;
  *p = (struct mock_prefix){0};
  if (!blocks)
    return;
  while (size < blocks)
    size *= 2;
  p->blocks = mem_zalloc(size, sizeof *p->blocks);
  p->mask = size - 1;
}

void mock_prefix_deinit(struct mock_prefix *p)
{
  mem_free(p->blocks);
  *p = (struct mock_prefix){0};
}

struct walk {
  struct mock_prefix *p;
  uint64_t hash, words, cached;
  bool missed;
};

static void on_word(struct str word, void *ud)
{
  struct walk *w = ud;
  uint64_t *slot;
  w->hash = mock_hash(w->hash, word);
  if (++w->words % MOCK_PREFIX_WORDS)
    return;
  slot = &w->p->blocks[w->hash & w->p->mask];
  if (*slot != w->hash)
    w->missed = true;
  else if (!w->missed)
    w->cached = w->words;
  *slot = w->hash;
}

uint64_t mock_prefix_lookup(struct mock_prefix *p, const struct mock_ask *a)
{
  struct walk w = {.p = p};
  if (p->blocks)
    mock_ask_words(a, on_word, &w);
  return w.cached;
}
