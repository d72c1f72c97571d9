/* One exchange that goes well: what is sent, what is told. */
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
  struct result r;
  atomic_uint seen; /* pieces */
};

/* A stalled machine spoils a try. */
#define TRIES 10

static void prepare(struct fixture *f, script_fn *script)
{
  memset(f, 0, sizeof *f);
  server_start(&f->server, script, f);
  client_init(&f->client,
              &(struct net_config){.connections = 4, .kernel_times = true});
  snprintf(f->url, sizeof f->url, "http://127.0.0.1:%u/v1/chat/completions",
           f->server.port);
}

static void finish(struct fixture *f)
{
  client_deinit(&f->client);
  server_stop(&f->server);
  result_free(&f->r);
}

static void count_piece(struct result *r)
{
  atomic_fetch_add((atomic_uint *)r->arg, 1);
}

static void post(struct fixture *f, struct str body)
{
  f->r.on_data = count_piece;
  f->r.arg = &f->seen;
  start(&f->client, &f->r,
        &(struct xfer_request){.method = "POST", .url = f->url, .body = body});
}

#define assert_body(r, text)                                                   \
  do {                                                                         \
    assert_int_equal((r)->body.len, strlen(text));                             \
    assert_memory_equal((r)->body.p, text, strlen(text));                      \
  } while (0)

/* None is sent before its predecessor was read. */
static void stream_of_three(struct conn *c)
{
  struct fixture *f = c->server->arg;
  while (next_request(c)) {
    unsigned seen = atomic_load(&f->seen);
    say(c, SSE_HEAD);
    for (unsigned i = 0; i < 3; i++) {
      until_count(&f->seen, seen + i);
      nap(0.002);
      chunk(c, "data: {}\n\n");
    }
    say(c, "0\r\n\r\n");
  }
}

static void a_stream_is_told_as_it_arrives(void **state)
{
  struct fixture f;
  const struct xfer_info *i = &f.r.info;
  (void)state;
  prepare(&f, stream_of_three);
  post(&f, STR("{\"a\":1}"));
  assert_int_equal(f.r.heads + f.r.pieces + f.r.dones, 0); /* not yet */
  run(&f.client);
  assert_int_equal(i->outcome, OUTCOME_OK);
  assert_string_equal(i->message, "");
  assert_int_equal(i->status, 200);
  assert_string_equal(i->content_type, "text/event-stream");
  assert_int_equal(f.r.heads, 1);
  assert_int_equal(f.r.dones, 1);
  assert_int_equal(f.r.pieces, 3);
  assert_body(&f.r, "data: {}\n\ndata: {}\n\ndata: {}\n\n");
  assert_int_equal(i->bytes_in, 30);
  assert_int_equal(i->bytes_out, 7);
  assert_int_equal(i->retries, 0);
  assert_false(i->reused);
  assert_true(i->retry_after_s < 0);
  finish(&f);
}

static void instants_are_in_order(void **state)
{
  struct fixture f;
  const struct xfer_info *i = &f.r.info;
  uint64_t before = clock_ns();
  (void)state;
  prepare(&f, stream_of_three);
  for (int again = 0; again < 2; again++) {
    f.r = (struct result){0};
    post(&f, STR("{}"));
    run(&f.client);
    assert_true(before <= i->sent_ns);
    assert_true(i->sent_ns <= i->connected_ns);
    assert_true(i->connected_ns <= i->written_ns);
    assert_true(i->written_ns <= i->headers_ns);
    assert_true(i->headers_ns <= i->first_byte_ns);
    /* two naps of 2 ms */
    assert_true(i->last_byte_ns - i->first_byte_ns >= 3 * NS_PER_MS);
    assert_true(i->last_byte_ns <= i->done_ns);
    assert_true(i->done_ns <= clock_ns());
    assert_false(f.r.backwards);
    assert_int_equal(i->reused, again);
    if (again)
      assert_int_equal(i->connected_ns, i->sent_ns);
    buf_free(&f.r.body);
  }
  assert_int_equal(net_counts(f.client.net).opened, 1);
  assert_int_equal(net_counts(f.client.net).reused, 1);
  assert_true(net_counts(f.client.net).connect_ns > 0);
  finish(&f);
}

static void ok(struct conn *c)
{
  while (next_request(c))
    answer(c, "200 OK", "Content-Type: Application/JSON\r\n", "{}");
}

static void the_request_on_the_wire(void **state)
{
  struct fixture f;
  struct xfer_headers *h = xfer_headers_new();
  struct err e = {0};
  char expected[512];
  (void)state;
  prepare(&f, ok);
  xfer_headers_set(h, STR("Content-Type"), STR("application/json"), &e);
  xfer_headers_set(h, STR("X-Team"), STR("red"), &e);
  xfer_headers_set(h, STR("x-team"), STR(" blue "), &e);
  xfer_headers_set(h, STR("X-Empty"), STR(""), &e);
  assert_int_equal(e.count, 0);
  start(&f.client, &f.r,
        &(struct xfer_request){.method = "POST",
                               .url = f.url,
                               .headers = h,
                               .body = STR("{\"x\":2}")});
  xfer_headers_unref(h); /* the exchange has its own reference */
  run(&f.client);
  snprintf(expected, sizeof expected,
           "POST /v1/chat/completions HTTP/1.1\r\n"
           "Host: 127.0.0.1:%u\r\n"
           "Accept: */*\r\n"
           "Content-Type: application/json\r\n"
           "x-team: blue\r\n"
           "X-Empty:\r\n"
           "Accept-Encoding: identity\r\n"
           "Content-Length: 7\r\n\r\n{\"x\":2}",
           f.server.port);
  assert_string_equal(f.server.last, expected);
  assert_string_equal(f.r.info.content_type, "application/json");
  finish(&f);
}

static void methods(void **state)
{
  static const struct {
    const char *method, *body, *line;
  } rows[] = {
      {"GET", "", "GET /v1/chat/completions HTTP/1.1\r\nHost"},
      {"POST", "", "POST /v1/chat/completions HTTP/1.1\r\nHost"},
      {"HEAD", "", "HEAD /v1/chat/completions HTTP/1.1\r\nHost"},
      {"DELETE", "", "DELETE /v1/chat/completions HTTP/1.1\r\nHost"},
      {"GET", "{}", "GET /v1/chat/completions HTTP/1.1\r\nHost"},
      {"PUT", "{}", "PUT /v1/chat/completions HTTP/1.1\r\nHost"},
      {"POST", "{}", "POST /v1/chat/completions HTTP/1.1\r\nHost"},
      {"GET", "", "GET /v1/chat/completions HTTP/1.1\r\nHost"},
  };
  struct fixture f;
  (void)state;
  prepare(&f, ok);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *length = strcmp(rows[i].body, "{}") == 0 ? "Content-Length: 2"
                         : strcmp(rows[i].method, "POST") == 0
                             ? "Content-Length: 0"
                             : NULL;
    f.r = (struct result){0};
    start(&f.client, &f.r,
          &(struct xfer_request){.method = rows[i].method,
                                 .url = f.url,
                                 .body = str_of(rows[i].body)});
    run(&f.client);
    assert_int_equal(f.r.info.outcome, OUTCOME_OK);
    assert_memory_equal(f.server.last, rows[i].line, strlen(rows[i].line));
    if (length)
      assert_non_null(strstr(f.server.last, length));
    else
      assert_null(strstr(f.server.last, "Content-Length"));
    buf_free(&f.r.body);
    if (strcmp(rows[i].method, "HEAD") == 0) { /* its body confuses: anew */
      finish(&f);
      prepare(&f, ok);
    }
  }
  finish(&f);
}

static void header_lines_when_asked_for(void **state)
{
  struct fixture f;
  (void)state;
  prepare(&f, ok);
  start(&f.client, &f.r,
        &(struct xfer_request){
            .method = "GET", .url = f.url, .keep_headers = true});
  run(&f.client);
  assert_string_equal(buf_cstr(&f.r.lines),
                      "Content-Type: Application/JSON\nContent-Length: 2\n");
  finish(&f);
}

static void hints(struct conn *c)
{
  say(c, "HTTP/1.1 100 Continue\r\n\r\n"
         "HTTP/1.1 103 Early Hints\r\nContent-Type: a/hint\r\n"
         "Link: </x>\r\n\r\n");
  if (next_request(c)) {
    say(c, "HTTP/1.1 103 Early Hints\r\nLocation: /hint\r\n\r\n");
    nap(0.02);
    answer(c, "200 OK", "", "hello");
  }
}

static void x17_1xx_answers_are_skipped(void **state)
{
  struct fixture f;
  (void)state;
  prepare(&f, hints);
  start(&f.client, &f.r,
        &(struct xfer_request){
            .method = "GET", .url = f.url, .keep_headers = true});
  run(&f.client);
  assert_int_equal(f.r.info.outcome, OUTCOME_OK);
  assert_int_equal(f.r.info.status, 200);
  assert_int_equal(f.r.heads, 1);
  assert_string_equal(f.r.info.content_type, "");
  assert_string_equal(f.r.info.location, "");
  assert_string_equal(buf_cstr(&f.r.lines), "Content-Length: 5\n");
  assert_true(f.r.info.headers_ns - f.r.info.sent_ns >= 15 * NS_PER_MS);
  finish(&f);
}

static void big_body(struct conn *c)
{
  while (next_request(c))
    answer(c, "200 OK", "", "{}");
}

static void b118_a_body_of_2_mb_waits_for_nothing(void **state)
{
  struct fixture f;
  struct buf body = {0};
  uint64_t took = UINT64_MAX;
  (void)state;
  prepare(&f, big_body);
  while (body.len < 2 * 1024 * 1024)
    buf_adds(&body, "all work and no play ");
  for (int i = 0; i < TRIES && took >= 900 * NS_PER_MS; i++) {
    result_free(&f.r);
    f.r = (struct result){0};
    post(&f, buf_str(&body));
    run(&f.client);
    assert_int_equal(f.r.info.outcome, OUTCOME_OK);
    assert_int_equal(f.r.info.bytes_out, body.len);
    took = f.r.info.done_ns - f.r.info.sent_ns;
  }
  assert_true(took < 900 * NS_PER_MS);
  assert_true(f.r.info.written_ns > f.r.info.connected_ns);
  assert_null(strstr(f.server.last, "Expect"));
  assert_non_null(strstr(f.server.last, "Content-Length: 2097"));
  assert_null(strstr(f.server.last, "chunked"));
  buf_free(&body);
  finish(&f);
}

static void moved(struct conn *c)
{
  while (next_request(c))
    answer(c, "301 Moved Permanently", "Location: /v1/chat/completions/\r\n",
           "");
}

static void b127_a_redirect_is_told_and_not_followed(void **state)
{
  struct fixture f;
  (void)state;
  prepare(&f, moved);
  post(&f, STR("{}"));
  run(&f.client);
  assert_int_equal(f.r.info.outcome, OUTCOME_OK); /* a complete message */
  assert_int_equal(f.r.info.status, 301);
  assert_string_equal(f.r.info.location, "/v1/chat/completions/");
  assert_int_equal(f.server.requests, 1);
  finish(&f);
}

static void throttled(struct conn *c)
{
  while (next_request(c))
    answer(c, "429 Too Many Requests",
           c->request == 1   ? "Retry-After: 1.5\r\n"
           : c->request == 2 ? "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
           : c->request == 3 ? "Retry-After: Wed, 21 Oct 2065 07:28:00 GMT\r\n"
           : c->request == 4 ? "Retry-After: soon\r\n"
                             : "",
           "{}");
}

static void b121_retry_after_in_seconds_and_as_a_date(void **state)
{
  struct fixture f;
  double seen[5];
  (void)state;
  prepare(&f, throttled);
  for (int i = 0; i < 5; i++) {
    f.r = (struct result){0};
    post(&f, STR("{}"));
    run(&f.client);
    assert_int_equal(f.r.info.status, 429);
    seen[i] = f.r.info.retry_after_s;
    buf_free(&f.r.body);
  }
  assert_true(seen[0] == 1.5);
  assert_true(seen[1] == 0); /* the past: now */
  assert_true(seen[2] > 1e7);
  assert_true(seen[3] < 0);
  assert_true(seen[4] < 0);
  assert_int_equal(f.server.connections, 1);
  finish(&f);
}

static void headers_are_checked(void **state)
{
  static const struct {
    struct str name, value;
    bool good;
  } rows[] = {
      {STR("Authorization"), STR("Bearer k"), true},
      {STR("X-Tab"), STR("a\tb"), true},
      {STR("X-Latin"), STR("caf\xc3\xa9"), true},
      {STR("Authorization"), STR("Bearer hunter2\r\nX: y"), false},
      {STR("Authorization"), STR("hunter2\n"), false},
      {STR("Authorization"), {"hunter2\0", 8}, false},
      {STR(""), STR("hunter2"), false},
      {STR("X Y"), STR("hunter2"), false},
      {STR("X:"), STR("hunter2"), false},
      {STR("X\r\nY"), STR("hunter2"), false},
      {STR("content-length"), STR("hunter2"), false},
      {STR("Transfer-Encoding"), STR("hunter2"), false},
  };
  struct xfer_headers *h = xfer_headers_new();
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct err e = {0};
    assert_int_equal(xfer_headers_set(h, rows[i].name, rows[i].value, &e),
                     rows[i].good ? 0 : -1);
    assert_int_equal(e.count, !rows[i].good);
    assert_null(strstr(err_text(&e), "hunter2"));
    err_free(&e);
  }
  xfer_headers_unref(h);
}

static void a_copy_of_headers_goes_its_own_way(void **state)
{
  struct fixture f;
  struct err e = {0};
  struct xfer_headers *h = xfer_headers_new(), *copy;
  (void)state;
  prepare(&f, ok);
  for (int i = 0; i < 20; i++) {
    char name[16];
    snprintf(name, sizeof name, "X-%d", i);
    xfer_headers_set(h, str_of(name), STR("old"), &e);
  }
  copy = xfer_headers_copy(h);
  xfer_headers_set(copy, STR("X-19"), STR("new"), &e);
  start(&f.client, &f.r,
        &(struct xfer_request){.method = "GET", .url = f.url, .headers = h});
  run(&f.client);
  assert_non_null(strstr(f.server.last, "X-19: old"));
  start(&f.client, &f.r,
        &(struct xfer_request){.method = "GET", .url = f.url, .headers = copy});
  run(&f.client);
  assert_non_null(strstr(f.server.last, "X-0: old"));
  assert_non_null(strstr(f.server.last, "X-19: new"));
  xfer_headers_unref(h);
  xfer_headers_unref(copy);
  finish(&f);
}

static void trailers(struct conn *c)
{
  while (next_request(c))
    say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           "2\r\nhi\r\n0\r\nContent-Type: late/one\r\n\r\n");
}

static void trailers_are_no_headers(void **state)
{
  struct fixture f;
  (void)state;
  prepare(&f, trailers);
  post(&f, STR("{}"));
  run(&f.client);
  assert_int_equal(f.r.info.outcome, OUTCOME_OK);
  assert_int_equal(f.r.heads, 1);
  assert_string_equal(f.r.info.content_type, "");
  assert_body(&f.r, "hi");
  finish(&f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stream_is_told_as_it_arrives),
      cmocka_unit_test(instants_are_in_order),
      cmocka_unit_test(the_request_on_the_wire),
      cmocka_unit_test(methods),
      cmocka_unit_test(header_lines_when_asked_for),
      cmocka_unit_test(x17_1xx_answers_are_skipped),
      cmocka_unit_test(b118_a_body_of_2_mb_waits_for_nothing),
      cmocka_unit_test(b127_a_redirect_is_told_and_not_followed),
      cmocka_unit_test(b121_retry_after_in_seconds_and_as_a_date),
      cmocka_unit_test(headers_are_checked),
      cmocka_unit_test(a_copy_of_headers_goes_its_own_way),
      cmocka_unit_test(trailers_are_no_headers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
