/* byte_alphabet.h -- GPT-2's way to write bytes as visible characters.
 * Byte-level vocabularies are JSON, so each of the 256 bytes stands there as
 * a character of its own: itself where it is printable Latin-1, else one from
 * U+0100 on ("Ġ" is a blank, "Ċ" a line feed). */
#ifndef STOKE_DATA_BYTE_ALPHABET_H
#define STOKE_DATA_BYTE_ALPHABET_H

#include <stdint.h>

#include "base/buf.h"

#define BYTE_ALPHABET_END 0x144

struct byte_alphabet {
  uint16_t letter[256];
  int16_t byte[BYTE_ALPHABET_END]; /* -1: no letter of the alphabet */
};

void byte_alphabet_init(struct byte_alphabet *a);
/* Appends the bytes that valid UTF-8 `letters` stand for. -1 and nothing
 * appended when one of them is no letter. */
int byte_alphabet_read(const struct byte_alphabet *a, struct buf *out,
                       struct str letters);
/* Appends `bytes` as letters, UTF-8. */
void byte_alphabet_write(const struct byte_alphabet *a, struct buf *out,
                         struct str bytes);

#endif
