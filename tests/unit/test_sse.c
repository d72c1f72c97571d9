/* Every row is fed whole, byte by byte, and cut at every pair of points: the
 * events must be the same. Field cases are named by their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/clock.h"
#include "net/sse.h"
#include "pieces.h"

/* Events written out: "name|data|comment;" with "-" for no data, and "?" in
 * front of an unfinished one. */
static int write_event(const struct sse_event *e, void *ud)
{
  struct buf *out = ud;
  buf_addf(out, "%s%.*s|", e->unfinished ? "?" : "", STR_ARG(e->name));
  buf_addf(out, "%.*s", STR_ARG(e->data.p ? e->data : STR("-")));
  if (e->comment.len)
    buf_addf(out, "|%.*s", STR_ARG(e->comment));
  buf_addc(out, ';');
  return 0;
}

static void feed(struct sse *s, struct pieces *g, struct str piece)
{
  piece = pieces_at_edge(g, piece);
  assert_int_equal(sse_feed(s, piece.p, piece.len), 0);
}

static void check_cut(struct pieces *g, struct str in, size_t a, size_t b,
                      const char *want)
{
  struct buf out = {0};
  struct sse s;
  sse_init(&s, 0, write_event, &out);
  feed(&s, g, (struct str){in.p, a});
  feed(&s, g, (struct str){in.p + a, b - a});
  feed(&s, g, (struct str){in.p + b, in.len - b});
  assert_int_equal(sse_end(&s), 0);
  assert_string_equal(buf_cstr(&out), want);
  sse_deinit(&s);
  buf_free(&out);
}

static void check_bytes(struct pieces *g, struct str in, const char *want)
{
  struct buf out = {0};
  struct sse s;
  sse_init(&s, 0, write_event, &out);
  for (size_t i = 0; i < in.len; i++)
    feed(&s, g, (struct str){in.p + i, 1});
  assert_int_equal(sse_end(&s), 0);
  assert_string_equal(buf_cstr(&out), want);
  sse_deinit(&s);
  buf_free(&out);
}

static void check(struct str in, const char *want)
{
  struct pieces g = pieces_new(in.len);
  for (size_t a = 0; a <= in.len; a++)
    for (size_t b = a; b <= in.len; b++)
      check_cut(&g, in, a, b, want);
  check_bytes(&g, in, want);
  pieces_free(&g);
}

static void fields(void **state)
{
  (void)state;
  check(STR("data: a\n\n"), "|a;");
  check(STR("data:a\n\n"), "|a;");
  check(STR("data:  a \n\n"), "| a ;");
  check(STR("data: a:b: c\n\n"), "|a:b: c;");
  check(STR("data\n\n"), "|;");
  check(STR("data:\n\n"), "|;");
  check(STR("data\ndata\n\n"), "|\n;");
  check(STR("event: x\ndata: a\n\ndata: b\n\n"), "x|a;|b;");
  check(STR("event: x\nevent: y\ndata: a\n\n"), "y|a;");
  check(STR("event:\ndata: a\n\n"), "|a;");
  check(STR("id: 7\nretry: 10\ndata: a\n\n"), "|a;");
  check(STR("Data: a\n data: b\ndatax: c\n{}: d\n\n"), "");
  check(STR("\n\n\n"), "");
  check(STR(""), "");
  check(STR("id: 7\n\n"), "");
}

static void line_ends(void **state)
{
  (void)state;
  check(STR("data: a\r\n\r\ndata: b\r\n\r\n"), "|a;|b;");
  check(STR("data: a\r\rdata: b\r\r"), "|a;|b;");
  check(STR("data: a\n\rdata: b\r\n\n"), "|a;|b;");
  check(STR("\r\n\r\ndata: a\r\n\n\r\n"), "|a;");
  check(STR("data: a\r\ndata: b\rdata: c\n\r"), "|a\nb\nc;");
}

static void comments(void **state)
{
  (void)state;
  check(STR(": ping\n\ndata: a\n\n"), "|a;");
  check(STR(":\n\n:\n\n"), "");
  check(STR("data: a\n: c\ndata: b\n\n"), "|a\nb|c;");
  check(STR("event: ERROR\n: worker lost\n\n"), "ERROR|-|worker lost;");
  check(STR("event: ping\n\n"), "ping|-;");
}

static void unfinished(void **state)
{
  (void)state;
  check(STR("data: a\n"), "?|a;");
  check(STR("data: a"), "?|a;");
  check(STR("data: a\n\ndata: [DONE]"), "|a;?|[DONE];");
  check(STR("data: a\r"), "?|a;");
  check(STR("dat"), "");
  check(STR("event: error"), "?error|-;");
}

static void x08_bom_and_bare_cr(void **state)
{
  (void)state;
  check(STR("\xef\xbb\xbf"
            "data: a\r\r"),
        "|a;");
  check(STR("\xef\xbb\xbf\ndata: a\n\n"), "|a;");
  check(STR("\xef\xbb\xbf\xef\xbb\xbf"
            "data: a\n\n"),
        "");
  check(STR("\xef\xbb"
            "data: a\n\n"),
        "");
  check(STR("\xef"), "");
  check(STR("data: a\n\n\xef\xbb\xbf"
            "data: b\n\n"),
        "|a;");
}

static void b003_split_at_every_byte(void **state)
{
  (void)state;
  check(STR("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a b\"}}"
            "]}\n\ndata: [DONE]\n\n"),
        "|{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a b\"}}]};"
        "|[DONE];");
}

static void b005_character_split_over_reads(void **state)
{
  (void)state;
  check(STR("data: \xe4\xb8\xad\n\n"), "|\xe4\xb8\xad;");
}

static void b010_boundary_is_an_empty_line_of_the_joined_stream(void **state)
{
  static const char *const reads[] = {"data: {\"a\":", "1}\r", "\n\r",
                                      "\ndata: [DONE]\r\n\r\n"};
  struct buf out = {0};
  struct sse s;
  (void)state;
  sse_init(&s, 0, write_event, &out);
  for (int i = 0; i < 4; i++)
    assert_int_equal(sse_feed(&s, reads[i], strlen(reads[i])), 0);
  assert_string_equal(buf_cstr(&out), "|{\"a\":1};|[DONE];");
  sse_deinit(&s);
  buf_free(&out);
}

static void b011_data_lines_are_joined(void **state)
{
  (void)state;
  check(STR("data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{}}]}\n\n"),
        "|{\"choices\":[{\"index\":0,\n\"delta\":{}}]};");
}

static void long_lines_cross_every_step_of_the_search(void **state)
{
  (void)state;
  for (size_t n = 0; n < 70; n++) {
    struct buf in = {0}, want = {0};
    struct pieces g = pieces_new(256);
    buf_adds(&in, "data: ");
    buf_addc(&want, '|');
    for (size_t i = 0; i < n; i++) {
      buf_addc(&in, (char)('a' + i % 26));
      buf_addc(&want, (char)('a' + i % 26));
    }
    buf_adds(&in, n % 2 ? "\n\n" : "\r\n\r\n");
    buf_addc(&want, ';');
    check_cut(&g, buf_str(&in), 0, in.len, buf_cstr(&want));
    check_cut(&g, buf_str(&in), n, in.len, buf_cstr(&want));
    pieces_free(&g);
    buf_free(&in);
    buf_free(&want);
  }
}

/* An event in one piece is handed out where it lies. */
static int is_inside(const struct sse_event *e, void *ud)
{
  struct str *piece = ud;
  assert_true(e->data.p >= piece->p);
  assert_true(e->data.p + e->data.len <= piece->p + piece->len);
  return 0;
}

static void whole_events_are_not_copied(void **state)
{
  struct str piece = STR("data: a\n\nevent: x\ndata: b\n\n");
  struct sse s;
  (void)state;
  sse_init(&s, 0, is_inside, &piece);
  assert_int_equal(sse_feed(&s, piece.p, piece.len), 0);
  assert_null(s.data.p);
  sse_deinit(&s);
}

static int stop_at_b(const struct sse_event *e, void *ud)
{
  ++*(int *)ud;
  return str_eq(e->data, STR("b")) ? 7 : 0;
}

static void a_callback_stops_the_feed(void **state)
{
  struct sse s;
  int n = 0;
  (void)state;
  sse_init(&s, 0, stop_at_b, &n);
  assert_int_equal(sse_feed(&s, "data: a\n\ndata: b\n\ndata: c\n\n", 27), 7);
  assert_int_equal(n, 2);
  sse_reset(&s);
  assert_int_equal(sse_feed(&s, "data: d\n\n", 9), 0);
  assert_int_equal(n, 3);
  sse_deinit(&s);
}

static int feed_limited(struct str in, size_t step)
{
  struct buf out = {0};
  struct sse s;
  int rc = 0;
  sse_init(&s, 10, write_event, &out);
  for (size_t i = 0; i < in.len && rc == 0; i += step)
    rc = sse_feed(&s, in.p + i, in.len - i < step ? in.len - i : step);
  sse_deinit(&s);
  buf_free(&out);
  return rc;
}

static void check_limited(struct str in, int want)
{
  for (size_t step = 1; step <= in.len; step++)
    assert_int_equal(feed_limited(in, step), want);
}

static void the_limit_holds_for_every_way_of_cutting(void **state)
{
  (void)state;
  check_limited(STR("data: 1234\n\n"), 0);
  check_limited(STR("data: 12345\n\n"), -1);
  check_limited(STR("data:1234\ndata:1234\n\n"), 0);
  check_limited(STR("data:1234\ndata:12345\n\n"), 0);
  check_limited(STR("data:12345\ndata:12345\n\n"), -1);
  check_limited(STR("data:12\n\ndata:12345\n\ndata:12345\n\n"), 0);
  check_limited(STR(": a comment\n\n"), -1);
}

static int count_bytes(const struct sse_event *e, void *ud)
{
  *(size_t *)ud += e->data.len;
  return 0;
}

static void b032_large_event_in_small_writes(void **state)
{
  enum { SIZE = 5 << 20, STEP = 1024 };
  char *text = malloc(SIZE + 8);
  uint64_t start = clock_thread_cpu_ns();
  size_t got = 0;
  struct sse s;
  (void)state;
  memcpy(text, "data: ", 6);
  memset(text + 6, 'x', SIZE);
  memcpy(text + 6 + SIZE, "\n\n", 2);
  sse_init(&s, 0, count_bytes, &got);
  for (size_t i = 0; i < SIZE + 8; i += STEP)
    assert_int_equal(
        sse_feed(&s, text + i, SIZE + 8 - i < STEP ? SIZE + 8 - i : STEP), 0);
  assert_int_equal(got, SIZE);
  /* Rescanning from the event's start would take 13 GB of reading. */
  assert_true(clock_thread_cpu_ns() - start < 500 * NS_PER_MS);
  sse_reset(&s);
  assert_true(s.line.cap + s.data.cap < (size_t)1 << 20);
  sse_deinit(&s);
  free(text);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fields),
      cmocka_unit_test(line_ends),
      cmocka_unit_test(comments),
      cmocka_unit_test(unfinished),
      cmocka_unit_test(x08_bom_and_bare_cr),
      cmocka_unit_test(b003_split_at_every_byte),
      cmocka_unit_test(b005_character_split_over_reads),
      cmocka_unit_test(b010_boundary_is_an_empty_line_of_the_joined_stream),
      cmocka_unit_test(b011_data_lines_are_joined),
      cmocka_unit_test(long_lines_cross_every_step_of_the_search),
      cmocka_unit_test(whole_events_are_not_copied),
      cmocka_unit_test(a_callback_stops_the_feed),
      cmocka_unit_test(the_limit_holds_for_every_way_of_cutting),
      cmocka_unit_test(b032_large_event_in_small_writes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
