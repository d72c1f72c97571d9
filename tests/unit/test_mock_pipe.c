/* Line ends, pieces, chunks and compression of bodies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <zlib.h>

#include "mock/pipe.h"

struct setup {
  struct mock_plan plan;
  struct mock_pipe pipe;
  struct buf text, out;
};

static void begin(struct setup *s, const char *specs, bool chunked)
{
  struct err e = {0};
  *s = (struct setup){0};
  mock_plan_defaults(&s->plan);
  assert_int_equal(mock_plan_apply(&s->plan, str_of(specs), "test", &e), 0);
  mock_pipe_begin(&s->pipe, &s->plan, chunked);
}

static void end(struct setup *s)
{
  mock_pipe_deinit(&s->pipe);
  buf_free(&s->text);
  buf_free(&s->out);
}

static void event_forms(void **state)
{
  static const struct {
    const char *specs, *name, *data, *text;
  } rows[] = {
      {"", NULL, "{1,2}", "data: {1,2}\n\n"},
      {"crlf", NULL, "{}", "data: {}\r\n\r\n"},
      {"cr", NULL, "{}", "data: {}\r\r"},
      {"comments", NULL, "{}", ": mock\ndata: {}\n\n"},
      {"", "error", "{}", "event: error\ndata: {}\n\n"},
      {"", "error", "", "event: error\n\n"},
      {"multi-line", NULL, "{1,2,3}", "data: {1,\ndata: 2,3}\n\n"},
      {"multi-line,crlf", NULL, "[DONE]", "data: [DONE]\r\n\r\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct setup s;
    begin(&s, rows[i].specs, false);
    mock_pipe_event(&s.pipe, rows[i].name, str_of(rows[i].data), &s.text);
    assert_string_equal(buf_cstr(&s.text), rows[i].text);
    end(&s);
  }
}

static void chunks(void **state)
{
  struct setup s;
  (void)state;
  begin(&s, "", true);
  mock_pipe_put(&s.pipe, STR("hello, this is a chunk"), &s.out);
  mock_pipe_put(&s.pipe, STR("x"), &s.out);
  mock_pipe_put(&s.pipe, STR(""), &s.out); /* would end the body */
  mock_pipe_end(&s.pipe, &s.out);
  assert_string_equal(buf_cstr(&s.out), "16\r\nhello, this is a chunk\r\n"
                                        "1\r\nx\r\n0\r\n\r\n");
  assert_int_equal(s.pipe.passed, 23);
  end(&s);
}

/* All pieces, with a bar between them. */
static bool pieces(struct setup *s)
{
  while (mock_pipe_holds(&s->pipe)) {
    if (!mock_pipe_piece(&s->pipe, 100, &s->out))
      return false;
    buf_addc(&s->out, '|');
  }
  return true;
}

static void b003_split_at_every_byte(void **state)
{
  struct setup s;
  (void)state;
  begin(&s, "split:1:5ns", false);
  mock_pipe_put(&s.pipe, STR("abc"), &s.out);
  assert_int_equal(s.out.len, 0);
  assert_true(pieces(&s));
  assert_string_equal(buf_cstr(&s.out), "a|b|c|");
  assert_int_equal(s.pipe.due, 105);
  mock_pipe_put(&s.pipe, STR("d"), &s.out);
  assert_true(pieces(&s));
  assert_string_equal(buf_cstr(&s.out), "a|b|c|d|");
  end(&s);
}

static void b005_split_at_one_place(void **state)
{
  struct setup s;
  (void)state;
  begin(&s, "split-at:4:7ns", true);
  mock_pipe_put(&s.pipe, STR("abc"), &s.out);
  assert_true(pieces(&s));
  assert_int_equal(s.pipe.due, 0);
  mock_pipe_put(&s.pipe, STR("def"), &s.out);
  assert_true(pieces(&s));
  assert_string_equal(buf_cstr(&s.out), "3\r\nabc\r\n|1\r\nd\r\n|2\r\nef\r\n|");
  assert_int_equal(s.pipe.due, 107);
  end(&s);
}

static void b017_cut_after_bytes(void **state)
{
  struct setup s;
  (void)state;
  begin(&s, "cut-bytes:5", false);
  mock_pipe_put(&s.pipe, STR("abc"), &s.out);
  assert_true(pieces(&s));
  mock_pipe_put(&s.pipe, STR("defg"), &s.out);
  assert_false(pieces(&s));
  assert_string_equal(buf_cstr(&s.out), "abc|de");
  end(&s);
}

static void x08_a_mark_in_front(void **state)
{
  struct setup s;
  (void)state;
  begin(&s, "bom", false);
  mock_pipe_put(&s.pipe, STR("a"), &s.out);
  mock_pipe_put(&s.pipe, STR("b"), &s.out);
  assert_string_equal(buf_cstr(&s.out), "\xef\xbb\xbf"
                                        "ab");
  end(&s);
}

static void b030_gzip_is_flushed_at_each_event(void **state)
{
  struct setup s;
  z_stream z = {0};
  char plain[64];
  (void)state;
  begin(&s, "gzip", false);
  assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
  z.next_out = (Bytef *)plain;
  z.avail_out = sizeof plain;
  for (int i = 1; i <= 3; i++) {
    buf_reset(&s.out);
    mock_pipe_put(&s.pipe, STR("data: x\n\n"), &s.out);
    z.next_in = (Bytef *)s.out.p;
    z.avail_in = (uInt)s.out.len;
    assert_int_equal(inflate(&z, Z_SYNC_FLUSH), Z_OK);
    assert_int_equal(z.total_out, 9 * i); /* whole at once */
  }
  buf_reset(&s.out);
  mock_pipe_flush(&s.pipe, &s.out);
  z.next_in = (Bytef *)s.out.p;
  z.avail_in = (uInt)s.out.len;
  assert_int_equal(inflate(&z, Z_SYNC_FLUSH), Z_STREAM_END);
  assert_memory_equal(plain, "data: x\n\ndata: x\n\ndata: x\n\n", 27);
  inflateEnd(&z);
  end(&s);
}

static void beginning_again_forgets(void **state)
{
  struct setup s;
  (void)state;
  begin(&s, "split:2,gzip", true);
  mock_pipe_put(&s.pipe, STR("abcdef"), &s.out);
  assert_true(mock_pipe_holds(&s.pipe));
  mock_plan_defaults(&s.plan);
  mock_pipe_begin(&s.pipe, &s.plan, false);
  assert_false(mock_pipe_holds(&s.pipe));
  buf_reset(&s.out);
  mock_pipe_put(&s.pipe, STR("z"), &s.out);
  assert_string_equal(buf_cstr(&s.out), "z");
  end(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(event_forms),
      cmocka_unit_test(chunks),
      cmocka_unit_test(b003_split_at_every_byte),
      cmocka_unit_test(b005_split_at_one_place),
      cmocka_unit_test(b017_cut_after_bytes),
      cmocka_unit_test(x08_a_mark_in_front),
      cmocka_unit_test(b030_gzip_is_flushed_at_each_event),
      cmocka_unit_test(beginning_again_forgets),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
