/* charsmap.h -- SentencePiece's precompiled normalization ("Precompiled").
 * A double-array trie over the bytes of what is replaced, and the
 * replacements as NUL-terminated strings behind it. */
#ifndef STOKE_DATA_CHARSMAP_H
#define STOKE_DATA_CHARSMAP_H

#include "base/buf.h"
#include "data/unicode.h"

struct charsmap {
  uint32_t *trie;
  size_t trie_n;
  struct buf replacements;
};

/* `text` is base64. 0, or -1 when it is no such map. charsmap_deinit either
 * way. */
int charsmap_init(struct charsmap *m, struct str text);
void charsmap_deinit(struct charsmap *m);

/* As normal_form. */
bool charsmap_run(const struct charsmap *m, const struct unicode *u,
                  struct str in, struct buf *out, size_t *head);

#endif
