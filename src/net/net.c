/* The pool: multis, exchanges, and the order in which they get their turn. */
#include <curl/curl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/headers.h"
#include "net/net.h"
#include "net/open.h"
#include "net/origin.h"

#define PER_MULTI 128
#define READ_SIZE (16 * 1024)

/* Starting exchanges may hold up arrivals so long in one loop iteration. */
#define START_NS (2 * NS_PER_MS)

static void come_back(struct net *n)
{
  if (ev_is_active(&n->more))
    return;
  ev_timer_set(&n->more, 0, 0);
  ev_timer_start(n->loop, &n->more);
}

static void finish_all(struct net *n)
{
  struct list *node;
  while ((node = n->fed.next) != &n->fed)
    xfer_read_over(LIST_ENTRY(node, struct xfer, fed_node));
  while ((node = list_pop(&n->over)))
    xfer_finish(LIST_ENTRY(node, struct xfer, node));
  openings_step(n);
}

void net_flush(struct net *n)
{
  if (n->flushing || n->in_curl)
    return;
  n->flushing = true;
  finish_all(n);
  n->flushing = false;
  if (!list_empty(&n->ready))
    ev_prepare_start(n->loop, &n->before_sleep);
  if (!list_empty(&n->paused))
    come_back(n);
}

static bool may_start(struct net *n)
{
  if (n->iteration != ev_iteration(n->loop)) {
    n->iteration = ev_iteration(n->loop);
    n->spent_ns = 0;
  }
  return !list_empty(&n->ready) && n->spent_ns < START_NS;
}

static void start_one(struct net *n)
{
  struct list *node = list_pop(&n->ready);
  uint64_t before = clock_ns();
  xfer_begin(LIST_ENTRY(node, struct xfer, node));
  n->spent_ns += clock_ns() - before;
}

/* Those that are ready now. What their ends make ready is for the next
 * iteration: a server that answers before curl has looked back would else
 * keep us with one connection while all others wait. */
static void start_ready(struct net *n)
{
  n->flushing = true;
  finish_all(n);
  while (may_start(n))
    start_one(n);
  n->flushing = false;
  net_flush(n);
}

static void on_kick(EV_P_ ev_check *w, int revents)
{
  (void)loop;
  (void)revents;
  start_ready(w->data);
}

static void on_before_sleep(EV_P_ ev_prepare *w, int revents)
{
  struct net *n = w->data;
  (void)revents;
  ev_prepare_stop(EV_A_ w);
  start_ready(n);
  if (!list_empty(&n->ready) || !list_empty(&n->over))
    come_back(n); /* don't sleep */
}

void net_schedule(struct net *n)
{
  /* A fed event is the next to be invoked, before other sockets that are
   * ready. What the end of an exchange starts goes out together with what the
   * others start that end in this iteration. */
  if (!n->flushing && !n->in_curl)
    ev_feed_event(n->loop, &n->kick, EV_CUSTOM);
}

/* Each of the paused once; who pauses again meanwhile is for next time. */
static void resume_paused(struct net *n)
{
  struct list now, *node;
  if (list_empty(&n->paused))
    return;
  now = n->paused;
  now.next->prev = now.prev->next = &now;
  list_init(&n->paused);
  while ((node = list_pop(&now)))
    xfer_resume(LIST_ENTRY(node, struct xfer, pause_node));
}

static void on_more(EV_P_ ev_timer *w, int revents)
{
  struct net *n = w->data;
  (void)loop;
  (void)revents;
  resume_paused(n);
  net_flush(n);
}

static void on_ready(struct sock *k, int revents)
{
  struct net *n = ((struct xfer *)k->owner)->net;
  multi_ready(k, revents);
  net_flush(n);
}

static void on_name(struct name *name, void *ud)
{
  struct net *n = ud;
  struct list *i = n->unnamed.next, *next;
  for (; i != &n->unnamed; i = next) {
    struct xfer *x = LIST_ENTRY(i, struct xfer, node);
    next = i->next;
    if (x->target->name == name)
      xfer_name_answered(x);
  }
  net_schedule(n);
}

/* ---- the pool ---- */

static struct multi *add_multi(struct net *n)
{
  n->multis = mem_resize(n->multis, n->n_multis + 1, sizeof *n->multis);
  return n->multis[n->n_multis++] = multi_new(n);
}

/* Where a connection waits to be used: the one used last, which is likeliest
 * to be alive, so that the same few serve as long as they are enough. */
static struct multi *with_connection(struct net *n)
{
  struct multi *best = NULL;
  for (unsigned i = 0; i < n->n_multis; i++) {
    struct multi *m = n->multis[i];
    if (m->open > m->busy && (!best || m->recent > best->recent))
      best = m;
  }
  return best;
}

static struct multi *least_busy(struct net *n)
{
  struct multi *best = NULL;
  for (unsigned i = 0; i < n->n_multis; i++)
    if (!best || n->multis[i]->busy < best->busy)
      best = n->multis[i];
  return best && best->busy < n->config.per_multi ? best : add_multi(n);
}

struct xfer *net_take(struct net *n)
{
  struct multi *m = with_connection(n);
  struct list *node;
  if (!m)
    m = least_busy(n);
  m->busy++;
  node = m->idle.prev;
  if (node == &m->idle)
    return xfer_new(n, m);
  list_remove(node);
  return LIST_ENTRY(node, struct xfer, node);
}

void net_leave(struct xfer *x)
{
  x->multi->busy--;
  x->multi->recent = ++x->net->leaves;
}

void net_give(struct xfer *x)
{
  list_append(&x->multi->idle, &x->node);
}

static char *own(const char *s)
{
  return s ? mem_strdup(s) : NULL;
}

static void own_config(struct net *n, const struct net_config *c)
{
  struct net_config *o = &n->config;
  *o = *c;
  o->per_multi = c->per_multi ? c->per_multi : PER_MULTI;
  o->read_size = c->read_size ? c->read_size : READ_SIZE;
  o->connect_timeout_ns =
      c->connect_timeout_ns ? c->connect_timeout_ns : NET_CONNECT_NS;
  o->cacert = own(c->cacert ? c->cacert : getenv("SSL_CERT_FILE"));
  o->proxy = own(c->proxy);
}

/* A socket that asks for stamps, and stays: else the kernel would begin and
 * end with every connection of a run that has one at a time. */
static int open_stamped(void)
{
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && rxtime_enable(fd))
    return fd;
  if (fd >= 0)
    close(fd);
  return -1;
}

struct net *net_new(struct ev_loop *loop, const struct net_config *c)
{
  struct net *n = mem_new(struct net);
  unsigned multis;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  n->loop = loop;
  own_config(n, c);
  list_init(&n->ready);
  list_init(&n->unnamed);
  list_init(&n->running);
  list_init(&n->openings);
  list_init(&n->over);
  list_init(&n->paused);
  list_init(&n->fed);
  socks_init(&n->socks, loop, on_ready);
  n->names = names_new(loop, on_name, n);
  targets_init(&n->targets, n->names, n->config.proxy);
  n->share = curl_share_init();
  curl_share_setopt(n->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
  curl_share_setopt(n->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
  n->stamped = c->kernel_times ? open_stamped() : -1;
  n->clock = n->stamped >= 0 ? NET_CLOCK_KERNEL : NET_CLOCK_READABLE;
  ev_check_init(&n->kick, on_kick);
  ev_prepare_init(&n->before_sleep, on_before_sleep);
  ev_timer_init(&n->more, on_more, 0, 0);
  n->kick.data = n->before_sleep.data = n->more.data = n;
  n->no_headers = xfer_headers_new();
  multis = (c->connections + n->config.per_multi - 1) / n->config.per_multi;
  while (n->n_multis < multis)
    add_multi(n);
  return n;
}

static void free_all(struct list *xfers)
{
  struct list *node;
  while ((node = list_pop(xfers)))
    xfer_free(LIST_ENTRY(node, struct xfer, node));
}

void net_free(struct net *n)
{
  if (!n)
    return;
  n->in_curl = true; /* nothing is scheduled any more */
  openings_free(n);
  free_all(&n->ready);
  free_all(&n->over);
  free_all(&n->unnamed);
  free_all(&n->running);
  for (unsigned i = 0; i < n->n_multis; i++) {
    free_all(&n->multis[i]->idle);
    multi_free(n->multis[i]);
  }
  curl_share_cleanup(n->share);
  targets_deinit(&n->targets);
  names_free(n->names);
  ev_timer_stop(n->loop, &n->more);
  ev_prepare_stop(n->loop, &n->before_sleep);
  ev_clear_pending(n->loop, &n->kick);
  socks_deinit(&n->socks);
  if (n->stamped >= 0)
    close(n->stamped);
  xfer_headers_unref(n->no_headers);
  mem_free(n->multis);
  mem_free((char *)n->config.cacert);
  mem_free((char *)n->config.proxy);
  mem_free(n);
  curl_global_cleanup();
}

enum net_clock net_clock(const struct net *n)
{
  return n->clock;
}

struct net_counts net_counts(const struct net *n)
{
  return n->counts;
}

const char *net_version(void)
{
  return curl_version() + sizeof "libcurl/" - 1;
}

const char *net_proxy_for(const char *setting, const char *url, char out[256])
{
  struct origin o;
  const char *proxy;
  if (origin_parse(str_of(url), &o) != 0)
    return NULL;
  proxy = proxy_for(setting, &o);
  return proxy ? proxy_show(proxy, out) : NULL;
}
