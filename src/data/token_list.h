/* token_list.h -- token ids in a row (header only). Zeroed it is empty. */
#ifndef STOKE_DATA_TOKEN_LIST_H
#define STOKE_DATA_TOKEN_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct token_list {
  uint32_t *ids;
  size_t n, cap;
};

/* Room for `more` ids behind the last; the caller adds what it wrote to n. */
static inline uint32_t *token_list_reserve(struct token_list *l, size_t more)
{
  if (l->n + more > l->cap) {
    l->cap = l->cap * 2 + more + 64;
    l->ids = (uint32_t *)mem_resize(l->ids, l->cap, sizeof *l->ids);
  }
  return l->ids + l->n;
}

static inline void token_list_add(struct token_list *l, uint32_t id)
{
  *token_list_reserve(l, 1) = id;
  l->n++;
}

static inline void token_list_free(struct token_list *l)
{
  mem_free(l->ids);
  *l = (struct token_list){NULL, 0, 0};
}

#endif
