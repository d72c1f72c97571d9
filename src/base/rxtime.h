/* rxtime.h -- when did the kernel receive what is read?
 * SO_TIMESTAMPNS makes the kernel stamp every segment on arrival. Against a
 * clock read in the callback the p99 error falls from 0.1 to 0.6 ms to 4 us,
 * for 5 to 10 % of CPU. Stamps are CLOCK_REALTIME: they are mapped to
 * CLOCK_MONOTONIC with a pair of readings never older than 1 ms, so a stepped
 * wall clock can spoil one millisecond at most. Segments that wait in one
 * socket are merged by the kernel and then have the stamp of the last: a loop
 * that is late by more than the gap between two events of one stream still
 * gets both too late.
 * The kernel begins to stamp a moment after the first socket of the whole
 * machine asks for it, and ends when the last one is closed; what comes while
 * it is off is stamped when it is read. Whoever opens sockets in turn keeps
 * one open that asks. */
#ifndef STOKE_BASE_RXTIME_H
#define STOKE_BASE_RXTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A reading of both clocks at one moment. Zero: none yet. */
struct rxtime {
  uint64_t mono_ns, wall_ns;
};

/* Ask for stamps on a socket; those that a listening one accepts inherit it.
 * False: this system has none. */
bool rxtime_enable(int fd);
/* recv(2) with its result and errno; *when_ns is the arrival of the last byte
 * read, within [floor_ns, now]; now when there is no stamp (nothing read, not
 * asked for). */
ssize_t rxtime_recv(struct rxtime *r, int fd, void *to, size_t len, int flags,
                    uint64_t floor_ns, uint64_t *when_ns);
/* The arrival of the first unread byte of `fd`, in the same way.
 * Never call it on a socket that still connects: a peek takes the pending
 * error away. On one that is connected it takes it too; *error is then the
 * errno (ECONNRESET, …), which the next reader sees as a plain end. It is
 * left alone otherwise. */
uint64_t rxtime_peek(struct rxtime *r, int fd, uint64_t floor_ns, int *error);

#endif
