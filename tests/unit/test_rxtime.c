#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/rxtime.h"

/* A connected pair over loopback TCP. */
static void connected(int fd[2])
{
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t len = sizeof a;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listener, (struct sockaddr *)&a, sizeof a);
  listen(listener, 1);
  getsockname(listener, (struct sockaddr *)&a, &len);
  fd[0] = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd[0], (struct sockaddr *)&a, sizeof a), 0);
  fd[1] = accept(listener, NULL, NULL);
  close(listener);
}

static void until_readable(int fd)
{
  struct pollfd p = {.fd = fd, .events = POLLIN};
  assert_int_equal(poll(&p, 1, 5000), 1);
}

static void nap(long ms)
{
  nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

static void the_arrival_and_not_the_reading(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  uint64_t before, after, at = 0;
  (void)state;
  connected(fd);
  assert_true(rxtime_enable(fd[0]));
  for (int i = 0; i < 3; i++) { /* the mapping is renewed in between */
    char byte;
    before = clock_ns();
    assert_int_equal(send(fd[1], "x", 1, 0), 1);
    until_readable(fd[0]);
    after = clock_ns();
    nap(20);
    at = rxtime_peek(&r, fd[0], at, &error);
    assert_true(at + NS_PER_MS > before);
    assert_true(at < after + NS_PER_MS);
    assert_int_equal(recv(fd[0], &byte, 1, 0), 1); /* only peeked at */
  }
  assert_int_equal(error, 0);
  close(fd[0]);
  close(fd[1]);
}

static void never_before_the_floor(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  uint64_t floor;
  (void)state;
  connected(fd);
  rxtime_enable(fd[0]);
  send(fd[1], "x", 1, 0);
  until_readable(fd[0]);
  nap(5);
  floor = clock_ns();
  assert_int_equal(rxtime_peek(&r, fd[0], floor, &error), floor);
  close(fd[0]);
  close(fd[1]);
}

static void a_stepped_wall_clock_does_no_harm(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  uint64_t before, at;
  (void)state;
  connected(fd);
  rxtime_enable(fd[0]);
  before = clock_ns();
  send(fd[1], "x", 1, 0);
  until_readable(fd[0]);
  /* The pair was read, and then the clock went back by 5 s … */
  r.mono_ns = clock_ns();
  r.wall_ns = clock_wall_ns() + 5 * NS_PER_SEC;
  at = rxtime_peek(&r, fd[0], before, &error);
  assert_true(at >= before && at <= clock_ns());
  /* … or forward. */
  r.mono_ns = clock_ns();
  r.wall_ns = clock_wall_ns() - 5 * NS_PER_SEC;
  at = rxtime_peek(&r, fd[0], before, &error);
  assert_true(at >= before && at <= clock_ns());
  /* And a millisecond later it is known. */
  nap(2);
  at = rxtime_peek(&r, fd[0], 0, &error);
  assert_true(at + NS_PER_MS > before && at < clock_ns() - NS_PER_MS);
  close(fd[0]);
  close(fd[1]);
}

static void without_stamps_it_is_now(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  uint64_t before, at;
  (void)state;
  connected(fd);
  send(fd[1], "x", 1, 0);
  until_readable(fd[0]);
  before = clock_ns();
  at = rxtime_peek(&r, fd[0], 0, &error);
  assert_true(at >= before && at <= clock_ns());
  close(fd[0]);
  close(fd[1]);
}

static void nothing_to_read_is_no_error(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  (void)state;
  connected(fd);
  rxtime_enable(fd[0]);
  assert_true(rxtime_peek(&r, fd[0], 0, &error) <= clock_ns());
  close(fd[1]); /* a FIN */
  until_readable(fd[0]);
  assert_true(rxtime_peek(&r, fd[0], 0, &error) <= clock_ns());
  assert_int_equal(error, 0);
  close(fd[0]);
}

static void a_reset_is_told(void **state)
{
  struct linger now = {1, 0};
  struct rxtime r = {0};
  int fd[2], error = 0;
  char byte;
  (void)state;
  connected(fd);
  rxtime_enable(fd[0]);
  setsockopt(fd[1], SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd[1]);
  until_readable(fd[0]);
  rxtime_peek(&r, fd[0], 0, &error);
  assert_int_equal(error, ECONNRESET);
  /* This is why it has to be told: the next reader sees a plain end. */
  assert_int_equal(recv(fd[0], &byte, 1, 0), 0);
  close(fd[0]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_arrival_and_not_the_reading),
      cmocka_unit_test(never_before_the_floor),
      cmocka_unit_test(a_stepped_wall_clock_does_no_harm),
      cmocka_unit_test(without_stamps_it_is_now),
      cmocka_unit_test(nothing_to_read_is_no_error),
      cmocka_unit_test(a_reset_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
