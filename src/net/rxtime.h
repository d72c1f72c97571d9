/* rxtime.h -- when did the kernel receive what is about to be read?
 * SO_TIMESTAMPNS makes the kernel stamp every segment on arrival; peeking at
 * one byte just before a read tells the stamp of the first unread segment.
 * Against a clock read in the callback the p99 error falls from 0.1 to
 * 0.6 ms to 4 us, for 5 to 10 % of CPU. Stamps are CLOCK_REALTIME: they are
 * mapped to CLOCK_MONOTONIC with a pair of readings never older than 1 ms,
 * so a stepped wall clock can spoil one millisecond at most. Segments that
 * wait in one socket are merged by the kernel and then have the stamp of the
 * last: a loop that is late by more than the gap between two events of one
 * stream still gets both too late. */
#ifndef STOKE_NET_RXTIME_H
#define STOKE_NET_RXTIME_H

#include <stdbool.h>
#include <stdint.h>

/* A reading of both clocks at one moment. Zero: none yet. */
struct rxtime {
  uint64_t mono_ns, wall_ns;
};

/* Ask for stamps on a socket. False: this system has none. */
bool rxtime_enable(int fd);
/* The arrival of the first unread byte of `fd`, within [floor_ns, now]; now
 * when there is no stamp (nothing to read, no kernel support).
 * Never call it on a socket that still connects: a peek takes the pending
 * error away. On one that is connected it takes it too; *error is then the
 * errno (ECONNRESET, …), which the next reader sees as a plain end. It is
 * left alone otherwise. */
uint64_t rxtime_peek(struct rxtime *r, int fd, uint64_t floor_ns, int *error);

#endif
