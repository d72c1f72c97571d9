/* stoke check: its options, and what its Lua must know of them. Which
 * questions are asked, and what the answers mean, is in
 * lua/stoke/cmd/check.lua; the asking is probe.c's. */
#include "cli/cmd_check.h"

#include <stddef.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/version.h"
#include "cli/default_scenario.h"
#include "cli/mask.h"
#include "cli/preflight.h"
#include "cli/probe.h"
#include "cli/run_options.h"
#include "cli/tool_request.h"
#include "net/origin.h"
#include "script/scenario.h"
#include "script/tool.h"

enum { ROWS_MAX = 16 };

struct check {
  struct run_options run; /* first: rows of `stoke run` point into it */
  bool json;
  struct option rows[ROWS_MAX];
  struct options_spec spec;
  char **args; /* argv, its URL behind a -u */
  int n_args;
  struct err e;
};

/* ---- options ---- */

/* Those of `stoke run` that say which server and how to speak with it. */
static const char *const shared[] = {
    "url",    "model",    "endpoint", "api-key-env", "api-key",
    "header", "insecure", "cacert",   "extra-body",  "timeout",
};
enum { N_SHARED = sizeof shared / sizeof *shared };

static const struct option json_row = {"json", NULL, OPTION_BOOLEAN,
                                       offsetof(struct check, json),
                                       .help = "print the findings as JSON"};

static void make_spec(struct check *k)
{
  size_t n = 0;
  for (; n < N_SHARED; n++)
    k->rows[n] = *options_find(&run_options_spec, str_of(shared[n]));
  k->rows[n++] = json_row;
  k->spec = (struct options_spec){
      .program = "stoke check",
      .usage = "[URL] [options]",
      .intro =
          "Look a server over before it is measured: name, connection, "
          "certificate, key, models, one short answer, one stream and whether "
          "it really streams, usage, /tokenize, /metrics and what kind of "
          "server it is. Six small requests at most; each finding is ok, warn "
          "or wrong, with what to do about it.",
      .examples = "stoke check http://127.0.0.1:8000\tcan this be measured?\n"
                  "stoke check host:8000 -m llama --api-key-env MY_KEY\t"
                  "with a model and a key of your own\n",
      .footer = "Exit status: 0 nothing is wrong; 1 something is; 2 wrong "
                "use, before any request.",
      .rows = k->rows,
      .n = n,
      .max_args = 0,
  };
}

/* The argument that belongs to no option is the URL. */
static void sort_args(struct check *k, int argc, char *const argv[])
{
  static char flag[] = "-u";
  const struct option *pending = NULL;
  bool named = false;
  k->args = mem_zalloc((size_t)argc + 2, sizeof *k->args);
  for (int i = 0; i < argc; i++) {
    const char *value = NULL;
    const struct option *row =
        pending ? NULL : options_match(&k->spec, argv[i], &value);
    bool url = !pending && !row && argv[i][0] != '-' && !named;
    pending = row && !value && row->kind != OPTION_BOOLEAN ? row : NULL;
    named = named || url;
    if (url)
      k->args[k->n_args++] = flag;
    k->args[k->n_args++] = argv[i];
  }
}

static struct scenario *open_scenario(struct check *k)
{
  struct config *c = &k->run.config;
  const char *fits = default_scenario(c->endpoint);
  struct buf name = {0}, text = {0};
  struct scenario_options so = {0};
  struct scenario *s;
  buf_addf(&name, "builtin:%s", fits ? fits : "chat");
  so.name = buf_cstr(&name);
  s = scenario_open(&so, &k->e);
  buf_free(&name);
  if (s && c->endpoint && c->endpoint[0] != '/' &&
      !backends_find(&s->backends, str_of(c->endpoint))) {
    backends_explain(&s->backends, str_of(c->endpoint), &text);
    err_add(&k->e, "--endpoint %s: choose %s", c->endpoint, buf_cstr(&text));
    buf_free(&text);
  }
  return s;
}

/* ---- what the Lua is told ---- */

static void write_text(struct json_writer *w, const char *key, const char *s)
{
  if (!s)
    return;
  json_key(w, key);
  json_string(w, str_of(s));
}

static void write_flag(struct json_writer *w, const char *key, bool x)
{
  json_key(w, key);
  json_boolean(w, x);
}

static void write_origin(struct json_writer *w, const struct config *c)
{
  struct origin o;
  struct buf url = {0};
  char proxy[256];
  mask_url(&url, str_of(c->base_url));
  write_text(w, "url", buf_cstr(&url));
  write_text(w, "proxy", net_proxy_for(c->proxy, c->base_url, proxy));
  write_text(w, "proxy_variable", preflight_proxy(c->base_url));
  if (origin_parse(str_of(c->base_url), &o) == 0) {
    json_key(w, "host");
    json_string(w, o.host);
    json_key(w, "port");
    json_integer(w, o.port);
    write_flag(w, "is_address", origin_is_address(&o));
    write_flag(w, "secure", str_ieq(o.scheme, STR("https")));
  }
  buf_free(&url);
}

static void write_backend(struct json_writer *w, const struct config *c,
                          const struct scenario *s)
{
  const struct backend *b = backends_of_endpoint(&s->backends, c->endpoint);
  write_text(w, "path",
             c->endpoint && c->endpoint[0] == '/' ? c->endpoint
             : b                                  ? b->path
                                                  : "");
  if (b)
    write_text(w, "api", b->name);
  write_flag(w, "streams", b && b->streams);
  write_text(w, "words", default_scenario_words(c->endpoint));
}

/* The same options for `stoke run`; the model may have to be added. */
static void write_next(struct json_writer *w, struct check *k)
{
  struct options_spec spec = k->spec;
  char **args = mem_zalloc((size_t)k->n_args + 1, sizeof *args);
  char *text;
  int n = 0;
  for (int i = 0; i < k->n_args; i++) {
    const char *value;
    const struct option *row = options_match(&spec, k->args[i], &value);
    if (!row || row->at != json_row.at)
      args[n++] = k->args[i];
  }
  spec.program = "stoke run";
  text = mask_command(&spec, n, args, &k->run.secrets);
  write_text(w, "next", text);
  mem_free(text);
  mem_free(args);
}

static void write_request(struct check *k, const struct scenario *s,
                          struct buf *out)
{
  struct json_writer w = {.out = out};
  const struct config *c = &k->run.config;
  json_begin_object(&w);
  write_origin(&w, c);
  write_backend(&w, c, s);
  write_text(&w, "model", c->model);
  write_text(&w, "key_from", run_options_key_source(&k->run));
  write_text(&w, "key_variable", k->run.api_key_env);
  write_flag(&w, "url_from_env",
             options_source(&k->run.options, "url") == OPTION_ENV);
  write_flag(&w, "insecure", c->insecure);
  write_flag(&w, "json", k->json);
  write_text(&w, "version", stoke_version);
  tool_request_list(&w, "notices", &k->run.options.notices);
  write_next(&w, k);
  json_end_object(&w);
}

/* ---- the command ---- */

static int examine(struct check *k)
{
  struct probe p = {.options = &k->run, .scenario = open_scenario(k)};
  struct buf request = {0};
  int status = 2;
  if (k->e.count) {
    options_complain(&k->spec, &k->e);
  } else {
    write_request(k, p.scenario, &request);
    status = tool_run_asking("check", buf_str(&request), probe_ask, &p);
  }
  buf_free(&request);
  probe_free(&p);
  return status;
}

static int show_help(const struct check *k)
{
  struct buf help = {0};
  options_help(&k->spec, k->run.options.help_word, &help);
  fputs(buf_cstr(&help), stdout);
  buf_free(&help);
  return 0;
}

int cmd_check(int argc, char *const argv[])
{
  struct check *k = mem_new(struct check);
  enum options_result read;
  int status;
  make_spec(k);
  sort_args(k, argc, argv);
  read = run_options_read(&k->run, &k->spec, k->n_args, k->args, &k->e);
  status = read == OPTIONS_HELP ? show_help(k) : examine(k);
  run_options_free(&k->run);
  mem_free(k->args);
  err_free(&k->e);
  mem_free(k);
  return status;
}
