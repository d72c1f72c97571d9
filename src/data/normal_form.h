/* normal_form.h -- NFC, NFD, NFKC and NFKD of Unicode 9.
 * libutf8proc does the work, on the few stretches that need any: the rest of
 * a text, and everything that Unicode assigned after 9 (which the Rust
 * tokenizers leave alone), is copied. */
#ifndef STOKE_DATA_NORMAL_FORM_H
#define STOKE_DATA_NORMAL_FORM_H

#include "base/buf.h"
#include "data/unicode.h"

enum normal_form { NORMAL_NFC, NORMAL_NFD, NORMAL_NFKC, NORMAL_NFKD };

/* Appends the form of `in` (valid UTF-8) to `out` and returns true, or false
 * with nothing appended when a glance shows that `in` is in that form. *head
 * bytes at the front of `in` are what the first character was; it is set to
 * how many bytes at the front of the output that makes. */
bool normal_form(const struct unicode *u, enum normal_form form, struct str in,
                 struct buf *out, size_t *head);

/* The library's: "2.8.0". */
const char *normal_form_version(void);

#endif
