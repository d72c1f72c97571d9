/* rxtime.h -- reading, and when the kernel received what was read.
 * A server that is busy reads late: the kernel's receive time says when a
 * request was really there, and the answer's times count from it. */
#ifndef STOKE_MOCK_RXTIME_H
#define STOKE_MOCK_RXTIME_H

#include <stdint.h>
#include <sys/types.h>

/* The kernel stamps with CLOCK_REALTIME; this maps it to the monotonic
 * clock, afresh each millisecond. Zeroed is fine. */
struct mock_rxtime {
  uint64_t at, offset;
};

/* Ask for stamps on a socket; those that a listening one accepts inherit
 * it. */
void mock_rxtime_enable(int fd);
/* recv(2), and in *when (monotonic ns) the receive time of its last byte;
 * the present without a stamp. Never later than the present. */
ssize_t mock_rxtime_recv(struct mock_rxtime *t, int fd, void *to, size_t len,
                         uint64_t *when);

#endif
