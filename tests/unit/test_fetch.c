/* One exchange from start to end, against a socket of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/fetch.h"

/* Says the same to everybody, in pieces with pauses between them. */
struct server {
  int fd;
  unsigned port;
  pthread_t thread;
  const char *const *pieces; /* NULL ends; "" pauses for 100 ms */
};

static void *serve(void *ud)
{
  struct server *s = ud;
  char request[4096];
  int fd = accept(s->fd, NULL, NULL);
  ssize_t n = read(fd, request, sizeof request);
  for (const char *const *p = s->pieces; n > 0 && *p; p++) {
    if (**p == '\0')
      usleep(100000);
    else if (send(fd, *p, strlen(*p), MSG_NOSIGNAL) < 0)
      break;
  }
  close(fd);
  return NULL;
}

static void start(struct server *s, const char *const *pieces)
{
  struct sockaddr_in a = {.sin_family = AF_INET,
                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof a;
  s->pieces = pieces;
  s->fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
  assert_int_equal(listen(s->fd, 5), 0);
  getsockname(s->fd, (struct sockaddr *)&a, &len);
  s->port = ntohs(a.sin_port);
  pthread_create(&s->thread, NULL, serve, s);
}

static void stop(struct server *s)
{
  pthread_join(s->thread, NULL);
  close(s->fd);
}

static void fetch(struct fetch *f, unsigned port, struct fetch_request r)
{
  char url[64];
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1/chat/completions", port);
  r.net.connections = 1;
  r.http.method = "POST";
  r.http.url = url;
  r.http.body = STR("{}");
  r.wire.dialect = wire_dialect_find("chat");
  fetch_run(f, &r);
}

#define HEAD                                                                   \
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"                     \
  "Connection: close\r\n\r\n"
#define TOKEN                                                                  \
  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n"

static void reads_to_the_end(void **state)
{
  static const char *const pieces[] = {HEAD, TOKEN, TOKEN, "data: [DONE]\n\n",
                                       NULL};
  struct server s;
  struct fetch f;
  (void)state;
  start(&s, pieces);
  fetch(&f, s.port, (struct fetch_request){0});
  assert_int_equal(f.outcome, OUTCOME_OK);
  assert_int_equal(f.info.status, 200);
  assert_int_equal(f.result->events, 2);
  assert_true(f.result->streamed);
  assert_false(f.hung_up);
  assert_string_equal(f.message, "");
  fetch_free(&f);
  stop(&s);
}

static void hangs_up_when_it_has_seen_enough(void **state)
{
  static const char *const pieces[] = {
      HEAD, TOKEN, "", TOKEN, "", TOKEN, "", "", "", "", "", "", "", "", NULL};
  struct server s;
  struct fetch f;
  uint64_t before = clock_ns();
  (void)state;
  start(&s, pieces);
  fetch(&f, s.port, (struct fetch_request){.enough_ns = 150 * NS_PER_MS});
  assert_true(f.hung_up);
  assert_int_equal(f.outcome, OUTCOME_OK);
  assert_true(clock_ns() - before < 900 * NS_PER_MS);
  fetch_free(&f);
  stop(&s);
}

static void server_words_win(void **state)
{
  static const char *const pieces[] = {
      "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n"
      "Content-Length: 31\r\n\r\n{\"error\":{\"message\":\"no such\"}}",
      NULL};
  struct server s;
  struct fetch f;
  (void)state;
  start(&s, pieces);
  fetch(&f, s.port, (struct fetch_request){0});
  assert_int_equal(f.outcome, OUTCOME_NOT_FOUND);
  assert_int_equal(f.info.status, 404);
  assert_string_equal(f.message, "no such");
  fetch_free(&f);
  stop(&s);
}

static void nobody_there(void **state)
{
  struct server s = {0};
  struct fetch f;
  static const char *const pieces[] = {NULL};
  (void)state;
  start(&s, pieces);
  shutdown(s.fd, SHUT_RDWR);
  stop(&s);
  fetch(&f, s.port, (struct fetch_request){0});
  assert_int_equal(f.outcome, OUTCOME_CONNECT);
  assert_int_equal(f.info.status, 0);
  assert_non_null(strstr(f.message, "refused"));
  fetch_free(&f);
}

static void count(void *ud)
{
  ++*(int *)ud;
}

static void slowness_is_told_once(void **state)
{
  static const char *const pieces[] = {
      "", "", "", HEAD, TOKEN, "data: [DONE]\n\n", NULL};
  struct server s;
  struct fetch f;
  int told = 0;
  (void)state;
  start(&s, pieces);
  fetch(&f, s.port,
        (struct fetch_request){
            .patience_ns = 50 * NS_PER_MS, .slow = count, .ud = &told});
  assert_int_equal(told, 1);
  assert_int_equal(f.outcome, OUTCOME_OK);
  fetch_free(&f);
  stop(&s);
}

struct instants {
  uint64_t at[4];
  int n;
};

static void keep(uint64_t at_ns, void *ud)
{
  struct instants *i = ud;
  if (i->n < 4)
    i->at[i->n++] = at_ns;
}

static void payloads_are_told_with_their_instants(void **state)
{
  static const char *const pieces[] = {HEAD,  TOKEN TOKEN,        "",
                                       TOKEN, "data: [DONE]\n\n", NULL};
  struct server s;
  struct fetch f;
  struct instants i = {0};
  (void)state;
  start(&s, pieces);
  fetch(&f, s.port, (struct fetch_request){.payload = keep, .ud = &i});
  assert_int_equal(i.n, 3);
  assert_int_equal(i.at[0], i.at[1]);
  assert_true(i.at[2] - i.at[1] >= 90 * NS_PER_MS);
  assert_true(f.pieces >= 2);
  assert_int_equal(f.counts.opened, 1);
  assert_string_equal(f.info.peer, "127.0.0.1");
  assert_false(f.info.http_1_0);
  fetch_free(&f);
  stop(&s);
}

static void a_name_alone(void **state)
{
  struct buf addresses = {0};
  char error[128];
  (void)state;
  assert_int_equal(
      fetch_name(STR("localhost"), 10 * NS_PER_SEC, &addresses, error), 0);
  assert_string_equal(error, "");
  assert_true(str_find(buf_str(&addresses), STR("127.0.0.1\n")) >= 0 ||
              str_find(buf_str(&addresses), STR("::1\n")) >= 0);
  buf_reset(&addresses);
  assert_int_equal(fetch_name(STR("no-such-host.invalid"), 10 * NS_PER_SEC,
                              &addresses, error),
                   -1);
  assert_non_null(strstr(error, "no-such-host.invalid"));
  assert_int_equal(addresses.len, 0);
  buf_free(&addresses);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_to_the_end),
      cmocka_unit_test(hangs_up_when_it_has_seen_enough),
      cmocka_unit_test(server_words_win),
      cmocka_unit_test(nobody_there),
      cmocka_unit_test(slowness_is_told_once),
      cmocka_unit_test(payloads_are_told_with_their_instants),
      cmocka_unit_test(a_name_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
