#include "core/mailbox.h"

#include <ev.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/mem.h"

#define RING 256u /* a power of two */

struct mailbox {
  struct message ring[RING];
  /* head: next to take, tail: next to fill; both only ever grow. */
  _Atomic unsigned head, tail;
  struct ev_loop *loop;
  ev_async wake;
  mailbox_receive_cb *receive;
  void *ud;
};

void mailbox_drain(struct mailbox *m)
{
  unsigned head;
  while ((head = atomic_load_explicit(&m->head, memory_order_relaxed)) !=
         atomic_load_explicit(&m->tail, memory_order_acquire)) {
    struct message msg = m->ring[head % RING];
    atomic_store_explicit(&m->head, head + 1, memory_order_release);
    m->receive(&msg, m->ud);
  }
}

static void on_wake(EV_P_ ev_async *w, int revents)
{
  (void)loop, (void)revents;
  mailbox_drain(w->data);
}

struct mailbox *mailbox_new(struct ev_loop *loop, mailbox_receive_cb *receive,
                            void *ud)
{
  struct mailbox *m = mem_new(struct mailbox);
  m->loop = loop;
  m->receive = receive;
  m->ud = ud;
  ev_async_init(&m->wake, on_wake);
  m->wake.data = m;
  ev_async_start(loop, &m->wake);
  ev_unref(loop);
  return m;
}

void mailbox_free(struct mailbox *m)
{
  if (!m)
    return;
  ev_ref(m->loop);
  ev_async_stop(m->loop, &m->wake);
  mem_free(m);
}

bool mailbox_post(struct mailbox *m, struct message msg)
{
  unsigned tail = atomic_load_explicit(&m->tail, memory_order_relaxed);
  if (tail - atomic_load_explicit(&m->head, memory_order_acquire) == RING)
    return false;
  m->ring[tail % RING] = msg;
  atomic_store_explicit(&m->tail, tail + 1, memory_order_release);
  ev_async_send(m->loop, &m->wake);
  return true;
}
