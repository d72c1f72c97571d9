#include "mock/rxtime.h"

#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

void mock_rxtime_enable(int fd)
{
  int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
}

static uint64_t to_monotonic(struct mock_rxtime *t, uint64_t wall, uint64_t now)
{
  uint64_t when;
  if (ns_since(t->at, now) > NS_PER_MS || !t->at) {
    t->offset = clock_wall_ns() - now;
    t->at = now;
  }
  when = wall - t->offset;
  /* So old: rather the wall clock was set meanwhile. */
  return when > now || now - when > 10 * NS_PER_SEC ? now : when;
}

static uint64_t stamp_of(struct msghdr *msg)
{
  struct cmsghdr *c = CMSG_FIRSTHDR(msg);
  struct timespec ts;
  for (; c; c = CMSG_NXTHDR(msg, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
      memcpy(&ts, CMSG_DATA(c), sizeof ts);
      return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
    }
  }
  return 0;
}

ssize_t mock_rxtime_recv(struct mock_rxtime *t, int fd, void *to, size_t len,
                         uint64_t *when)
{
  union {
    char bytes[CMSG_SPACE(sizeof(struct timespec))];
    struct cmsghdr align;
  } control;
  struct iovec part = {to, len};
  struct msghdr msg = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
  ssize_t n = recvmsg(fd, &msg, 0);
  uint64_t wall = n > 0 ? stamp_of(&msg) : 0;
  *when = clock_ns();
  if (wall)
    *when = to_monotonic(t, wall, *when);
  return n;
}
