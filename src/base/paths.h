/* paths.h -- a set of places in JSON documents, as a tree.
 * A path names members, and [] every element of an array:
 * "choices[].delta.content", "[].id". Each place carries bits that say what
 * its owner wants with it; adding a path twice adds the bits. */
#ifndef STOKE_BASE_PATHS_H
#define STOKE_BASE_PATHS_H

#include <stdint.h>

#include "base/err.h"

struct paths {           /* one place; the root is the document itself */
  struct str name;       /* member; owned by the parent */
  uint64_t head;         /* its first 8 bytes, zeros behind */
  uint32_t tags;         /* 0: only on the way to others */
  struct paths *members; /* owned array */
  size_t n_members;
  uint64_t lengths;      /* bit (length % 64) of every member's name */
  struct paths *element; /* owned; any element of an array here, or NULL */
};

/* `root` is zeroed before the first path. -1 and a message when the path
 * cannot be read; nothing was added then. */
int paths_add(struct paths *root, const char *path, uint32_t tags,
              struct err *e);
/* Frees what is below `root`, which is empty after. */
void paths_clear(struct paths *root);
/* The member whose name is `key`, written with escapes, or NULL. */
const struct paths *paths_escaped_member(const struct paths *at,
                                         struct str key);

/* The first 8 bytes of `s`, zeros behind. */
static inline uint64_t paths_head(struct str s)
{
  uint64_t head = 0;
  if (s.len >= 8)
    memcpy(&head, s.p, 8);
  else
    for (size_t i = 0; i < s.len; i++)
      memcpy((char *)&head + i, s.p + i, 1);
  return head;
}

/* The member whose name is `key`, or NULL. Most names are turned away by
 * their length, and those that aren't are compared as one number. */
static inline const struct paths *paths_member(const struct paths *at,
                                               struct str key)
{
  uint64_t head;
  if (!(at->lengths >> key.len % 64 & 1))
    return NULL;
  head = paths_head(key);
  for (size_t i = 0; i < at->n_members; i++) {
    const struct paths *m = &at->members[i];
    if (m->head == head && m->name.len == key.len &&
        (key.len <= 8 || memcmp(m->name.p, key.p, key.len) == 0))
      return m;
  }
  return NULL;
}

#endif
