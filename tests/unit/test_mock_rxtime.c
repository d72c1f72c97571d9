/* Receive times: of the arrival, not of the reading. */
#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "mock/rxtime.h"

static void connected(int fd[2], bool stamped)
{
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t len = sizeof a;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (stamped)
    mock_rxtime_enable(listener);
  assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(listener, 1), 0);
  assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
  fd[0] = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd[0], (struct sockaddr *)&a, sizeof a), 0);
  fd[1] = accept(listener, NULL, NULL);
  assert_true(fd[1] >= 0);
  close(listener);
}

static void disconnect(int fd[2])
{
  close(fd[0]);
  close(fd[1]);
}

/* When it came, as it is said when it is read 20 ms later; and when it was
 * sent, seen to be there, and read. */
static uint64_t read_late(bool stamped, uint64_t *sent, uint64_t *there,
                          uint64_t *read)
{
  struct mock_rxtime t = {0};
  struct pollfd p = {.events = POLLIN};
  char bytes[8];
  uint64_t when = 0;
  int fd[2];
  connected(fd, stamped);
  p.fd = fd[1];
  *sent = clock_ns();
  assert_int_equal(send(fd[0], "hello", 5, 0), 5);
  assert_int_equal(poll(&p, 1, 10000), 1);
  *there = clock_ns();
  while (clock_ns() < *sent + 20 * NS_PER_MS)
    ;
  *read = clock_ns();
  assert_int_equal(mock_rxtime_recv(&t, fd[1], bytes, sizeof bytes, &when), 5);
  assert_memory_equal(bytes, "hello", 5);
  disconnect(fd);
  return when;
}

static void says_when_it_came(void **state)
{
  uint64_t sent, there, read, when = read_late(true, &sent, &there, &read);
  (void)state;
  /* Two clocks are read one after the other: some slack. */
  assert_true(when + NS_PER_MS > sent);
  assert_true(when < there + NS_PER_MS);
}

static void without_stamps_the_present(void **state)
{
  uint64_t sent, there, read, when = read_late(false, &sent, &there, &read);
  (void)state;
  assert_true(when >= read && when <= clock_ns());
}

static void the_end_has_no_stamp(void **state)
{
  struct mock_rxtime t = {0};
  uint64_t before = clock_ns(), when = 0;
  char byte;
  int fd[2];
  (void)state;
  connected(fd, true);
  close(fd[0]);
  assert_int_equal(mock_rxtime_recv(&t, fd[1], &byte, 1, &when), 0);
  assert_true(when >= before);
  close(fd[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(says_when_it_came),
      cmocka_unit_test(without_stamps_the_present),
      cmocka_unit_test(the_end_has_no_stamp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
