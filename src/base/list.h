/* list.h -- an intrusive, circular, doubly linked list (header only).
 * A zeroed node is in no list. */
#ifndef STOKE_BASE_LIST_H
#define STOKE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
  struct list *next, *prev;
};

#define LIST_ENTRY(node, type, member)                                         \
  ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list *head)
{
  head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
  return head->next == head || !head->next;
}

static inline bool list_linked(const struct list *node)
{
  return node->next != NULL;
}

static inline void list_append(struct list *head, struct list *node)
{
  node->prev = head->prev;
  node->next = head;
  head->prev->next = node;
  head->prev = node;
}

static inline void list_remove(struct list *node)
{
  if (!node->next)
    return;
  node->prev->next = node->next;
  node->next->prev = node->prev;
  node->next = node->prev = NULL;
}

/* The first node, taken out; NULL when empty. */
static inline struct list *list_pop(struct list *head)
{
  struct list *node = head->next;
  if (list_empty(head))
    return NULL;
  list_remove(node);
  return node;
}

#endif
