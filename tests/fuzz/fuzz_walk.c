/* The walker against a grammar written down as RFC 8259 has it, and against
 * the values that cJSON finds. */
#include <math.h>

#include <cjson/cJSON.h>

#include "base/buf.h"
#include "base/json.h"
#include "fuzz.h"
#include "base/walk.h"

/* ---- the grammar, as plainly as it can be put ---- */

struct reader {
  const unsigned char *p, *end;
};

static bool at(struct reader *r, int c)
{
  return r->p < r->end && *r->p == c;
}

static bool accept(struct reader *r, int c)
{
  bool yes = at(r, c);
  r->p += yes;
  return yes;
}

static void ws(struct reader *r)
{
  while (at(r, ' ') || at(r, '\t') || at(r, '\n') || at(r, '\r'))
    r->p++;
}

static bool word(struct reader *r, const char *w)
{
  for (; *w; w++)
    if (!accept(r, *w))
      return false;
  return true;
}

static bool in_range(struct reader *r, int lo, int hi)
{
  return r->p < r->end && *r->p >= lo && *r->p <= hi;
}

static bool digits(struct reader *r)
{
  if (!in_range(r, '0', '9'))
    return false;
  while (in_range(r, '0', '9'))
    r->p++;
  return true;
}

static bool number(struct reader *r)
{
  accept(r, '-');
  if (!accept(r, '0') && !digits(r))
    return false;
  if (accept(r, '.') && !digits(r))
    return false;
  if (!accept(r, 'e') && !accept(r, 'E'))
    return true;
  if (!accept(r, '+'))
    accept(r, '-');
  return digits(r);
}

static bool string(struct reader *r)
{
  if (!accept(r, '"'))
    return false;
  while (!accept(r, '"')) {
    if (r->p == r->end || *r->p < 0x20)
      return false;
    if (!accept(r, '\\')) {
      r->p++;
      continue;
    }
    if (accept(r, 'u')) {
      for (int i = 0; i < 4; i++, r->p++)
        if (!in_range(r, '0', '9') && !in_range(r, 'a', 'f') &&
            !in_range(r, 'A', 'F'))
          return false;
    } else if (r->p == r->end || !strchr("\"\\/bfnrt", *r->p) || !*r->p) {
      return false;
    } else {
      r->p++;
    }
  }
  return true;
}

static bool value(struct reader *r, unsigned depth);

static bool items(struct reader *r, unsigned depth, bool object)
{
  int close = object ? '}' : ']';
  r->p++;
  ws(r);
  if (accept(r, close))
    return true;
  do {
    ws(r);
    if (object) {
      if (!string(r))
        return false;
      ws(r);
      if (!accept(r, ':'))
        return false;
    }
    ws(r);
    if (!value(r, depth))
      return false;
    ws(r);
  } while (accept(r, ','));
  return accept(r, close);
}

static bool value(struct reader *r, unsigned depth)
{
  if (at(r, '{') || at(r, '['))
    return depth < WALK_MAX_DEPTH && items(r, depth + 1, at(r, '{'));
  if (at(r, '"'))
    return string(r);
  if (at(r, 't'))
    return word(r, "true");
  if (at(r, 'f'))
    return word(r, "false");
  return at(r, 'n') ? word(r, "null") : number(r);
}

static bool is_json(struct str s)
{
  struct reader r = {(const unsigned char *)s.p, NULL};
  r.end = r.p + s.len;
  ws(&r);
  if (!value(&r, 0))
    return false;
  ws(&r);
  return r.p == r.end;
}

/* ---- values ---- */

static void write_number(struct buf *out, double x)
{
  buf_addf(out, "%a", x);
}

/* Shorter than any value with structure: scalars whole, others by kind. */
static int on_value(uint32_t tags, const struct walk_value *v, void *ud)
{
  struct buf *out = ud;
  buf_addf(out, "%x:", tags);
  if (v->type == WALK_STRING)
    FUZZ_CHECK(json_unescape(out, v->raw) == 0);
  else if (v->type == WALK_NUMBER)
    write_number(out, strtod(v->raw.p, NULL));
  else
    buf_addf(out, "%d", v->type);
  buf_addc(out, ';');
  (void)walk_truthy(v);
  (void)walk_integer(v, -1);
  return 0;
}

static void write_cjson(struct buf *out, const struct paths *p, const cJSON *v);

static void write_below(struct buf *out, const struct paths *p, const cJSON *v)
{
  for (const cJSON *c = v->child; c; c = c->next) {
    const struct paths *place =
        cJSON_IsArray(v) ? p->element : paths_member(p, str_of(c->string));
    if (place)
      write_cjson(out, place, c);
  }
}

static void write_cjson(struct buf *out, const struct paths *p, const cJSON *v)
{
  write_below(out, p, v);
  if (!p->tags)
    return;
  buf_addf(out, "%x:", p->tags);
  if (cJSON_IsString(v))
    buf_adds(out, v->valuestring);
  else if (cJSON_IsNumber(v))
    write_number(out, v->valuedouble);
  else
    buf_addf(out, "%d",
             cJSON_IsNull(v)    ? WALK_NULL
             : cJSON_IsFalse(v) ? WALK_FALSE
             : cJSON_IsTrue(v)  ? WALK_TRUE
             : cJSON_IsArray(v) ? WALK_ARRAY
                                : WALK_OBJECT);
  buf_addc(out, ';');
}

/* Where cJSON is right: it ends a text at NUL, refuses a lone surrogate and
 * cuts numbers after 63 bytes. */
static bool is_cjsons_business(struct str s)
{
  size_t run = 0;
  if (str_find(s, STR("\\u0000")) >= 0 || str_find(s, STR("\\uD")) >= 0 ||
      str_find(s, STR("\\ud")) >= 0)
    return false;
  for (size_t i = 0; i < s.len; i++) {
    run = strchr("+-.0123456789eE", s.p[i]) ? run + 1 : 0;
    if (run > 62 || !s.p[i])
      return false;
  }
  return true;
}

static struct paths make_places(void)
{
  static const char *const some[] = {"a",
                                     "b",
                                     "a.a",
                                     "a[].b",
                                     "a[]",
                                     "[]",
                                     "[][].a",
                                     "b.choices",
                                     "[].a.b[]",
                                     "choices[].delta.content",
                                     "usage",
                                     "choices[]",
                                     "c\"\n\xc3\xa9"};
  struct paths p = {0};
  struct err e = {0};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    FUZZ_CHECK(paths_add(&p, some[i], 1u << i, &e) == 0);
  return p;
}

static void compare_values(const struct paths *p, struct str in)
{
  struct buf got = {0}, want = {0};
  cJSON *v = cJSON_ParseWithLength(in.p, in.len);
  FUZZ_CHECK(v);
  FUZZ_CHECK(walk(p, in, on_value, &got) == 0);
  write_cjson(&want, p, v);
  FUZZ_CHECK(str_eq(buf_str(&got), buf_str(&want)));
  cJSON_Delete(v);
  buf_free(&got);
  buf_free(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const struct paths nowhere;
  struct paths p = make_places();
  char *copy = fuzz_copy((const char *)data, size);
  struct str in = {copy, size};
  struct buf sink = {0};
  bool valid = is_json(in);
  FUZZ_CHECK(walk(&nowhere, in, NULL, NULL) == (valid ? 0 : -1));
  FUZZ_CHECK(walk(&p, in, on_value, &sink) == (valid ? 0 : -1));
  if (valid && is_cjsons_business(in))
    compare_values(&p, in);
  buf_free(&sink);
  free(copy);
  paths_clear(&p);
  return 0;
}
