/* The server in this process, on a thread, spoken to over raw sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "files.h"
#include "mock/mock.h"

struct server {
  struct mock_config config;
  struct mock *mock;
  pthread_t thread;
  char log[64];
};

static void *serve(void *ud)
{
  mock_run(((struct server *)ud)->mock);
  return NULL;
}

static void server_init(struct server *s)
{
  *s = (struct server){0};
  mock_config_defaults(&s->config);
  s->config.plan.ttft.mean = s->config.plan.itl.mean = 1e6;
  snprintf(s->log, sizeof s->log, "/tmp/test_mock_server.%d", getpid());
}

static void server_start(struct server *s)
{
  struct err e = {0};
  s->config.log = s->log;
  s->mock = mock_open(&s->config, &e);
  assert_non_null(s->mock);
  assert_true(mock_port(s->mock) > 0);
  assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

/* Returns the log's text, to be freed. */
static struct buf server_stop(struct server *s)
{
  struct buf text;
  mock_stop(s->mock);
  pthread_join(s->thread, NULL);
  mock_close(s->mock);
  text = file_read(s->log);
  unlink(s->log);
  return text;
}

static int dial(const struct server *s)
{
  struct sockaddr_in a = {.sin_family = AF_INET,
                          .sin_port = htons((uint16_t)mock_port(s->mock))};
  struct timeval patience = {.tv_sec = 20};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

static void say(int fd, const char *text)
{
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void ask(int fd, const char *headers, const char *body)
{
  struct buf text = {0};
  buf_addf(&text,
           "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\n%s"
           "content-length: %zu\r\n\r\n%s",
           headers, strlen(body), body);
  say(fd, buf_cstr(&text));
  buf_free(&text);
}

/* Read until `end` was seen `times` times, or the other side closes; `into`
 * gets it all. Returns 1, or the last recv. */
static ssize_t listen_for(int fd, const char *end, int times, struct buf *into)
{
  size_t from = 0;
  for (;;) {
    const char *at;
    char *to;
    ssize_t n;
    while ((at = strstr(buf_cstr(into) + from, end))) {
      from = (size_t)(at - into->p) + strlen(end);
      if (--times == 0)
        return 1;
    }
    /* What is left may be the beginning of one. */
    if (into->len > from + strlen(end))
      from = into->len - strlen(end);
    to = buf_reserve(into, 65536);
    n = recv(fd, to, 65536, 0);
    if (n < 0 && errno == EINTR)
      continue; /* stopped and continued: with a patience it is not resumed */
    if (n <= 0)
      return n;
    into->len += (size_t)n;
  }
}

static unsigned count_of(const struct buf *text, const char *needle)
{
  struct buf copy = *text;
  const char *at = buf_cstr(&copy);
  unsigned n = 0;
  while ((at = strstr(at, needle))) {
    n++;
    at += strlen(needle);
  }
  return n;
}

#define CHAT                                                                   \
  "{\"model\":\"m\",\"stream\":true,\"max_tokens\":5,"                         \
  "\"messages\":[{\"role\":\"user\",\"content\":\"one two\"}]}"
#define END "0\r\n\r\n"

/* Asks for a chat on a connection of its own, and listens as listen_for does.
 * The connection stays open. */
static int hear(struct server *s, const char *headers, const char *end,
                int times, struct buf *into)
{
  int fd = dial(s);
  ask(fd, headers, CHAT);
  listen_for(fd, end, times, into);
  return fd;
}

static double field(const json_value *line, const char *key)
{
  return json_double(json_get(line, key), -1);
}

static void streams_and_logs_the_truth(void **state)
{
  struct server s;
  struct buf got = {0}, log;
  uint64_t before = clock_ns(), after;
  json_value *line;
  int fd;
  (void)state;
  server_init(&s);
  s.config.log_tokens = s.config.log_headers = s.config.log_bodies = true;
  server_start(&s);
  fd = hear(&s, "x-request-id: r7\r\n", END, 1, &got);
  after = clock_ns();
  close(fd);
  assert_int_equal(count_of(&got, "data: {"), 6); /* the role, five tokens */
  assert_int_equal(count_of(&got, "data: [DONE]"), 1);
  assert_int_equal(count_of(&got, "\"finish_reason\":\"length\""), 1);
  log = server_stop(&s);
  line = json_parse(str_trim(buf_str(&log)), NULL);
  assert_non_null(line);
  assert_string_equal(json_text(json_get(line, "request_id")), "r7");
  assert_string_equal(json_text(json_get(line, "end")), "done");
  assert_string_equal(json_text(json_get(line, "body")), CHAT);
  assert_true(field(line, "tokens") == 5 && field(line, "events") == 5);
  assert_true(field(line, "prompt_tokens") == 2);
  assert_true(field(line, "bytes_out") == (double)got.len);
  assert_true(field(line, "accept_ns") >= (double)before);
  assert_true(field(line, "recv_ns") >= (double)before);
  assert_true(field(line, "first_ns") >= field(line, "recv_ns") + 1e6);
  assert_true(field(line, "last_ns") >= field(line, "recv_ns") + 5e6);
  assert_true(field(line, "end_ns") >= field(line, "last_ns"));
  assert_true(field(line, "last_ns") <= (double)after);
  assert_true(json_double(json_first(json_get(line, "events_ns")), 0) ==
              field(line, "first_ns"));
  json_free(line);
  buf_free(&log);
  buf_free(&got);
}

static void requests_behind_one_another(void **state)
{
  struct server s;
  struct buf got = {0}, log;
  int fd;
  (void)state;
  server_init(&s);
  server_start(&s);
  fd = dial(&s);
  for (int i = 0; i < 20; i++)
    ask(fd, "", CHAT); /* all before the first answer */
  listen_for(fd, END, 20, &got);
  assert_int_equal(count_of(&got, "[DONE]"), 20);
  close(fd);
  log = server_stop(&s);
  assert_int_equal(count_of(&log, "\"connection\":1,"), 20);
  assert_int_equal(count_of(&log, "\"nth\":20,"), 1);
  buf_free(&log);
  buf_free(&got);
}

/* `n` clients ask, and then each listens to its stream. */
static void serve_at_once(struct server *s, int n)
{
  struct buf log;
  int fds[100]; /* both ends are ours, and some systems allow 256 */
  server_start(s);
  for (int i = 0; i < n; i++) {
    fds[i] = dial(s);
    ask(fds[i], "", CHAT);
  }
  for (int i = 0; i < n; i++) {
    struct buf got = {0};
    listen_for(fds[i], END, 1, &got);
    assert_int_equal(count_of(&got, "[DONE]"), 1);
    close(fds[i]);
    buf_free(&got);
  }
  log = server_stop(s);
  assert_int_equal(count_of(&log, "\"end\":\"done\""), n);
  buf_free(&log);
}

static void many_streams_at_once(void **state)
{
  struct server s;
  (void)state;
  server_init(&s);
  serve_at_once(&s, 100);
}

static void a_client_that_leaves(void **state)
{
  struct server s;
  struct buf got = {0}, log;
  int fd;
  (void)state;
  server_init(&s);
  server_start(&s);
  fd = hear(&s, "x-mock-fault: stall:2\r\n", "\"content\":", 3, &got);
  close(fd);
  /* Another request shows that the server has gone on. */
  fd = hear(&s, "", END, 1, &got);
  close(fd);
  log = server_stop(&s);
  assert_int_equal(count_of(&log, "\"end\":\"aborted\""), 1);
  assert_int_equal(count_of(&log, "\"end\":\"done\""), 1);
  buf_free(&log);
  buf_free(&got);
}

static void stopping_logs_what_is_open(void **state)
{
  struct server s;
  struct buf got = {0}, log;
  int fd;
  (void)state;
  server_init(&s);
  server_start(&s);
  fd = hear(&s, "x-mock-fault: stall:1\r\n", "\"content\":", 2, &got);
  log = server_stop(&s);
  assert_int_equal(count_of(&log, "\"end\":\"open\""), 1);
  assert_int_equal(listen_for(fd, "never", 1, &got), 0);
  close(fd);
  buf_free(&log);
  buf_free(&got);
}

static void slow_readers_lose_nothing(void **state)
{
  struct server s;
  struct buf got = {0}, log;
  int fd, other, small = 65536;
  (void)state;
  server_init(&s);
  server_start(&s);
  fd = dial(&s);
  other = dial(&s);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  ask(fd, "x-mock-ttft: 0\r\nx-mock-itl: 0\r\n",
      "{\"stream\":true,\"messages\":[],\"max_tokens\":30000}");
  /* Read nothing for as long as these take: the sockets fill up. */
  for (int i = 0; i < 5; i++) {
    ask(other, "", CHAT);
    listen_for(other, END, 1, &got);
    buf_reset(&got);
  }
  close(other);
  listen_for(fd, END, 1, &got);
  assert_int_equal(count_of(&got, "data: {"), 30001);
  close(fd);
  log = server_stop(&s);
  assert_int_equal(count_of(&log, "\"tokens\":30000,"), 1);
  assert_int_equal(count_of(&log, "\"blocked\":0,"), 5); /* the short ones */
  buf_free(&log);
  buf_free(&got);
}

static void blast_sends_the_same_bytes(void **state)
{
  struct server s;
  struct buf got[2] = {{0}}, log;
  int fd;
  (void)state;
  server_init(&s);
  s.config.blast = true;
  server_start(&s);
  fd = dial(&s);
  for (int i = 0; i < 2; i++) {
    ask(fd, "", "{\"stream\":true,\"messages\":[],\"max_tokens\":3000}");
    listen_for(fd, END, 1, &got[i]);
    assert_int_equal(count_of(&got[i], "data: {"), 3001);
  }
  assert_string_equal(buf_cstr(&got[0]), buf_cstr(&got[1]));
  close(fd);
  log = server_stop(&s);
  assert_int_equal(count_of(&log, "\"tokens\":3000,\"events\":3000,"), 2);
  buf_free(&log);
  buf_free(&got[0]);
  buf_free(&got[1]);
}

static void ends_by_itself(void **state)
{
  struct server s;
  struct buf got = {0};
  int fd;
  (void)state;
  server_init(&s);
  s.config.max_requests = 2;
  server_start(&s);
  fd = dial(&s);
  ask(fd, "", CHAT);
  ask(fd, "", CHAT);
  listen_for(fd, END, 2, &got);
  pthread_join(s.thread, NULL);
  close(fd);
  mock_close(s.mock);
  unlink(s.log);
  buf_free(&got);
}

static void b086_hold_until(void **state)
{
  struct server s;
  (void)state;
  server_init(&s);
  s.config.engine.hold_until = 30;
  serve_at_once(&s, 30);
}

static void b017_reset_in_the_stream(void **state)
{
  struct server s;
  struct buf got = {0}, log;
  int fd;
  (void)state;
  server_init(&s);
  server_start(&s);
  fd = dial(&s);
  ask(fd, "x-mock-cut: 3:rst\r\n", CHAT);
  assert_int_equal(listen_for(fd, "never", 1, &got), -1);
  assert_int_equal(errno, ECONNRESET);
  assert_int_equal(count_of(&got, "\"content\":\""), 4);
  close(fd);
  log = server_stop(&s);
  assert_int_equal(count_of(&log, "\"end\":\"rst\""), 1);
  buf_free(&log);
  buf_free(&got);
}

static void not_http(void **state)
{
  struct server s;
  struct buf got = {0}, log;
  int fd;
  (void)state;
  server_init(&s);
  s.config.max_body = 10;
  server_start(&s);
  fd = dial(&s);
  say(fd, "who is there?\r\n\r\n");
  assert_int_equal(listen_for(fd, "never", 1, &got), 0);
  assert_int_equal(count_of(&got, "HTTP/1.1 400 "), 1);
  close(fd);
  fd = hear(&s, "", "never", 1, &got);
  assert_int_equal(count_of(&got, "HTTP/1.1 413 "), 1);
  close(fd);
  log = server_stop(&s);
  buf_free(&log);
  buf_free(&got);
}

static void loopback_only(void **state)
{
  static const char *const bad[] = {"0.0.0.0", "192.168.1.1",
                                    "::", "example.org", ""};
  struct mock_config c;
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct err e = {0};
    mock_config_defaults(&c);
    c.host = bad[i];
    assert_null(mock_open(&c, &e));
    assert_non_null(strstr(err_text(&e), "this machine only"));
    err_free(&e);
  }
}

static void mistakes_are_all_told(void **state)
{
  struct mock_config c;
  struct err e = {0};
  (void)state;
  mock_config_defaults(&c);
  c.port = 70000;
  c.engine.queue = 3;
  c.engine.step_ns = 5;
  c.models = "";
  c.reject_status = 200;
  assert_int_equal(mock_config_check(&c, &e), -1);
  assert_int_equal(e.count, 5);
  err_free(&e);
}

static void a_port_in_use(void **state)
{
  struct server s;
  struct mock_config c;
  struct err e = {0};
  struct buf log;
  (void)state;
  server_init(&s);
  server_start(&s);
  mock_config_defaults(&c);
  c.port = mock_port(s.mock);
  assert_null(mock_open(&c, &e));
  assert_non_null(strstr(err_text(&e), "--port 0 takes any free one"));
  err_free(&e);
  log = server_stop(&s);
  buf_free(&log);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_and_logs_the_truth),
      cmocka_unit_test(requests_behind_one_another),
      cmocka_unit_test(many_streams_at_once),
      cmocka_unit_test(a_client_that_leaves),
      cmocka_unit_test(stopping_logs_what_is_open),
      cmocka_unit_test(slow_readers_lose_nothing),
      cmocka_unit_test(blast_sends_the_same_bytes),
      cmocka_unit_test(ends_by_itself),
      cmocka_unit_test(b086_hold_until),
      cmocka_unit_test(b017_reset_in_the_stream),
      cmocka_unit_test(not_http),
      cmocka_unit_test(loopback_only),
      cmocka_unit_test(mistakes_are_all_told),
      cmocka_unit_test(a_port_in_use),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
