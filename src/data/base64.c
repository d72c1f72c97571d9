#include "data/base64.h"

#include <stdint.h>

static int digit(unsigned char c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(struct buf *out, struct str text)
{
  uint32_t bits = 0;
  unsigned n = 0;
  while (text.len && text.p[text.len - 1] == '=')
    text.len--;
  for (size_t i = 0; i < text.len; i++) {
    int d = digit((unsigned char)text.p[i]);
    if (d < 0)
      return -1;
    bits = bits << 6 | (uint32_t)d;
    n += 6;
    if (n >= 8) {
      n -= 8;
      buf_addc(out, (char)(bits >> n));
    }
  }
  return n >= 6 ? -1 : 0;
}

static void write_group(char *to, uint32_t bits)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz0123456789+/";
  for (int i = 3; i >= 0; i--) {
    to[i] = digits[bits & 63];
    bits >>= 6;
  }
}

void base64_encode(struct buf *out, struct str bytes)
{
  const unsigned char *p = (const unsigned char *)bytes.p;
  size_t whole = bytes.len / 3, rest = bytes.len % 3;
  char *to = buf_reserve(out, (whole + 1) * 4);
  if (!to)
    return;
  for (size_t i = 0; i < whole; i++, p += 3, to += 4)
    write_group(to, (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]);
  if (rest) {
    write_group(to,
                (uint32_t)p[0] << 16 | (rest > 1 ? (uint32_t)p[1] << 8 : 0));
    to[3] = '=';
    if (rest == 1)
      to[2] = '=';
  }
  out->len += (whole + (rest > 0)) * 4;
}
