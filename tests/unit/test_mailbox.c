#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <ev.h>

#include "core/mailbox.h"

#define MESSAGES 20000

struct receiver {
  struct ev_loop *loop;
  uint64_t next;
  bool in_order;
};

static void on_message(const struct message *m, void *ud)
{
  struct receiver *r = ud;
  r->in_order = r->in_order && m->value == r->next && m->kind == 7;
  if (++r->next == MESSAGES)
    ev_break(r->loop, EVBREAK_ALL);
}

static void *send_all(void *arg)
{
  struct mailbox *m = arg;
  for (uint64_t i = 0; i < MESSAGES; i++)
    while (!mailbox_post(m, (struct message){.kind = 7, .value = i}))
      sched_yield();
  return NULL;
}

static void keep_alive(EV_P_ ev_timer *w, int revents)
{
  (void)w, (void)revents;
  ev_break(EV_A_ EVBREAK_ALL);
}

static void every_message_once_and_in_order(void **state)
{
  struct receiver r = {.in_order = true};
  struct mailbox *m;
  pthread_t thread;
  ev_timer limit;
  (void)state;
  r.loop = ev_loop_new(EVFLAG_AUTO);
  m = mailbox_new(r.loop, on_message, &r);
  ev_timer_init(&limit, keep_alive, 60, 0);
  ev_timer_start(r.loop, &limit);
  pthread_create(&thread, NULL, send_all, m);
  ev_run(r.loop, 0);
  pthread_join(thread, NULL);
  assert_int_equal(r.next, MESSAGES);
  assert_true(r.in_order);
  mailbox_free(m);
  ev_loop_destroy(r.loop);
}

static void a_full_ring_refuses(void **state)
{
  struct receiver r = {.in_order = true};
  struct mailbox *m;
  uint64_t n = 0;
  (void)state;
  r.loop = ev_loop_new(EVFLAG_AUTO);
  m = mailbox_new(r.loop, on_message, &r);
  while (mailbox_post(m, (struct message){.kind = 7, .value = n}))
    n++;
  assert_int_equal(n, 256);
  ev_run(r.loop, EVRUN_NOWAIT);
  assert_int_equal(r.next, 256);
  assert_true(mailbox_post(m, (struct message){.kind = 7, .value = n}));
  mailbox_free(m);
  ev_loop_destroy(r.loop);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_message_once_and_in_order),
      cmocka_unit_test(a_full_ring_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
