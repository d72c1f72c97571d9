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

void base64_encode(struct buf *out, struct str bytes)
{
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *p = (const void *)bytes.p;
  for (size_t i = 0; i < bytes.len; i += 3) {
    size_t left = bytes.len - i;
    uint32_t bits = (uint32_t)p[i] << 16;
    bits |= left > 1 ? (uint32_t)p[i + 1] << 8 : 0;
    bits |= left > 2 ? p[i + 2] : 0;
    buf_addc(out, digits[bits >> 18]);
    buf_addc(out, digits[bits >> 12 & 63]);
    buf_addc(out, left > 1 ? digits[bits >> 6 & 63] : '=');
    buf_addc(out, left > 2 ? digits[bits & 63] : '=');
  }
}
