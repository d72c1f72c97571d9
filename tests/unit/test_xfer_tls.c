/* TLS, against `openssl s_server`, whose input a test writes to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "net/certificate.h"
#include "netclient.h"
#include "rawserver.h"

static char dir[] = "/tmp/stoke-tls-XXXXXX";
static char cert[64], key[64];

struct tls {
  pid_t pid;
  int in, out; /* its standard input; what it received */
  int held;    /* keeps the port from others until it listens, and after */
  unsigned short port;
};

static pid_t spawn(char *const *argv, int in, int out)
{
  pid_t pid = fork();
  if (pid)
    return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test stops nobody */
  dup2(in, 0);
  dup2(out, 1);
  dup2(open("/dev/null", O_WRONLY), 2);
  for (int fd = 3; fd < 64; fd++)
    close(fd);
  execvp(argv[0], argv);
  _exit(127);
}

static int make_certificate(void **state)
{
  int status, null = open("/dev/null", O_RDWR);
  char *argv[] = {"openssl",
                  "req",
                  "-x509",
                  "-newkey",
                  "ec",
                  "-pkeyopt",
                  "ec_paramgen_curve:P-256",
                  "-nodes",
                  "-days",
                  "2",
                  "-subj",
                  "/CN=localhost",
                  "-addext",
                  "subjectAltName=DNS:localhost",
                  "-keyout",
                  key,
                  "-out",
                  cert,
                  NULL};
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  if (!mkdtemp(dir))
    return -1;
  snprintf(cert, sizeof cert, "%s/cert.pem", dir);
  snprintf(key, sizeof key, "%s/key.pem", dir);
  waitpid(spawn(argv, null, null), &status, 0);
  close(null);
  return status;
}

static int drop_certificate(void **state)
{
  (void)state;
  unlink(cert);
  unlink(key);
  rmdir(dir);
  return 0;
}

static void tls_start(struct tls *t)
{
  char accept[32];
  char *argv[] = {"openssl", "s_server", "-quiet", "-accept", accept,
                  "-cert",   cert,       "-key",   key,       NULL};
  struct sockaddr_in a = {.sin_family = AF_INET};
  int in[2], out[2], fd, on = 1, tries = 0;
  t->held = refused_port(&t->port);
  setsockopt(t->held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  snprintf(accept, sizeof accept, "127.0.0.1:%u", t->port);
  assert_int_equal(pipe2(in, O_CLOEXEC), 0);
  assert_int_equal(pipe2(out, O_CLOEXEC), 0);
  t->pid = spawn(argv, in[0], out[1]);
  close(in[0]);
  close(out[1]);
  t->in = in[1];
  t->out = out[0];
  /* Listening, once it takes a connection (which it then sees die). */
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a.sin_port = htons(t->port);
  for (;;) {
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
      break;
    close(fd);
    assert_true(tries++ < 3000);
    nap(0.01);
  }
  close(fd);
}

static void tls_stop(struct tls *t)
{
  int status;
  kill(t->pid, SIGKILL);
  waitpid(t->pid, &status, 0);
  close(t->in);
  close(t->out);
  close(t->held);
}

static void tls_say(struct tls *t, const char *text)
{
  assert_int_equal(write(t->in, text, strlen(text)), strlen(text));
}

static void wait_for_request(struct tls *t)
{
  char text[4096];
  assert_true(read(t->out, text, sizeof text) > 0);
}

/* Plays the server once the exchange's request is in. */
struct play {
  struct tls *t;
  void (*script)(struct tls *t);
};

static void *player(void *arg)
{
  struct play *p = arg;
  wait_for_request(p->t);
  p->script(p->t);
  return NULL;
}

static void exchange(struct tls *t, void (*script)(struct tls *t),
                     const char *host, const struct net_config *c,
                     struct result *r)
{
  struct client client;
  struct play play = {t, script};
  pthread_t thread;
  char url[64];
  snprintf(url, sizeof url, "https://%s:%u/", host, t->port);
  if (script)
    pthread_create(&thread, NULL, player, &play);
  client_init(&client, c);
  start(&client, r, &(struct xfer_request){.method = "GET", .url = url});
  run(&client);
  client_deinit(&client);
  if (script)
    pthread_join(thread, NULL);
}

static void say_ok(struct tls *t)
{
  tls_say(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
}

static void b126_certificates_are_checked(void **state)
{
  struct tls t;
  struct result r = {0};
  (void)state;
  tls_start(&t);
  exchange(&t, NULL, "localhost", &(struct net_config){.connections = 1}, &r);
  assert_int_equal(r.info.outcome, OUTCOME_TLS);
  assert_non_null(strstr(r.info.message, "certificate"));
  tls_stop(&t);
}

static void b126_insecure(void **state)
{
  struct tls t;
  struct result r = {0};
  (void)state;
  tls_start(&t);
  exchange(&t, say_ok, "127.0.0.1",
           &(struct net_config){.connections = 1, .insecure = true}, &r);
  if (r.info.outcome != OUTCOME_OK)
    fail_msg("%s", r.info.message);
  assert_int_equal(r.body.len, 2);
  result_free(&r);
  tls_stop(&t);
}

static void b126_an_authority_of_ones_own(void **state)
{
  struct tls t;
  struct result r = {0};
  struct net_config c = {.connections = 1, .cacert = cert};
  (void)state;
  tls_start(&t);
  exchange(&t, say_ok, "localhost", &c, &r);
  if (r.info.outcome != OUTCOME_OK)
    fail_msg("%s", r.info.message);
  result_free(&r);
  r = (struct result){0};
  exchange(&t, NULL, "127.0.0.1", &c, &r); /* not its name */
  assert_int_equal(r.info.outcome, OUTCOME_TLS);
  r = (struct result){0};
  setenv("SSL_CERT_FILE", cert, 1);
  c.cacert = NULL;
  exchange(&t, say_ok, "localhost", &c, &r);
  unsetenv("SSL_CERT_FILE");
  if (r.info.outcome != OUTCOME_OK)
    fail_msg("%s", r.info.message);
  result_free(&r);
  tls_stop(&t);
}

static void a_ca_file_that_is_not_there(void **state)
{
  struct tls t;
  struct result r = {0};
  (void)state;
  tls_start(&t);
  exchange(&t, NULL, "localhost",
           &(struct net_config){.connections = 1, .cacert = "/no/such/file"},
           &r);
  assert_int_equal(r.info.outcome, OUTCOME_TLS);
  assert_non_null(strstr(r.info.message, "/no/such/file"));
  tls_stop(&t);
}

/* ---- arrivals ---- */

static uint64_t second_sent_ns;

static void two_events(struct tls *t)
{
  tls_say(t, SSE_HEAD "a\r\ndata: {}\n\n\r\n");
  nap(0.02);
  second_sent_ns = clock_ns();
  tls_say(t, "a\r\ndata: {}\n\n\r\n");
  nap(0.06);
  tls_say(t, "0\r\n\r\n");
}

static void sleep_in_loop(EV_P_ ev_timer *w, int revents)
{
  (void)loop, (void)w, (void)revents;
  nap(0.05);
}

static void be_busy(struct result *r)
{
  if (r->pieces == 1)
    ev_timer_start(r->client->loop, r->arg);
}

/* How much later than sent the second event, which comes while the loop
 * sleeps, seems to arrive. */
static uint64_t late_under_tls(void)
{
  struct tls t;
  ev_timer sleeper;
  struct result r = {.on_data = be_busy, .arg = &sleeper};
  ev_timer_init(&sleeper, sleep_in_loop, 0, 0);
  tls_start(&t);
  exchange(&t, two_events, "127.0.0.1",
           &(struct net_config){
               .connections = 1, .insecure = true, .kernel_times = true},
           &r);
  if (r.info.outcome != OUTCOME_OK)
    fail_msg("%s", r.info.message);
  assert_int_equal(r.pieces, 2);
  assert_true(r.arrivals[1] >= second_sent_ns);
  assert_false(r.backwards);
  result_free(&r);
  tls_stop(&t);
  if (r.callbacks[1] - second_sent_ns < 20 * NS_PER_MS)
    return UINT64_MAX; /* it came when the loop was up again */
  return r.arrivals[1] - second_sent_ns;
}

static void arrivals_are_the_kernels_under_tls(void **state)
{
  uint64_t late = UINT64_MAX;
  (void)state;
  /* The peer needs the processor to encrypt it: that may take some tries. */
  for (int i = 0; i < 10 && late >= 15 * NS_PER_MS; i++)
    late = late_under_tls();
  assert_true(late < 15 * NS_PER_MS);
}

static void says_one(struct tls *t)
{
  tls_say(t, SSE_HEAD "a\r\ndata: {}\n\n\r\n");
}

static void kill_it(struct result *r)
{
  kill(((struct tls *)r->arg)->pid, SIGKILL);
}

static void cut_without_a_goodbye(void **state)
{
  struct tls t;
  struct result r = {.on_data = kill_it, .arg = &t};
  (void)state;
  tls_start(&t);
  exchange(&t, says_one, "127.0.0.1",
           &(struct net_config){
               .connections = 1, .insecure = true, .kernel_times = true},
           &r);
  assert_int_equal(r.info.outcome, OUTCOME_TRUNCATED);
  assert_int_equal(r.body.len, 10);
  result_free(&r);
  tls_stop(&t);
}

static void not_tls_at_all(struct conn *c)
{
  if (conn_read(c))
    say(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  until_closed(c);
}

static void https_to_a_plain_server(void **state)
{
  struct rawserver server;
  struct tls t = {0};
  struct result r = {0};
  (void)state;
  server_start(&server, not_tls_at_all, NULL);
  t.port = server.port;
  exchange(&t, NULL, "127.0.0.1", &(struct net_config){.connections = 1}, &r);
  server_stop(&server);
  assert_int_equal(r.info.outcome, OUTCOME_TLS);
  assert_non_null(strstr(r.info.message, "wrong version number"));
}

static void opened(unsigned n, const char *error, void *ud)
{
  unsigned *left = ud;
  assert_string_equal(error, "");
  assert_int_equal(n, 1);
  *left = 0;
}

static void a_handshake_ahead_of_the_request(void **state)
{
  struct tls t;
  struct client client;
  struct play play = {&t, say_ok};
  struct result r = {0};
  pthread_t thread;
  unsigned left = 1;
  char url[64];
  (void)state;
  tls_start(&t);
  snprintf(url, sizeof url, "https://127.0.0.1:%u/", t.port);
  pthread_create(&thread, NULL, player, &play);
  client_init(&client,
              &(struct net_config){.connections = 1, .insecure = true});
  net_preconnect(client.net, url, 1, opened, &left);
  turn_until(&client, &left);
  assert_true(net_counts(client.net).tls_ns > 0);
  turn_for(&client, 0.05); /* session tickets arrive meanwhile */
  start(&client, &r, &(struct xfer_request){.method = "GET", .url = url});
  run(&client);
  pthread_join(thread, NULL);
  if (r.info.outcome != OUTCOME_OK)
    fail_msg("%s", r.info.message);
  assert_true(r.info.reused);
  assert_int_equal(net_counts(client.net).opened, 1);
  client_deinit(&client);
  result_free(&r);
  tls_stop(&t);
}

/* Whoever it is for, and though nobody trusts it: it only looks. */
static void a_look_at_a_certificate(void **state)
{
  struct tls t;
  struct certificate c;
  struct net_config net = {.proxy = ""};
  char url[64];
  (void)state;
  tls_start(&t);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", t.port);
  assert_int_equal(certificate_look(&c, &net, url, 10 * NS_PER_SEC), 0);
  assert_string_equal(c.error, "");
  assert_int_equal(c.chain, 1);
  assert_non_null(strstr(buf_cstr(&c.lines), "Subject: CN = localhost\n"));
  assert_non_null(strstr(buf_cstr(&c.lines), "Expire date: "));
  assert_non_null(strstr(buf_cstr(&c.lines), "DNS:localhost"));
  assert_null(strstr(buf_cstr(&c.lines), "BEGIN CERTIFICATE"));
  certificate_free(&c);
  tls_stop(&t);
  t.held = refused_port(&t.port);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", t.port);
  assert_int_equal(certificate_look(&c, &net, url, 10 * NS_PER_SEC), -1);
  close(t.held);
  assert_non_null(strstr(c.error, "connect"));
  assert_int_equal(c.lines.len, 0);
  certificate_free(&c);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(b126_certificates_are_checked),
      cmocka_unit_test(b126_insecure),
      cmocka_unit_test(b126_an_authority_of_ones_own),
      cmocka_unit_test(a_ca_file_that_is_not_there),
      cmocka_unit_test(arrivals_are_the_kernels_under_tls),
      cmocka_unit_test(cut_without_a_goodbye),
      cmocka_unit_test(https_to_a_plain_server),
      cmocka_unit_test(a_handshake_ahead_of_the_request),
      cmocka_unit_test(a_look_at_a_certificate),
  };
  return cmocka_run_group_tests(tests, make_certificate, drop_certificate);
}
