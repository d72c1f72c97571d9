#include "net/names.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"

#define GOOD_FOR (60 * NS_PER_SEC)

/* What the threads may touch. Outlives the names until the last thread is
 * through, since nobody can hurry getaddrinfo. */
struct desk {
  pthread_mutex_t lock;
  unsigned users; /* the names and every thread */
  bool open;      /* the names are still there */
  struct list answers;
  struct ev_loop *loop;
  ev_async wake;
};

struct lookup {
  struct list node;
  struct desk *desk;
  struct name *name; /* never looked into by the thread */
  char *host;
  int error, os_error;
  struct addrinfo *found;
};

struct names {
  struct list all;
  struct desk *desk;
  names_cb *cb;
  void *ud;
};

static void desk_leave(struct desk *d)
{
  unsigned users;
  pthread_mutex_lock(&d->lock);
  users = --d->users;
  pthread_mutex_unlock(&d->lock);
  if (users)
    return;
  pthread_mutex_destroy(&d->lock);
  mem_free(d);
}

static void lookup_free(struct lookup *l)
{
  if (l->found)
    freeaddrinfo(l->found);
  mem_free(l->host);
  mem_free(l);
}

static void hand_in(struct lookup *l)
{
  struct desk *d = l->desk;
  bool open;
  pthread_mutex_lock(&d->lock);
  open = d->open;
  if (open) {
    list_append(&d->answers, &l->node);
    ev_async_send(d->loop, &d->wake);
  }
  pthread_mutex_unlock(&d->lock);
  if (!open)
    lookup_free(l);
}

static void *look_up(void *arg)
{
  struct lookup *l = arg;
  struct desk *d = l->desk;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
  l->error = getaddrinfo(l->host, NULL, &hints, &l->found);
  l->os_error = errno;
  hand_in(l); /* may be gone now */
  desk_leave(d);
  return NULL;
}

static size_t keep_addresses(struct name *name, const struct addrinfo *a)
{
  size_t n = 0;
  for (const struct addrinfo *i = a; i; i = i->ai_next)
    n++;
  mem_free(name->addresses);
  name->addresses = mem_zalloc(n, sizeof *name->addresses);
  name->n_addresses = 0;
  for (; a; a = a->ai_next)
    if (a->ai_family == AF_INET || a->ai_family == AF_INET6)
      memcpy(&name->addresses[name->n_addresses++], a->ai_addr, a->ai_addrlen);
  return name->n_addresses;
}

static void take(struct name *name, const struct lookup *l)
{
  name->asking = false;
  name->generation++;
  if (l->error == 0 && keep_addresses(name, l->found)) {
    name->state = NAME_READY;
    return;
  }
  if (name->state == NAME_READY)
    return; /* the old answer is better than none */
  name->state = NAME_FAILED;
  snprintf(
      name->error, sizeof name->error, "cannot resolve %.60s: %s", name->host,
      l->error == EAI_SYSTEM ? strerror(l->os_error) : gai_strerror(l->error));
}

static struct lookup *next_answer(struct desk *d)
{
  struct list *node;
  pthread_mutex_lock(&d->lock);
  node = list_pop(&d->answers);
  pthread_mutex_unlock(&d->lock);
  return node ? LIST_ENTRY(node, struct lookup, node) : NULL;
}

static void on_wake(EV_P_ ev_async *w, int revents)
{
  struct names *n = w->data;
  struct lookup *l;
  (void)loop;
  (void)revents;
  while ((l = next_answer(n->desk))) {
    take(l->name, l);
    n->cb(l->name, n->ud);
    lookup_free(l);
  }
}

struct names *names_new(struct ev_loop *loop, names_cb *cb, void *ud)
{
  struct names *n = mem_new(struct names);
  struct desk *d = n->desk = mem_new(struct desk);
  list_init(&n->all);
  n->cb = cb;
  n->ud = ud;
  pthread_mutex_init(&d->lock, NULL);
  list_init(&d->answers);
  d->users = 1;
  d->open = true;
  d->loop = loop;
  ev_async_init(&d->wake, on_wake);
  d->wake.data = n;
  ev_async_start(loop, &d->wake);
  return n;
}

void names_free(struct names *n)
{
  struct desk *d = n->desk;
  struct lookup *l;
  struct list *node;
  pthread_mutex_lock(&d->lock);
  d->open = false;
  pthread_mutex_unlock(&d->lock);
  ev_async_stop(d->loop, &d->wake);
  while ((l = next_answer(d)))
    lookup_free(l);
  desk_leave(d);
  while ((node = list_pop(&n->all))) {
    struct name *name = LIST_ENTRY(node, struct name, node);
    mem_free(name->addresses);
    mem_free(name->host);
    mem_free(name);
  }
  mem_free(n);
}

struct name *names_get(struct names *n, struct str host, unsigned port)
{
  struct name *name;
  for (struct list *i = n->all.next; i != &n->all; i = i->next) {
    name = LIST_ENTRY(i, struct name, node);
    if (name->port == port && str_ieq(str_of(name->host), host))
      return name;
  }
  name = mem_new(struct name);
  name->host = mem_strndup(host.p, host.len);
  name->port = port;
  name->in = n;
  list_append(&n->all, &name->node);
  return name;
}

static void start(struct name *name)
{
  struct desk *d = name->in->desk;
  struct lookup *l = mem_new(struct lookup);
  pthread_t thread;
  int error;
  l->desk = d;
  l->name = name;
  l->host = mem_strdup(name->host);
  pthread_mutex_lock(&d->lock);
  d->users++;
  pthread_mutex_unlock(&d->lock);
  error = pthread_create(&thread, NULL, look_up, l);
  if (error == 0) { /* `l` is the thread's now */
    pthread_detach(thread);
    return;
  }
  l->error = EAI_SYSTEM;
  l->os_error = error;
  hand_in(l);
  desk_leave(d);
}

void name_ask(struct name *name)
{
  uint64_t now = clock_ns();
  if (name->asking ||
      (name->state == NAME_READY && now - name->asked_ns < GOOD_FOR))
    return;
  name->asking = true;
  name->asked_ns = now;
  if (name->state == NAME_FAILED)
    name->state = NAME_PENDING;
  start(name);
}

const struct sockaddr *name_next(struct name *name, int family)
{
  for (size_t i = 0; i < name->n_addresses; i++) {
    size_t at = name->next++ % name->n_addresses;
    if (name->addresses[at].ss_family == family)
      return (const struct sockaddr *)&name->addresses[at];
  }
  return NULL;
}

static socklen_t length_of(const struct sockaddr_storage *a)
{
  return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                  : sizeof(struct sockaddr_in);
}

void name_print(const struct name *name, struct buf *out)
{
  char text[64];
  buf_addf(out, "%s:%u:", name->host, name->port);
  for (size_t i = 0; i < name->n_addresses; i++) {
    const struct sockaddr_storage *a = &name->addresses[i];
    bool six = a->ss_family == AF_INET6;
    if (getnameinfo((const struct sockaddr *)a, length_of(a), text, sizeof text,
                    NULL, 0, NI_NUMERICHOST) != 0)
      continue;
    buf_addf(out, "%s%s%s%s", i ? "," : "", six ? "[" : "", text,
             six ? "]" : "");
  }
}
