/* Paths, and the endpoints that say something about the server. */
#include "base/clock.h"
#include "mock/server.h"

static void answer_models(struct mock_exchange *x, uint64_t now)
{
  struct str list = str_of(x->conn->m->config.models);
  struct json_writer w = {.out = &x->body};
  buf_reset(&x->body);
  json_begin_object(&w);
  json_key(&w, "object");
  json_string(&w, STR("list"));
  json_key(&w, "data");
  json_begin_array(&w);
  while (list.len) {
    json_begin_object(&w);
    json_key(&w, "id");
    json_string(&w, str_trim(str_split(&list, ',')));
    json_key(&w, "object");
    json_string(&w, STR("model"));
    json_key(&w, "created");
    json_integer(&w, (int64_t)(clock_wall_ns() / NS_PER_SEC));
    json_key(&w, "owned_by");
    json_string(&w, STR("stoke-mock"));
    json_key(&w, "max_model_len");
    json_integer(&w, x->conn->m->config.max_model_len
                         ? (int64_t)x->conn->m->config.max_model_len
                         : MOCK_MAX_TOKENS);
    json_end_object(&w);
  }
  json_end_array(&w);
  json_end_object(&w);
  mock_answer_body(x, 200, STR("application/json"), now);
}

static void answer_metrics(struct mock_exchange *x, uint64_t now)
{
  struct mock *m = x->conn->m;
  buf_reset(&x->body);
  mock_stats_metrics(&m->stats, m->models, m->engine.running_count,
                     m->engine.waiting_count, &x->body);
  mock_answer_body(x, 200, STR("text/plain; version=0.0.4; charset=utf-8"),
                   now);
}

static void answer_stats(struct mock_exchange *x, uint64_t now)
{
  struct mock *m = x->conn->m;
  buf_reset(&x->body);
  mock_stats_json(&m->stats, m->engine.running_count, m->engine.waiting_count,
                  now, &x->body);
  mock_answer_body(x, 200, STR("application/json"), now);
}

static void answer_health(struct mock_exchange *x, uint64_t now)
{
  mock_answer_text(x, 200, "", (struct str){NULL, 0}, now);
}

static const struct route {
  const char *path, *method;
  void (*answer)(struct mock_exchange *x, uint64_t now); /* NULL: generate */
  enum mock_api api;
} routes[] = {
    {"/v1/chat/completions", "POST", NULL, MOCK_API_CHAT},
    {"/v1/completions", "POST", NULL, MOCK_API_COMPLETIONS},
    {"/v1/audio/transcriptions", "POST", NULL, MOCK_API_TRANSCRIPTION},
    {"/v1/audio/translations", "POST", NULL, MOCK_API_TRANSLATION},
    {"/v1/responses", "POST", NULL, MOCK_API_RESPONSES},
    {"/v1/messages", "POST", NULL, MOCK_API_MESSAGES},
    {"/api/chat", "POST", NULL, MOCK_API_OLLAMA},
    {"/api/generate", "POST", NULL, MOCK_API_GENERATE},
    {"/v1/embeddings", "POST", NULL, MOCK_API_EMBEDDINGS},
    {"/pooling", "POST", NULL, MOCK_API_EMBEDDINGS},
    {"/v1/rerank", "POST", NULL, MOCK_API_RERANK},
    {"/v2/rerank", "POST", NULL, MOCK_API_RERANK},
    {"/rerank", "POST", NULL, MOCK_API_RERANK},
    {"/v1/models", "GET", answer_models, 0},
    {"/health", "GET", answer_health, 0},
    {"/metrics", "GET", answer_metrics, 0},
    {"/stats", "GET", answer_stats, 0},
};

enum { N_ROUTES = sizeof routes / sizeof *routes };

/* Behind the "/v1" or "/api" of a route. */
static bool ends_like(struct str path, const struct route *r)
{
  const char *end = strchr(r->path + 1, '/');
  return !r->answer && end && str_ends(path, str_of(end));
}

static const struct route *find_route(const struct mock_exchange *x)
{
  struct str path = mock_http_path(&x->conn->http);
  const char *models = x->conn->m->config.models;
  for (size_t i = 0; i < N_ROUTES; i++) {
    if (routes[i].answer == answer_models && strcmp(models, "none") == 0)
      continue;
    if (str_eq(path, str_of(routes[i].path)))
      return &routes[i];
  }
  for (size_t i = 0; x->conn->m->config.by_end && i < N_ROUTES; i++)
    if (ends_like(path, &routes[i]))
      return &routes[i];
  return NULL;
}

static bool authorised(const struct mock_exchange *x)
{
  const char *key = x->conn->m->config.api_key;
  struct str path = mock_http_path(&x->conn->http);
  struct str value = mock_http_header(&x->conn->http, STR("authorization"));
  struct str bare = mock_http_header(&x->conn->http, STR("x-api-key"));
  if (!key || !str_starts(path, STR("/v1/")))
    return true;
  if (str_eq(path, STR("/v1/messages")))
    return str_eq(str_trim(bare), str_of(key));
  if (!str_istarts(value, STR("bearer ")))
    return false;
  value.p += 7;
  value.len -= 7;
  return str_eq(str_trim(value), str_of(key));
}

/* The reasons to turn away a request whatever it asks. */
static bool turned_away(struct mock_exchange *x, const struct route *r,
                        uint64_t now)
{
  const struct mock *m = x->conn->m;
  if (ns_since(m->stats.start_ns, now) < m->config.ready_after_ns)
    mock_answer_failure(x, 503, "The model is still being loaded.", NULL, now);
  else if (!r)
    mock_answer_text(x, 404, "{\"detail\":\"Not Found\"}",
                     STR("application/json"), now);
  else if (!str_eq(mock_http_method(&x->conn->http), str_of(r->method)))
    mock_answer_text(x, 405, "{\"detail\":\"Method Not Allowed\"}",
                     STR("application/json"), now);
  else if (!authorised(x))
    mock_answer_failure(x, 401, "Incorrect API key provided.", NULL, now);
  else
    return false;
  return true;
}

void mock_route(struct mock_exchange *x, uint64_t now)
{
  const struct route *r = find_route(x);
  struct err e = {0};
  x->plan = x->conn->m->config.plan;
  if (turned_away(x, r, now))
    return;
  if (!r->answer) {
    mock_generate(x, r->api, now);
    return;
  }
  mock_plan_of_headers(x, &e);
  if (!mock_answer_plan(x, &e, now))
    r->answer(x, now);
}
