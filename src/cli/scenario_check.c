/* `stoke scenario check FILE` */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/mask.h"
#include "cli/run_options.h"
#include "cli/run_thresholds.h"
#include "cli/scenario_commands.h"
#include "core/run.h"
#include "mock/mock.h"
#include "script/errors.h"
#include "script/files.h"
#include "script/scenario.h"

/* The scenario is run by the same code as any other, against a server of our
 * own in this process, and what that server has received is told. */

struct check_flags {
  struct option_list params;
  char *sha256;
  uint64_t requests, tool_calls, seed;
  bool unsafe, full;
};

#define AT(field) offsetof(struct check_flags, field)

static const struct option rows[] = {
    {"P param", "NAME=VALUE", OPTION_PAIRS, AT(params), "Options",
     .help = "set a parameter of the scenario; may be repeated"},
    {"n num-requests", "N", OPTION_COUNT, AT(requests),
     .help = "so many requests; of a session scenario, at most so many in "
             "the one session that is run",
     .shown_default = "3, or 50 of a session", .min = 1},
    {"full", NULL, OPTION_BOOLEAN, AT(full),
     .help = "show whole bodies, however long"},
    {"tool-calls", "N", OPTION_COUNT, AT(tool_calls),
     .help = "have the server answer with N tool calls"},
    {"seed", "N", OPTION_COUNT, AT(seed), .help = "as of `stoke run`",
     .shown_default = "0"},
    {"sha256", "SUM", OPTION_STRING, AT(sha256),
     .help = "refuse a scenario or pack of any other content"},
    {"unsafe", NULL, OPTION_BOOLEAN, AT(unsafe),
     .help = "give the script all of Lua: files, processes, C"},
};

static const struct options_spec spec = {
    .program = "stoke scenario check",
    .usage = "SCENARIO [-P NAME=VALUE ...] [-- arguments]",
    .intro = "Loads a scenario, looks at all that it says, and runs it once "
             "for at most 20 s against a server inside this program, which "
             "gets what was meant for others, too. Tells what it sent, and "
             "every mistake with its place.",
    .examples = "stoke scenario check mine.lua -P words=5\t"
                "what three requests of it are\n"
                "stoke scenario check agent --tool-calls 2 --full\t"
                "a session, and all that it says\n",
    .footer = "Exit status: 0 all is well; 2 the scenario has mistakes.",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
    .max_args = 1,
};

/* How much of a body is shown. */
#define BODY_SHOWN 1500

/* ---- the server ---- */

struct server {
  struct mock *mock;
  pthread_t thread;
  char log[64];
  char own[32]; /* what Host says of it */
};

static void *serve(void *arg)
{
  mock_run(arg);
  return NULL;
}

/* Signals are the main thread's. */
static int start_thread(struct server *s)
{
  sigset_t all, before;
  int status;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  status = pthread_create(&s->thread, NULL, serve, s->mock);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return status;
}

static int open_server(struct server *s, const struct check_flags *f,
                       struct err *e)
{
  struct mock_config c;
  bool known;
  char calls[32];
  int fd;
  mock_config_defaults(&c);
  snprintf(s->log, sizeof s->log, "/tmp/stoke-check-XXXXXX");
  fd = mkstemp(s->log);
  if (fd < 0)
    return err_add(e, "%s: cannot be written", s->log);
  close(fd);
  c.port = 0;
  c.log = s->log;
  c.log_headers = c.log_bodies = c.by_end = true;
  mock_plan_set(&c.plan, STR("ttft"), STR("1ms"), &known);
  mock_plan_set(&c.plan, STR("itl"), STR("0ms"), &known);
  snprintf(calls, sizeof calls, "%" PRIu64, f->tool_calls);
  if (f->tool_calls)
    mock_plan_set(&c.plan, STR("tool-calls"), str_of(calls), &known);
  s->mock = mock_open(&c, e);
  if (!s->mock)
    return -1;
  snprintf(s->own, sizeof s->own, "127.0.0.1:%d", mock_port(s->mock));
  if (start_thread(s) == 0)
    return 0;
  mock_close(s->mock);
  s->mock = NULL;
  return err_add(e, "could not start a thread");
}

/* What it has received is in its log then. */
static void close_server(struct server *s)
{
  if (!s->mock)
    return;
  mock_stop(s->mock);
  pthread_join(s->thread, NULL);
  mock_close(s->mock);
  s->mock = NULL;
}

/* ---- what it received ---- */

/* Those of every request, which say nothing about the scenario. */
static bool is_plain(const char *name)
{
  static const char *const names[] = {"Host",           "Accept",
                                      "User-Agent",     "Accept-Encoding",
                                      "Content-Length", "x-request-id"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (str_ieq(str_of(name), str_of(names[i])))
      return true;
  return false;
}

static void print_headers(const json_value *headers, struct str own)
{
  for (const json_value *h = json_first(headers); h; h = json_next(h)) {
    const json_value *name = json_first(h);
    const char *value = json_text(json_next(name));
    bool secret = mask_is_secret_header(str_of(json_text(name)));
    if (!is_plain(json_text(name)) ||
        (str_ieq(str_of(json_text(name)), STR("Host")) &&
         !str_eq(str_of(value), own)))
      printf("   %s: %s\n", json_text(name),
             secret  ? MASK
             : value ? value
                     : "");
  }
}

static void print_body(const char *body, bool full)
{
  size_t len = body ? strlen(body) : 0, shown = len;
  if (!len)
    return;
  if (!full && len > BODY_SHOWN) {
    shown = BODY_SHOWN;
    while (shown > 0 && (body[shown] & 0xc0) == 0x80)
      shown--;
  }
  printf("   %.*s\n", (int)shown, body);
  if (shown < len)
    printf("   … %zu more bytes; --full shows them\n", len - shown);
}

static void print_request(unsigned n, const json_value *r, struct str own,
                          bool full)
{
  const char *method = json_text(json_get(r, "method"));
  const char *path = json_text(json_get(r, "path"));
  double status = json_double(json_get(r, "status"), 0);
  printf("%s%u. %s %s\n", n > 1 ? "\n" : "", n, method ? method : "?",
         path ? path : "?");
  print_headers(json_get(r, "headers"), own);
  print_body(json_text(json_get(r, "body")), full);
  printf("   -> %.0f%s\n", status,
         status == 404 ? " (the server inside this program knows no such path)"
         : status == 400
             ? " (the server inside this program speaks another way)"
             : "");
}

/* In the order in which they came; returns how many. */
static unsigned print_log(const struct server *s, bool full)
{
  struct buf text = {0};
  struct str rest;
  char why[128];
  unsigned n = 0;
  if (files_read(s->log, &text, why) < 0)
    log_line("%s: %s", s->log, why);
  rest = buf_str(&text);
  while (rest.len) {
    json_value *r = json_parse(str_split(&rest, '\n'), NULL);
    if (r && json_get(r, "method"))
      print_request(++n, r, str_of(s->own), full);
    json_free(r);
  }
  buf_free(&text);
  return n;
}

/* ---- the run ---- */

struct check {
  const struct options *options;
  const struct check_flags *flags;
  struct scenario *scenario;
  struct server server;
  struct run_result result;
  unsigned outcomes[OUTCOME_COUNT];
  char *stage; /* label of the load's first, or NULL */
  struct err e;
};

static void on_record(unsigned worker, const struct record *r, void *ud)
{
  struct check *c = ud;
  (void)worker;
  c->outcomes[r->outcome]++;
}

static unsigned nature_of(const struct scenario *s)
{
  return (scenario_has(s, HOOK_SESSION) ? LOAD_SESSIONS : 0u) |
         (scenario_has(s, HOOK_CONTROL) ? LOAD_DRIVEN : 0u) |
         (scenario_has(s, HOOK_RATE) ? LOAD_RATE : 0u) |
         (scenario_has(s, HOOK_ARRIVALS) ? LOAD_ARRIVALS : 0u);
}

/* Would `stoke run` take what the scenario says of its load and thresholds? */
static void check_load(struct check *c)
{
  static char model[] = "--model=mock";
  char *const argv[] = {model, NULL};
  struct run_options r;
  const struct scenario *s = c->scenario;
  if (run_options_read(&r, &run_options_spec, 1, argv, &c->e) == OPTIONS_OK) {
    run_options_settle(&r, s->load, nature_of(s), s->path, &c->e);
    if (r.config.load.n_stages)
      c->stage = mem_strdup(r.config.load.stages[0].label);
    run_thresholds_read(&r, s, &c->e);
  }
  run_options_free(&r);
}

/* One request after the other, or one session, whatever the load says. */
static enum options_result small_load(struct check *c, struct run_options *r)
{
  bool sessions = scenario_has(c->scenario, HOOK_SESSION);
  uint64_t n = c->flags->requests ? c->flags->requests : sessions ? 50 : 3;
  struct option_list words = {0};
  struct buf text = {0};
  enum options_result status;
  buf_addf(
      &text,
      "--url=http://127.0.0.1:%d --model=mock --max-concurrency=1 "
      "--duration=20s --drain=1s --threads=0 --no-preconnect --timeout=10s "
      "--num-requests=%" PRIu64 " --seed=%" PRIu64 "%s",
      mock_port(c->server.mock), n, c->flags->seed,
      sessions ? " --num-sessions=1" : "");
  for (struct str rest = buf_str(&text); rest.p;)
    option_list_add(&words, str_split(&rest, ' '));
  status =
      run_options_read(r, &run_options_spec, (int)words.n, words.items, &c->e);
  option_list_free(&words);
  buf_free(&text);
  /* Nobody's key has a place here. */
  mem_free(r->config.api_key);
  r->config.api_key = NULL;
  if (status == OPTIONS_OK)
    run_options_settle(r, NULL, sessions ? LOAD_SESSIONS : 0, "", &c->e);
  return status;
}

/* What the script sees as ctx.stage. */
static void name_stage(const char *label, struct load *l)
{
  struct stage *stage = mem_new(struct stage);
  *stage = load_stage(l, 0);
  stage->label = mem_strdup(label);
  stage->num_requests = 0;
  l->stages = stage;
  l->n_stages = 1;
}

static void run_once(struct check *c)
{
  const struct run_callbacks cb = {.record = on_record, .ud = c};
  struct run_options r;
  if (small_load(c, &r) == OPTIONS_OK && !c->e.count) {
    if (c->stage)
      name_stage(c->stage, &r.config.load);
    /* Its own idea of when to send is not what is tried here. */
    c->scenario->hooks &=
        ~(1u << HOOK_CONTROL | 1u << HOOK_RATE | 1u << HOOK_ARRIVALS);
    if (run_prepare(&r.config, c->scenario, &c->result, &c->e) == 0)
      run_execute(&r.config, c->scenario, &cb, &c->result, &c->e);
  }
  run_options_free(&r);
}

/* ---- the verdict ---- */

static void print_outcomes(const struct check *c, unsigned received)
{
  printf("\n%s%u request%s received",
         received ? "" : "nothing sent: ", received, received == 1 ? "" : "s");
  for (int o = 0; o < OUTCOME_COUNT; o++)
    if (c->outcomes[o])
      printf(", %u %s", c->outcomes[o], outcome_name((enum outcome)o));
  putchar('\n');
}

static int verdict(struct check *c)
{
  uint64_t mistakes =
      c->result.errors ? script_errors_total(c->result.errors) : 0;
  if (c->e.count)
    return scenario_complain(&c->e);
  if (mistakes) {
    log_line("%s: %" PRIu64 " mistake%s while it ran", c->scenario->path,
             mistakes, mistakes == 1 ? "" : "s");
    return 2;
  }
  printf("%s: no mistakes found\n", c->scenario->path);
  return 0;
}

static int check(struct check *c)
{
  const struct options *o = c->options;
  struct scenario_options so = {
      .name = o->args.items[0],
      .params = (const char *const *)c->flags->params.items,
      .n_params = c->flags->params.n,
      .args = (const char *const *)o->rest.items,
      .n_args = o->rest.n,
      .seed = c->flags->seed,
      .unsafe = c->flags->unsafe,
      .sha256 = c->flags->sha256,
  };
  c->scenario = scenario_open(&so, &c->e);
  if (c->scenario) {
    c->scenario->stays_here = true;
    check_load(c);
  }
  if (c->e.count)
    return scenario_complain(&c->e);
  if (open_server(&c->server, c->flags, &c->e) < 0)
    return scenario_complain(&c->e);
  run_once(c);
  close_server(&c->server);
  print_outcomes(c, print_log(&c->server, c->flags->full));
  return verdict(c);
}

int scenario_check_main(int argc, char *const argv[])
{
  struct check_flags flags = {0};
  struct options o;
  struct check c = {.options = &o, .flags = &flags};
  int status;
  options_init(&o, &spec, &flags);
  status = options_main(&o, argc, argv);
  if (status < 0 && !o.args.n) {
    log_line("which one? a file, or a name of `stoke scenario list`");
    status = 2;
  }
  if (status < 0)
    status = check(&c);
  if (c.server.log[0])
    unlink(c.server.log);
  run_result_free(&c.result);
  scenario_free(c.scenario);
  mem_free(c.stage);
  err_free(&c.e);
  options_free(&o);
  return status;
}
