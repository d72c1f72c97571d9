/* Connections over many exchanges: kept, opened ahead, found dead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "netclient.h"
#include "rawserver.h"

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

/* A stalled machine spoils a try. */
#define TRIES 10

struct fixture {
  struct rawserver server;
  struct client client;
  char url[64];
  atomic_uint goodbyes;
};

static void prepare(struct fixture *f, script_fn *script, unsigned connections)
{
  memset(f, 0, sizeof *f);
  server_start(&f->server, script, f);
  client_init(&f->client, &(struct net_config){.connections = connections,
                                               .per_multi = 8,
                                               .kernel_times = true});
  snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u/", f->server.port);
}

static void finish(struct fixture *f)
{
  client_deinit(&f->client);
  server_stop(&f->server);
}

static void post(struct fixture *f, struct result *r)
{
  *r = (struct result){0};
  start(&f->client, r,
        &(struct xfer_request){
            .method = "POST", .url = f->url, .body = STR("{}")});
}

static void one(struct fixture *f, struct result *r)
{
  post(f, r);
  run(&f->client);
}

static void keeps(struct conn *c)
{
  while (next_request(c)) {
    nap(0.001);
    say(c, OK_EMPTY);
  }
}

/* `left` more exchanges, each started by the end of one before. */
struct chain {
  struct fixture *f;
  unsigned left, ok;
};

static void next_link(struct result *r)
{
  struct chain *chain = r->arg;
  chain->ok += r->info.outcome == OUTCOME_OK;
  if (chain->left) {
    chain->left--;
    post(chain->f, r);
    r->on_done = next_link;
    r->arg = chain;
  }
}

static void run_chain(struct fixture *f, unsigned total, unsigned at_once)
{
  struct chain chain = {f, total - at_once, 0};
  struct result *all = calloc(at_once, sizeof *all);
  for (unsigned i = 0; i < at_once; i++) {
    post(f, &all[i]);
    all[i].on_done = next_link;
    all[i].arg = &chain;
  }
  run(&f->client);
  assert_int_equal(chain.ok, total);
  free(all);
}

static void b125_as_many_connections_as_requests_at_once(void **state)
{
  struct fixture f;
  (void)state;
  prepare(&f, keeps, 32);
  run_chain(&f, 100, 4);
  assert_int_equal(f.server.connections, 4);
  assert_int_equal(f.server.requests, 100);
  assert_int_equal(net_counts(f.client.net).opened, 4);
  assert_int_equal(net_counts(f.client.net).reused, 96);
  finish(&f);
}

/* Both ends are ours, and some systems allow 256 files. */
#define MANY 100

static void waits_for_all(struct conn *c)
{
  while (next_request(c)) {
    while (atomic_load(&c->server->requests) < MANY)
      nap(0.05); /* there are so many of us */
    say(c, OK_EMPTY);
  }
}

static void b086_what_is_asked_is_on_the_wire(void **state)
{
  struct fixture f;
  (void)state;
  prepare(&f, waits_for_all, 10); /* fewer expected than come */
  run_chain(&f, MANY, MANY);
  finish(&f);
}

static void closes_after_each(struct conn *c)
{
  if (next_request(c))
    say(c, OK_EMPTY);
}

static void b117_a_connection_closed_after_each_answer(void **state)
{
  struct fixture f;
  struct result r;
  (void)state;
  prepare(&f, closes_after_each, 1);
  for (int i = 0; i < 50; i++) {
    one(&f, &r);
    assert_int_equal(r.info.outcome, OUTCOME_OK);
  }
  finish(&f);
}

/* The first request is answered. The second is read and never answered. */
static void dies_on_the_second(struct conn *c)
{
  if (!next_request(c))
    return;
  say(c, OK_EMPTY);
  if (c->nth % 2)
    return; /* the retry's connection ends quietly */
  if (next_request(c))
    reset_at_end(c);
}

static void b116_an_rst_on_the_second_request(void **state)
{
  struct fixture f;
  struct result r;
  (void)state;
  prepare(&f, dies_on_the_second, 1);
  one(&f, &r);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  one(&f, &r);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  assert_int_equal(r.info.retries, 1);
  assert_false(r.info.reused); /* the one that answered was new */
  assert_true(r.info.connected_ns > r.info.sent_ns);
  assert_int_equal(f.server.requests, 3);
  assert_int_equal(net_counts(f.client.net).retries, 1);
  finish(&f);
}

static void dies_late(struct conn *c)
{
  if (next_request(c))
    say(c, OK_EMPTY);
  if (!next_request(c))
    return;
  nap(0.15);
  reset_at_end(c);
}

static void survives_a_late_death(struct result *r)
{
  struct fixture f;
  memset(&f, 0, sizeof f);
  server_start(&f.server, dies_late, &f);
  client_init(&f.client,
              &(struct net_config){.connections = 1,
                                   .connect_timeout_ns = 100 * NS_PER_MS});
  snprintf(f.url, sizeof f.url, "http://127.0.0.1:%u/", f.server.port);
  one(&f, r);
  if (r->info.outcome == OUTCOME_OK)
    one(&f, r);
  finish(&f);
}

static void b116_a_late_death_leaves_time_to_connect(void **state)
{
  struct result r = {.info.outcome = OUTCOME_TIMEOUT_CONNECT};
  (void)state;
  for (int i = 0; i < TRIES && r.info.outcome == OUTCOME_TIMEOUT_CONNECT; i++)
    survives_a_late_death(&r);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  assert_int_equal(r.info.retries, 1);
}

static void closes_on_the_second(struct conn *c)
{
  if (next_request(c))
    say(c, OK_EMPTY);
  if (c->nth == 0)
    next_request(c); /* and a FIN in place of an answer */
}

static void b107_a_close_just_as_the_request_arrives(void **state)
{
  struct fixture f;
  struct result r;
  (void)state;
  prepare(&f, closes_on_the_second, 1);
  one(&f, &r);
  one(&f, &r);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  assert_int_equal(r.info.retries, 1);
  finish(&f);
}

static void b117_a_stale_connection_every_time(void **state)
{
  struct fixture f;
  struct result r;
  unsigned retries = 0;
  (void)state;
  prepare(&f, dies_on_the_second, 1);
  for (int i = 0; i < 50; i++) {
    one(&f, &r);
    if (r.info.outcome != OUTCOME_OK)
      fail_msg("request %d: %s", i, r.info.message);
    retries += r.info.retries;
    nap(0.002); /* a quiet end is noticed before the next */
  }
  assert_true(retries >= 15);
  /* Each was answered once; of those that were sent again, the server need not
   * have read the first: on a slow machine a quiet end can still cross it. */
  assert_in_range(f.server.requests, 50 + 15, 50 + retries);
  finish(&f);
}

static void a_pool_full_of_dead_connections(void **state)
{
  struct fixture f;
  struct result r[8];
  (void)state;
  prepare(&f, dies_on_the_second, 8);
  for (int i = 0; i < 8; i++)
    post(&f, &r[i]);
  run(&f.client);
  for (int i = 0; i < 8; i++)
    one(&f, &r[i]);
  for (int i = 0; i < 8; i++) {
    assert_int_equal(r[i].info.outcome, OUTCOME_OK);
    assert_in_range(r[i].info.retries, 0, 1);
  }
  finish(&f);
}

/* Large enough not to go out with the headers. */
static void b116_the_body_is_sent_again_from_its_start(void **state)
{
  struct fixture f;
  struct result r;
  struct buf body = {0};
  (void)state;
  prepare(&f, dies_on_the_second, 1);
  one(&f, &r);
  while (body.len < 300 * 1024)
    buf_addf(&body, "%zu,", body.len);
  r = (struct result){0};
  start(&f.client, &r,
        &(struct xfer_request){
            .method = "POST", .url = f.url, .body = buf_str(&body)});
  run(&f.client);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  assert_int_equal(r.info.retries, 1);
  assert_int_equal(r.info.bytes_out, body.len);
  assert_non_null(strstr(f.server.last, "\r\n\r\n0,2,4,6,8,10,13"));
  buf_free(&body);
  finish(&f);
}

static void resets_a_fresh_one(struct conn *c)
{
  if (next_request(c))
    reset_at_end(c);
}

static void a_fresh_connection_is_not_tried_again(void **state)
{
  struct fixture f;
  struct result r;
  (void)state;
  prepare(&f, resets_a_fresh_one, 1);
  one(&f, &r);
  assert_int_equal(r.info.outcome, OUTCOME_RESET);
  assert_int_equal(r.info.retries, 0);
  assert_int_equal(f.server.requests, 1);
  finish(&f);
}

static void begins_then_dies(struct conn *c)
{
  if (next_request(c))
    say(c, OK_EMPTY);
  if (next_request(c)) {
    say(c, SSE_HEAD "2\r\nhi\r\n");
    nap(0.01);
    reset_at_end(c);
  }
}

static void an_answer_that_began_is_not_asked_for_again(void **state)
{
  struct fixture f;
  struct result r;
  (void)state;
  prepare(&f, begins_then_dies, 1);
  one(&f, &r);
  one(&f, &r);
  assert_int_equal(r.info.outcome, OUTCOME_RESET);
  assert_true(r.info.reused);
  assert_int_equal(r.info.retries, 0);
  assert_int_equal(f.server.requests, 2);
  result_free(&r);
  finish(&f);
}

static void own_connections(void **state)
{
  struct fixture f;
  struct result r;
  (void)state;
  prepare(&f, keeps, 4);
  one(&f, &r);
  for (int i = 0; i < 3; i++) {
    r = (struct result){0};
    start(&f.client, &r,
          &(struct xfer_request){
              .method = "GET", .url = f.url, .own_connection = true});
    run(&f.client);
    assert_false(r.info.reused);
  }
  one(&f, &r);
  assert_true(r.info.reused); /* the first is still there */
  assert_int_equal(f.server.connections, 4);
  finish(&f);
}

/* As some servers and balancers take their leave. */
static void says_408(struct conn *c)
{
  struct fixture *f = c->server->arg;
  while (next_request(c)) {
    say(c, OK_EMPTY);
    if (c->nth == 0) {
      nap(0.02); /* not at once: that is no answer either */
      say(c, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
      atomic_store(&f->goodbyes, 1);
    }
  }
}

static void b107_a_goodbye_is_no_answer_to_the_next(void **state)
{
  struct fixture f;
  struct result r;
  (void)state;
  prepare(&f, says_408, 1);
  one(&f, &r);
  until_count(&f.goodbyes, 1);
  turn_for(&f.client, 0.05);
  one(&f, &r);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  assert_int_equal(r.info.status, 200);
  assert_false(r.info.reused);
  assert_int_equal(r.info.retries, 0);
  one(&f, &r);
  assert_true(r.info.reused);
  finish(&f);
}

static void three_with_a_pause(struct result r[3])
{
  struct rawserver server;
  struct client client;
  char url[64];
  server_start(&server, keeps, NULL);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/", server.port);
  client_init(&client, &(struct net_config){.connections = 1,
                                            .max_idle_ns = NS_PER_SEC});
  for (int i = 0; i < 3; i++) {
    r[i] = (struct result){0};
    start(&client, &r[i], &(struct xfer_request){.method = "GET", .url = url});
    run(&client);
    if (i == 1 && r[1].info.reused)
      nap(2.1);
  }
  client_deinit(&client);
  server_stop(&server);
}

static void b107_an_idle_connection_is_not_kept_for_ever(void **state)
{
  struct result r[3] = {{0}};
  (void)state;
  for (int i = 0; i < TRIES && !r[1].info.reused; i++)
    three_with_a_pause(r);
  assert_true(r[1].info.reused);
  assert_false(r[2].info.reused);
  assert_int_equal(r[2].info.retries, 0);
}

/* ---- opened ahead ---- */

struct opened {
  unsigned left, opened;
  char error[256];
};

static void on_opened(unsigned opened, const char *error, void *ud)
{
  struct opened *o = ud;
  o->left = 0;
  o->opened = opened;
  snprintf(o->error, sizeof o->error, "%s", error);
}

static void preconnected_without_a_request(void **state)
{
  struct fixture f;
  struct opened o = {.left = 1};
  unsigned before;
  (void)state;
  prepare(&f, keeps, MANY);
  net_preconnect(f.client.net, f.url, MANY, on_opened, &o);
  turn_until(&f.client, &o.left);
  assert_int_equal(o.opened, MANY);
  assert_string_equal(o.error, "");
  assert_int_equal(f.server.requests, 0);
  before = ev_iteration(f.client.loop);
  turn_for(&f.client, 0.05);
  assert_in_range(ev_iteration(f.client.loop) - before, 1, 20); /* no spin */
  run_chain(&f, 3 * MANY, MANY);
  assert_int_equal(f.server.connections, MANY);
  assert_int_equal(f.server.requests, 3 * MANY);
  assert_int_equal(net_counts(f.client.net).opened, MANY);
  assert_int_equal(net_counts(f.client.net).reused, 3 * MANY);
  finish(&f);
}

static void preconnect_tells_what_failed(void **state)
{
  struct fixture f;
  struct opened o = {.left = 1};
  struct result r;
  unsigned short port;
  int fd = refused_port(&port);
  (void)state;
  prepare(&f, keeps, 4);
  snprintf(f.url, sizeof f.url, "http://127.0.0.1:%u/", port);
  net_preconnect(f.client.net, f.url, 4, on_opened, &o);
  turn_until(&f.client, &o.left);
  assert_int_equal(o.opened, 0);
  assert_non_null(strstr(o.error, "refused"));
  one(&f, &r);
  assert_int_equal(r.info.outcome, OUTCOME_CONNECT);
  finish(&f);
  close(fd);
}

static void preconnect_of_none_calls_back(void **state)
{
  struct fixture f;
  struct opened o = {.left = 1};
  (void)state;
  prepare(&f, keeps, 4);
  net_preconnect(f.client.net, f.url, 0, on_opened, &o);
  assert_int_equal(o.left, 1);
  ev_run(f.client.loop, EVRUN_NOWAIT);
  assert_int_equal(o.left, 0);
  finish(&f);
}

static void free_while_all_kinds_are_about(void **state)
{
  struct fixture f;
  struct result r[4];
  struct opened o = {.left = 1};
  (void)state;
  prepare(&f, waits_for_all, 4);
  atomic_store(&f.server.requests, MANY); /* waits for nothing */
  one(&f, &r[0]);                         /* leaves a kept connection */
  atomic_store(&f.server.requests, 0);
  post(&f, &r[1]); /* is waiting for its answer */
  turn_for(&f.client, 0.02);
  net_preconnect(f.client.net, f.url, MANY, on_opened, &o);
  post(&f, &r[2]);
  xfer_cancel(r[2].x, OUTCOME_CANCELLED, "never mind");
  post(&f, &r[3]); /* is not even started */
  client_deinit(&f.client);
  assert_int_equal(r[1].dones + r[2].dones + r[3].dones, 0);
  atomic_store(&f.server.requests, MANY);
  server_stop(&f.server);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b125_as_many_connections_as_requests_at_once),
      cmocka_unit_test(b086_what_is_asked_is_on_the_wire),
      cmocka_unit_test(b117_a_connection_closed_after_each_answer),
      cmocka_unit_test(b116_an_rst_on_the_second_request),
      cmocka_unit_test(b116_a_late_death_leaves_time_to_connect),
      cmocka_unit_test(b107_a_close_just_as_the_request_arrives),
      cmocka_unit_test(b117_a_stale_connection_every_time),
      cmocka_unit_test(a_pool_full_of_dead_connections),
      cmocka_unit_test(b116_the_body_is_sent_again_from_its_start),
      cmocka_unit_test(a_fresh_connection_is_not_tried_again),
      cmocka_unit_test(an_answer_that_began_is_not_asked_for_again),
      cmocka_unit_test(own_connections),
      cmocka_unit_test(b107_a_goodbye_is_no_answer_to_the_next),
      cmocka_unit_test(b107_an_idle_connection_is_not_kept_for_ever),
      cmocka_unit_test(preconnected_without_a_request),
      cmocka_unit_test(preconnect_tells_what_failed),
      cmocka_unit_test(preconnect_of_none_calls_back),
      cmocka_unit_test(free_while_all_kinds_are_about),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
