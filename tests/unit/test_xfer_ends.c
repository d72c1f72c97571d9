/* How an exchange can end, and what it is then called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <sys/resource.h>

#include "netclient.h"
#include "rawserver.h"

/* ---- the system's connect, which one test makes fail ---- */

static int connect_errno;

int connect(int fd, const struct sockaddr *a, socklen_t len)
{
  int (*real)(int, const struct sockaddr *, socklen_t);
  if (connect_errno) {
    errno = connect_errno;
    return -1;
  }
  *(void **)&real = dlsym(RTLD_NEXT, "connect");
  return real(fd, a, len);
}

/* ---- one request against a script ---- */

static struct net_config config = {.connections = 4, .kernel_times = true};

static void exchange(struct result *r, const char *url,
                     const struct net_config *c)
{
  struct client client;
  client_init(&client, c);
  start(&client, r,
        &(struct xfer_request){
            .method = "POST", .url = url, .body = STR("{\"n\":1}")});
  run(&client);
  client_deinit(&client);
}

struct plan {
  const char *bytes;
  size_t len; /* 0: a C string */
  bool rst;
};

static void play(struct conn *c)
{
  const struct plan *p = c->server->arg;
  if (!next_request(c))
    return;
  send_all(c, p->bytes, p->len ? p->len : strlen(p->bytes));
  if (p->rst) {
    nap(0.02); /* or the RST overtakes what was sent */
    reset_at_end(c);
  } else {
    shutdown(c->fd, SHUT_WR);
    until_closed(c);
  }
}

struct row {
  const char *name;
  struct plan plan;
  enum outcome outcome;
  int status;
  const char *message; /* contained */
};

static void check_rows(const struct row *rows, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    struct rawserver server;
    struct result r = {0};
    struct plan plan = rows[i].plan;
    char url[64];
    server_start(&server, play, &plan);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", server.port);
    exchange(&r, url, &config);
    server_stop(&server);
    if (r.info.outcome != rows[i].outcome || r.info.status != rows[i].status ||
        !strstr(r.info.message, rows[i].message))
      fail_msg("%s: %s, status %d, \"%s\"", rows[i].name,
               outcome_name(r.info.outcome), r.info.status, r.info.message);
    if (r.info.outcome != OUTCOME_OK && !r.info.message[0])
      fail_msg("%s: no message", rows[i].name);
    assert_int_equal(r.dones, 1);
    assert_int_equal(r.info.retries, 0);
    result_free(&r);
  }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

static void an_end_too_early(void **state)
{
  static const struct row rows[] = {
      {"fin instead of an answer",
       {"", 0, false},
       OUTCOME_TRUNCATED,
       0,
       "closed the connection without an answer"},
      {"rst instead of an answer", {"", 0, true}, OUTCOME_RESET, 0, "reset"},
      {"fin in the status line",
       {"HTTP/1.1 20", 0, false},
       OUTCOME_TRUNCATED,
       0,
       ""},
      {"fin in the headers",
       {"HTTP/1.1 200 OK\r\nContent-Ty", 0, false},
       OUTCOME_TRUNCATED,
       200,
       "closed the connection"},
      {"fin before the empty line",
       {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", 0, false},
       OUTCOME_TRUNCATED,
       200,
       "closed the connection"},
      {"rst in the headers",
       {"HTTP/1.1 200 OK\r\nContent-Ty", 0, true},
       OUTCOME_RESET,
       200,
       "reset"},
      {"fin after 103",
       {"HTTP/1.1 103 Early Hints\r\n\r\n", 0, false},
       OUTCOME_TRUNCATED,
       103,
       "without an answer"},
      {"fin within Content-Length",
       {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234", 0, false},
       OUTCOME_TRUNCATED,
       200,
       "5 bytes remaining"},
      {"rst within Content-Length",
       {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234", 0, true},
       OUTCOME_RESET,
       200,
       "reset"},
      {"fin between chunks",
       {SSE_HEAD "2\r\nhi\r\n", 0, false},
       OUTCOME_TRUNCATED,
       200,
       "outstanding"},
      {"fin in a chunk",
       {SSE_HEAD "9\r\nhi", 0, false},
       OUTCOME_TRUNCATED,
       200,
       "outstanding"},
      {"fin before the last empty line",
       {SSE_HEAD "2\r\nhi\r\n0\r\n", 0, false},
       OUTCOME_TRUNCATED,
       200,
       "outstanding"},
      {"rst between chunks",
       {SSE_HEAD "2\r\nhi\r\n", 0, true},
       OUTCOME_RESET,
       200,
       "reset"},
      {"rst in a body without a length",
       {"HTTP/1.1 200 OK\r\n\r\nhello", 0, true},
       OUTCOME_RESET,
       200,
       "reset"},
  };
  (void)state;
  CHECK_ROWS(rows);
}

static void a_proper_end(void **state)
{
  static const struct row rows[] = {
      {"a length",
       {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 0, false},
       OUTCOME_OK,
       200,
       ""},
      {"an rst after all of it",
       {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 0, true},
       OUTCOME_OK,
       200,
       ""},
      {"no length",
       {"HTTP/1.1 200 OK\r\n\r\nhi", 0, false},
       OUTCOME_OK,
       200,
       ""},
      {"chunks",
       {SSE_HEAD "2\r\nhi\r\n0\r\n\r\n", 0, false},
       OUTCOME_OK,
       200,
       ""},
      {"bare LF",
       {"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 0, false},
       OUTCOME_OK,
       200,
       ""},
      {"http/1.0",
       {"HTTP/1.0 500 Oops\r\n\r\nhi", 0, false},
       OUTCOME_OK,
       500,
       ""},
      {"no body",
       {"HTTP/1.1 204 No Content\r\n\r\n", 0, false},
       OUTCOME_OK,
       204,
       ""},
      {"more than the length",
       {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there", 0, false},
       OUTCOME_OK,
       200,
       ""},
  };
  (void)state;
  CHECK_ROWS(rows);
}

static void what_is_no_http(void **state)
{
  static const struct row rows[] = {
      {"a banner",
       {"SSH-2.0-OpenSSH_9.2p1\r\n", 0, false},
       OUTCOME_MALFORMED,
       0,
       "HTTP/0.9"},
      {"bytes", {"\0\1\2\3", 4, false}, OUTCOME_MALFORMED, 0, ""},
      {"a bad chunk size",
       {SSE_HEAD "2\r\nhi\r\nzz\r\n", 0, false},
       OUTCOME_MALFORMED,
       200,
       "chunked-encoding"},
      {"a chunk without its end",
       {SSE_HEAD "2\r\nhi!!\r\n", 0, false},
       OUTCOME_MALFORMED,
       200,
       "chunked-encoding"},
      {"a length that is none",
       {"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nhi", 0, false},
       OUTCOME_MALFORMED,
       200,
       "Content-Length"},
  };
  (void)state;
  CHECK_ROWS(rows);
}

static void endless_header(struct conn *c)
{
  if (!next_request(c))
    return;
  say(c, "HTTP/1.1 200 OK\r\n");
  for (int i = 0; i < 20000; i++)
    say(c, "X-Noise: all work and no play makes jack a dull boy\r\n");
  until_closed(c);
}

static void endless_line(struct conn *c)
{
  if (!next_request(c))
    return;
  say(c, "HTTP/1.1 200 OK\r\nX-Noise: ");
  for (int i = 0; i < 20000; i++)
    say(c, "all work and no play makes jack a dull boy");
  until_closed(c);
}

static void headers_without_end(void **state)
{
  static void (*const plays[])(struct conn *) = {endless_header, endless_line};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    struct rawserver server;
    struct result r = {0};
    char url[64];
    server_start(&server, plays[i], NULL);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", server.port);
    exchange(&r, url, &config);
    server_stop(&server);
    assert_int_equal(r.info.outcome, OUTCOME_MALFORMED);
    assert_non_null(strstr(r.info.message, "headers"));
    result_free(&r);
  }
}

/* gzip of "data: 1\n\n", sync-flushed: the stream goes on */
static const char zipped[] =
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x4a\x49\x2c\x49\xb4\x52\x30\xe4"
    "\xe2\x02\x00\x00\x00\xff\xff";

static void sends_gzip(struct conn *c)
{
  if (!next_request(c))
    return;
  say(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
         "Transfer-Encoding: chunked\r\n\r\n");
  sayf(c, "%zx\r\n", sizeof zipped - 1);
  send_all(c, zipped, sizeof zipped - 1);
  say(c, "\r\n");
  until_closed(c); /* who waits for more gets nothing */
}

static void b030_gzip_is_decoded_as_it_arrives(void **state)
{
  struct rawserver server;
  struct result r = {.stop_at = 1};
  char url[64];
  (void)state;
  server_start(&server, sends_gzip, NULL);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/", server.port);
  exchange(&r, url, &config);
  assert_non_null(strstr(server.last, "Accept-Encoding: identity\r\n"));
  server_stop(&server);
  assert_int_equal(r.info.outcome, OUTCOME_CANCELLED); /* after one event */
  assert_int_equal(r.body.len, 9);
  assert_memory_equal(r.body.p, "data: 1\n\n", 9);
  assert_int_equal(r.info.bytes_in, 9);
  result_free(&r);
}

#define EMPTY_GZIP                                                             \
  "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"                          \
  "\x1f\x8b\x08\0\0\0\0\0\0\xff\x03\0\0\0\0\0\0\0\0\0"

static void b030_other_codings_are_refused_in_clear(void **state)
{
  static const struct row rows[] = {
      {"unknown",
       {"HTTP/1.1 200 OK\r\nContent-Encoding: aws-chunked\r\n"
        "Content-Length: 2\r\n\r\nhi",
        0, false},
       OUTCOME_MALFORMED,
       200,
       "unsupported content-encoding: aws-chunked"},
      {"not what it says",
       {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
        "Content-Length: 9\r\n\r\ndata: 1\n\n",
        0, false},
       OUTCOME_MALFORMED,
       200,
       "broken content-encoding gzip"},
      {"bytes behind its end",
       {EMPTY_GZIP "junk", sizeof EMPTY_GZIP "junk" - 1, false},
       OUTCOME_MALFORMED,
       200,
       "broken content-encoding gzip"},
      {"identity",
       {"HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n"
        "Content-Length: 9\r\n\r\ndata: 1\n\n",
        0, false},
       OUTCOME_OK,
       200,
       ""},
  };
  (void)state;
  CHECK_ROWS(rows);
}

/* ---- before a request is out ---- */

static void nobody_listens(void **state)
{
  struct result r = {0};
  char url[64];
  unsigned short port;
  int fd = refused_port(&port);
  (void)state;
  snprintf(url, sizeof url, "http://127.0.0.1:%u/", port);
  exchange(&r, url, &config);
  close(fd);
  assert_int_equal(r.info.outcome, OUTCOME_CONNECT);
  assert_non_null(strstr(r.info.message, "refused"));
  assert_int_equal(r.info.status, 0);
  assert_int_equal(r.info.connected_ns, 0);
  assert_int_equal(r.info.written_ns, 0);
  assert_true(r.info.sent_ns && r.info.done_ns >= r.info.sent_ns);
  result_free(&r);
}

static void a_name_that_cannot_be(void **state)
{
  struct result r = {0};
  (void)state;
  /* A label of more than 63 bytes: no resolver needs to be asked. */
  exchange(&r,
           "http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
           "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test/",
           &config);
  assert_int_equal(r.info.outcome, OUTCOME_DNS);
  assert_non_null(strstr(r.info.message, "cannot resolve aaaa"));
  result_free(&r);
}

static void urls_that_are_none(void **state)
{
  static const char *const urls[] = {"", "http://", "http://a b/",
                                     "http://h:99999/", "gopher://127.0.0.1/"};
  (void)state;
  for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
    struct result r = {0};
    exchange(&r, urls[i], &config);
    assert_int_equal(r.info.outcome, OUTCOME_CONNECT);
    assert_true(r.info.message[0]);
    result_free(&r);
  }
}

static void b111_no_file_left_is_our_own_trouble(void **state)
{
  struct rlimit was, none;
  struct rawserver server;
  struct client client;
  struct result r = {0};
  char url[64];
  (void)state;
  server_start(&server, play, &(struct plan){"", 0, false});
  snprintf(url, sizeof url, "http://127.0.0.1:%u/", server.port);
  client_init(&client, &config);
  getrlimit(RLIMIT_NOFILE, &was);
  none = (struct rlimit){3, was.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  start(&client, &r, &(struct xfer_request){.method = "GET", .url = url});
  run(&client);
  setrlimit(RLIMIT_NOFILE, &was);
  client_deinit(&client);
  server_stop(&server);
  assert_int_equal(r.info.outcome, OUTCOME_CLIENT_RESOURCE);
  assert_non_null(strstr(r.info.message, "open files"));
  result_free(&r);
}

static void b115_no_port_left_is_our_own_trouble(void **state)
{
  struct result r = {0};
  (void)state;
  connect_errno = EADDRNOTAVAIL;
  exchange(&r, "http://127.0.0.1:9/", &config);
  connect_errno = 0;
  assert_int_equal(r.info.outcome, OUTCOME_CLIENT_RESOURCE);
  assert_non_null(strstr(r.info.message, "assign requested address"));
  result_free(&r);
}

/* ---- proxies ---- */

static void proxied(const struct row *row, const char *url)
{
  struct rawserver proxy;
  struct result r = {0};
  struct plan plan = row->plan;
  struct net_config c = config;
  char setting[64];
  server_start(&proxy, play, &plan);
  snprintf(setting, sizeof setting, "http://u:hunter2@127.0.0.1:%u",
           proxy.port);
  c.proxy = setting;
  exchange(&r, url, &c);
  server_stop(&proxy);
  if (r.info.outcome != row->outcome || r.info.status != row->status)
    fail_msg("%s: %s, status %d, \"%s\"", row->name,
             outcome_name(r.info.outcome), r.info.status, r.info.message);
  assert_null(strstr(r.info.message, "hunter2"));
  assert_non_null(strstr(proxy.last, row->message));
  result_free(&r);
}

static void b110_through_a_proxy(void **state)
{
  static const struct row plain = {
      "plain",
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 0, false},
      OUTCOME_OK,
      200,
      "POST http://llm.test/v1 HTTP/1.1\r\n",
  };
  static const struct row refused = {
      "refused",
      {"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n", 0, false},
      OUTCOME_PROXY,
      0,
      "CONNECT llm.test:443 HTTP/1.1\r\n",
  };
  static const struct row gone = {
      "gone", {"", 0, false}, OUTCOME_PROXY, 0, "CONNECT llm.test:443"};
  struct result r = {0};
  struct net_config c = config;
  char setting[64];
  unsigned short port;
  int fd = refused_port(&port);
  (void)state;
  proxied(&plain, "http://llm.test/v1");
  proxied(&refused, "https://llm.test/v1");
  proxied(&gone, "https://llm.test/v1");
  snprintf(setting, sizeof setting, "127.0.0.1:%u", port);
  c.proxy = setting;
  exchange(&r, "http://llm.test/v1", &c);
  close(fd);
  assert_int_equal(r.info.outcome, OUTCOME_PROXY);
  result_free(&r);
}

static void b110_loopback_needs_no_proxy(void **state)
{
  struct rawserver server;
  struct result r = {0};
  struct plan plan = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0, false};
  char url[64], shown[256];
  (void)state;
  setenv("http_proxy", "http://u:hunter2@127.0.0.1:9", 1);
  server_start(&server, play, &plan);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/", server.port);
  exchange(&r, url, &config);
  server_stop(&server);
  assert_int_equal(r.info.outcome, OUTCOME_OK);
  assert_null(net_proxy_for(NULL, url, shown));
  assert_string_equal(net_proxy_for(NULL, "http://llm.test/", shown),
                      "http://***@127.0.0.1:9");
  assert_null(net_proxy_for("", "http://llm.test/", shown));
  unsetenv("http_proxy");
  result_free(&r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_end_too_early),
      cmocka_unit_test(a_proper_end),
      cmocka_unit_test(what_is_no_http),
      cmocka_unit_test(headers_without_end),
      cmocka_unit_test(b030_gzip_is_decoded_as_it_arrives),
      cmocka_unit_test(b030_other_codings_are_refused_in_clear),
      cmocka_unit_test(nobody_listens),
      cmocka_unit_test(a_name_that_cannot_be),
      cmocka_unit_test(urls_that_are_none),
      cmocka_unit_test(b111_no_file_left_is_our_own_trouble),
      cmocka_unit_test(b115_no_port_left_is_our_own_trouble),
      cmocka_unit_test(b110_through_a_proxy),
      cmocka_unit_test(b110_loopback_needs_no_proxy),
  };
  unsetenv("http_proxy");
  unsetenv("https_proxy");
  unsetenv("all_proxy");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
