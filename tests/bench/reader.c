/* reader -- the yardstick: a raw epoll client that receives and counts.
 * No HTTP, no SSE, no JSON: it knows beforehand how long an answer is (the
 * first one is measured) and counts bytes. What any client does beyond this is
 * overhead.
 *
 *   reader --port N --conns 64 --seconds 2 --path /blast?tokens=1000
 *
 * Prints JSON: events/s, answers/s, CPU seconds, events per CPU second, and
 * with a paced path the error of its clock (read after recv) against the
 * sender's stamp. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define BUFFER (256 * 1024)

struct reader {
  int fd;
  size_t got; /* of the current answer */
};

static char buffer[BUFFER];
static char request[2048];
static size_t request_len, answer_len;
static unsigned tokens;
static uint64_t bytes, answers;
static struct sample error;
static bool measuring;

static int dial(unsigned short port)
{
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, (struct sockaddr *)&a, sizeof a)) {
    perror("reader");
    exit(1);
  }
  return fd;
}

static void ask(int fd)
{
  if (send(fd, request, request_len, MSG_NOSIGNAL) != (ssize_t)request_len) {
    perror("reader: send");
    exit(1);
  }
}

/* The length of a whole answer, and how many events it holds. */
static void learn(unsigned short port)
{
  int fd = dial(port);
  size_t n = 0;
  char tail[6] = "";
  ask(fd);
  do {
    ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0)
      exit(1);
    n += (size_t)got;
    for (char *p = buffer;
         (p = memmem(p, (size_t)(buffer + got - p), "\"finish_reason\"", 15));
         p++)
      tokens++;
    for (ssize_t i = got > 5 ? got - 5 : 0; i < got; i++) {
      memmove(tail, tail + 1, 4);
      tail[4] = buffer[i];
    }
  } while (memcmp(tail, "0\r\n\r\n", 5) != 0);
  answer_len = n;
  close(fd);
}

static void make_request(const char *path)
{
  char body[1024];
  memset(body, 'x', sizeof body);
  request_len = (size_t)snprintf(
      request, sizeof request,
      "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
      "Content-Length: %zu\r\n\r\n%.*s",
      path, sizeof body, (int)sizeof body, body);
}

static void on_readable(struct reader *r)
{
  ssize_t n = recv(r->fd, buffer, sizeof buffer, MSG_DONTWAIT);
  uint64_t now, sent;
  if (n <= 0) {
    if (n < 0 && errno == EAGAIN)
      return;
    fprintf(stderr, "reader: the sender closed\n");
    exit(1);
  }
  bytes += (uint64_t)n;
  if (n < 1024) { /* a single event: paced */
    now = bench_now();
    sent = stamp_in(buffer, (size_t)n);
    if (sent && measuring)
      sample_add(&error, (int64_t)(now - sent));
  }
  r->got += (size_t)n;
  if (r->got >= answer_len) {
    answers++;
    r->got -= answer_len;
    ask(r->fd);
  }
}

static void turn(int poller)
{
  static struct epoll_event ready[512];
  int n = epoll_wait(poller, ready, 512, 1000);
  for (int i = 0; i < n; i++)
    on_readable(ready[i].data.ptr);
}

int main(int argc, char **argv)
{
  unsigned short port = (unsigned short)flag_number(argc, argv, "port", 0);
  unsigned conns = (unsigned)flag_number(argc, argv, "conns", 64);
  double seconds = flag_number(argc, argv, "seconds", 2), cpu, wall, events;
  struct reader *all = calloc(conns, sizeof *all);
  int poller = epoll_create1(0);
  uint64_t from, until;
  raise_files();
  make_request(flag(argc, argv, "path", "/blast?tokens=1000"));
  learn(port);
  for (unsigned i = 0; i < conns; i++) {
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = &all[i]};
    all[i].fd = dial(port);
    epoll_ctl(poller, EPOLL_CTL_ADD, all[i].fd, &e);
    ask(all[i].fd);
  }
  until = bench_now() + (uint64_t)(seconds * 0.25e9); /* warm up */
  while (bench_now() < until)
    turn(poller);
  bytes = answers = 0;
  measuring = true;
  from = bench_now();
  cpu = cpu_seconds();
  until = from + (uint64_t)(seconds * 1e9);
  while (bench_now() < until)
    turn(poller);
  wall = (double)(bench_now() - from) / 1e9;
  cpu = cpu_seconds() - cpu;
  events = (double)bytes / (double)answer_len * tokens;
  printf("{\"client\":\"reader\",\"conns\":%u,\"wall_s\":%.3f,\"cpu_s\":%.3f,"
         "\"events_per_s\":%.0f,\"events_per_cpu_s\":%.0f,"
         "\"answers_per_s\":%.0f,\"rss_mb\":%.1f,",
         conns, wall, cpu, events / wall, events / cpu, (double)answers / wall,
         rss_mb());
  sample_print("receive_error", &error);
  printf("}\n");
  return 0;
}
