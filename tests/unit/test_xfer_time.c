/* Arrivals, deadlines, cancelling, and whose turn it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "netclient.h"
#include "rawserver.h"

struct fixture {
  struct rawserver server;
  struct client client;
  char url[64];
  atomic_uint events;
  uint64_t sent_ns[64]; /* by the server, just before each send */
  atomic_uint_fast64_t closed_ns;
};

static void prepare_with(struct fixture *f, script_fn *script,
                         const struct net_config *c)
{
  memset(f, 0, sizeof *f);
  server_start(&f->server, script, f);
  client_init(&f->client, c);
  snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u/", f->server.port);
}

static void prepare(struct fixture *f, script_fn *script)
{
  prepare_with(f, script,
               &(struct net_config){.connections = 4, .kernel_times = true});
}

static void finish(struct fixture *f)
{
  client_deinit(&f->client);
  server_stop(&f->server);
}

static struct xfer_request request(const struct fixture *f)
{
  return (struct xfer_request){
      .method = "POST", .url = f->url, .body = STR("{}")};
}

/* ---- arrivals ---- */

static void ten_events(struct conn *c)
{
  struct fixture *f = c->server->arg;
  if (!next_request(c))
    return;
  say(c, SSE_HEAD);
  for (int i = 0; i < 10; i++) {
    nap(0.005);
    f->sent_ns[i] = clock_ns();
    atomic_store(&f->events, (unsigned)i + 1);
    chunk(c, "data: {}\n\n");
  }
  say(c, "0\r\n\r\n");
}

/* After the first event the loop sleeps through what arrives. */
static void sleep_in_loop(EV_P_ ev_timer *w, int revents)
{
  (void)loop, (void)w, (void)revents;
  nap(0.03);
}

static void be_busy(struct result *r)
{
  if (r->pieces == 1)
    ev_timer_start(r->client->loop, r->arg);
}

static int order(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static uint64_t median_error(const struct fixture *f, const struct result *r)
{
  uint64_t error[64];
  for (unsigned i = 0; i < r->pieces; i++) {
    error[i] = ns_since(f->sent_ns[i], r->arrivals[i]);
    assert_true(r->arrivals[i] <= r->callbacks[i]);
  }
  qsort(error, r->pieces, sizeof *error, order);
  return error[r->pieces / 2];
}

/* A server that loses the processor between its stamp and its send spoils a
 * try, whatever we do. */
#define TRIES 10

static void arrivals_are_the_kernels(void **state)
{
  struct fixture f;
  struct result r;
  uint64_t error = UINT64_MAX;
  (void)state;
  for (int i = 0; i < TRIES && error > NS_PER_MS; i++) {
    struct xfer_request q;
    r = (struct result){0};
    prepare(&f, ten_events);
    assert_int_equal(net_clock(f.client.net), NET_CLOCK_KERNEL);
    q = request(&f);
    start(&f.client, &r, &q);
    run(&f.client);
    assert_false(r.backwards);
    error = median_error(&f, &r);
    finish(&f);
    result_free(&r);
  }
  assert_true(error < NS_PER_MS);
}

/* Only one arrives while the loop sleeps: the kernel merges segments that
 * wait, and stamps them as the last. */
static void two_events(struct conn *c)
{
  struct fixture *f = c->server->arg;
  if (!next_request(c))
    return;
  say(c, SSE_HEAD);
  chunk(c, "data: {}\n\n");
  nap(0.005);
  f->sent_ns[1] = clock_ns();
  chunk(c, "data: {}\n\n");
  nap(0.06);
  say(c, "0\r\n\r\n");
}

static void late_reads(bool kernel, uint64_t *first_late, enum net_clock *clock)
{
  struct fixture f;
  ev_timer sleeper;
  struct result r = {.on_data = be_busy, .arg = &sleeper};
  struct xfer_request q;
  ev_timer_init(&sleeper, sleep_in_loop, 0, 0);
  prepare_with(&f, two_events,
               &(struct net_config){.connections = 4, .kernel_times = kernel});
  q = request(&f);
  start(&f.client, &r, &q);
  run(&f.client);
  assert_false(r.backwards);
  assert_true(r.arrivals[1] >= f.sent_ns[1]);
  *first_late = r.arrivals[1] - f.sent_ns[1];
  *clock = net_clock(f.client.net);
  finish(&f);
  result_free(&r);
}

static void a_busy_loop_spoils_its_own_clock_only(void **state)
{
  uint64_t late;
  enum net_clock clock;
  (void)state;
  late = 0;
  for (int i = 0; i < TRIES && late <= 15 * NS_PER_MS; i++)
    late_reads(false, &late, &clock);
  assert_int_equal(clock, NET_CLOCK_READABLE);
  assert_true(late > 15 * NS_PER_MS);
  for (int i = 0; i < TRIES && late >= 10 * NS_PER_MS; i++)
    late_reads(true, &late, &clock);
  assert_int_equal(clock, NET_CLOCK_KERNEL);
  assert_true(late < 10 * NS_PER_MS);
}

/* A slow callback of the stream itself: curl then reads on without telling
 * anyone, and what it reads must not seem to have come with the first. */
static void dawdle(struct result *r)
{
  if (r->pieces == 1)
    nap(0.02);
}

static void no_event_arrives_before_it_was_sent(void **state)
{
  struct fixture f;
  struct result r = {.on_data = dawdle};
  struct xfer_request q;
  (void)state;
  prepare(&f, two_events);
  q = request(&f);
  start(&f.client, &r, &q);
  run(&f.client);
  assert_int_equal(r.pieces, 2);
  assert_true(r.arrivals[1] >= f.sent_ns[1]);
  finish(&f);
  result_free(&r);
}

/* ---- deadlines ---- */

static void stalls(struct conn *c)
{
  struct fixture *f = c->server->arg;
  if (!next_request(c))
    return;
  if (strstr(c->text, "GET /silent"))
    ;
  else if (strstr(c->text, "GET /headers"))
    say(c, SSE_HEAD);
  else {
    say(c, SSE_HEAD);
    chunk(c, "data: {}\n\n");
    if (strstr(c->text, "GET /good"))
      say(c, "0\r\n\r\n");
  }
  until_closed(c);
  atomic_store(&f->closed_ns, clock_ns());
}

/* The outcome of one try. */
static enum outcome stall(const char *path, struct xfer_request q,
                          const char *message, bool first_token)
{
  struct fixture f;
  struct result r = {0};
  prepare(&f, stalls);
  strcat(f.url, path);
  q.method = "GET";
  q.url = f.url;
  start(&f.client, &r, &q);
  if (first_token)
    xfer_first_token(r.x);
  run(&f.client);
  if (r.info.outcome != OUTCOME_TIMEOUT_CONNECT) {
    assert_string_equal(r.info.message, message);
    assert_true(r.info.done_ns - r.info.sent_ns >= 45 * NS_PER_MS);
    assert_true(r.info.done_ns - r.info.sent_ns < 25 * NS_PER_SEC);
    /* The server sees it go. */
    while (!atomic_load(&f.closed_ns))
      nap(0.001);
  }
  finish(&f);
  result_free(&r);
  return r.info.outcome;
}

/* On a machine that stalls so long there is not even a connection in time. */
static void stalled(const char *path, struct xfer_request q, enum outcome o,
                    const char *message, bool first_token)
{
  enum outcome seen = OUTCOME_TIMEOUT_CONNECT;
  for (int i = 0; i < TRIES && seen == OUTCOME_TIMEOUT_CONNECT; i++)
    seen = stall(path, q, message, first_token);
  assert_int_equal(seen, o);
}

static void b091_deadlines(void **state)
{
  const uint64_t soon = 50 * NS_PER_MS, late = 30 * NS_PER_SEC;
  (void)state;
  stalled("silent", (struct xfer_request){.first_ns = soon},
          OUTCOME_TIMEOUT_TTFT, "no first token within 50 ms", false);
  stalled("headers", (struct xfer_request){.first_ns = soon},
          OUTCOME_TIMEOUT_TTFT, "no first token within 50 ms", false);
  stalled("one", (struct xfer_request){.first_ns = soon}, OUTCOME_TIMEOUT_TTFT,
          "no first token within 50 ms", false);
  stalled("one", (struct xfer_request){.idle_ns = soon, .first_ns = late},
          OUTCOME_TIMEOUT_IDLE, "no data within 50 ms", false);
  stalled("one", (struct xfer_request){.idle_ns = soon, .first_ns = 1},
          OUTCOME_TIMEOUT_IDLE, "no data within 50 ms", true);
  stalled("one", (struct xfer_request){.total_ns = soon, .idle_ns = late},
          OUTCOME_TIMEOUT_TOTAL, "not finished within 50 ms", false);
  stalled("silent",
          (struct xfer_request){.total_ns = 2 * soon, .idle_ns = soon},
          OUTCOME_TIMEOUT_TOTAL, "not finished within 100 ms", false);
}

static void b091_the_others_go_on(void **state)
{
  struct fixture f;
  struct result r[3] = {{0}};
  char good[80], bad[80];
  (void)state;
  prepare(&f, stalls);
  snprintf(good, sizeof good, "%sgood", f.url);
  snprintf(bad, sizeof bad, "%sone", f.url);
  for (int i = 0; i < 3; i++)
    start(&f.client, &r[i],
          &(struct xfer_request){.method = "GET",
                                 .url = i == 1 ? bad : good,
                                 .idle_ns = i == 1 ? 500 * NS_PER_MS
                                                   : 60 * NS_PER_SEC});
  run(&f.client);
  assert_int_equal(r[0].info.outcome, OUTCOME_OK);
  assert_int_equal(r[1].info.outcome, OUTCOME_TIMEOUT_IDLE);
  assert_int_equal(r[2].info.outcome, OUTCOME_OK);
  finish(&f);
  for (int i = 0; i < 3; i++)
    result_free(&r[i]);
}

static void trickles(struct conn *c)
{
  while (next_request(c)) {
    say(c, SSE_HEAD);
    for (int i = 0; i < 10; i++) {
      nap(0.02);
      chunk(c, "data: {}\n\n");
    }
    say(c, "0\r\n\r\n");
  }
}

/* A deadline that passes while the loop sleeps on data is none: the timer is
 * then called before the data is read. */
static void oversleep_in_loop(EV_P_ ev_timer *w, int revents)
{
  (void)loop, (void)w, (void)revents;
  nap(0.6);
}

static void oversleep(struct result *r)
{
  if (r->pieces == 2)
    ev_timer_start(r->client->loop, r->arg);
}

static bool moves_with_arrivals(void)
{
  struct fixture f;
  ev_timer sleeper;
  struct result r = {.on_data = oversleep, .arg = &sleeper};
  struct xfer_request q;
  bool ok = true;
  prepare(&f, trickles);
  for (int i = 0; ok && i < 2; i++) { /* the second finds the timer of the first
                                       */
    q = request(&f);
    q.idle_ns = 400 * NS_PER_MS;
    r.pieces = 0;
    ev_timer_init(&sleeper, oversleep_in_loop, 0, 0);
    start(&f.client, &r, &q);
    run(&f.client);
    ok = r.info.outcome == OUTCOME_OK;
    if (!ok)
      print_message("# %s\n", r.info.message);
    nap(0.5);
  }
  finish(&f);
  result_free(&r);
  return ok;
}

/* A server that stalls so long spoils a try. */
static void deadlines_move_with_arrivals(void **state)
{
  bool ok = false;
  (void)state;
  for (int i = 0; i < TRIES && !ok; i++)
    ok = moves_with_arrivals();
  assert_true(ok);
}

static void no_connection_in_time(void **state)
{
  struct client client;
  struct result r[4] = {{0}};
  struct sockaddr_in a = {.sin_family = AF_INET};
  socklen_t len = sizeof a;
  int fd = socket(AF_INET, SOCK_STREAM, 0), filler[3];
  char url[64];
  (void)state;
  /* A queue of one that is full: further SYNs are dropped. */
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(fd, 0), 0);
  getsockname(fd, (struct sockaddr *)&a, &len);
  for (int i = 0; i < 3; i++) {
    filler[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(filler[i], (struct sockaddr *)&a, sizeof a);
  }
  nap(0.02);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/", ntohs(a.sin_port));
  client_init(&client,
              &(struct net_config){.connections = 4,
                                   .connect_timeout_ns = 100 * NS_PER_MS});
  start(&client, &r[0], &(struct xfer_request){.method = "GET", .url = url});
  start(&client, &r[1],
        &(struct xfer_request){
            .method = "GET", .url = url, .total_ns = 50 * NS_PER_MS});
  run(&client);
  assert_int_equal(r[0].info.outcome, OUTCOME_TIMEOUT_CONNECT);
  assert_string_equal(r[0].info.message, "no connection within 100 ms");
  assert_int_equal(r[1].info.outcome, OUTCOME_TIMEOUT_CONNECT);
  assert_string_equal(r[1].info.message, "no connection within 50 ms");
  client_deinit(&client);
  for (int i = 0; i < 3; i++)
    close(filler[i]);
  close(fd);
}

/* ---- cancelling ---- */

static void cancelled_by_data(void **state)
{
  struct fixture f;
  struct result r = {.stop_at = 1};
  (void)state;
  prepare(&f, stalls);
  start(&f.client, &r, &(struct xfer_request){.method = "GET", .url = f.url});
  run(&f.client);
  assert_int_equal(r.info.outcome, OUTCOME_CANCELLED);
  assert_int_equal(r.info.bytes_in, 10);
  assert_int_equal(r.dones, 1);
  while (!atomic_load(&f.closed_ns))
    nap(0.001);
  finish(&f);
  result_free(&r);
}

static void cancel_the_other(struct result *r)
{
  struct result *other = r->arg;
  xfer_cancel(other->x, OUTCOME_CHECK, "the other one said so");
  assert_int_equal(other->dones, 0); /* from the loop */
}

static void cancelled_from_anywhere(void **state)
{
  struct fixture f;
  struct result r[4] = {{0}};
  char good[80];
  (void)state;
  prepare(&f, stalls);
  snprintf(good, sizeof good, "%sgood", f.url);
  for (int i = 0; i < 3; i++)
    start(&f.client, &r[i],
          &(struct xfer_request){.method = "GET", .url = f.url});
  r[0].on_data = cancel_the_other; /* out of a callback of curl */
  r[0].arg = &r[1];
  xfer_cancel(r[2].x, OUTCOME_CANCELLED, "before it began");
  xfer_cancel(r[2].x, OUTCOME_SCRIPT, "the first verdict holds");
  while (!r[1].dones || !r[2].dones)
    ev_run(f.client.loop, EVRUN_ONCE);
  assert_int_equal(r[1].info.outcome, OUTCOME_CHECK);
  assert_string_equal(r[1].info.message, "the other one said so");
  assert_int_equal(r[2].info.outcome, OUTCOME_CANCELLED);
  assert_int_equal(r[2].info.sent_ns, 0);
  assert_in_range(f.server.requests, 1, 2); /* of three */
  start(&f.client, &r[3], &(struct xfer_request){.method = "GET", .url = good});
  r[3].on_done = cancel_the_other; /* out of a done */
  r[3].arg = &r[0];
  run(&f.client);
  assert_int_equal(r[3].info.outcome, OUTCOME_OK);
  assert_int_equal(r[0].info.outcome, OUTCOME_CHECK);
  finish(&f);
  for (int i = 0; i < 4; i++)
    result_free(&r[i]);
}

/* ---- turns ---- */

#define FLOOD (24 * 1024 * 1024)

static void floods(struct conn *c)
{
  static const char block[64 * 1024];
  if (!next_request(c))
    return;
  sayf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", FLOOD);
  for (size_t i = 0; i < FLOOD / sizeof block; i++)
    send_all(c, block, sizeof block);
  until_closed(c);
}

struct turns {
  struct ev_loop *loop;
  unsigned iteration;
  size_t bytes, most;
};

static void count_turn(struct result *r)
{
  struct turns *t = r->arg;
  if (t->iteration != ev_iteration(t->loop)) {
    t->iteration = ev_iteration(t->loop);
    t->bytes = 0;
  }
  t->bytes += r->body.len;
  if (t->bytes > t->most)
    t->most = t->bytes;
  buf_reset(&r->body);
}

static void a_flood_gets_its_turn_and_no_more(void **state)
{
  struct fixture f;
  struct turns t = {0};
  struct result r = {.on_data = count_turn, .arg = &t};
  struct xfer_request q;
  (void)state;
  prepare(&f, floods);
  t.loop = f.client.loop;
  q = request(&f);
  start(&f.client, &r, &q);
  run(&f.client);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  assert_int_equal(r.info.bytes_in, FLOOD);
  assert_false(r.backwards);
  assert_true(t.most > 16 * 1024);
  assert_true(t.most <= 256 * 1024); /* curl alone: 1.6 MB */
  finish(&f);
  result_free(&r);
}

static void sends_in_chunks(struct conn *c)
{
  char event[256];
  while (next_request(c)) {
    say(c, SSE_HEAD);
    for (int i = 0; i < 4000; i++) {
      snprintf(event, sizeof event, "data: {\"n\":%d,\"pad\":\"%0200d\"}\n\n",
               i, 0);
      chunk(c, event);
    }
    say(c, "0\r\n\r\n");
  }
}

static void a_paused_stream_loses_nothing(void **state)
{
  struct fixture f;
  struct result r[3] = {{0}};
  (void)state;
  prepare(&f, sends_in_chunks);
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < 3; i++) {
      struct xfer_request q = request(&f);
      r[i] = (struct result){0};
      start(&f.client, &r[i], &q);
    }
    run(&f.client);
    for (int i = 0; i < 3; i++) {
      struct str rest = buf_str(&r[i].body);
      char mark[32];
      assert_int_equal(r[i].info.outcome, OUTCOME_OK);
      for (int k = 0; k < 4000; k++) {
        snprintf(mark, sizeof mark, "data: {\"n\":%d,", k);
        assert_true(str_starts(rest, str_of(mark)));
        rest.p = memmem(rest.p, rest.len, "\n\n", 2);
        rest.p += 2;
        rest.len = (size_t)(r[i].body.p + r[i].body.len - rest.p);
      }
      assert_int_equal(rest.len, 0);
      assert_false(r[i].backwards);
      buf_free(&r[i].body);
    }
  }
  assert_int_equal(f.server.connections, 3);
  finish(&f);
}

static void stop_while_paused(struct result *r)
{
  if (r->body.len > 3 * 64 * 1024)
    r->stop_at = r->pieces;
}

static void cancelled_in_the_middle_of_a_flood(void **state)
{
  struct fixture f;
  struct result r[2] = {{.on_data = stop_while_paused},
                        {.on_data = stop_while_paused}};
  (void)state;
  prepare(&f, floods);
  for (int i = 0; i < 2; i++) {
    struct xfer_request q = request(&f);
    start(&f.client, &r[i], &q);
  }
  run(&f.client);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(r[i].info.outcome, OUTCOME_CANCELLED);
    result_free(&r[i]);
  }
  finish(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrivals_are_the_kernels),
      cmocka_unit_test(a_busy_loop_spoils_its_own_clock_only),
      cmocka_unit_test(no_event_arrives_before_it_was_sent),
      cmocka_unit_test(b091_deadlines),
      cmocka_unit_test(b091_the_others_go_on),
      cmocka_unit_test(deadlines_move_with_arrivals),
      cmocka_unit_test(no_connection_in_time),
      cmocka_unit_test(cancelled_by_data),
      cmocka_unit_test(cancelled_from_anywhere),
      cmocka_unit_test(a_flood_gets_its_turn_and_no_more),
      cmocka_unit_test(a_paused_stream_loses_nothing),
      cmocka_unit_test(cancelled_in_the_middle_of_a_flood),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
