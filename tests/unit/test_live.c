#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "report/live.h"

static struct snapshot some(void)
{
  return (struct snapshot){.phase = "measure",
                           .elapsed_s = 12.3,
                           .eta_s = 17.7,
                           .share = 0.41,
                           .sent = 1234,
                           .in_flight = 64,
                           .done = 1160,
                           .failed = 10,
                           .request_rate = 94.31,
                           .token_rate = 12345,
                           .ttft_p50_ms = 71.5,
                           .ttft_p99_ms = 1234};
}

static void panel_says_it_all(void **state)
{
  struct buf out = {0};
  struct snapshot s = some();
  (void)state;
  live_panel(&out, &s, 79, false);
  assert_string_equal(
      buf_cstr(&out),
      "measure  12 s  [########............]  41 %  17 s left\n"
      "sent 1234  in flight 64  done 1160  failed 10\n"
      "94.3 req/s  12.3k tok/s  TTFT p50 71.5 ms  p99 1234 ms\n");
  buf_free(&out);
}

/* Columns of the widest line, escape sequences not counted. */
static int widest(const char *s)
{
  int most = 0, n = 0;
  for (; *s; s++) {
    if (*s == '\x1b') {
      s = strchr(s, 'm');
      continue;
    }
    n = *s == '\n' ? 0 : n + 1;
    most = n > most ? n : most;
  }
  return most;
}

static void no_line_is_wider_than_the_screen(void **state)
{
  struct snapshot s = some();
  (void)state;
  for (int columns = 1; columns < 100; columns++) {
    for (int colour = 0; colour < 2; colour++) {
      struct buf out = {0};
      live_panel(&out, &s, columns, colour);
      assert_true(widest(buf_cstr(&out)) <= columns);
      buf_free(&out);
    }
  }
}

static void b136_no_escapes_without_colour(void **state)
{
  struct buf out = {0};
  struct snapshot s = some();
  (void)state;
  live_panel(&out, &s, 80, false);
  live_line(&out, &s);
  assert_null(memchr(out.p, '\x1b', out.len));
  buf_reset(&out);
  live_panel(&out, &s, 80, true);
  assert_non_null(strstr(buf_cstr(&out), "\x1b[31mfailed 10\x1b[0m"));
  buf_free(&out);
}

static void b136_unknown_numbers_are_na(void **state)
{
  struct buf out = {0};
  struct snapshot s = {.phase = "warm-up",
                       .eta_s = NAN,
                       .share = NAN,
                       .request_rate = NAN,
                       .token_rate = NAN,
                       .ttft_p50_ms = NAN,
                       .ttft_p99_ms = NAN};
  (void)state;
  live_panel(&out, &s, 80, true);
  live_line(&out, &s);
  assert_null(strstr(buf_cstr(&out), "nan"));
  assert_null(strstr(buf_cstr(&out), "left"));
  assert_non_null(strstr(buf_cstr(&out), "n/a req/s"));
  buf_free(&out);
}

static void a_line_is_one_line(void **state)
{
  struct buf out = {0};
  struct snapshot s = some();
  (void)state;
  live_line(&out, &s);
  assert_string_equal(buf_cstr(&out),
                      "measure 12 s (17 s left): sent 1234  in flight 64  "
                      "done 1160  failed 10  94.3 req/s  12.3k tok/s  TTFT "
                      "p50 71.5 ms  p99 1234 ms");
  s.elapsed_s = 125;
  buf_reset(&out);
  live_line(&out, &s);
  assert_non_null(strstr(buf_cstr(&out), "measure 2m 05s"));
  buf_free(&out);
}

static void b136_modes(void **state)
{
  int fds[2];
  (void)state;
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(live_mode(fds[1], false), LIVE_LINES);
  assert_int_equal(live_mode(fds[1], true), LIVE_OFF);
  close(fds[0]);
  close(fds[1]);
}

/* ---- a terminal ---- */

/* A pseudo terminal; *slave is the screen. */
static int open_terminal(int *slave)
{
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  assert_true(master >= 0);
  assert_int_equal(grantpt(master), 0);
  assert_int_equal(unlockpt(master), 0);
  *slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  assert_true(*slave >= 0);
  return master;
}

static char *read_some(int fd)
{
  static char text[8192];
  ssize_t n = read(fd, text, sizeof text - 1);
  assert_true(n >= 0);
  text[n] = '\0';
  return text;
}

/* What was written, up to and with `end`: a terminal may hand it over in
 * parts. */
static char *read_until(int fd, const char *end)
{
  static char text[8192];
  size_t n = 0;
  text[0] = '\0';
  while (!strstr(text, end)) {
    ssize_t got = read(fd, text + n, sizeof text - 1 - n);
    assert_true(got > 0);
    n += (size_t)got;
    text[n] = '\0';
  }
  return text;
}

static void b136_dumb_terminals_get_lines(void **state)
{
  int slave, master = open_terminal(&slave);
  (void)state;
  setenv("TERM", "dumb", 1);
  assert_int_equal(live_mode(slave, false), LIVE_LINES);
  setenv("TERM", "xterm", 1);
  assert_int_equal(live_mode(slave, false), LIVE_PANEL);
  unsetenv("TERM");
  assert_int_equal(live_mode(slave, false), LIVE_LINES);
  close(slave);
  close(master);
}

static void a_panel_is_redrawn_in_place_and_goes(void **state)
{
  int slave, master = open_terminal(&slave);
  struct live *l;
  struct snapshot s = some();
  char *text;
  (void)state;
  setenv("COLUMNS", "30", 1);
  setenv("NO_COLOR", "1", 1);
  l = live_new(slave, LIVE_PANEL);
  live_update(l, &s);
  text = read_until(master, "TTFT\r\n");
  assert_null(strchr(text, '\x1b')); /* nothing to clear yet */
  assert_non_null(strstr(text, "measure  12 s"));
  assert_non_null(strstr(text, "sent 1234  in flight 64  done"));
  assert_null(strstr(text, "done 1160")); /* cut at 29 columns */
  live_update(l, &s);
  assert_int_equal(
      strncmp(read_until(master, "TTFT\r\n"), "\r\x1b[3A\x1b[J", 8), 0);
  live_free(l);
  text = read_until(master, "\x1b[J");
  assert_non_null(strstr(text, "\r\x1b[3A\x1b[J"));
  unsetenv("COLUMNS");
  unsetenv("NO_COLOR");
  close(slave);
  close(master);
}

static void log_lines_go_above_the_panel(void **state)
{
  int slave, master = open_terminal(&slave), saved = dup(STDERR_FILENO);
  struct live *l;
  struct snapshot s = some();
  char *text, *line;
  (void)state;
  setenv("NO_COLOR", "1", 1);
  dup2(slave, STDERR_FILENO);
  l = live_new(STDERR_FILENO, LIVE_PANEL);
  live_update(l, &s);
  read_until(master, "p99 1234 ms\r\n");
  log_line("hello");
  text = read_until(master, "p99 1234 ms\r\n");
  line = strstr(text, "stoke: hello");
  assert_int_equal(strncmp(text, "\r\x1b[3A\x1b[J", 8), 0);
  assert_non_null(line);
  assert_non_null(strstr(line, "measure  12 s"));
  live_free(l);
  read_until(master, "\x1b[J");
  log_line("after");
  text = read_until(master, "after\r\n");
  dup2(saved, STDERR_FILENO);
  assert_string_equal(text, "stoke: after\r\n");
  close(saved);
  close(slave);
  close(master);
  unsetenv("NO_COLOR");
}

static void plain_lines_come_every_few_seconds(void **state)
{
  int fds[2], n = 0;
  struct live *l;
  struct snapshot s = some();
  (void)state;
  assert_int_equal(pipe(fds), 0);
  l = live_new(fds[1], LIVE_LINES);
  for (s.elapsed_s = 0; s.elapsed_s < 16; s.elapsed_s += 0.25)
    live_update(l, &s);
  s.elapsed_s = 31; /* after a pause one line, not three */
  live_update(l, &s);
  live_update(l, &s);
  live_free(l);
  close(fds[1]);
  for (char *p = read_some(fds[0]); *p; p++)
    n += *p == '\n';
  assert_int_equal(n, 4);
  close(fds[0]);
}

static void quiet_is_silent(void **state)
{
  int fds[2];
  struct live *l;
  struct snapshot s = some();
  (void)state;
  assert_int_equal(pipe(fds), 0);
  l = live_new(fds[1], LIVE_OFF);
  live_update(l, &s);
  live_free(l);
  close(fds[1]);
  assert_string_equal(read_some(fds[0]), "");
  close(fds[0]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(panel_says_it_all),
      cmocka_unit_test(no_line_is_wider_than_the_screen),
      cmocka_unit_test(b136_no_escapes_without_colour),
      cmocka_unit_test(b136_unknown_numbers_are_na),
      cmocka_unit_test(a_line_is_one_line),
      cmocka_unit_test(b136_modes),
      cmocka_unit_test(b136_dumb_terminals_get_lines),
      cmocka_unit_test(a_panel_is_redrawn_in_place_and_goes),
      cmocka_unit_test(log_lines_go_above_the_panel),
      cmocka_unit_test(plain_lines_come_every_few_seconds),
      cmocka_unit_test(quiet_is_silent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
