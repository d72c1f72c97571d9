/* One exchange from start to end, against a socket of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/fetch.h"

/* Says the same to everybody, in pieces with pauses between them. */
struct server {
  int fd;
  unsigned port;
  pthread_t thread;
  /* NULL ends; "" pauses for 100 ms; "\1" and so on wait until the test was
   * told so often. */
  const char *const *pieces;
  atomic_int told;
  uint64_t told_ns; /* and that was seen then */
};

static void wait_for(struct server *s, int times)
{
  for (int i = 0; i < 30000 && atomic_load(&s->told) < times; i++)
    usleep(1000);
  s->told_ns = clock_ns();
}

static void *serve(void *ud)
{
  struct server *s = ud;
  char request[4096];
  int fd = accept(s->fd, NULL, NULL);
  ssize_t n = read(fd, request, sizeof request);
  for (const char *const *p = s->pieces; n > 0 && *p; p++) {
    if (**p == '\0')
      usleep(100000);
    else if (**p < ' ')
      wait_for(s, **p);
    else if (send(fd, *p, strlen(*p), MSG_NOSIGNAL) < 0)
      break;
  }
  close(fd);
  return NULL;
}

/* A port of its own, which refuses until somebody listens. */
static void take_port(struct server *s)
{
  struct sockaddr_in a = {.sin_family = AF_INET,
                          .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof a;
  s->fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
  getsockname(s->fd, (struct sockaddr *)&a, &len);
  s->port = ntohs(a.sin_port);
}

static void start(struct server *s, const char *const *pieces)
{
  take_port(s);
  assert_int_equal(listen(s->fd, 5), 0);
  s->pieces = pieces;
  atomic_store(&s->told, 0);
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
  const char *pieces[602] = {HEAD}; /* half a minute, until it hangs up */
  struct server s;
  struct fetch f;
  uint64_t before = clock_ns();
  (void)state;
  for (int i = 1; i <= 600; i++)
    pieces[i] = i % 2 ? TOKEN : "";
  start(&s, pieces);
  fetch(&f, s.port, (struct fetch_request){.enough_ns = 150 * NS_PER_MS});
  assert_true(f.hung_up);
  assert_int_equal(f.outcome, OUTCOME_OK);
  assert_true(clock_ns() - before < 20 * NS_PER_SEC);
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
  struct server s;
  struct fetch f;
  (void)state;
  take_port(&s);
  fetch(&f, s.port, (struct fetch_request){0});
  assert_int_equal(f.outcome, OUTCOME_CONNECT);
  assert_int_equal(f.info.status, 0);
  assert_non_null(strstr(f.message, "refused"));
  fetch_free(&f);
  close(s.fd);
}

static void count(void *ud)
{
  atomic_fetch_add((atomic_int *)ud, 1);
}

static void slowness_is_told_once(void **state)
{
  static const char *const pieces[] = {
      "\1", "", "", HEAD, TOKEN, "data: [DONE]\n\n", NULL};
  struct server s;
  struct fetch f;
  (void)state;
  start(&s, pieces);
  fetch(&f, s.port,
        (struct fetch_request){
            .patience_ns = 50 * NS_PER_MS, .slow = count, .ud = &s.told});
  assert_int_equal(s.told, 1);
  assert_int_equal(f.outcome, OUTCOME_OK);
  fetch_free(&f);
  stop(&s);
}

struct instants {
  struct server *server;
  uint64_t at[4];
  int n;
};

static void keep(uint64_t at_ns, void *ud)
{
  struct instants *i = ud;
  if (i->n < 4)
    i->at[i->n++] = at_ns;
  atomic_fetch_add(&i->server->told, 1);
}

static void payloads_are_told_with_their_instants(void **state)
{
  static const char *const pieces[] = {HEAD,  TOKEN TOKEN,        "\2",
                                       TOKEN, "data: [DONE]\n\n", NULL};
  struct server s;
  struct fetch f;
  struct instants i = {.server = &s};
  (void)state;
  start(&s, pieces);
  fetch(&f, s.port, (struct fetch_request){.payload = keep, .ud = &i});
  stop(&s);
  assert_int_equal(i.n, 3);
  assert_int_equal(i.at[0], i.at[1]);
  assert_true(i.at[1] <= s.told_ns && s.told_ns <= i.at[2]);
  assert_true(f.pieces >= 2);
  assert_int_equal(f.counts.opened, 1);
  assert_string_equal(f.info.peer, "127.0.0.1");
  assert_false(f.info.http_1_0);
  fetch_free(&f);
}

/* Not every machine knows localhost, or has somebody to ask. */
int getaddrinfo(const char *node, const char *service,
                const struct addrinfo *hints, struct addrinfo **out)
{
  struct sockaddr_in *a;
  (void)service, (void)hints;
  if (strcmp(node, "localhost") != 0)
    return EAI_NONAME;
  *out = calloc(1, sizeof **out + sizeof *a);
  a = (struct sockaddr_in *)(void *)(*out + 1);
  a->sin_family = AF_INET;
  a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  **out = (struct addrinfo){.ai_family = AF_INET,
                            .ai_addrlen = sizeof *a,
                            .ai_addr = (struct sockaddr *)a};
  return 0;
}

void freeaddrinfo(struct addrinfo *i)
{
  free(i);
}

static void a_name_alone(void **state)
{
  struct buf addresses = {0};
  char error[128];
  (void)state;
  assert_int_equal(
      fetch_name(STR("localhost"), 10 * NS_PER_SEC, &addresses, error), 0);
  assert_string_equal(error, "");
  assert_string_equal(buf_cstr(&addresses), "127.0.0.1\n");
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
