#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mock/server.h"

#define JSON_TYPE STR("application/json")

void mock_answer_fixed(struct mock_exchange *x, int status,
                       struct str content_type, uint64_t now)
{
  x->fixed = true;
  x->status = status;
  x->content_type = content_type;
  x->after_head = MOCK_BODY;
  x->state = MOCK_HEAD;
  x->due = now + x->plan.slow_headers_ns;
}

void mock_answer_failure(struct mock_exchange *x, int status,
                         const char *message, const char *param, uint64_t now)
{
  buf_reset(&x->body);
  mock_reply_failure(status, message, param, &x->body);
  mock_answer_fixed(x, status, JSON_TYPE, now);
}

static void answer_text(struct mock_exchange *x, int status, const char *text,
                        struct str content_type, uint64_t now)
{
  buf_reset(&x->body);
  buf_adds(&x->body, text);
  mock_answer_fixed(x, status, content_type, now);
}

/* ---- plans ---- */

/* "x-mock-fault: SPECS", or "x-mock-KIND: ARGS". */
static void plan_of_headers(struct mock_exchange *x, struct err *e)
{
  const struct mock_http *h = &x->conn->http;
  for (unsigned i = 0; i < h->headers; i++) {
    struct str name = mock_http_name(h, i), value = mock_http_value(h, i);
    if (!str_istarts(name, STR("x-mock-")))
      continue;
    x->custom = true;
    name.p += 7;
    name.len -= 7;
    if (str_ieq(name, STR("fault")))
      mock_plan_apply(&x->plan, value, "x-mock-fault", e);
    else if (mock_plan_set(&x->plan, name, str_trim(value), NULL) < 0)
      err_add(e, "x-mock-%.*s: %.*s: no such fault or argument", STR_ARG(name),
              STR_ARG(value));
  }
}

static void plan_of_rules(struct mock_exchange *x, struct err *e)
{
  const struct mock_config *c = &x->conn->m->config;
  for (size_t i = 0; i < c->rules_count; i++) {
    if (!mock_rule_matches(&c->rules[i], x->record.number, c->seed))
      continue;
    x->custom = true;
    mock_plan_apply(&x->plan, c->rules[i].specs, "--fault", e);
  }
}

static void plan_of_body(struct mock_exchange *x, struct err *e)
{
  const char *specs = json_text(json_get(x->ask.mock, "fault"));
  x->custom |= x->ask.mock != NULL;
  if (specs)
    mock_plan_apply(&x->plan, str_of(specs), "mock.fault", e);
  x->script = json_first(x->ask.events);
}

/* A plan that cannot be understood is the tester's mistake: say so. */
static bool plan_is_bad(struct mock_exchange *x, struct err *e, uint64_t now)
{
  struct buf text = {0};
  if (!e->count)
    return false;
  json_escape(&text, str_trim(str_of(err_text(e))));
  mock_answer_failure(x, 400, buf_cstr(&text), "mock", now);
  buf_free(&text);
  err_free(e);
  return true;
}

/* ---- in place of an answer ---- */

static void answer_status(struct mock_exchange *x, uint64_t now)
{
  char text[64];
  snprintf(text, sizeof text, "mock: status %d was asked for",
           (int)x->plan.status);
  mock_answer_failure(x, (int)x->plan.status, text, NULL, now);
}

static void answer_garbage(struct mock_exchange *x)
{
  buf_adds(&x->conn->out, "\x16\x03\x01 this is not HTTP\r\n\r\n");
  x->record.end = "cut";
  x->close = true;
  x->state = MOCK_DRAIN;
}

static void hang_up(struct mock_exchange *x)
{
  bool reset = x->plan.instead == MOCK_RESET;
  x->record.end = reset ? "rst" : "cut";
  mock_conn_close(x->conn, reset ? MOCK_RST : MOCK_FIN);
}

/* Returns false when the plan wants an ordinary answer. */
static bool answer_instead(struct mock_exchange *x, uint64_t now)
{
  if (x->plan.only_reused && x->conn->requests < 2)
    return false;
  switch (x->plan.instead) {
  case MOCK_ANSWER: return false;
  case MOCK_STATUS: answer_status(x, now); break;
  case MOCK_REDIRECT:
    answer_text(x, (int)x->plan.status, "", (struct str){NULL, 0}, now);
    break;
  case MOCK_JSON_ERROR:
    mock_answer_failure(x, 500, "mock: an error was asked for", NULL, now);
    x->status = 200;
    break;
  case MOCK_HTML:
    answer_text(x, 200, "<html><body>mock: a page</body></html>\n",
                STR("text/html; charset=utf-8"), now);
    break;
  case MOCK_GARBAGE: answer_garbage(x); break;
  case MOCK_EMPTY_BODY:
    answer_text(x, 200, "",
                x->record.stream ? STR("text/event-stream; charset=utf-8")
                                 : JSON_TYPE,
                now);
    break;
  case MOCK_EMPTY_STREAM:
    x->status = 200;
    x->record.stream = true;
    x->after_head = MOCK_DONE;
    x->state = MOCK_HEAD;
    x->due = now + x->plan.slow_headers_ns;
    break;
  case MOCK_HANG: break; /* MOCK_QUEUED for ever */
  case MOCK_CLOSE:
  case MOCK_RESET: hang_up(x); break;
  }
  return true;
}

/* ---- generations ---- */

static bool knows_model(const struct mock *m, const char *name)
{
  struct str list = str_of(m->config.models);
  while (list.len)
    if (str_eq(str_trim(str_split(&list, ',')), str_of(name)))
      return true;
  return false;
}

/* Returns false when the request has been answered with an error. */
static bool accept_ask(struct mock_exchange *x, uint64_t now)
{
  const struct mock_config *c = &x->conn->m->config;
  const struct mock_ask *a = &x->ask;
  uint64_t most = c->max_model_len;
  char text[320];
  if (c->strict_model && !knows_model(x->conn->m, a->model)) {
    struct buf name = {0};
    json_escape(&name, str_of(a->model));
    snprintf(text, sizeof text, "The model `%.200s` does not exist.",
             buf_cstr(&name));
    buf_free(&name);
    mock_answer_failure(x, 404, text, "model", now);
    return false;
  }
  if (most && a->prompt_tokens >= most) {
    snprintf(text, sizeof text,
             "This model's maximum context length is %llu tokens. However, "
             "your prompt contains at least %llu input tokens. Please reduce "
             "the length of the input prompt.",
             (unsigned long long)most, (unsigned long long)a->prompt_tokens);
    mock_answer_failure(x, 400, text, "input_tokens", now);
    return false;
  }
  if (most && a->max_tokens > (int64_t)most) {
    snprintf(text, sizeof text,
             "max_tokens=%lld cannot be greater than max_model_len=%llu. "
             "Please request fewer output tokens.",
             (long long)a->max_tokens, (unsigned long long)most);
    mock_answer_failure(x, 400, text, "max_tokens", now);
    return false;
  }
  return true;
}

/* How long the answer is, and why it ends there. */
static uint64_t plan_tokens(struct mock_exchange *x)
{
  double drawn = mock_dist_draw(&x->plan.tokens, &x->rng) + 0.5;
  int64_t cap = x->ask.max_tokens, n = (int64_t)(drawn < 1e12 ? drawn : 1e12);
  if (cap >= 0 && (n > cap || x->ask.ignore_eos || !x->plan.tokens_set))
    n = cap;
  x->finish = n == cap ? "length" : "stop";
  if (x->plan.tool_calls && x->ask.chat && n != cap)
    x->finish = "tool_calls";
  return (uint64_t)n;
}

static void plan_generation(struct mock_exchange *x)
{
  struct mock *m = x->conn->m;
  struct mock_record *r = &x->record;
  uint64_t tokens, cached;
  rng_init(&x->rng, m->config.seed, RNG_MOCK, r->number);
  tokens = plan_tokens(x);
  x->choices = (uint64_t)x->ask.choices;
  r->planned_tokens = tokens * x->choices;
  r->prompt_tokens = x->ask.prompt_tokens;
  cached = mock_prefix_lookup(&m->prefix, &x->ask);
  if (!m->prefix.blocks)
    cached = (uint64_t)(x->plan.cached_share * (double)r->prompt_tokens);
  r->cached_tokens = cached;
  x->job.prefill_tokens = r->prompt_tokens - cached;
  if (x->plan.one_event)
    x->plan.chunk = tokens ? (int64_t)tokens : 1;
  mock_reply_begin(&x->reply, &x->plan, x->ask.chat,
                   *x->ask.model ? x->ask.model : m->models, x->ask.function,
                   r->number, clock_wall_ns() / NS_PER_SEC);
  x->status = 200;
}

static void generate(struct mock_exchange *x, uint64_t now)
{
  struct mock *m = x->conn->m;
  plan_generation(x);
  x->state = MOCK_QUEUED;
  if (!mock_engine_enter(&m->engine, &x->job, now)) {
    m->stats.rejected++;
    mock_answer_failure(x, m->config.reject_status,
                        "The server is overloaded: its waiting line is full.",
                        NULL, now);
    return;
  }
  /* Parsed prompts are large and are not needed any more, scripts are. */
  if (!x->script)
    mock_ask_deinit(&x->ask);
}

static void count_in(struct mock_exchange *x)
{
  struct mock *m = x->conn->m;
  x->generation = true;
  x->record.number = ++m->stats.generations;
  x->record.running = m->engine.running_count;
  x->record.waiting = m->engine.waiting_count + m->engine.held_count;
  if (++m->stats.in_flight > m->stats.peak_in_flight)
    m->stats.peak_in_flight = m->stats.in_flight;
}

static void route_generation(struct mock_exchange *x, bool chat, uint64_t now)
{
  struct err e = {0};
  struct buf why = {0};
  int status = 400;
  bool read;
  count_in(x);
  plan_of_rules(x, &e);
  plan_of_headers(x, &e);
  read = mock_ask_read(&x->ask, chat, buf_str(&x->conn->http.body), &status,
                       &why) == 0;
  x->record.stream = x->ask.stream;
  plan_of_body(x, &e);
  if (plan_is_bad(x, &e, now) || answer_instead(x, now))
    ;
  else if (!read)
    mock_answer_failure(x, status, buf_cstr(&why), NULL, now);
  else if (accept_ask(x, now))
    generate(x, now);
  buf_free(&why);
}

/* ---- the other endpoints ---- */

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
                         : 131072);
    json_end_object(&w);
  }
  json_end_array(&w);
  json_end_object(&w);
  mock_answer_fixed(x, 200, JSON_TYPE, now);
}

static void answer_metrics(struct mock_exchange *x, uint64_t now)
{
  struct mock *m = x->conn->m;
  buf_reset(&x->body);
  mock_stats_metrics(&m->stats, m->models, m->engine.running_count,
                     m->engine.waiting_count, &x->body);
  mock_answer_fixed(x, 200, STR("text/plain; version=0.0.4; charset=utf-8"),
                    now);
}

static void answer_stats(struct mock_exchange *x, uint64_t now)
{
  struct mock *m = x->conn->m;
  buf_reset(&x->body);
  mock_stats_json(&m->stats, m->engine.running_count, m->engine.waiting_count,
                  now, &x->body);
  mock_answer_fixed(x, 200, JSON_TYPE, now);
}

static void answer_health(struct mock_exchange *x, uint64_t now)
{
  answer_text(x, 200, "", (struct str){NULL, 0}, now);
}

static void route_chat(struct mock_exchange *x, uint64_t now)
{
  route_generation(x, true, now);
}

static void route_completions(struct mock_exchange *x, uint64_t now)
{
  route_generation(x, false, now);
}

static const struct route {
  const char *path, *method;
  void (*answer)(struct mock_exchange *x, uint64_t now);
} routes[] = {
    {"/v1/chat/completions", "POST", route_chat},
    {"/v1/completions", "POST", route_completions},
    {"/v1/models", "GET", answer_models},
    {"/health", "GET", answer_health},
    {"/metrics", "GET", answer_metrics},
    {"/stats", "GET", answer_stats},
};

static const struct route *find_route(const struct mock_exchange *x)
{
  struct str path = mock_http_path(&x->conn->http);
  const char *models = x->conn->m->config.models;
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
    if (routes[i].answer == answer_models && strcmp(models, "none") == 0)
      continue;
    if (str_eq(path, str_of(routes[i].path)))
      return &routes[i];
  }
  return NULL;
}

static bool authorised(const struct mock_exchange *x)
{
  const char *key = x->conn->m->config.api_key;
  struct str value = mock_http_header(&x->conn->http, STR("authorization"));
  if (!key || !str_starts(mock_http_path(&x->conn->http), STR("/v1/")))
    return true;
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
    answer_text(x, 404, "{\"detail\":\"Not Found\"}", JSON_TYPE, now);
  else if (!str_eq(mock_http_method(&x->conn->http), str_of(r->method)))
    answer_text(x, 405, "{\"detail\":\"Method Not Allowed\"}", JSON_TYPE, now);
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
  if (strcmp(r->method, "POST") == 0) {
    r->answer(x, now);
    return;
  }
  plan_of_headers(x, &e);
  if (!plan_is_bad(x, &e, now) && !answer_instead(x, now))
    r->answer(x, now);
}
