#include "cli/limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

/* Standard streams, result files, data sets, a resolver's sockets … */
#define OTHERS 32
/* … and per thread: epoll, eventfd, timerfds, resolver threads' sockets. */
#define PER_THREAD 16

uint64_t limits_raise_files(void)
{
  struct rlimit l;
  if (getrlimit(RLIMIT_NOFILE, &l) < 0)
    return UINT64_MAX;
  if (l.rlim_cur < l.rlim_max) {
    struct rlimit raised = {l.rlim_max, l.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
      l = raised;
  }
  return l.rlim_cur == RLIM_INFINITY ? UINT64_MAX : l.rlim_cur;
}

uint64_t limits_open_files(void)
{
  int next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (next < 0)
    return 0;
  close(next);
  return (uint64_t)next;
}

int limits_check_files(uint64_t connections, unsigned threads, uint64_t allowed,
                       const char *place, struct err *e)
{
  uint64_t own = OTHERS + PER_THREAD * (uint64_t)(threads ? threads : 1);
  uint64_t room = allowed > own ? allowed - own : 0;
  if (connections <= room)
    return 0;
  return err_add(e,
                 "%s: needs %" PRIu64 " open files, and this process may have "
                 "%" PRIu64 ": raise the limit (ulimit -n %" PRIu64
                 ", as root or in limits.conf) or stay at or below %" PRIu64,
                 place, connections + own, allowed, connections + own, room);
}
