/* bench_xfer -- net/xfer as a client, alone: what the transport costs.
 * The same work and the same output as reader, next to which it is run.
 *
 *   bench_xfer --port N --conns 64 --seconds 2 --path /blast?tokens=1000
 *     [--wire 1] [--kernel-times 0|1] [--per-multi N] [--read-size N]
 *
 * With --wire each answer goes through net/wire, as in the program; without,
 * events are counted by their empty lines.
 *
 * Beyond reader it tells the gap between consecutive deliveries of a stream
 * ("gap", by callback; how fair the loop is), the memory per stream, and the
 * CPU and wall time that opening the connections took. */
#include <ev.h>

#include "base/clock.h"
#include "bench.h"
#include "net/wire.h"
#include "net/xfer.h"

struct bench {
  struct ev_loop *loop;
  struct net *net;
  struct xfer_request request;
  bool measuring, stopping;
  bool stamped; /* events hold when they were sent */
  uint64_t events, answers, failed;
  unsigned opening;
  struct sample error, gap;
  char first_failure[320];
};

struct slot {
  struct bench *bench;
  struct wire *wire;            /* or NULL */
  uint64_t last_at_ns, last_ns; /* arrival, and when it was handed over */
};

/* Empty lines, as a stream splitter would have to find at least: one per
 * event and one for [DONE], which is taken off again per answer. */
static uint64_t count(const char *p, size_t len)
{
  const char *end = p + len;
  uint64_t n = 0;
  while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
    n += p + 1 < end && p[1] == '\n';
    p += 2;
  }
  return n;
}

static int on_data(struct xfer *x, const char *p, size_t len, uint64_t at_ns,
                   void *ud)
{
  struct slot *s = ud;
  struct bench *b = s->bench;
  uint64_t sent;
  (void)x;
  if (s->wire)
    wire_feed(s->wire, p, len);
  else
    b->events += count(p, len);
  if (!b->measuring)
    return 0;
  if (at_ns != s->last_at_ns) {
    uint64_t now = clock_ns();
    if (s->last_ns)
      sample_add(&b->gap, (int64_t)(now - s->last_ns));
    s->last_at_ns = at_ns;
    s->last_ns = now;
  }
  sent = b->stamped ? stamp_in(p, len) : 0;
  if (sent)
    sample_add(&b->error, (int64_t)(at_ns - sent));
  return 0;
}

static int on_payload(const struct wire_payload *p, void *ud)
{
  struct slot *s = ud;
  (void)p;
  s->bench->events++;
  return 0;
}

static void on_headers(struct xfer *x, void *ud)
{
  struct slot *s = ud;
  if (s->wire)
    wire_head(s->wire, xfer_info(x)->status,
              str_of(xfer_info(x)->content_type));
}

static void begin(struct slot *s);

static void on_done(struct xfer *x, void *ud)
{
  struct slot *s = ud;
  struct bench *b = s->bench;
  const struct xfer_info *i = xfer_info(x);
  enum outcome outcome = i->outcome;
  b->answers++;
  s->last_ns = 0;
  if (s->wire) {
    wire_end(s->wire, outcome == OUTCOME_OK);
    outcome = wire_result(s->wire)->outcome;
  } else
    b->events--; /* [DONE] */
  if (outcome != OUTCOME_OK) {
    if (!b->failed++)
      snprintf(b->first_failure, sizeof b->first_failure, "%s: %s",
               outcome_name(outcome), i->message);
  }
  if (!b->stopping)
    begin(s);
}

static const struct xfer_ops ops = {
    .headers = on_headers, .data = on_data, .done = on_done};

static void begin(struct slot *s)
{
  if (s->wire) {
    struct wire_config c = {.dialect = wire_dialect_find("chat")};
    wire_start(s->wire, &c, on_payload, s);
  }
  xfer_start(s->bench->net, &s->bench->request, &ops, s);
}

static void on_opened(unsigned opened, const char *error, void *ud)
{
  struct bench *b = ud;
  b->opening = 0;
  if (error[0])
    fprintf(stderr, "bench_xfer: %u opened: %s\n", opened, error);
}

static void on_end(EV_P_ ev_timer *w, int revents)
{
  (void)w;
  (void)revents;
  ev_break(EV_A_ EVBREAK_ALL);
}

static void turn_for(struct bench *b, double seconds)
{
  ev_timer t;
  ev_timer_init(&t, on_end, seconds, 0);
  ev_now_update(b->loop);
  ev_timer_start(b->loop, &t);
  ev_run(b->loop, 0);
}

int main(int argc, char **argv)
{
  struct bench b = {.loop = ev_loop_new(EVFLAG_AUTO), .opening = 1};
  unsigned conns = (unsigned)flag_number(argc, argv, "conns", 64);
  double seconds = flag_number(argc, argv, "seconds", 2), cpu, wall, before;
  struct slot *slots = calloc(conns, sizeof *slots);
  struct err e = {0};
  char url[256], body[1024];
  uint64_t from;
  struct net_config c = {
      .connections = conns,
      .per_multi = (unsigned)flag_number(argc, argv, "per-multi", 0),
      .kernel_times = flag_number(argc, argv, "kernel-times", 1) != 0,
      .read_size = (unsigned)flag_number(argc, argv, "read-size", 0),
  };
  raise_files();
  memset(body, 'x', sizeof body);
  snprintf(url, sizeof url, "http://127.0.0.1:%s%s",
           flag(argc, argv, "port", "0"),
           flag(argc, argv, "path", "/blast?tokens=1000"));
  b.stamped = strstr(url, "/paced") != NULL;
  b.net = net_new(b.loop, &c);
  b.request = (struct xfer_request){.method = "POST",
                                    .url = url,
                                    .headers = xfer_headers_new(),
                                    .body = {body, sizeof body},
                                    .idle_ns = 60 * NS_PER_SEC,
                                    .total_ns = 600 * NS_PER_SEC};
  xfer_headers_set(b.request.headers, STR("Content-Type"),
                   STR("application/json"), &e);
  before = rss_mb();
  from = clock_ns();
  net_preconnect(b.net, url, conns, on_opened, &b);
  while (b.opening)
    ev_run(b.loop, EVRUN_ONCE);
  printf("{\"client\":\"xfer\",\"conns\":%u,\"open_s\":%.3f,", conns,
         ns_to_sec(clock_ns() - from));
  for (unsigned i = 0; i < conns; i++) {
    slots[i].bench = &b;
    if (flag_number(argc, argv, "wire", 0) != 0)
      slots[i].wire = wire_new();
    begin(&slots[i]);
  }
  turn_for(&b, seconds * 0.25);
  b.events = b.answers = 0;
  b.measuring = true;
  from = clock_ns();
  cpu = cpu_seconds();
  turn_for(&b, seconds);
  wall = ns_to_sec(clock_ns() - from);
  cpu = cpu_seconds() - cpu;
  printf("\"wall_s\":%.3f,\"cpu_s\":%.3f,\"events_per_s\":%.0f,"
         "\"events_per_cpu_s\":%.0f,\"cpu_us_per_event\":%.2f,"
         "\"answers_per_s\":%.0f,\"failed\":%llu,\"rss_mb\":%.1f,"
         "\"kb_per_stream\":%.1f,",
         wall, cpu, (double)b.events / wall, (double)b.events / cpu,
         cpu * 1e6 / (double)b.events, (double)b.answers / wall,
         (unsigned long long)b.failed, rss_mb(),
         (rss_mb() - before) * 1e3 / conns);
  sample_print("receive_error", &b.error);
  printf(",");
  sample_print("gap", &b.gap);
  printf("}\n");
  if (b.failed)
    fprintf(stderr, "bench_xfer: first failure: %s\n", b.first_failure);
  b.stopping = true;
  net_free(b.net);
  for (unsigned i = 0; i < conns; i++)
    if (slots[i].wire)
      wire_free(slots[i].wire);
  free(slots);
  xfer_headers_unref(b.request.headers);
  ev_loop_destroy(b.loop);
  return b.failed > 0;
}
