#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"
#include "files.h"
#include "make_record.h"
#include "report/requests_out.h"

static char path[64];

static int setup(void **state)
{
  int fd;
  (void)state;
  strcpy(path, "/tmp/stoke-requests-XXXXXX");
  fd = mkstemp(path);
  close(fd);
  return fd < 0 ? -1 : unlink(path);
}

static int teardown(void **state)
{
  (void)state;
  unlink(path);
  return 0;
}

static void assert_contents(const char *want)
{
  struct buf text = file_read(path);
  assert_string_equal(buf_cstr(&text), want);
  buf_free(&text);
}

static int lines_in(const char *text)
{
  int n = 0;
  for (; *text; text++)
    n += *text == '\n';
  return n;
}

static void assert_lines(int want)
{
  struct buf text = file_read(path);
  assert_int_equal(lines_in(buf_cstr(&text)), want);
  buf_free(&text);
}

static void b132_lines_are_there_within_a_second(void **state)
{
  (void)state;
  struct err e = {0};
  struct requests_out o;
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0, 10 * MS, MS);
  int fd = requests_out_open(path, false, &e);
  assert_true(fd >= 0);
  requests_out_init(&o, fd, T0);
  requests_out_add(&o, &r, T0 + 100 * MS);
  requests_out_add(&o, &r, T0 + 900 * MS);
  requests_out_tick(&o, T0 + 1000 * MS);
  assert_contents("");
  requests_out_tick(&o, T0 + 1100 * MS);
  assert_lines(2);
  requests_out_add(&o, &r, T0 + 1200 * MS);
  requests_out_deinit(&o);
  assert_lines(3);
  close(fd);
}

static void many_lines_go_out_at_once(void **state)
{
  (void)state;
  struct err e = {0};
  struct requests_out o;
  struct record r = make_plain(T0, MS, 5);
  struct stat st;
  int fd = requests_out_open(path, false, &e);
  requests_out_init(&o, fd, T0);
  for (int i = 0; i < 1000; i++)
    requests_out_add(&o, &r, T0);
  assert_int_equal(stat(path, &st), 0);
  assert_true(st.st_size >= 65536);
  requests_out_deinit(&o);
  close(fd);
}

static void requests_out_needs_force_too(void **state)
{
  (void)state;
  struct err e = {0};
  int fd;
  fd = open(path, O_WRONLY | O_CREAT, 0600);
  assert_int_equal(write(fd, "old", 3), 3);
  close(fd);
  assert_int_equal(requests_out_open(path, false, &e), -1);
  assert_non_null(strstr(err_text(&e), "--force"));
  assert_contents("old");
  fd = requests_out_open(path, true, &e);
  assert_true(fd >= 0);
  close(fd);
  assert_contents("");
  fd = requests_out_open("/dev/null", false, &e);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(requests_out_open("/no/such/dir/x", false, &e), -1);
  err_free(&e);
}

static void a_full_disk_drops_lines_and_says_so(void **state)
{
  struct requests_out o;
  struct record r = make_plain(T0, MS, 5);
  int fd = open("/dev/full", O_WRONLY | O_APPEND);
  (void)state;
  assert_true(fd >= 0);
  requests_out_init(&o, fd, T0);
  requests_out_add(&o, &r, T0);
  requests_out_add(&o, &r, T0);
  requests_out_tick(&o, T0 + 2000 * MS);
  assert_int_equal(o.error, ENOSPC);
  requests_out_add(&o, &r, T0);
  assert_int_equal(o.dropped, 3);
  requests_out_deinit(&o);
  close(fd);
}

static json_value *line_of(const struct record *r)
{
  struct buf out = {0};
  json_value *v;
  requests_out_line(&out, r, T0);
  assert_int_equal(lines_in(buf_cstr(&out)), 1);
  v = json_parse(buf_str(&out), NULL);
  assert_non_null(v);
  buf_free(&out);
  return v;
}

static double at(const json_value *v, const char *key)
{
  return json_double(json_get(v, key), -999);
}

static void a_line_says_all_of_a_request(void **state)
{
  struct record_event ev[3];
  struct record r = make_stream(ev, 3, T0 + 5 * MS, 100 * MS, 10 * MS);
  json_value *v;
  const json_value *gap;
  (void)state;
  r.id = 42;
  r.due_ns = T0 - MS;
  r.tags = "size=long,lang=de";
  v = line_of(&r);
  assert_true(at(v, "id") == 42);
  assert_string_equal(json_text(json_get(v, "outcome")), "ok");
  assert_true(at(v, "due_s") == -0.001);
  assert_true(at(v, "sent_s") == 0.005);
  assert_true(at(v, "first_token_s") == 0.105);
  assert_true(at(v, "ttft_ms") == 100);
  assert_true(at(v, "tpot_ms") == 10);
  assert_true(at(v, "e2el_ms") == 120);
  assert_true(at(v, "queue_ms") == 6);
  assert_true(json_is_null(json_get(v, "connect_ms")));
  assert_true(json_is_null(json_get(v, "error")));
  gap = json_first(json_get(v, "itl_ms"));
  assert_true(json_double(gap, 0) == 10);
  assert_true(json_double(json_next(gap), 0) == 10);
  assert_null(json_next(json_next(gap)));
  assert_string_equal(json_text(json_get(json_get(v, "tags"), "lang")), "de");
  assert_string_equal(json_text(json_get(v, "token_source")), "usage");
  json_free(v);
}

static void a_failure_has_its_words_and_no_latency(void **state)
{
  struct record r =
      make_failed(T0, 3 * MS, OUTCOME_RATE_LIMITED, 429, "slow\ndown \xff");
  json_value *v;
  (void)state;
  r.retry_after_s = 1;
  v = line_of(&r);
  assert_string_equal(json_text(json_get(v, "outcome")), "rate_limited");
  assert_true(at(v, "status") == 429);
  assert_string_equal(json_text(json_get(v, "error")),
                      "slow\ndown \xef\xbf\xbd");
  assert_true(json_is_null(json_get(v, "ttft_ms")));
  assert_true(json_is_null(json_get(v, "e2el_ms")));
  assert_true(json_is_null(json_get(v, "tokens")));
  assert_true(json_is_null(json_get(v, "first_token_s")));
  assert_true(at(v, "retry_after_s") == 1);
  json_free(v);
}

static void numbers_are_exact(void **state)
{
  struct record r = make_plain(T0 + 1, 0, 1);
  struct buf out = {0};
  (void)state;
  r.done_ns = T0 + 1 + UINT64_C(123456789012);
  requests_out_line(&out, &r, T0);
  assert_non_null(strstr(buf_cstr(&out), "\"sent_s\":0.000000001,"));
  assert_non_null(strstr(buf_cstr(&out), "\"e2el_ms\":123456.789012,"));
  assert_non_null(strstr(buf_cstr(&out), "\"queue_ms\":0,"));
  buf_free(&out);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      CASE(b132_lines_are_there_within_a_second),
      CASE(many_lines_go_out_at_once),
      CASE(requests_out_needs_force_too),
      CASE(a_full_disk_drops_lines_and_says_so),
      CASE(a_line_says_all_of_a_request),
      CASE(a_failure_has_its_words_and_no_latency),
      CASE(numbers_are_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
