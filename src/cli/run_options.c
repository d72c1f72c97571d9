#include "cli/run_options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/config_file.h"
#include "cli/headers.h"
#include "cli/mask.h"
#include "cli/target.h"
#include "report/output.h"

/* vLLM's own, and what people have in their fingers. */
#define DEFAULT_URL     "http://127.0.0.1:8000"
#define DEFAULT_KEY_ENV "OPENAI_API_KEY"

/* ---- single options that need more than their kind's check ---- */

static void take_notices(struct run_options *r, struct buf *lines)
{
  struct str all = str_trim(buf_str(lines));
  while (all.p) {
    struct str line = str_split(&all, '\n');
    if (line.len)
      option_list_add(&r->options.notices, line);
  }
  buf_free(lines);
}

/* Where the URL came from, its secrets masked. */
static void url_place(const struct run_options *r, struct buf *out)
{
  enum option_source from = options_source(&r->options, "url");
  buf_addf(out, "%s ",
           from == OPTION_ENV ? "OPENAI_BASE_URL"
           : r->url_flag      ? r->url_flag
                              : "--url");
  mask_url(out, str_of(r->url));
}

static void read_target(struct run_options *r, struct err *e)
{
  struct target t;
  struct buf place = {0};
  if (r->config.model && str_trim(str_of(r->config.model)).len == 0)
    err_add(e, "--model: empty (a variable that is not set?); name one, or "
               "leave it out to have the server's");
  if (!r->url)
    r->url = mem_strdup(DEFAULT_URL);
  url_place(r, &place);
  if (target_parse(&t, r->url, buf_cstr(&place), e) == 0) {
    char *text = NULL;
    struct buf option = {0};
    buf_addf(&option, "--endpoint %s", r->endpoint ? r->endpoint : "");
    text = target_endpoint(&t, r->endpoint, buf_cstr(&option), e);
    r->config.endpoint = text;
    r->config.base_url = mem_strdup(t.base);
    r->config.query = mem_strdup(t.query);
    buf_free(&option);
    take_notices(r, &t.notices);
    if (options_source(&r->options, "url") == OPTION_ENV)
      buf_addf(&t.notices, "the server is the one in OPENAI_BASE_URL: %s",
               t.base);
    take_notices(r, &t.notices);
  }
  target_free(&t);
  buf_free(&place);
}

/* A script for wrk speaks plain HTTP to the URL as it stands. */
static void settle_wrk(struct run_options *r)
{
  char *scheme = r->config.base_url ? strstr(r->config.base_url, "://") : NULL;
  const char *rest = strstr(r->url, "://"), *path;
  struct buf url = {0};
  char *prefix;
  if (!r->wrk || !scheme)
    return;
  rest = rest ? rest + 3 : r->url;
  path = rest + strcspn(rest, "/?#");
  if ((prefix = strchr(scheme + 3, '/')))
    *prefix = '\0';
  buf_addf(&url, "%s%s%s", r->config.base_url, *path == '/' ? "" : "/", path);
  r->wrk_url = buf_take(&url);
  mem_free(r->config.query);
  r->config.query = mem_strdup("");
  mem_free(r->config.request_id_prefix);
  r->config.request_id_prefix = NULL;
  r->config.plain = true;
  r->config.stream = false;
  r->preflight = false;
  if (!r->config.model)
    r->config.model = mem_strdup("-");
  if (!r->percentile_metrics)
    r->percentile_metrics = mem_strdup("e2el");
  if (!r->api_key && !r->api_key_env) {
    mem_free(r->config.api_key);
    r->config.api_key = NULL;
  }
}

static bool is_variable_name(const char *s)
{
  size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                       "0123456789_");
  return n > 0 && s[n] == '\0' && !(s[0] >= '0' && s[0] <= '9');
}

static void read_key(struct run_options *r, struct err *e)
{
  const char *name = r->api_key_env ? r->api_key_env : DEFAULT_KEY_ENV;
  const char *text = r->api_key;
  struct buf notices = {0}, place = {0};
  if (r->api_key_env && !is_variable_name(name)) {
    err_add(e, "--api-key-env: wants the name of a variable, not a key");
    return;
  }
  if (text)
    buf_adds(&place, "--api-key");
  else
    buf_adds(&place, name);
  if (!text)
    text = getenv(name);
  if (!text && r->api_key_env)
    err_add(e, "--api-key-env %s: there is no such variable", name);
  if (text)
    r->config.api_key = headers_key(text, buf_cstr(&place), &notices, e);
  if (text && !str_trim(str_of(text)).len && (r->api_key || r->api_key_env))
    buf_addf(&notices, "%s: empty, so no key is sent\n", buf_cstr(&place));
  take_notices(r, &notices);
  buf_free(&place);
}

static void read_headers(struct run_options *r, struct err *e)
{
  for (size_t i = 0; i < r->headers.n; i++)
    headers_add(&r->config.headers, r->headers.items[i], e);
}

/* "Bearer x": what is secret is the last word. */
static void keep_secret(struct run_options *r, struct str value)
{
  size_t i = value.len;
  while (i > 0 && value.p[i - 1] != ' ')
    i--;
  option_list_add(&r->secrets, (struct str){value.p + i, value.len - i});
}

static void collect_secrets(struct run_options *r)
{
  struct str lines = buf_str(&r->config.headers);
  if (r->config.api_key)
    option_list_add(&r->secrets, str_of(r->config.api_key));
  while (lines.len) {
    struct str value = str_split(&lines, '\n');
    struct str name = str_split(&value, ':');
    if (mask_is_secret_header(name))
      keep_secret(r, str_trim(value));
  }
}

static void read_figures(struct run_options *r, struct err *e)
{
  r->blocks = BLOCKS_DEFAULT;
  r->percentiles[0] = 99;
  r->n_percentiles = 1;
  if (r->percentile_metrics)
    blocks_parse(str_of(r->percentile_metrics), &r->blocks, e);
  if (r->metric_percentiles)
    percentiles_parse(str_of(r->metric_percentiles), r->percentiles,
                      &r->n_percentiles, e);
}

static void check_files(const struct run_options *r, struct err *e)
{
  if (r->config.cacert && access(r->config.cacert, R_OK) < 0)
    err_add(e, "--cacert %s: %s", r->config.cacert, strerror(errno));
  if (r->output)
    output_check(r->output, r->force, e);
  if (r->requests_out)
    output_check(r->requests_out, r->force, e);
  if (r->output && r->requests_out && strcmp(r->output, r->requests_out) == 0)
    err_add(e, "--output and --requests-out %s: cannot be the same file",
            r->output);
}

void run_options_name_requests(struct run_options *r, const char *program)
{
  struct buf prefix = {0};
  uint64_t now = clock_wall_ns() ^ (uint64_t)getpid() << 40;
  if (r->config.request_id_prefix)
    return;
  buf_addf(&prefix, "%s-%08" PRIx32 "-", program, (uint32_t)(now >> 20));
  r->config.request_id_prefix = buf_take(&prefix);
}

void run_options_init(struct run_options *r, const struct options_spec *spec)
{
  *r = (struct run_options){
      .config = {.stream = true,
                 .max_tokens = -1,
                 .load = {.drain_ns = 30 * NS_PER_SEC},
                 .threads = 1,
                 .preconnect = true,
                 .timeout_ns = 600 * NS_PER_SEC,
                 .idle_timeout_ns = 300 * NS_PER_SEC,
                 .lua_memory = 512u << 20,
                 .max_answer = 64u << 20,
                 .max_script_errors = 10},
      .preflight = true,
      .find_from = 1,
      .find_most = 100000,
      .find_factor = 2,
      .find_precision = 0.02,
      .find_window_ns = 2 * NS_PER_SEC,
      .find_limit_ns = 600 * NS_PER_SEC,
  };
  options_init(&r->options, spec, r);
}

void run_options_check(struct run_options *r, struct err *e)
{
  run_options_name_requests(r, "stoke");
  read_target(r, e);
  read_key(r, e);
  read_headers(r, e);
  settle_wrk(r);
  collect_secrets(r);
  read_figures(r, e);
  check_files(r, e);
  if (r->preflight)
    r->config.fail_fast = RUN_FAIL_FAST;
}

enum options_result run_options_read(struct run_options *r,
                                     const struct options_spec *spec, int argc,
                                     char *const argv[], struct err *e)
{
  unsigned before = e->count;
  enum options_result result;
  run_options_init(r, spec);
  result = options_parse(&r->options, argc, argv, e);
  if (result != OPTIONS_HELP && r->config_file)
    config_file_read(&r->options, r->config_file, e);
  if (result == OPTIONS_HELP || r->version)
    return result == OPTIONS_HELP ? result : OPTIONS_OK;
  run_options_check(r, e);
  return e->count > before ? OPTIONS_ERROR : OPTIONS_OK;
}

const char *run_options_key_source(const struct run_options *r)
{
  if (headers_have(&r->config.headers, STR("Authorization")))
    return "--header";
  if (!r->config.api_key)
    return NULL;
  if (r->api_key)
    return "--api-key";
  return r->api_key_env ? r->api_key_env : DEFAULT_KEY_ENV;
}

void run_options_free(struct run_options *r)
{
  options_free(&r->options);
  mem_free(r->config.base_url);
  mem_free(r->config.query);
  mem_free(r->wrk_url);
  mem_free(r->config.endpoint);
  mem_free(r->config.api_key);
  mem_free(r->config.request_id_prefix);
  for (size_t i = 0; i < r->config.load.n_stages; i++) {
    mem_free(r->config.load.stages[i].label);
    mem_free(r->config.load.stages[i].offsets);
  }
  mem_free(r->config.load.stages);
  buf_free(&r->config.headers);
  option_list_free(&r->secrets);
  thresholds_deinit(&r->config.thresholds);
  *r = (struct run_options){0};
}
