/* grapheme.h -- extended grapheme clusters (UAX 29). */
#ifndef STOKE_DATA_GRAPHEME_H
#define STOKE_DATA_GRAPHEME_H

#include "data/unicode.h"

/* The end of the cluster at p; p < end, valid UTF-8. Rule GB9c (Indic
 * conjuncts) is left out: what it joins takes nine bytes or more, and the
 * one user of this cares for clusters below six. */
const char *grapheme_end(const struct unicode *u, const char *p,
                         const char *end);

#endif
