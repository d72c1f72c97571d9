#include "data/byte_alphabet.h"

#include "data/utf8.h"

static bool printable(unsigned b)
{
  return (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
}

void byte_alphabet_init(struct byte_alphabet *a)
{
  unsigned next = 0x100;
  memset(a->byte, 0xff, sizeof a->byte);
  for (unsigned b = 0; b < 256; b++) {
    a->letter[b] = (uint16_t)(printable(b) ? b : next++);
    a->byte[a->letter[b]] = (int16_t)b;
  }
}

int byte_alphabet_read(const struct byte_alphabet *a, struct buf *out,
                       struct str letters)
{
  const char *p = letters.p, *end = letters.len ? p + letters.len : p;
  size_t before = out->len;
  char *to = letters.len ? buf_reserve(out, letters.len) : NULL;
  while (to && p < end) {
    uint32_t c = utf8_next(p, &p);
    if (c >= BYTE_ALPHABET_END || a->byte[c] < 0) {
      out->len = before;
      return -1;
    }
    *to++ = (char)a->byte[c];
    out->len++;
  }
  return 0;
}

void byte_alphabet_write(const struct byte_alphabet *a, struct buf *out,
                         struct str bytes)
{
  for (size_t i = 0; i < bytes.len && !out->toobig; i++)
    utf8_add(out, a->letter[(unsigned char)bytes.p[i]]);
}
