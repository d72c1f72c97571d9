/* base/json: what is written can always be read, escapes have an inverse, and
 * nothing that comes in breaks the reader. */
#include "base/json.h"
#include "fuzz.h"
#include "base/walk.h"

static bool is_string(struct str inside)
{
  static const struct paths nowhere;
  struct buf quoted = {0};
  bool valid;
  buf_addc(&quoted, '"');
  buf_addstr(&quoted, inside);
  buf_addc(&quoted, '"');
  valid = walk(&nowhere, buf_str(&quoted), NULL, NULL) == 0;
  buf_free(&quoted);
  return valid;
}

/* Any bytes become a valid string; valid UTF-8 comes back as it was. */
static void escape_any(struct str in)
{
  struct buf escaped = {0}, back = {0}, again = {0};
  size_t replaced = json_escape(&escaped, in);
  FUZZ_CHECK(is_string(buf_str(&escaped)));
  FUZZ_CHECK(json_unescape(&back, buf_str(&escaped)) == 0);
  FUZZ_CHECK(replaced || str_eq(buf_str(&back), in));
  FUZZ_CHECK(json_escape(&again, buf_str(&back)) == 0);
  FUZZ_CHECK(str_eq(buf_str(&again), buf_str(&escaped)));
  buf_free(&escaped);
  buf_free(&back);
  buf_free(&again);
}

static void unescape_any(struct str in)
{
  struct buf out = {0};
  int rc = json_unescape(&out, in);
  FUZZ_CHECK(rc == 0 || !is_string(in));
  FUZZ_CHECK(out.len <= in.len);
  buf_free(&out);
}

static void write_value(struct json_writer *w, struct str in)
{
  double x = 0;
  memcpy(&x, in.p, in.len < sizeof x ? in.len : sizeof x);
  json_begin_object(w);
  json_key(w, "s");
  json_string(w, in);
  json_key(w, "n");
  json_number(w, x);
  json_key(w, "a");
  json_begin_array(w);
  json_integer(w, (int64_t)in.len);
  json_boolean(w, in.len & 1);
  json_null(w);
  json_end_array(w);
  json_end_object(w);
}

static void write_any(struct str in)
{
  static const struct paths nowhere;
  for (int spaced = 0; spaced < 2; spaced++) {
    struct buf out = {0};
    struct json_writer w = {.out = &out, .spaced = spaced};
    write_value(&w, in);
    FUZZ_CHECK(walk(&nowhere, buf_str(&out), NULL, NULL) == 0);
    buf_free(&out);
  }
}

static void parse_any(struct str in)
{
  size_t at = (size_t)-1;
  json_value *v = json_parse(in, &at), *again;
  struct buf one = {0}, two = {0};
  if (!v) {
    FUZZ_CHECK(at <= in.len);
    return;
  }
  json_print(&one, v);
  again = json_parse(buf_str(&one), NULL);
  FUZZ_CHECK(again);
  json_print(&two, again);
  FUZZ_CHECK(str_eq(buf_str(&one), buf_str(&two)));
  json_free(v);
  json_free(again);
  buf_free(&one);
  buf_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *copy = fuzz_copy((const char *)data, size);
  struct str in = {copy, size};
  escape_any(in);
  unescape_any(in);
  write_any(in);
  parse_any(in);
  free(copy);
  return 0;
}
