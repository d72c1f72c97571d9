/* libcurl's easy interface: options, and the callbacks. */
#include "net/easy.h"

#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/deadline.h"
#include "net/headers.h"
#include "net/net.h"

/* Reads of one turn may deliver this many buffers before the others get
 * theirs: curl alone would read up to 100 from one fast stream. */
#define RATION 4

struct id_line {
  struct curl_slist line;
  char text[112];
};

uint64_t easy_body_sent(struct xfer *x)
{
  curl_off_t sent = 0;
  curl_easy_getinfo(x->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
  return (uint64_t)sent;
}

/* ---- curl's callbacks ---- */

/* curl would try a name's addresses in the same order for every connection. */
static void rotate_address(struct xfer *x, struct curl_sockaddr *a)
{
  const struct sockaddr *turn = NULL;
  if (x->target->name)
    turn = name_next(x->target->name, a->family);
  if (!turn)
    return;
  memcpy(&a->addr, turn, a->addrlen);
  if (a->family == AF_INET)
    ((struct sockaddr_in *)(void *)&a->addr)->sin_port =
        htons((uint16_t)x->target->name->port);
  else
    ((struct sockaddr_in6 *)(void *)&a->addr)->sin6_port =
        htons((uint16_t)x->target->name->port);
}

static curl_socket_t on_open(void *xfer, curlsocktype purpose,
                             struct curl_sockaddr *a)
{
  struct xfer *x = xfer;
  struct net *n = x->net;
  int fd = socks_open(&n->socks, a->family, a->socktype, a->protocol);
  (void)purpose;
  x->wired = false;
  if (x->attempts) { /* the connection before had its time */
    x->opening_ns = clock_ns();
    deadline_arm(x);
  }
  x->os_errno = fd < 0 ? errno : 0;
  if (fd < 0)
    return CURL_SOCKET_BAD;
  x->opened[1] = x->opened[0];
  x->opened[0] = fd;
  rotate_address(x, a);
  if (n->clock == NET_CLOCK_KERNEL)
    rxtime_enable(fd);
  return fd;
}

static int on_close(void *multi, curl_socket_t fd)
{
  struct multi *m = multi;
  if (socks_get(&m->net->socks, fd)->kept)
    m->open--;
  return socks_close(&m->net->socks, fd);
}

static int local_port_of(int fd)
{
  struct sockaddr_storage a;
  socklen_t len = sizeof a;
  if (getsockname(fd, (struct sockaddr *)&a, &len) != 0)
    return -1;
  return ntohs(a.ss_family == AF_INET6
                   ? ((struct sockaddr_in6 *)(void *)&a)->sin6_port
                   : ((struct sockaddr_in *)(void *)&a)->sin_port);
}

/* Of the sockets opened last (two may race, over IPv4 and IPv6) this is the
 * one that became the connection. */
static void keep_connected(struct xfer *x, int local_port)
{
  for (int i = 0; i < 2; i++) {
    int fd = x->opened[i];
    if (fd < 0 || local_port_of(fd) != local_port)
      continue;
    sock_keep(socks_get(&x->net->socks, fd));
    x->multi->open++;
    return;
  }
}

static uint64_t curl_ns(struct xfer *x, CURLINFO which)
{
  curl_off_t us = 0;
  curl_easy_getinfo(x->easy, which, &us);
  return (uint64_t)us * NS_PER_US;
}

static void count_connection(struct xfer *x)
{
  struct net_counts *c = &x->net->counts;
  uint64_t named = curl_ns(x, CURLINFO_NAMELOOKUP_TIME_T);
  uint64_t connected = curl_ns(x, CURLINFO_CONNECT_TIME_T);
  c->opened++;
  c->dns_ns += named + x->name_wait_ns;
  c->connect_ns += ns_since(named, connected);
  c->tls_ns += ns_since(connected, curl_ns(x, CURLINFO_APPCONNECT_TIME_T));
}

/* The connection stands; the request goes out when this returns. */
static int on_connected(void *xfer, char *ip, char *local_ip, int port,
                        int local_port)
{
  struct xfer *x = xfer;
  long connects = 0;
  (void)local_ip, (void)port;
  curl_easy_getinfo(x->easy, CURLINFO_NUM_CONNECTS, &connects);
  x->wired = true;
  x->os_errno = 0;
  x->info.reused = connects == 0;
  x->info.connected_ns = connects ? clock_ns() : x->info.sent_ns;
  if (connects) {
    xfer_copy(x->info.peer, sizeof x->info.peer, str_of(ip));
    keep_connected(x, local_port);
    count_connection(x);
  } else
    x->net->counts.reused++;
  if (x->open_only) {
    /* Now, and not before it connected: then the connection is an ordinary
     * one, which others may use later. */
    curl_easy_setopt(x->easy, CURLOPT_CONNECT_ONLY, 1L);
    return CURL_PREREQFUNC_OK;
  }
  if (x->attempts++ > 0) {
    x->info.retries++;
    x->net->counts.retries++;
  }
  if (x->info.reused) /* should it prove dead, try a new one, not the next */
    curl_easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, 1L);
  return CURL_PREREQFUNC_OK;
}

static double retry_after(struct str value)
{
  char text[64], *end;
  double seconds;
  time_t date;
  xfer_copy(text, sizeof text, value);
  seconds = strtod(text, &end);
  if (end > text && *end == '\0')
    return seconds >= 0 ? seconds : -1;
  date = curl_getdate(text, NULL);
  if (date < 0)
    return -1;
  seconds = (double)date - (double)clock_wall_ns() / 1e9;
  return seconds > 0 ? seconds : 0;
}

static void take_header(struct xfer *x, struct str name, struct str value)
{
  struct xfer_info *i = &x->info;
  if (str_ieq(name, STR("content-type"))) {
    xfer_copy(i->content_type, sizeof i->content_type, value);
    for (char *c = i->content_type; *c; c++)
      if (*c >= 'A' && *c <= 'Z')
        *c += 'a' - 'A';
  } else if (str_ieq(name, STR("retry-after")))
    i->retry_after_s = retry_after(value);
  else if (str_ieq(name, STR("location")))
    xfer_copy(i->location, sizeof i->location, value);
  else if (str_ieq(name, STR("content-encoding")))
    xfer_copy(x->encoding, sizeof x->encoding, value);
}

static void keep_header(struct xfer *x, struct str name, struct str value)
{
  struct buf *b = &x->header_lines;
  buf_addstr(b, name);
  buf_adds(b, ": ");
  buf_addstr(b, value);
  buf_addc(b, '\n');
}

/* A status line starts a head, perhaps after those of 1xx answers. */
static void start_head(struct xfer *x, struct str line)
{
  struct str rest = line;
  x->info.http_1_0 = str_eq(str_split(&rest, ' '), STR("HTTP/1.0"));
  x->info.status = rest.p ? atoi(rest.p) : 0;
  x->info.content_type[0] = x->info.location[0] = x->encoding[0] = '\0';
  x->info.retry_after_s = -1;
  buf_reset(&x->header_lines);
}

/* An answer may overtake our noticing that the request is out. */
static void head_follows_request(struct xfer *x)
{
  struct xfer_info *i = &x->info;
  if (i->written_ns > i->headers_ns)
    i->written_ns = i->headers_ns;
  if (!i->written_ns && easy_body_sent(x) == x->body.len)
    i->written_ns = i->headers_ns;
}

static void end_head(struct xfer *x)
{
  if (x->info.status < 200 && x->info.status != 101)
    return;
  x->head_complete = true;
  x->info.headers_ns = xfer_arrival(x);
  head_follows_request(x);
  if (x->ops->headers)
    x->ops->headers(x, x->ud);
}

static size_t on_header(char *p, size_t size, size_t n, void *xfer)
{
  struct xfer *x = xfer;
  struct str line = str_trim((struct str){p, size * n}), value = line, name;
  if (x->state != XFER_RUNNING)
    return 0;
  if (x->head_complete) /* trailers */
    return size * n;
  if (str_istarts(line, STR("HTTP/")))
    start_head(x, line);
  else if (line.len == 0)
    end_head(x);
  else {
    name = str_trim(str_split(&value, ':'));
    value = str_trim(value);
    take_header(x, name, value);
    if (x->keep_headers)
      keep_header(x, name, value);
  }
  return x->state == XFER_RUNNING ? size * n : 0;
}

static void take_first_byte(struct xfer *x, uint64_t at_ns)
{
  x->info.first_byte_ns = at_ns;
  deadline_arm(x); /* idleness counts from here */
}

static size_t on_body(char *p, size_t size, size_t n, void *xfer)
{
  struct xfer *x = xfer;
  size_t len = size * n;
  uint64_t at;
  if (x->state != XFER_RUNNING)
    return 0;
  if (x->turn_bytes >= (size_t)RATION * x->net->config.read_size) {
    list_append(&x->net->paused, &x->pause_node);
    return CURL_WRITEFUNC_PAUSE;
  }
  at = xfer_arrival_of(x, p);
  x->turn_bytes += len;
  x->info.bytes_in += len;
  x->info.last_byte_ns = at;
  if (!x->info.first_byte_ns)
    take_first_byte(x, at);
  if (x->ops->read_over && !list_linked(&x->fed_node))
    list_append(&x->net->fed, &x->fed_node);
  if (x->ops->data && x->ops->data(x, p, len, at, x->ud) != 0)
    xfer_end(x, OUTCOME_CANCELLED, "cancelled while the answer came in");
  return x->state == XFER_RUNNING ? len : 0;
}

/* ---- options ---- */

/* Where no TLS is spoken there is no need for the names of certificate files,
 * which curl copies several times for every request. */
static void set_authorities(struct xfer *x, const struct target *g)
{
  const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
  const char *file = x->net->config.cacert;
  bool tls = g->secure || g->proxy[0];
  if (!file)
    file = v->cainfo;
  curl_easy_setopt(x->easy, CURLOPT_CAINFO, tls ? file : NULL);
  curl_easy_setopt(x->easy, CURLOPT_CAPATH, tls ? v->capath : NULL);
  curl_easy_setopt(x->easy, CURLOPT_PROXY_CAINFO, tls ? file : NULL);
  curl_easy_setopt(x->easy, CURLOPT_PROXY_CAPATH, tls ? v->capath : NULL);
}

static void set_target(struct xfer *x, const char *url)
{
  struct target *g;
  if (x->target && strcmp(x->target->url, url) == 0)
    return;
  g = targets_get(&x->net->targets, url);
  curl_easy_setopt(x->easy, CURLOPT_URL, NULL);
  curl_easy_setopt(x->easy, CURLOPT_CURLU, g->parsed);
  /* Never NULL: curl would then ask the environment by itself. */
  curl_easy_setopt(x->easy, CURLOPT_PROXY, g->proxy);
  set_authorities(x, g);
  target_unref(x->target);
  x->target = g;
}

static long max_idle_seconds(const struct net *n)
{
  uint64_t seconds = n->config.max_idle_ns / NS_PER_SEC;
  return seconds ? (long)seconds : 1;
}

/* What is the same for every request of the handle. */
static void set_up(struct xfer *x)
{
  struct net *n = x->net;
  CURL *c = x->easy;
  curl_easy_setopt(c, CURLOPT_PRIVATE, x);
  curl_easy_setopt(c, CURLOPT_SHARE, n->share);
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, x->info.message);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_NOPROGRESS, 1L);
  curl_easy_setopt(c, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_BUFFERSIZE, (long)n->config.read_size);
  /* The header itself is in headers.c. That this is set makes curl decode what
   * comes compressed all the same. */
  curl_easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "identity");
  curl_easy_setopt(c, CURLOPT_NOPROXY, "");
  curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L); /* wait for no resolver */
  if (n->config.max_idle_ns)
    curl_easy_setopt(c, CURLOPT_MAXAGE_CONN, max_idle_seconds(n));
  /* The deadline is ours: curl's would cost it a timer for each request. It
   * has one of 300 s by itself, which must not come first. */
  if (n->config.connect_timeout_ns > 250 * NS_PER_SEC)
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(n->config.connect_timeout_ns / NS_PER_MS + 1000));
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, n->config.insecure ? 0L : 1L);
  curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, n->config.insecure ? 0L : 2L);
  curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, on_open);
  curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, x);
  curl_easy_setopt(c, CURLOPT_CLOSESOCKETFUNCTION, on_close);
  curl_easy_setopt(c, CURLOPT_CLOSESOCKETDATA, x->multi);
  curl_easy_setopt(c, CURLOPT_PREREQFUNCTION, on_connected);
  curl_easy_setopt(c, CURLOPT_PREREQDATA, x);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, x);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, x);
}

static void set_request(struct xfer *x, const char *method)
{
  CURL *c = x->easy;
  bool head = strcmp(method, "HEAD") == 0;
  bool post = strcmp(method, "POST") == 0;
  curl_easy_setopt(c, CURLOPT_NOBODY, head ? 1L : 0L);
  if (post || x->body.len) {
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, x->body.p ? x->body.p : "");
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.len);
  } else if (!head)
    curl_easy_setopt(c, CURLOPT_HTTPGET, 1L);
  curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST,
                   post || head || (strcmp(method, "GET") == 0 && !x->body.len)
                       ? NULL
                       : method);
}

/* The shared list as it is, or with a line of this exchange in front of it. */
static void set_headers(struct xfer *x, const char *request_id)
{
  struct curl_slist *list = xfer_headers_list(x->headers);
  if (request_id && !xfer_headers_has(x->headers, STR("x-request-id"))) {
    if (!x->id)
      x->id = mem_new(struct id_line);
    snprintf(x->id->text, sizeof x->id->text, "x-request-id: %s", request_id);
    x->id->line = (struct curl_slist){.data = x->id->text, .next = list};
    list = &x->id->line;
  }
  curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, list);
}

/* The answer about a name goes into the cache that all handles share, by way
 * of the first that needs it. */
static struct curl_slist *new_addresses(struct name *name)
{
  struct buf line = {0};
  struct curl_slist *list;
  name_print(name, &line);
  list = curl_slist_append(NULL, buf_cstr(&line));
  buf_free(&line);
  return list;
}

void easy_launch(struct xfer *x)
{
  struct name *name = x->target->name;
  struct curl_slist *addresses = NULL;
  bool fresh = x->own_connection || x->open_only;
  if (name && name->used_generation != name->generation) {
    name->used_generation = name->generation;
    addresses = new_addresses(name);
  }
  curl_easy_setopt(x->easy, CURLOPT_RESOLVE, addresses);
  curl_easy_setopt(x->easy, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
  curl_easy_setopt(x->easy, CURLOPT_FORBID_REUSE, x->own_connection ? 1L : 0L);
  x->added = true;
  multi_add(x->multi, x);
  if (addresses) {
    curl_easy_setopt(x->easy, CURLOPT_RESOLVE, NULL);
    curl_slist_free_all(addresses);
  }
}

void easy_init(struct xfer *x)
{
  x->easy = curl_easy_init();
  set_up(x);
}

void easy_deinit(struct xfer *x)
{
  curl_easy_cleanup(x->easy);
  target_unref(x->target);
  mem_free(x->id);
}

void easy_renew(struct xfer *x)
{
  curl_easy_reset(x->easy);
  target_unref(x->target);
  x->target = NULL;
  set_up(x);
}

void easy_prepare(struct xfer *x, const struct xfer_request *r)
{
  set_target(x, r->url);
  set_request(x, r->method);
  set_headers(x, r->request_id);
}

int easy_errno(struct xfer *x)
{
  long e = 0;
  curl_easy_getinfo(x->easy, CURLINFO_OS_ERRNO, &e);
  return (int)e;
}

int easy_resume(struct xfer *x)
{
  return (int)curl_easy_pause(x->easy, CURLPAUSE_CONT);
}

void easy_nudge(struct xfer *x)
{
  curl_easy_pause(x->easy, CURLPAUSE_RECV);
  curl_easy_pause(x->easy, CURLPAUSE_CONT);
}

void easy_leave(struct xfer *x)
{
  if (x->open_only) /* or curl would close the connection as it leaves */
    curl_easy_setopt(x->easy, CURLOPT_CONNECT_ONLY, 0L);
  multi_remove(x->multi, x);
}
