#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/ndjson.h"
#include "pieces.h"

static int write_line(struct str line, bool unfinished, void *ud)
{
  buf_addf(ud, "%s%.*s;", unfinished ? "?" : "", STR_ARG(line));
  return str_eq(line, STR("stop")) ? 7 : 0;
}

static void check_cut(struct pieces *g, struct str in, size_t a, size_t b,
                      const char *want)
{
  struct str part[3] = {{in.p, a}, {in.p + a, b - a}, {in.p + b, in.len - b}};
  struct buf out = {0};
  struct ndjson n;
  ndjson_init(&n, 0, write_line, &out);
  for (int i = 0; i < 3; i++) {
    struct str p = pieces_at_edge(g, part[i]);
    assert_int_equal(ndjson_feed(&n, p.p, p.len), 0);
  }
  assert_int_equal(ndjson_end(&n), 0);
  assert_string_equal(buf_cstr(&out), want);
  ndjson_deinit(&n);
  buf_free(&out);
}

static void check(const char *text, const char *want)
{
  struct str in = str_of(text);
  struct pieces g = pieces_new(in.len);
  for (size_t a = 0; a <= in.len; a++)
    for (size_t b = a; b <= in.len; b++)
      check_cut(&g, in, a, b, want);
  pieces_free(&g);
}

static void lines(void **state)
{
  (void)state;
  check("", "");
  check("{}\n[1]\n", "{};[1];");
  check("a\r\n\r\n \n  b \t\n", "a;b;");
  check("a\rb\n", "a\rb;");
  check("a\nb", "a;?b;");
  check("a\n ", "a;");
}

static void limit(void **state)
{
  static const char *const ok = "12345\n1234\r\n", *const bad = "123456\n";
  (void)state;
  for (size_t step = 1; step < 8; step++) {
    struct buf out = {0};
    struct ndjson n;
    int rc = 0;
    ndjson_init(&n, 5, write_line, &out);
    for (size_t i = 0; i < strlen(ok); i += step)
      rc |= ndjson_feed(&n, ok + i,
                        strlen(ok) - i < step ? strlen(ok) - i : step);
    assert_int_equal(rc, 0);
    for (size_t i = 0; i < strlen(bad) && rc == 0; i += step)
      rc = ndjson_feed(&n, bad + i,
                       strlen(bad) - i < step ? strlen(bad) - i : step);
    assert_int_equal(rc, -1);
    ndjson_reset(&n);
    assert_int_equal(ndjson_feed(&n, "x\n", 2), 0);
    assert_string_equal(buf_cstr(&out), "12345;1234;x;");
    ndjson_deinit(&n);
    buf_free(&out);
  }
}

static void a_callback_stops_the_feed(void **state)
{
  struct buf out = {0};
  struct ndjson n;
  (void)state;
  ndjson_init(&n, 0, write_line, &out);
  assert_int_equal(ndjson_feed(&n, "a\nstop\nb\n", 9), 7);
  assert_string_equal(buf_cstr(&out), "a;stop;");
  ndjson_deinit(&n);
  buf_free(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines),
      cmocka_unit_test(limit),
      cmocka_unit_test(a_callback_stops_the_feed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
