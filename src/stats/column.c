#include "stats/column.h"

#include <assert.h>

#include "base/mem.h"

#define BLOCK_BYTES 65536

void column_init(struct column *c, size_t size)
{
  *c = (struct column){.size = size};
}

void column_deinit(struct column *c)
{
  for (struct column_block *b = c->first, *next; b; b = next) {
    next = b->next;
    mem_free(b);
  }
  column_init(c, c->size);
}

static struct column_block *add_block(struct column *c)
{
  struct column_block *b = mem_alloc(BLOCK_BYTES);
  *b = (struct column_block){0};
  if (c->last)
    c->last->next = b;
  else
    c->first = b;
  c->last = b;
  return b;
}

void *column_push(struct column *c)
{
  struct column_block *b = c->last;
  if (!b || (b->len + 1) * c->size > BLOCK_BYTES - sizeof *b)
    b = add_block(c);
  c->len++;
  return b->items + b->len++ * c->size;
}

void column_take(struct column *into, struct column *from)
{
  assert(into->size == from->size);
  if (!from->first)
    return;
  if (into->last)
    into->last->next = from->first;
  else
    into->first = from->first;
  into->last = from->last;
  into->len += from->len;
  column_init(from, from->size);
}
