#include "base/rxtime.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"

#define PAIR_AGE   NS_PER_MS
#define PAIR_TRIES 3

bool rxtime_enable(int fd)
{
  int on = 1;
  return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) == 0;
}

/* Of a few readings the one whose wall time is best pinned down. */
static void read_pair(struct rxtime *r)
{
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < PAIR_TRIES; i++) {
    uint64_t before = clock_ns();
    uint64_t wall = clock_wall_ns();
    uint64_t spread = clock_ns() - before;
    if (spread < best) {
      best = spread;
      r->mono_ns = before + spread / 2;
      r->wall_ns = wall;
    }
  }
}

static bool stamp_of(struct msghdr *m, uint64_t *wall_ns)
{
  for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
    struct timespec ts;
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
      continue;
    memcpy(&ts, CMSG_DATA(c), sizeof ts);
    *wall_ns = (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
    return true;
  }
  return false;
}

static uint64_t clamp(uint64_t x, uint64_t low, uint64_t high)
{
  if (x > high)
    return high;
  return x < low ? low : x;
}

ssize_t rxtime_recv(struct rxtime *r, int fd, void *to, size_t len, int flags,
                    uint64_t floor_ns, uint64_t *when_ns)
{
  union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(struct timespec)) + 64];
  } control;
  struct iovec part = {to, len};
  struct msghdr m = {
      .msg_iov = &part,
      .msg_iovlen = 1,
      .msg_control = control.bytes,
      .msg_controllen = sizeof control.bytes,
  };
  uint64_t now = clock_ns(), wall;
  ssize_t got;
  if (now - r->mono_ns > PAIR_AGE)
    read_pair(r);
  got = recvmsg(fd, &m, flags);
  /* Unsigned arithmetic wraps to the right answer for stamps before the
   * pair. */
  *when_ns = got > 0 && stamp_of(&m, &wall)
                 ? clamp(r->mono_ns + (wall - r->wall_ns), floor_ns, now)
                 : clamp(now, floor_ns, now);
  return got;
}

uint64_t rxtime_peek(struct rxtime *r, int fd, uint64_t floor_ns, int *error)
{
  char byte;
  uint64_t when;
  if (rxtime_recv(r, fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT, floor_ns, &when) <
          0 &&
      errno != EAGAIN && errno != EINTR)
    *error = errno;
  return when;
}
