#include "cli/bench_target.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/suggest.h"
#include "cli/mask.h"
#include "cli/preflight.h"

/* ---- backends ---- */

#define OLD "was a backend of its own once; taken for openai, which it speaks"

/* Spoken, and spoken under another name today. */
#define NOW(NAME, API, TAIL) .name = NAME, .api = API, .tail = TAIL
#define THEN(NAME)                                                             \
  .name = NAME, .api = "completions", .tail = "completions", .why = OLD,       \
  .samples = true

static const struct bench_backend backends[] = {
    {NOW("vllm", "completions", "completions"), .samples = true, .vllm = true},
    {NOW("openai", "completions", "completions"), .samples = true},
    {NOW("openai-chat", "chat", "chat/completions"), .samples = true},
    {NOW("openai-responses", "responses", "responses"), .samples = true},
    {NOW("openai-embeddings", "embeddings", "embeddings"), .vllm = true},
    {NOW("openai-embeddings-chat", "embeddings_chat", "embeddings"),
     .vllm = true},
    {NOW("openai-embeddings-clip", "embeddings_chat", "embeddings"),
     .images = "clip", .vllm = true},
    {NOW("openai-embeddings-vlm2vec", "embeddings_chat", "embeddings"),
     .images = "vlm2vec", .vllm = true},
    {NOW("infinity-embeddings", "embeddings", "embeddings")},
    {NOW("infinity-embeddings-clip", "embeddings", "embeddings"),
     .images = "infinity_clip"},
    {NOW("vllm-pooling", "pooling", "pooling"), .vllm = true},
    {NOW("vllm-rerank", "rerank", "rerank"), .vllm = true},
    {NOW("openai-audio", "transcriptions", "transcriptions"), .samples = true},
    {NOW("openai-audio", "translations", "translations"), .samples = true},
    {THEN("tgi")},
    {THEN("lmdeploy")},
    {THEN("deepspeed-mii")},
    {THEN("tensorrt-llm")},
    {THEN("scalellm")},
    {THEN("sglang")},
    {THEN("llama.cpp")},
};
#define N_BACKENDS (sizeof backends / sizeof *backends)

/* Another path of the one before. */
static bool is_second(size_t i)
{
  return i && strcmp(backends[i].name, backends[i - 1].name) == 0;
}

static void unknown_backend(const char *flag, const char *name, struct err *e)
{
  struct suggest near = {.typed = str_of(name)};
  struct buf text = {0};
  for (size_t i = 0; i < N_BACKENDS; i++) {
    if (backends[i].why || is_second(i))
      continue;
    suggest_consider(&near, str_of(backends[i].name));
    buf_addf(&text, "%s%s", i ? ", " : "", backends[i].name);
  }
  suggest_print(&near, "", &text);
  err_add(e, "%s %s: invalid choice; choose from %s", flag, name,
          buf_cstr(&text));
  buf_free(&text);
}

static void add_notice(struct run_options *r, struct buf *text)
{
  option_list_add(&r->options.notices, buf_str(text));
  buf_free(text);
}

/* What a path says by its end; NULL: nothing that is known. */
static const struct bench_backend *backend_of_path(struct str path)
{
  const struct bench_backend *best = NULL;
  ptrdiff_t query = str_find(path, STR("?"));
  if (query >= 0)
    path.len = (size_t)query;
  while (path.len && path.p[path.len - 1] == '/')
    path.len--;
  for (size_t i = 0; i < N_BACKENDS; i++)
    if (!backends[i].why && str_ends(path, str_of(backends[i].tail)) &&
        (!best || strlen(backends[i].tail) > strlen(best->tail)))
      best = &backends[i];
  return best;
}

/* The way that fits the path, for a message. */
static const char *right_backend(const struct bench_backend *at)
{
  return strcmp(at->api, "completions") == 0 ? "openai" : at->name;
}

/* A whole request URL says itself what is spoken there, when nobody does. */
static const char *backend_name(const struct bench_flags *f)
{
  const struct bench_backend *at =
      f->base_url && !f->endpoint ? backend_of_path(str_of(f->base_url)) : NULL;
  if (f->endpoint_type || f->backend)
    return f->endpoint_type ? f->endpoint_type : f->backend;
  return at ? right_backend(at) : "openai";
}

const struct bench_backend *bench_backend_of(const struct bench_flags *f,
                                             struct run_options *r,
                                             struct err *e)
{
  const char *flag = f->endpoint_type ? "--endpoint-type" : "--backend";
  const char *name = backend_name(f);
  for (size_t i = 0; i < N_BACKENDS; i++) {
    const struct bench_backend *b = &backends[i];
    struct buf text = {0};
    if (strcmp(b->name, name) != 0)
      continue;
    if (b->why) {
      buf_addf(&text, "%s %s: %s", flag, name, b->why);
      add_notice(r, &text);
    }
    return b;
  }
  unknown_backend(flag, name, e);
  return NULL;
}

/* ---- the URL ---- */

static bool is_given(const struct bench_flags *f, const char *key)
{
  return options_source(&f->options, key) != OPTION_DEFAULT;
}

static bool is_v6(const char *host)
{
  const char *colon = strchr(host, ':');
  return host[0] != '[' && colon && strchr(colon + 1, ':');
}

/* "h:8001" has a port of its own, "[::1]" has none. */
static bool has_port(const char *host)
{
  const char *end = host + strcspn(host, "/?#");
  for (const char *p = end; p > host && p[-1] != ']'; p--)
    if (p[-1] == ':')
      return true;
  return false;
}

/* vLLM always says http; people mean https by 443. */
static void build_url(const struct bench_flags *f, struct buf *url,
                      struct err *e)
{
  const char *host = f->host ? f->host : "127.0.0.1";
  const char *scheme = strstr(host, "://"), *bare = scheme ? scheme + 3 : host;
  bool own = !is_v6(bare) && has_port(bare);
  size_t end = strcspn(bare, "/?#");
  if (own && is_given(f, "port"))
    err_add(e, "--host %s --port %llu: a port in both; leave one out", host,
            (unsigned long long)f->port);
  if (scheme)
    buf_addf(url, "%.*s://", (int)(scheme - host), host);
  else if (f->protocol)
    buf_addf(url, "%s://", f->protocol);
  else
    buf_adds(url, f->port == 443 && !own ? "https://" : "http://");
  if (is_v6(bare))
    buf_addf(url, "[%.*s]", (int)end, bare);
  else
    buf_addf(url, "%.*s", (int)end, bare);
  /* 8000 is nobody's choice behind a scheme. */
  if (!own && (!scheme || is_given(f, "port")))
    buf_addf(url, ":%llu", (unsigned long long)f->port);
  buf_adds(url, bare + end);
}

static void notice_unused(const struct bench_flags *f, struct run_options *r)
{
  struct buf text = {0};
  if (!f->base_url || (!is_given(f, "host") && !is_given(f, "port")))
    return;
  buf_adds(&text, "--base-url goes before --host and --port, which are not "
                  "used");
  add_notice(r, &text);
}

/* ---- the endpoint ---- */

/* openai-audio has two paths. */
static bool is_same(const struct bench_backend *at,
                    const struct bench_backend *b)
{
  return strcmp(at->tail, b->tail) == 0 || strcmp(at->name, b->name) == 0;
}

/* A body and a path of different kinds are a 422 for every request. */
static bool fits(const struct bench_flags *f, const struct bench_backend *b,
                 struct err *e)
{
  const struct bench_backend *at = backend_of_path(str_of(f->endpoint));
  const char *flag = f->endpoint_type ? "--endpoint-type" : "--backend";
  if (strstr(f->endpoint, "://")) {
    err_add(e, "--endpoint %s: is a path; the URL goes into --base-url",
            f->endpoint);
    return false;
  }
  if (!at) {
    err_add(e,
            "--endpoint %s: its end says nothing; %s %s sends to a path that "
            "ends in %s",
            f->endpoint, flag, b->name, b->tail);
    return false;
  }
  if (is_same(at, b))
    return true;
  err_add(e,
          "--endpoint %s: %s %s sends another kind of body there; use "
          "--backend %s, or leave --endpoint out (a path that ends in %s)",
          f->endpoint, flag, b->name, right_backend(at), b->tail);
  return false;
}

static bool fits_url(const struct bench_flags *f, const struct bench_backend *b,
                     struct err *e)
{
  const struct bench_backend *at =
      f->base_url ? backend_of_path(str_of(f->base_url)) : NULL;
  struct buf url = {0};
  if (!at || is_same(at, b))
    return true;
  mask_url(&url, str_of(f->base_url));
  err_add(e,
          "--base-url %s: %s %s sends another kind of body there; use "
          "--backend %s, or leave the path out",
          buf_cstr(&url), f->endpoint_type ? "--endpoint-type" : "--backend",
          b->name, right_backend(at));
  buf_free(&url);
  return false;
}

static void set(struct run_options *r, const char *key, const char *value,
                const char *place, struct err *e)
{
  options_set(&r->options, key, value, OPTION_FLAG, place, e);
}

/* With one slash before it and none behind: what is spoken on a path is known
 * by its end. */
static void add_path(struct buf *path, const char *endpoint)
{
  struct str s = str_of(endpoint);
  while (s.len > 1 && s.p[s.len - 1] == '/')
    s.len--;
  buf_addf(path, "%s%.*s", s.p[0] == '/' ? "" : "/", STR_ARG(s));
}

/* A whole request URL says which of a backend's paths it is. */
static const char *api_of(const struct bench_flags *f,
                          const struct bench_backend *b)
{
  const struct bench_backend *at =
      f->base_url ? backend_of_path(str_of(f->base_url)) : NULL;
  return at && strcmp(at->name, b->name) == 0 ? at->api : b->api;
}

static void set_endpoint(const struct bench_flags *f,
                         const struct bench_backend *b, struct run_options *r,
                         struct err *e)
{
  bool own = strcmp(b->api, "embeddings_chat") == 0;
  struct buf path = {0};
  if (f->endpoint)
    add_path(&path, f->endpoint);
  if (!f->endpoint) {
    if (fits_url(f, b, e))
      set(r, "endpoint", api_of(f, b), "--backend", e);
  } else if (!fits(f, b, e)) {
    /* told */
  } else if (own && strcmp(buf_cstr(&path), "/v1/embeddings") != 0) {
    err_add(e,
            "--endpoint %s: with --backend %s it is /v1/embeddings; put what "
            "stands before that into --base-url",
            f->endpoint, b->name);
  } else if (own) {
    set(r, "endpoint", b->api, "--backend", e);
  } else {
    set(r, "endpoint", buf_cstr(&path), "--endpoint", e);
  }
  buf_free(&path);
}

void bench_target_set(const struct bench_flags *f,
                      const struct bench_backend *b, struct run_options *r,
                      struct err *e)
{
  struct buf url = {0};
  if (f->base_url)
    buf_adds(&url, f->base_url);
  else
    build_url(f, &url, e);
  r->url_flag = f->base_url ? "--base-url" : f->host ? "--host" : NULL;
  set(r, "url", buf_cstr(&url), r->url_flag ? r->url_flag : "--port", e);
  notice_unused(f, r);
  if (b)
    set_endpoint(f, b, r, e);
  buf_free(&url);
}

/* ---- the environment ---- */

static void notice_variable(struct run_options *r, const char *name,
                            const char *what)
{
  const char *value = getenv(name);
  struct buf text = {0};
  if (!value || (!*value && strcmp(name, "OPENAI_API_KEY") != 0))
    return;
  buf_addf(&text, "%s is set; %s", name, what);
  add_notice(r, &text);
}

void bench_target_notice_environment(struct run_options *r)
{
  const char *proxy = preflight_proxy(r->config.base_url);
  const char *key = getenv("OPENAI_API_KEY");
  struct buf text = {0};
  notice_variable(r, "OPENAI_BASE_URL",
                  "it is not used here: --base-url or --host say where to");
  notice_variable(r, "ANTHROPIC_BASE_URL", "it is another tool's");
  notice_variable(r, "ANTHROPIC_AUTH_TOKEN", "it is another tool's");
  if (!r->config.api_key && key && !str_trim(str_of(key)).len)
    notice_variable(r, "OPENAI_API_KEY", "it is empty, so no key is sent");
  if (!key && !r->config.api_key)
    notice_variable(r, "ANTHROPIC_API_KEY",
                    "it is another tool's: the key here is OPENAI_API_KEY");
  if (!proxy)
    return;
  buf_addf(&text,
           "%s is set: all requests go through that proxy, which costs time "
           "and may buffer streams; no_proxy=HOST exempts a host",
           proxy);
  add_notice(r, &text);
}
