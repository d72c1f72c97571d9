/* sender -- the stream sender: the server that the benches measure against.
 * One thread, epoll, prepared bytes. It must stay ahead of every client, so it
 * does nothing that a server would do beyond sending, and it reports how late
 * it was itself: a bench in which the sender fell behind is void.
 *
 *   sender [--port N]          prints "port N" once it listens
 *
 * What a request gets is in its path:
 *   /blast?tokens=1000         that many events as fast as the socket takes
 *   /paced?tokens=100&ttft_us=50000&itl_us=10000   one event, one send;
 *                              &stamp=1: with its instant
 *   /one                       an answer of one event
 *   /lag                       JSON: how late events went out since the last
 *                              /lag (p50, p99, max), and how many had to wait
 *                              for the socket
 * Every event is a chat completion chunk of 225 bytes of JSON, in an HTTP
 * chunk of its own, and holds "sent_ns": 0, so that events differ in nothing,
 * as those of a server differ in their text alone; or, where asked for, the
 * monotonic clock just before the send. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define JSON_BYTES 225
#define MAX_EVENTS 512

struct stream {
  int fd;
  bool writable_wanted, dead;
  char in[8192];
  size_t in_len, body_left;
  /* what goes out: a prepared answer … */
  const char *out;
  size_t out_len, out_at;
  char *own; /* … perhaps made for this stream alone */
  /* … or events at their times */
  unsigned left;
  uint64_t due_ns, itl_ns;
  bool stamped;
  size_t heap_at; /* 1-based; 0: not in it */
};

static struct stream *by_fd[1 << 16];
static struct stream *heap[1 << 16];
static size_t heap_n;
static int poller;
static struct sample lag;
static uint64_t blocked, sends;

/* ---- a heap of streams by due_ns ---- */

static void heap_put(size_t i, struct stream *s)
{
  heap[i] = s;
  s->heap_at = i;
}

static void heap_up(size_t i)
{
  struct stream *s = heap[i];
  for (; i > 1 && s->due_ns < heap[i / 2]->due_ns; i /= 2)
    heap_put(i, heap[i / 2]);
  heap_put(i, s);
}

static void heap_down(size_t i)
{
  struct stream *s = heap[i];
  for (size_t c; (c = 2 * i) <= heap_n; i = c) {
    if (c < heap_n && heap[c + 1]->due_ns < heap[c]->due_ns)
      c++;
    if (s->due_ns <= heap[c]->due_ns)
      break;
    heap_put(i, heap[c]);
  }
  heap_put(i, s);
}

static void heap_add(struct stream *s)
{
  heap_put(++heap_n, s);
  heap_up(heap_n);
}

static void heap_remove(struct stream *s)
{
  size_t i = s->heap_at;
  struct stream *last;
  if (!i)
    return;
  s->heap_at = 0;
  last = heap[heap_n--];
  if (last == s)
    return;
  heap_put(i, last);
  heap_up(i);
  heap_down(last->heap_at);
}

/* ---- answers ---- */

static const char head[] = "HTTP/1.1 200 OK\r\n"
                           "Content-Type: text/event-stream; charset=utf-8\r\n"
                           "Transfer-Encoding: chunked\r\n\r\n";
static const char tail[] = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";

/* One event as an HTTP chunk; returns its length. */
static size_t event(char *out, uint64_t sent_ns, bool last)
{
  char json[JSON_BYTES + 1];
  int n = snprintf(json, sizeof json,
                   "{\"id\":\"chatcmpl-0123456789abcdef0123456789abcdef\","
                   "\"object\":\"chat.completion.chunk\",\"sent_ns\":%20llu,"
                   "\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":"
                   "{\"content\":\" word\"},\"finish_reason\":%s}],\"pad\":\"",
                   (unsigned long long)sent_ns, last ? "\"stop\"" : "null");
  memset(json + n, '.', (size_t)(JSON_BYTES - 2 - n));
  memcpy(json + JSON_BYTES - 2, "\"}", 3);
  return (size_t)sprintf(out, "%x\r\ndata: %s\n\n\r\n", JSON_BYTES + 8, json);
}

static char *make_answer(unsigned tokens, size_t *len)
{
  char *p = malloc(sizeof head + sizeof tail + tokens * (JSON_BYTES + 32u));
  size_t n = sizeof head - 1;
  memcpy(p, head, n);
  for (unsigned i = 0; i < tokens; i++)
    n += event(p + n, 0, i + 1 == tokens);
  memcpy(p + n, tail, sizeof tail - 1);
  *len = n + sizeof tail - 1;
  return p;
}

/* Prepared answers, one per number of tokens asked for. */
static const char *answer(unsigned tokens, size_t *len)
{
  static struct {
    unsigned tokens;
    char *p;
    size_t len;
  } made[16];
  unsigned i = 0;
  while (i < 15 && made[i].p && made[i].tokens != tokens)
    i++;
  if (made[i].tokens != tokens || !made[i].p) {
    free(made[i].p);
    made[i].tokens = tokens;
    made[i].p = make_answer(tokens, &made[i].len);
  }
  *len = made[i].len;
  return made[i].p;
}

/* ---- sockets ---- */

static void want_write(struct stream *s, bool on)
{
  struct epoll_event e = {.events = EPOLLIN | (on ? EPOLLOUT : 0u),
                          .data.fd = s->fd};
  if (s->writable_wanted == on)
    return;
  s->writable_wanted = on;
  epoll_ctl(poller, EPOLL_CTL_MOD, s->fd, &e);
}

static void close_stream(struct stream *s)
{
  heap_remove(s);
  by_fd[s->fd] = NULL;
  close(s->fd);
  free(s->own);
  free(s);
}

/* As much as fits; false when the client is gone. */
static bool push(struct stream *s)
{
  while (s->out_at < s->out_len) {
    ssize_t n =
        send(s->fd, s->out + s->out_at, s->out_len - s->out_at, MSG_NOSIGNAL);
    sends++;
    if (n < 0 && errno == EAGAIN) {
      want_write(s, true);
      return true;
    }
    if (n <= 0)
      return false;
    s->out_at += (size_t)n;
  }
  want_write(s, false);
  return true;
}

static bool send_now(struct stream *s, const char *p, size_t len)
{
  ssize_t n = send(s->fd, p, len, MSG_NOSIGNAL);
  sends++;
  if (n == (ssize_t)len)
    return true;
  if (n < 0 && errno != EAGAIN)
    return false;
  blocked++; /* keep the rest, in order */
  n = n < 0 ? 0 : n;
  {
    size_t had = s->out_len - s->out_at;
    char *own = malloc(had + len);
    if (had)
      memcpy(own, s->out + s->out_at, had);
    memcpy(own + had, p + n, len - (size_t)n);
    free(s->own);
    s->out = s->own = own;
    s->out_len = had + len - (size_t)n;
    s->out_at = 0;
  }
  return push(s);
}

/* ---- requests ---- */

static uint64_t query(const char *line, const char *key, uint64_t otherwise)
{
  const char *at = strstr(line, key);
  return at ? strtoull(at + strlen(key), NULL, 10) : otherwise;
}

static void report_lag(struct stream *s)
{
  static char text[1024];
  char body[512];
  FILE *was = stdout;
  FILE *f = fmemopen(body, sizeof body, "w");
  stdout = f; /* sample_print prints there */
  printf("{");
  sample_print("lag", &lag);
  printf(",\"blocked\":%llu,\"sends\":%llu}", (unsigned long long)blocked,
         (unsigned long long)sends);
  fclose(f);
  stdout = was;
  lag.n = lag.seen = lag.keep = 0;
  blocked = sends = 0;
  s->out_len = (size_t)snprintf(text, sizeof text,
                                "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
                                "Content-Type: application/json\r\n\r\n%s",
                                strlen(body), body);
  s->out = text;
}

static bool serve(struct stream *s, const char *line)
{
  s->out_at = 0;
  if (strstr(line, " /paced")) {
    uint64_t now = bench_now();
    s->left = (unsigned)query(line, "tokens=", 100);
    s->itl_ns = query(line, "itl_us=", 10000) * 1000;
    s->stamped = query(line, "stamp=", 0);
    s->due_ns = now + query(line, "ttft_us=", 50000) * 1000;
    s->out_len = 0;
    heap_add(s);
    return send_now(s, head, sizeof head - 1);
  }
  if (strstr(line, " /blast"))
    s->out = answer((unsigned)query(line, "tokens=", 1000), &s->out_len);
  else if (strstr(line, " /lag"))
    report_lag(s);
  else
    s->out = answer(1, &s->out_len);
  return push(s);
}

/* Take the complete requests out of what was read. */
static bool requests(struct stream *s)
{
  for (;;) {
    char *end, *length;
    size_t used;
    if (s->body_left) {
      used = s->body_left < s->in_len ? s->body_left : s->in_len;
      memmove(s->in, s->in + used, s->in_len - used);
      s->in_len -= used;
      s->body_left -= used;
    }
    s->in[s->in_len] = '\0';
    end = s->body_left ? NULL : strstr(s->in, "\r\n\r\n");
    if (!end)
      return s->in_len < sizeof s->in - 1;
    length = strcasestr(s->in, "content-length:");
    s->body_left = length && length < end ? strtoul(length + 15, NULL, 10) : 0;
    used = (size_t)(end - s->in) + 4;
    *strchr(s->in, '\r') = '\0';
    {
      char line[512];
      snprintf(line, sizeof line, "%.500s", s->in);
      memmove(s->in, s->in + used, s->in_len - used);
      s->in_len -= used;
      if (!serve(s, line))
        return false;
    }
  }
}

static bool readable(struct stream *s)
{
  ssize_t n = recv(s->fd, s->in + s->in_len, sizeof s->in - 1 - s->in_len, 0);
  if (n < 0)
    return errno == EAGAIN;
  if (n == 0)
    return false;
  s->in_len += (size_t)n;
  return requests(s);
}

static void accept_all(int listener)
{
  int fd, on = 1;
  while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    struct stream *s = calloc(1, sizeof *s);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    s->fd = fd;
    by_fd[fd] = s;
    epoll_ctl(poller, EPOLL_CTL_ADD, fd, &e);
  }
}

/* ---- paced events ---- */

static bool send_event(struct stream *s)
{
  char text[JSON_BYTES + sizeof tail + 64];
  uint64_t now = bench_now();
  bool last = --s->left == 0;
  size_t n = event(text, s->stamped ? now : 0, last);
  sample_add(&lag, (int64_t)(now - s->due_ns));
  if (last) {
    heap_remove(s);
    memcpy(text + n, tail, sizeof tail - 1);
    n += sizeof tail - 1;
  } else {
    s->due_ns += s->itl_ns;
    heap_down(1);
  }
  return send_now(s, text, n);
}

static void send_due(void)
{
  uint64_t now = bench_now();
  for (int i = 0; i < 256 && heap_n && heap[1]->due_ns <= now; i++) {
    struct stream *s = heap[1];
    if (!send_event(s))
      close_stream(s);
  }
}

static void wait_for_events(int listener)
{
  static struct epoll_event ready[MAX_EVENTS];
  struct timespec t = {0, 0}, *wait = NULL;
  int n;
  if (heap_n) {
    uint64_t now = bench_now();
    if (heap[1]->due_ns > now) {
      uint64_t left = heap[1]->due_ns - now;
      t.tv_sec = (time_t)(left / 1000000000u);
      t.tv_nsec = (long)(left % 1000000000u);
    }
    wait = &t;
  }
  n = epoll_pwait2(poller, ready, MAX_EVENTS, wait, NULL);
  for (int i = 0; i < n; i++) {
    struct stream *s;
    if (ready[i].data.fd == listener) {
      accept_all(listener);
      continue;
    }
    s = by_fd[ready[i].data.fd];
    if (!s)
      continue;
    if (((ready[i].events & EPOLLOUT) && !push(s)) ||
        ((ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) && !readable(s)))
      close_stream(s);
  }
}

static int listen_on(unsigned short port)
{
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
  socklen_t len = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 4096)) {
    perror("sender");
    exit(1);
  }
  getsockname(fd, (struct sockaddr *)&a, &len);
  printf("port %u\n", ntohs(a.sin_port));
  fflush(stdout);
  return fd;
}

int main(int argc, char **argv)
{
  struct epoll_event e = {.events = EPOLLIN};
  int listener;
  raise_files();
  signal(SIGPIPE, SIG_IGN);
  listener = listen_on((unsigned short)flag_number(argc, argv, "port", 0));
  poller = epoll_create1(0);
  e.data.fd = listener;
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &e);
  for (;;) {
    wait_for_events(listener);
    send_due();
  }
}
