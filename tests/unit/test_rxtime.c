#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rxtime.h"

/* A pair over loopback TCP: what is accepted, and what connected. */
static void accepted(int fd[2], bool inherits)
{
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t len = sizeof a;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (inherits)
    assert_true(rxtime_enable(listener));
  assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(listener, 1), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
  fd[1] = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd[1], (struct sockaddr *)&a, sizeof a), 0);
  fd[0] = accept(listener, NULL, NULL);
  assert_true(fd[0] >= 0);
  close(listener);
}

static void stamped(int fd[2])
{
  accepted(fd, false);
  assert_true(rxtime_enable(fd[0]));
}

static void disconnect(int fd[2])
{
  close(fd[0]);
  close(fd[1]);
}

static void until_readable(int fd)
{
  struct pollfd p = {.fd = fd, .events = POLLIN};
  assert_int_equal(poll(&p, 1, 10000), 1);
}

static void nap(long ms)
{
  nanosleep(&(struct timespec){0, ms * 1000000}, NULL);
}

/* One byte: just before it was sent, seen to be there, and 20 ms later. */
struct sending {
  uint64_t sent, there, later;
};

static struct sending send_one(int fd[2])
{
  struct sending s;
  s.sent = clock_ns();
  assert_int_equal(send(fd[1], "x", 1, 0), 1);
  until_readable(fd[0]);
  s.there = clock_ns();
  nap(20);
  s.later = clock_ns();
  return s;
}

/* The mapping is two clocks read one after the other; who loses the processor
 * in between is some way off for a millisecond. */
#define TRIES 10

static bool is_arrival(const struct sending *s, uint64_t at)
{
  return at + NS_PER_MS > s->sent && at < s->there + NS_PER_MS;
}

static int keeper = -1;

/* The kernel begins to stamp some time after it was asked, in a worker. */
static int stamping(void **state)
{
  uint64_t deadline = clock_ns() + 60 * NS_PER_SEC;
  (void)state;
  keeper = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(rxtime_enable(keeper));
  while (clock_ns() < deadline) {
    struct rxtime r = {0};
    struct sending s;
    int fd[2], error = 0;
    uint64_t at;
    stamped(fd);
    s = send_one(fd);
    at = rxtime_peek(&r, fd[0], 0, &error);
    disconnect(fd);
    if (is_arrival(&s, at))
      return 0;
  }
  return -1;
}

static int not_stamping(void **state)
{
  (void)state;
  return close(keeper);
}

static void the_arrival_and_not_the_reading(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0, good = 0;
  uint64_t at = 0, again;
  char byte;
  (void)state;
  stamped(fd);
  /* More than once: the mapping is renewed in between. */
  for (int i = 0; i < TRIES && good < 3; i++) {
    struct sending s = send_one(fd);
    at = rxtime_peek(&r, fd[0], at, &error);
    good += is_arrival(&s, at);
    /* Only peeked at. */
    assert_int_equal(rxtime_recv(&r, fd[0], &byte, 1, MSG_DONTWAIT, at, &again),
                     1);
    assert_int_equal(byte, 'x');
    assert_true(again >= at);
  }
  assert_int_equal(good, 3);
  assert_int_equal(error, 0);
  disconnect(fd);
}

static void of_the_last_byte_read(void **state)
{
  struct rxtime r = {0};
  int fd[2], good = 0;
  (void)state;
  stamped(fd);
  for (int i = 0; i < TRIES && !good; i++) {
    struct sending s;
    char bytes[8];
    uint64_t when;
    send_one(fd);
    s = send_one(fd);
    assert_int_equal(rxtime_recv(&r, fd[0], bytes, sizeof bytes, 0, 0, &when),
                     2);
    assert_memory_equal(bytes, "xx", 2);
    good = is_arrival(&s, when);
  }
  assert_true(good);
  disconnect(fd);
}

static void accepted_sockets_inherit_it(void **state)
{
  struct rxtime r = {0};
  int fd[2], good = 0;
  (void)state;
  accepted(fd, true);
  for (int i = 0; i < TRIES && !good; i++) {
    struct sending s = send_one(fd);
    char byte;
    uint64_t when;
    assert_int_equal(rxtime_recv(&r, fd[0], &byte, 1, 0, 0, &when), 1);
    good = is_arrival(&s, when);
  }
  assert_true(good);
  disconnect(fd);
}

static void never_before_the_floor(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  uint64_t floor;
  (void)state;
  stamped(fd);
  send(fd[1], "x", 1, 0);
  until_readable(fd[0]);
  nap(5);
  floor = clock_ns();
  assert_int_equal(rxtime_peek(&r, fd[0], floor, &error), floor);
  disconnect(fd);
}

static void a_stepped_wall_clock_does_no_harm(void **state)
{
  int fd[2], error = 0, good = 0;
  uint64_t at;
  char byte;
  (void)state;
  stamped(fd);
  for (int i = 0; i < TRIES && !good; i++) {
    struct rxtime r = {0};
    struct sending s = send_one(fd);
    /* The pair was read, and then the clock went back by 5 s … */
    r.mono_ns = clock_ns();
    r.wall_ns = clock_wall_ns() + 5 * NS_PER_SEC;
    at = rxtime_peek(&r, fd[0], s.sent, &error);
    assert_true(at >= s.sent && at <= clock_ns());
    /* … or forward. */
    r.mono_ns = clock_ns();
    r.wall_ns = clock_wall_ns() - 5 * NS_PER_SEC;
    at = rxtime_peek(&r, fd[0], s.sent, &error);
    assert_true(at >= s.sent && at <= clock_ns());
    /* And a millisecond later it is known. */
    nap(2);
    good = is_arrival(&s, rxtime_peek(&r, fd[0], 0, &error));
    assert_int_equal(recv(fd[0], &byte, 1, 0), 1);
  }
  assert_true(good);
  disconnect(fd);
}

static void without_stamps_it_is_now(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  uint64_t before, at;
  (void)state;
  accepted(fd, false);
  send(fd[1], "x", 1, 0);
  until_readable(fd[0]);
  before = clock_ns();
  at = rxtime_peek(&r, fd[0], 0, &error);
  assert_true(at >= before && at <= clock_ns());
  disconnect(fd);
}

static void reading_without_stamps_too(void **state)
{
  struct rxtime r = {0};
  int fd[2];
  struct sending s;
  uint64_t when;
  char byte;
  (void)state;
  accepted(fd, false);
  s = send_one(fd);
  assert_int_equal(rxtime_recv(&r, fd[0], &byte, 1, 0, 0, &when), 1);
  assert_true(when >= s.later && when <= clock_ns());
  disconnect(fd);
}

static void the_end_has_no_stamp(void **state)
{
  struct rxtime r = {0};
  uint64_t before = clock_ns(), when = 0;
  char byte;
  int fd[2];
  (void)state;
  stamped(fd);
  close(fd[1]);
  until_readable(fd[0]);
  assert_int_equal(rxtime_recv(&r, fd[0], &byte, 1, 0, 0, &when), 0);
  assert_true(when >= before && when <= clock_ns());
  close(fd[0]);
}

static void nothing_to_read_is_no_error(void **state)
{
  struct rxtime r = {0};
  int fd[2], error = 0;
  (void)state;
  stamped(fd);
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
  stamped(fd);
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
      cmocka_unit_test(of_the_last_byte_read),
      cmocka_unit_test(accepted_sockets_inherit_it),
      cmocka_unit_test(never_before_the_floor),
      cmocka_unit_test(a_stepped_wall_clock_does_no_harm),
      cmocka_unit_test(without_stamps_it_is_now),
      cmocka_unit_test(reading_without_stamps_too),
      cmocka_unit_test(the_end_has_no_stamp),
      cmocka_unit_test(nothing_to_read_is_no_error),
      cmocka_unit_test(a_reset_is_told),
  };
  return cmocka_run_group_tests(tests, stamping, not_stamping);
}
