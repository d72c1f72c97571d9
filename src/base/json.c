#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "base/mem.h"
#include "base/utf8.h"

/* ---- writing ---- */

static void item(struct json_writer *w)
{
  if (w->comma)
    buf_adds(w->out, w->spaced ? ", " : ",");
  w->comma = true;
}

static void begin(struct json_writer *w, char c)
{
  item(w);
  buf_addc(w->out, c);
  w->comma = false;
}

static void end(struct json_writer *w, char c)
{
  buf_addc(w->out, c);
  w->comma = true;
}

void json_begin_object(struct json_writer *w)
{
  begin(w, '{');
}

void json_end_object(struct json_writer *w)
{
  end(w, '}');
}

void json_begin_array(struct json_writer *w)
{
  begin(w, '[');
}

void json_end_array(struct json_writer *w)
{
  end(w, ']');
}

static void quoted(struct buf *out, struct str s)
{
  buf_addc(out, '"');
  json_escape(out, s);
  buf_addc(out, '"');
}

void json_key(struct json_writer *w, const char *key)
{
  json_key_str(w, str_of(key));
}

void json_key_str(struct json_writer *w, struct str key)
{
  item(w);
  quoted(w->out, key);
  buf_adds(w->out, w->spaced ? ": " : ":");
  w->comma = false;
}

void json_string(struct json_writer *w, struct str s)
{
  item(w);
  quoted(w->out, s);
}

void json_number(struct json_writer *w, double x)
{
  char text[32];
  if (!isfinite(x)) {
    json_null(w);
    return;
  }
  item(w);
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x)
      break;
  }
  buf_adds(w->out, text);
  /* A double stays recognisable as one for typed readers. */
  if (!text[strcspn(text, ".e")])
    buf_adds(w->out, ".0");
}

void json_integer(struct json_writer *w, int64_t x)
{
  item(w);
  buf_addf(w->out, "%lld", (long long)x);
}

void json_boolean(struct json_writer *w, bool x)
{
  item(w);
  buf_adds(w->out, x ? "true" : "false");
}

void json_null(struct json_writer *w)
{
  item(w);
  buf_adds(w->out, "null");
}

void json_raw(struct json_writer *w, struct str text)
{
  item(w);
  buf_addstr(w->out, text);
}

/* The escape of a byte below 0x80; returns its length, at most 6. */
static size_t escape_of(unsigned char c, char to[6])
{
  static const char short_names[] = "btn\0fr"; /* 8, 9, 10, (11), 12, 13 */
  static const char hex[] = "0123456789abcdef";
  memcpy(to, "\\u00", 4);
  if (c == '"' || c == '\\')
    to[1] = (char)c;
  else if (c >= 8 && c <= 13 && c != 11)
    to[1] = short_names[c - 8];
  else {
    to[4] = hex[c >> 4];
    to[5] = hex[c & 15];
    return 6;
  }
  return 2;
}

/* How many bytes at p need no second look: printable ASCII but quote and
 * backslash. Eight at a time. */
static size_t plain_run(const unsigned char *p, size_t len)
{
  const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
  size_t i = 0;
  for (; i + 8 <= len; i += 8) {
    uint64_t x, quote, back, marks;
    memcpy(&x, p + i, 8);
    quote = x ^ ones * '"';
    back = x ^ ones * '\\';
    /* A byte below n borrows from its high bit when n is taken away. That may
     * mark its upper neighbours too, but never a lower one. */
    marks = (x | (x - ones * 0x20) | (quote - ones) | (back - ones)) & high;
    if (!marks)
      continue;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return i + (size_t)__builtin_ctzll(marks) / 8;
#else
    break;
#endif
  }
  while (i < len && p[i] >= 0x20 && p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
    i++;
  return i;
}

static void add_both(struct buf *out, struct str a, struct str b)
{
  char *to = buf_reserve(out, a.len + b.len);
  if (!to)
    return;
  memcpy(to, a.p, a.len);
  memcpy(to + a.len, b.p, b.len);
  out->len += a.len + b.len;
}

size_t json_escape(struct buf *out, struct str s)
{
  const unsigned char *p = (const unsigned char *)s.p;
  size_t plain = 0, i = 0, replaced = 0;
  if (s.len == 0)
    return 0;
  while (i < s.len) {
    char text[6];
    struct str escape = {text, 0};
    size_t n;
    i += plain_run(p + i, s.len - i);
    while (i < s.len && p[i] >= 0x80 && (n = utf8_length(p + i, s.len - i)))
      i += n;
    if (i == s.len)
      break;
    if (p[i] >= 0x80) {
      escape = STR("\xef\xbf\xbd");
      replaced++;
    } else if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\') {
      escape.len = escape_of(p[i], text);
    } else {
      continue;
    }
    add_both(out, (struct str){s.p + plain, i - plain}, escape);
    plain = ++i;
  }
  buf_add(out, p + plain, i - plain);
  return replaced;
}

static int hex4(const char *p, size_t len, unsigned *out)
{
  unsigned x = 0;
  if (len < 4)
    return -1;
  for (int i = 0; i < 4; i++) {
    char c = p[i];
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                            : 99;
    if (digit == 99)
      return -1;
    x = x * 16 + digit;
  }
  *out = x;
  return 0;
}

static void add_utf8(struct buf *out, unsigned cp)
{
  char b[4];
  size_t n;
  if (cp < 0x80) {
    b[0] = (char)cp, n = 1;
  } else if (cp < 0x800) {
    b[0] = (char)(0xc0 | cp >> 6), b[1] = (char)(0x80 | (cp & 63)), n = 2;
  } else if (cp < 0x10000) {
    b[0] = (char)(0xe0 | cp >> 12), b[1] = (char)(0x80 | (cp >> 6 & 63));
    b[2] = (char)(0x80 | (cp & 63)), n = 3;
  } else {
    b[0] = (char)(0xf0 | cp >> 18), b[1] = (char)(0x80 | (cp >> 12 & 63));
    b[2] = (char)(0x80 | (cp >> 6 & 63)), b[3] = (char)(0x80 | (cp & 63));
    n = 4;
  }
  buf_add(out, b, n);
}

/* The \uXXXX at s.p[i] (after the u), a following low half included. Returns
 * the offset behind it, or 0 at bad digits. */
static size_t unescape_unicode(struct buf *out, struct str s, size_t i)
{
  unsigned hi, lo;
  if (hex4(s.p + i, s.len - i, &hi) < 0)
    return 0;
  i += 4;
  if (hi >= 0xd800 && hi <= 0xdbff && s.len - i >= 6 && s.p[i] == '\\' &&
      s.p[i + 1] == 'u' && hex4(s.p + i + 2, s.len - i - 2, &lo) == 0 &&
      lo >= 0xdc00 && lo <= 0xdfff) {
    add_utf8(out, 0x10000 + ((hi - 0xd800) << 10) + (lo - 0xdc00));
    return i + 6;
  }
  add_utf8(out, hi >= 0xd800 && hi <= 0xdfff ? 0xfffd : hi);
  return i;
}

int json_unescape(struct buf *out, struct str s)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  size_t i = 0;
  while (i < s.len) {
    const char *back = memchr(s.p + i, '\\', s.len - i), *which;
    size_t n = back ? (size_t)(back - s.p) - i : s.len - i;
    buf_add(out, s.p + i, n);
    i += n;
    if (!back)
      return 0;
    if (++i >= s.len)
      return -1;
    if (s.p[i] == 'u') {
      i = unescape_unicode(out, s, i + 1);
      if (!i)
        return -1;
      continue;
    }
    which = s.p[i] ? strchr(from, s.p[i]) : NULL;
    if (!which)
      return -1;
    buf_addc(out, to[which - from]);
    i++;
  }
  return 0;
}

/* ---- reading ---- */

/* cJSON ends strings at a NUL, so "\u0000" would cut a text silently: the
 * copy says U+FFFD there. NULL when there is nothing to replace. */
static char *without_nul_escapes(struct str text)
{
  char *copy = NULL, *end, *p;
  if (text.len == 0 || !memmem(text.p, text.len, "\\u0000", 6))
    return NULL;
  p = copy = mem_strndup(text.p, text.len);
  end = copy + text.len;
  while ((p = memchr(p, '\\', (size_t)(end - p))) && end - p >= 2) {
    if (end - p >= 6 && memcmp(p, "\\u0000", 6) == 0)
      memcpy(p, "\\ufffd", 6);
    p += 2;
  }
  return copy;
}

static json_value *parse(struct str text, size_t *at)
{
  const char *stop = text.p;
  cJSON *v = cJSON_ParseWithLengthOpts(text.p, text.len, &stop, 0);
  struct str rest = {stop, (size_t)(text.p + text.len - stop)};
  if (v && str_trim(rest).len) {
    cJSON_Delete(v);
    v = NULL;
  }
  *at = (size_t)(stop - text.p);
  return v;
}

json_value *json_parse(struct str text, size_t *at)
{
  size_t bom = str_starts(text, STR("\xef\xbb\xbf")) ? 3 : 0, stop = 0;
  const char *nul = text.len ? memchr(text.p, '\0', text.len) : NULL;
  json_value *v = NULL;
  if (nul) {
    stop = (size_t)(nul - text.p);
  } else if (text.len > bom) {
    char *copy = without_nul_escapes(text);
    v = parse((struct str){(copy ? copy : text.p) + bom, text.len - bom},
              &stop);
    stop += bom;
    mem_free(copy);
  }
  if (!v && at)
    *at = stop;
  return v;
}

void json_free(json_value *v)
{
  cJSON_Delete(v);
}

/* -1 and a message when the file cannot be read or is too large. */
json_value *json_get(const json_value *object, const char *key)
{
  return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, key)
                                : NULL;
}

json_value *json_first(const json_value *v)
{
  return v ? v->child : NULL;
}

json_value *json_next(const json_value *v)
{
  return v ? v->next : NULL;
}

const char *json_name(const json_value *v)
{
  return v ? v->string : NULL;
}

bool json_is_object(const json_value *v)
{
  return cJSON_IsObject(v);
}

bool json_is_array(const json_value *v)
{
  return cJSON_IsArray(v);
}

bool json_is_string(const json_value *v)
{
  return cJSON_IsString(v);
}

bool json_is_number(const json_value *v)
{
  return cJSON_IsNumber(v);
}

bool json_is_boolean(const json_value *v)
{
  return cJSON_IsBool(v);
}

bool json_is_null(const json_value *v)
{
  return cJSON_IsNull(v);
}

const char *json_text(const json_value *v)
{
  return cJSON_IsString(v) ? v->valuestring : NULL;
}

double json_double(const json_value *v, double otherwise)
{
  return cJSON_IsNumber(v) ? v->valuedouble : otherwise;
}

bool json_true(const json_value *v)
{
  return cJSON_IsTrue(v);
}

/* The object under `key`, made when there is none. */
static json_value *object_at(json_value *parent, const char *key)
{
  json_value *v = cJSON_GetObjectItemCaseSensitive(parent, key);
  if (cJSON_IsObject(v))
    return v;
  cJSON_DeleteItemFromObjectCaseSensitive(parent, key);
  return cJSON_AddObjectToObject(parent, key);
}

static void append_at(json_value *parent, const char *key, json_value *v)
{
  json_value *array = cJSON_GetObjectItemCaseSensitive(parent, key);
  if (!cJSON_IsArray(array)) {
    cJSON_DeleteItemFromObjectCaseSensitive(parent, key);
    array = cJSON_AddArrayToObject(parent, key);
  }
  cJSON_AddItemToArray(array, v);
}

int json_put(json_value *object, struct str path, json_value *v)
{
  while (path.p) {
    struct str name = str_split(&path, '.');
    bool append = !path.p && str_ends(name, STR("+"));
    char *key = mem_strndup(name.p, name.len - append);
    if (key[0] == '\0') {
      mem_free(key);
      break;
    }
    if (path.p) {
      object = object_at(object, key);
    } else if (append) {
      append_at(object, key, v);
    } else {
      cJSON_DeleteItemFromObjectCaseSensitive(object, key);
      cJSON_AddItemToObject(object, key, v);
    }
    mem_free(key);
    if (!path.p)
      return 0;
  }
  cJSON_Delete(v);
  return -1;
}

void json_print(struct buf *out, const json_value *v)
{
  char *text = cJSON_PrintUnformatted(v);
  if (text) {
    buf_adds(out, text);
    cJSON_free(text);
  }
}

const char *json_version(char out[32])
{
  snprintf(out, 32, "cJSON %s", cJSON_Version());
  return out;
}
