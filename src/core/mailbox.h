/* mailbox.h -- where the threads of a run meet.
 * A ring of small messages with one sender and one receiver, and an ev_async
 * that wakes the receiver's loop. Wake-ups coalesce: the receiver drains the
 * ring until it is empty. */
#ifndef STOKE_CORE_MAILBOX_H
#define STOKE_CORE_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

struct ev_loop;

struct message {
  int kind; /* meaning is the two parties' */
  uint64_t value;
  void *ptr; /* ownership goes with the message */
};

struct mailbox;

/* `receive` runs on the receiver's loop, once per message. */
typedef void mailbox_receive_cb(const struct message *m, void *ud);

/* Made by the receiver's side before the sender starts. Does not keep the
 * loop alive. */
struct mailbox *mailbox_new(struct ev_loop *loop, mailbox_receive_cb *receive,
                            void *ud);
/* Neither side may be using it any more; messages still inside are dropped. */
void mailbox_free(struct mailbox *m);
/* Receive what is inside now, on the receiver's thread: at the end, when its
 * loop runs no more but messages own memory. */
void mailbox_drain(struct mailbox *m);
/* From the sender's thread. False when the ring is full (then nothing was
 * posted): the protocols here never have more than a few under way. */
bool mailbox_post(struct mailbox *m, struct message msg);

#endif
