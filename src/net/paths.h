/* paths.h -- a set of places in JSON documents, as a tree.
 * A path names members, and [] every element of an array:
 * "choices[].delta.content", "[].id". Each place carries bits that say what
 * its owner wants with it; adding a path twice adds the bits. */
#ifndef STOKE_NET_PATHS_H
#define STOKE_NET_PATHS_H

#include <stdint.h>

#include "base/err.h"

struct paths {           /* one place; the root is the document itself */
  struct str name;       /* member; owned by the parent */
  uint32_t tags;         /* 0: only on the way to others */
  struct paths *members; /* owned array */
  size_t n_members;
  struct paths *element; /* owned; any element of an array here, or NULL */
};

/* `root` is zeroed before the first path. -1 and a message when the path
 * cannot be read; nothing was added then. */
int paths_add(struct paths *root, const char *path, uint32_t tags,
              struct err *e);
/* Frees what is below `root`, which is empty after. */
void paths_clear(struct paths *root);
/* The member `key` (as it stands in JSON, with escapes when `escaped`) of
 * `at`, or NULL. */
const struct paths *paths_member(const struct paths *at, struct str key,
                                 bool escaped);

#endif
