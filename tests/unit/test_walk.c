/* The grammar, the places, and that nothing behind the end is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/scan.h"
#include "base/walk.h"
#include "pieces.h"

/* ---- grammar ---- */

static int read_at_edge(struct str text)
{
  static const struct paths nowhere;
  struct pieces g = pieces_new(text.len);
  int rc;
  text = pieces_at_edge(&g, text);
  rc = walk(&nowhere, text, NULL, NULL);
  pieces_free(&g);
  return rc;
}

/* The same below a place, so that both readers are asked. */
static int read_followed(struct str text)
{
  struct paths p = {0};
  struct buf deep = {0};
  struct err e = {0};
  int rc;
  paths_add(&p, "a[].b.c", 0, &e);
  paths_add(&p, "a[].c[]", 0, &e);
  buf_addf(&deep, "{\"a\":[{\"b\":{\"c\":%.*s}},%.*s,{\"c\":[%.*s]}]}",
           STR_ARG(text), STR_ARG(text), STR_ARG(text));
  rc = walk(&p, buf_str(&deep), NULL, NULL);
  buf_free(&deep);
  paths_clear(&p);
  return rc;
}

static const char *const valid[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "10",
    "-1.5",
    "0.0",
    "1e5",
    "1E+5",
    "1.25e-10",
    "123456789012345678901234567890",
    "\"\"",
    "\"a\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\/\\b\\f\\n\\r\\t\"",
    "\"\\u0000\\uABcd\\ud83d\"",
    "\"\xff\x7f\xc3\"",
    "[]",
    "[ ]",
    "[1]",
    "[1 , 2]",
    "[[],[[]]]",
    "{}",
    "{ }",
    "{\"\":0}",
    "{\"a\" : [ { } ] , \"b\":null}",
    " \t\r\n1 \t\r\n",
    "{\"a\":1,\"a\":2}",
    "\"0123456789abcdef0123456789abcdef\\n0123456789\"",
};

static const char *const invalid[] = {
    "",
    " ",
    "nul",
    "nulll",
    "tru",
    "True",
    "falsy",
    "-",
    "+1",
    "01",
    "-01",
    "1.",
    ".5",
    "1.e5",
    "1e",
    "1e+",
    "0x10",
    "1 2",
    "NaN",
    "Infinity",
    "\"",
    "\"a",
    "\"\\",
    "\"\\\"",
    "\"\\x\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u123\"",
    "\"\\u123g\"",
    "\"\\u12",
    "\"\n\"",
    "\"\t\"",
    "\"\x1f\"",
    "'a'",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[,]",
    "[1 2]",
    "[1}",
    "{",
    "}",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1",
    "{\"a\":1,",
    "{\"a\":1,}",
    "{,}",
    "{\"a\"}",
    "{\"a\" 1}",
    "{a:1}",
    "{1:1}",
    "{\"a\":1]",
    "{\"a\":1 \"b\":2}",
    "[]]",
    "{}}",
    "[] []",
    "{} x",
    "\v1",
    "\xef\xbb\xbf{}",
    "{\"a\":}",
    ("\"0123456789abcdef0123456789\x01"
     "def\""),
    "[[]",
    "[{]}",
    "/**/1",
};

static void grammar(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
    assert_int_equal(read_at_edge(str_of(valid[i])), 0);
    assert_int_equal(read_followed(str_of(valid[i])), 0);
  }
  for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
    assert_int_equal(read_at_edge(str_of(invalid[i])), -1);
    assert_int_equal(read_followed(str_of(invalid[i])), -1);
  }
  assert_int_equal(read_at_edge((struct str){"1\0", 2}), -1);
  assert_int_equal(read_at_edge((struct str){"\"\0\"", 3}), -1);
  assert_int_equal(read_at_edge((struct str){NULL, 0}), -1);
}

static int read_nested(struct paths *p, char open, unsigned depth)
{
  struct buf b = {0};
  int rc;
  for (unsigned i = 0; i < depth; i++)
    buf_adds(&b, open == '[' ? "[" : "{\"a\":");
  buf_addc(&b, '1');
  for (unsigned i = 0; i < depth; i++)
    buf_addc(&b, open == '[' ? ']' : '}');
  rc = walk(p, buf_str(&b), NULL, NULL);
  buf_free(&b);
  return rc;
}

static void nesting_is_bounded(void **state)
{
  struct paths nowhere = {0}, some = {0};
  struct err e = {0};
  (void)state;
  paths_add(&some, "a.a.a", 0, &e);
  paths_add(&some, "[][][]", 0, &e);
  for (int i = 0; i < 2; i++) {
    struct paths *p = i ? &some : &nowhere;
    assert_int_equal(read_nested(p, '[', WALK_MAX_DEPTH), 0);
    assert_int_equal(read_nested(p, '{', WALK_MAX_DEPTH), 0);
    assert_int_equal(read_nested(p, '[', WALK_MAX_DEPTH + 1), -1);
    assert_int_equal(read_nested(p, '{', WALK_MAX_DEPTH + 1), -1);
    assert_int_equal(read_nested(p, '{', 100000), -1);
  }
  paths_clear(&some);
}

/* ---- places ---- */

static int write_value(uint32_t tags, const struct walk_value *v, void *ud)
{
  static const char *const types = "nftdsao"; /* enum walk_type's order */
  buf_addf(ud, "%x%c%.*s;", tags, types[v->type], STR_ARG(v->raw));
  return 0;
}

static void check_places(const struct paths *p, const char *text,
                         const char *want)
{
  struct buf out = {0};
  struct pieces g = pieces_new(strlen(text));
  assert_int_equal(walk(p, pieces_at_edge(&g, str_of(text)), write_value, &out),
                   0);
  assert_string_equal(buf_cstr(&out), want);
  pieces_free(&g);
  buf_free(&out);
}

static void places(void **state)
{
  struct paths p = {0};
  struct err e = {0};
  (void)state;
  paths_add(&p, "a[].b", 1, &e);
  paths_add(&p, "a[]", 2, &e);
  paths_add(&p, "c", 4, &e);
  paths_add(&p, "c.d", 8, &e);
  paths_add(&p, "c", 16, &e);
  check_places(&p, "{\"x\":{\"c\":1},\"a\":[{\"b\":\"q\\n\"},7,{\"b\":[]}]}",
               "1sq\\n;2o{\"b\":\"q\\n\"};2d7;1a[];2o{\"b\":[]};");
  check_places(&p, " {\"c\" : {\"d\" : true } } ",
               "8ttrue;14o{\"d\" : true };");
  check_places(&p, "{\"c\":null,\"c\":false}", "14nnull;14ffalse;");
  paths_clear(&p);
}

static void escaped_names(void **state)
{
  struct paths p = {0};
  struct err e = {0};
  (void)state;
  paths_add(&p, "a\"b", 1, &e);
  paths_add(&p, "\xc3\xa9", 2, &e);
  check_places(&p, "{\"a\\\"b\":1,\"\\u00e9\":2,\"\xc3\xa9\":3,\"\\u0000\":4}",
               "1d1;2d2;2d3;");
  paths_clear(&p);
}

static void the_document_itself(void **state)
{
  struct paths p = {.tags = 1};
  (void)state;
  check_places(&p, " [1] ", "1a[1];");
  p.tags = 0;
  struct err e = {0};
  paths_add(&p, "[]", 2, &e);
  paths_add(&p, "[].x", 4, &e);
  check_places(&p, "[1,{\"x\":2}]", "2d1;4d2;2o{\"x\":2};");
  check_places(&p, "{\"x\":1}", "");
  paths_clear(&p);
}

static int stop(uint32_t tags, const struct walk_value *v, void *ud)
{
  (void)v;
  ++*(int *)ud;
  return (int)tags;
}

static void a_callback_stops_the_walk(void **state)
{
  struct paths p = {0};
  struct err e = {0};
  int n = 0;
  (void)state;
  paths_add(&p, "a", 9, &e);
  paths_add(&p, "b[]", 9, &e);
  assert_int_equal(walk(&p, STR("{\"a\":1,\"a\":2,!"), stop, &n), 9);
  assert_int_equal(walk(&p, STR("{\"b\":[1,2],!"), stop, &n), 9);
  assert_int_equal(n, 2);
  paths_clear(&p);
}

static void bad_paths(void **state)
{
  static const char *const bad[] = {"",  ".",  ".a",   "a.",   "a..b", "a.[]",
                                    "[", "a[", "a[]b", "a[0]", "[]b",  "a[]."};
  struct paths p = {0};
  struct err e = {0};
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(paths_add(&p, bad[i], 1, &e), -1);
  assert_int_equal(e.count, sizeof bad / sizeof *bad);
  assert_int_equal(p.n_members, 0);
  assert_null(p.element);
  err_free(&e);
}

/* ---- values ---- */

static struct walk_value number(const char *text)
{
  return (struct walk_value){.type = WALK_NUMBER, .raw = str_of(text)};
}

static int64_t integer(const char *text)
{
  struct walk_value v = number(text);
  return walk_integer(&v, -77);
}

static void integers(void **state)
{
  struct walk_value s = {.type = WALK_STRING, .raw = STR("7")};
  (void)state;
  assert_int_equal(integer("0"), 0);
  assert_int_equal(integer("17"), 17);
  assert_int_equal(integer("-3"), -3);
  assert_int_equal(integer("17.0"), 17);
  assert_int_equal(integer("1.7e1"), 17);
  assert_int_equal(integer("123456789012345678"), 123456789012345678);
  assert_int_equal(integer("1e300"), INT64_MAX);
  assert_int_equal(integer("-1e300"), INT64_MIN);
  assert_int_equal(walk_integer(&s, -77), -77);
}

static bool truthy(const char *text)
{
  struct paths p = {.tags = 1};
  struct buf out = {0};
  struct walk_value v;
  assert_int_equal(walk(&p, str_of(text), write_value, &out), 0);
  v.type = (enum walk_type)(strchr("nftdsao", out.p[1]) - "nftdsao");
  v.raw = (struct str){out.p + 2, out.len - 3};
  bool b = walk_truthy(&v);
  buf_free(&out);
  return b;
}

static void truth_is_pythons(void **state)
{
  static const char *const no[] = {"null",  "false", "\"\"", "0",
                                   "-0",    "0.000", "0e9",  "[]",
                                   "[ \n]", "{}",    "{ }"};
  static const char *const yes[] = {"true", "\" \"",     "\"0\"",
                                    "1",    "-0.01",     "1e9",
                                    "[0]",  "{\"a\":0}", "[[]]"};
  (void)state;
  for (size_t i = 0; i < sizeof no / sizeof *no; i++)
    assert_false(truthy(no[i]));
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
    assert_true(truthy(yes[i]));
}

/* ---- the searches ---- */

#if defined(__SSE2__)
static void both_searches_agree(void **state)
{
  struct pieces g = pieces_new(80);
  (void)state;
  srand(1);
  for (int round = 0; round < 20000; round++) {
    char text[82] = "";
    size_t len = (size_t)rand() % 80;
    struct str s;
    for (size_t i = 0; i < len; i++) {
      text[i] = (char)(rand() % 256);
      if (rand() % 32 && scan_ends_plain(text[i]))
        text[i] = (char)(0x80 | text[i]);
    }
    s = pieces_at_edge(&g, (struct str){text, len});
    assert_ptr_equal(scan_plain_sse2(s.p, s.p + len),
                     scan_plain_bytes(s.p, s.p + len));
    assert_ptr_equal(scan_line_sse2(s.p, s.p + len),
                     scan_line_bytes(s.p, s.p + len));
    assert_ptr_equal(
        scan_pair(s.p, s.p + len, text[len / 2], text[len / 2 + 1]),
        scan_pair_bytes(s.p, s.p + len, text[len / 2], text[len / 2 + 1]));
  }
  pieces_free(&g);
}
#endif

static void string_ends(void **state)
{
  const char text[] = "a\\\"b\"c";
  (void)state;
  assert_ptr_equal(walk_string_end(text, text + 6), text + 4);
  assert_null(walk_string_end(text, text + 4));
  assert_null(walk_string_end(text, text + 2));
  assert_null(walk_string_end(text, text));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(grammar),
    cmocka_unit_test(nesting_is_bounded),
    cmocka_unit_test(places),
    cmocka_unit_test(escaped_names),
    cmocka_unit_test(the_document_itself),
    cmocka_unit_test(a_callback_stops_the_walk),
    cmocka_unit_test(bad_paths),
    cmocka_unit_test(integers),
    cmocka_unit_test(truth_is_pythons),
#if defined(__SSE2__)
    cmocka_unit_test(both_searches_agree),
#endif
    cmocka_unit_test(string_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
