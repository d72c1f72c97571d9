/* Chats, completions and the like: what the body asks for, and the way to the
 * engine. */
#include "base/clock.h"
#include "mock/form.h"
#include "mock/server.h"

static bool knows_model(const struct mock *m, const char *name)
{
  struct str list = str_of(m->config.models);
  while (list.len)
    if (str_eq(str_trim(str_split(&list, ',')), str_of(name)))
      return true;
  return false;
}

/* Returns false when the request has been answered with an error. */
static bool accept_ask(struct mock_exchange *x, struct buf *why, uint64_t now)
{
  const struct mock_config *c = &x->conn->m->config;
  const struct mock_ask *a = &x->ask;
  uint64_t most = c->max_model_len, longest = most ? most : MOCK_MAX_TOKENS;
  if (c->strict_model && !knows_model(x->conn->m, a->model)) {
    buf_adds(why, "The model `");
    json_escape(why, str_of(a->model));
    buf_adds(why, "` does not exist.");
    mock_answer_failure(x, 404, buf_cstr(why), "model", now);
    return false;
  }
  if (most && a->prompt_tokens >= most) {
    buf_addf(why,
             "This model's maximum context length is %llu tokens. However, "
             "your prompt contains at least %llu input tokens. Please reduce "
             "the length of the input prompt.",
             (unsigned long long)most, (unsigned long long)a->prompt_tokens);
    mock_answer_failure(x, 400, buf_cstr(why), "input_tokens", now);
    return false;
  }
  if (a->max_tokens > (int64_t)longest) {
    buf_addf(why,
             "max_tokens=%lld cannot be greater than max_model_len=%llu. "
             "Please request fewer output tokens.",
             (long long)a->max_tokens, (unsigned long long)longest);
    mock_answer_failure(x, 400, buf_cstr(why), "max_tokens", now);
    return false;
  }
  return true;
}

/* How long the answer is, and why it ends there. */
static uint64_t plan_tokens(struct mock_exchange *x)
{
  double drawn = mock_dist_draw(&x->plan.tokens, &x->rng) + 0.5;
  int64_t cap = x->ask.max_tokens, n = MOCK_MAX_TOKENS;
  if (MOCK_IS_POOLING(x->ask.api))
    return 0;
  if (drawn < MOCK_MAX_TOKENS)
    n = (int64_t)drawn;
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
  /* Ollama's calls are whole objects, which cannot come token by token. */
  if (MOCK_IS_NDJSON(x->ask.api))
    x->plan.tool_calls = 0;
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
  mock_reply_begin(&x->reply, &x->plan, x->ask.api,
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
  /* Parsed prompts are large and are not needed any more; but the script, and
   * text that the plan borrows, are in the "mock" object. */
  if (!x->ask.mock)
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
  x->record.in_flight = m->stats.in_flight;
}

static int read_ask(struct mock_exchange *x, enum mock_api api, int *status,
                    struct buf *why)
{
  const struct mock_http *h = &x->conn->http;
  struct buf json = {0};
  int result;
  if (!MOCK_IS_FORM(api))
    return mock_ask_read(&x->ask, api, buf_str(&h->body), status, why);
  if (mock_form_json(mock_http_header(h, STR("content-type")),
                     buf_str(&h->body), &json) < 0)
    buf_reset(&json);
  result = mock_ask_read(&x->ask, api, buf_str(&json), status, why);
  buf_free(&json);
  return result;
}

void mock_generate(struct mock_exchange *x, enum mock_api api, uint64_t now)
{
  struct err e = {0};
  struct buf why = {0};
  int status = 400;
  bool read;
  count_in(x);
  mock_plan_of_rules(x, &e);
  mock_plan_of_headers(x, &e);
  read = read_ask(x, api, &status, &why) == 0;
  mock_plan_of_body(x, &e);
  x->ask.stream |= x->plan.force_stream;
  x->ask.stream &= !x->plan.no_stream && !MOCK_IS_POOLING(api);
  x->record.stream = x->ask.stream;
  if (mock_answer_plan(x, &e, now))
    ;
  else if (!read)
    mock_answer_failure(x, status, buf_cstr(&why), NULL, now);
  else if (accept_ask(x, &why, now))
    generate(x, now);
  buf_free(&why);
}
