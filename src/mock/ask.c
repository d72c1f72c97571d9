#include "mock/ask.h"

#include <math.h>

/* ---- hashing ---- */

static uint64_t mix(uint64_t h, uint64_t x)
{
  h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ (h >> 32);
}

uint64_t mock_hash(uint64_t seed, struct str s)
{
  uint64_t h = mix(seed, s.len), x;
  for (; s.len >= 8; s.p += 8, s.len -= 8) {
    memcpy(&x, s.p, 8);
    h = mix(h, x);
  }
  x = 0;
  if (s.len)
    memcpy(&x, s.p, s.len);
  return mix(mix(h, x), 0);
}

/* ---- the prompt's words ---- */

static bool is_blank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static void words_of_text(const char *s, mock_ask_word_cb *word, void *ud)
{
  while (s && *s) {
    const char *start;
    while (is_blank(*s))
      s++;
    for (start = s; *s && !is_blank(*s); s++)
      ;
    if (s > start)
      word((struct str){start, (size_t)(s - start)}, ud);
  }
}

/* A string; an array of strings, of content parts with "text" or of token
 * ids (each counts as a word). */
static void words_of(const json_value *v, mock_ask_word_cb *word, void *ud)
{
  words_of_text(json_text(v), word, ud);
  if (!json_is_array(v))
    return;
  for (v = json_first(v); v; v = json_next(v)) {
    if (json_is_number(v)) {
      double id = json_double(v, 0);
      word((struct str){(const char *)&id, sizeof id}, ud);
    } else if (json_is_object(v)) {
      words_of_text(json_text(json_get(v, "text")), word, ud);
    } else {
      words_of(v, word, ud);
    }
  }
}

/* Where the prompt stands: in members of the body, some of them lists of
 * messages. */
static const char *const prompts[][3] = {
    [MOCK_API_COMPLETIONS] = {"prompt"},
    [MOCK_API_CHAT] = {"messages"},
    [MOCK_API_TRANSCRIPTION] = {"prompt"},
    [MOCK_API_TRANSLATION] = {"prompt"},
    [MOCK_API_RESPONSES] = {"instructions", "input"},
    [MOCK_API_MESSAGES] = {"system", "messages"},
    [MOCK_API_OLLAMA] = {"messages"},
    [MOCK_API_GENERATE] = {"prompt"},
    [MOCK_API_EMBEDDINGS] = {"input", "messages"},
    [MOCK_API_RERANK] = {"query", "documents"},
};

static bool is_messages(const json_value *v)
{
  const json_value *first = json_first(v);
  return json_is_array(v) && json_is_object(first) && !json_get(first, "text");
}

static void words_of_messages(const json_value *v, mock_ask_word_cb *word,
                              void *ud)
{
  for (v = json_first(v); v; v = json_next(v)) {
    words_of(json_get(v, "content"), word, ud);
    words_of(json_get(v, "output"), word, ud);
  }
}

void mock_ask_words(const struct mock_ask *a, mock_ask_word_cb *word, void *ud)
{
  for (int i = 0; i < 3 && prompts[a->api][i]; i++) {
    const json_value *v = json_get(a->root, prompts[a->api][i]);
    if (is_messages(v))
      words_of_messages(v, word, ud);
    else
      words_of(v, word, ud);
  }
}

static void count_word(struct str word, void *ud)
{
  (void)word;
  ++*(uint64_t *)ud;
}

/* ---- reading ---- */

static int refuse(int *status, struct buf *why, int code, const char *text)
{
  *status = code;
  buf_adds(why, text);
  return -1;
}

static void copy_name(char to[MOCK_ASK_NAME], const json_value *v)
{
  const char *s = json_text(v);
  size_t len = s ? strnlen(s, MOCK_ASK_NAME - 1) : 0;
  memcpy(to, s ? s : "", len);
  to[len] = '\0';
}

/* A whole number >= least at `key`, `otherwise` without one; -2 when it is
 * something else. */
static int64_t whole(const json_value *root, const char *key, int64_t least,
                     int64_t otherwise)
{
  const json_value *v = json_get(root, key);
  double x = json_double(v, -1);
  if (!v || json_is_null(v))
    return otherwise;
  return x == floor(x) && x >= (double)least && x < 1e15 ? (int64_t)x : -2;
}

static int64_t count(const json_value *list)
{
  int64_t n = 0;
  for (list = json_first(list); list; list = json_next(list))
    n++;
  return n;
}

/* A list of texts (or of lists of token ids), each a thing of its own. */
static bool is_several(const json_value *v)
{
  return json_is_array(v) &&
         (json_is_string(json_first(v)) || json_is_array(json_first(v)));
}

static int no_list(int *status, struct buf *why, const char *name)
{
  *status = 400;
  buf_addf(why,
           "1 validation error:\\n  {'type': 'list_type', 'loc': "
           "'body.%s', 'msg': 'Input should be a valid list'}",
           name);
  return -1;
}

/* A recording costs a token a KB. */
static int read_recording(struct mock_ask *a, int *status, struct buf *why)
{
  const json_value *file = json_get(a->root, "file");
  if (!json_is_object(file))
    return refuse(status, why, 400,
                  "1 validation error:\\n  {'type': 'missing', 'loc': "
                  "'body.file', 'msg': 'Field required'}");
  mock_ask_words(a, count_word, &a->prompt_tokens);
  a->prompt_tokens +=
      (uint64_t)ceil(json_double(json_get(file, "bytes"), 0) / 1024);
  return 0;
}

static int read_prompts(struct mock_ask *a, int *status, struct buf *why)
{
  const char *name = a->api == MOCK_API_COMPLETIONS            ? "prompt"
                     : a->api == MOCK_API_RERANK               ? "documents"
                     : a->api == MOCK_API_GENERATE             ? "prompt"
                     : a->chat && a->api != MOCK_API_RESPONSES ? "messages"
                                                               : "input";
  const json_value *v = json_get(a->root, name);
  bool list = strcmp(name, "messages") == 0 || a->api == MOCK_API_RERANK;
  if (list && !json_is_array(v))
    return no_list(status, why, name);
  if (a->api == MOCK_API_EMBEDDINGS && !v)
    v = json_get(a->root, "messages");
  if (!json_is_array(v) && !json_is_string(v))
    return refuse(status, why, 400,
                  "Either prompt or prompt_embeds must be "
                  "provided and non-empty.");
  if (a->api == MOCK_API_COMPLETIONS && is_several(v))
    a->choices *= count(v);
  a->inputs = is_several(v) ? count(v) : 1;
  mock_ask_words(a, count_word, &a->prompt_tokens);
  return 0;
}

/* What the APIs call the longest answer. */
static int64_t read_longest(const struct mock_ask *a)
{
  static const char *const names[] = {"max_completion_tokens",
                                      "max_output_tokens", "max_tokens"};
  int64_t n = -1;
  if (MOCK_IS_NDJSON(a->api))
    return whole(json_get(a->root, "options"), "num_predict", 1, -1);
  for (int i = 0; i < 3 && n == -1; i++)
    n = whole(a->root, names[i], 1, -1);
  return n;
}

static int read_numbers(struct mock_ask *a, int *status, struct buf *why)
{
  a->choices = whole(a->root, "n", 1, 1);
  if (a->choices < 1 || a->choices > 128)
    return refuse(status, why, 400, "n must be a whole number from 1 to 128");
  a->dimensions = whole(a->root, "dimensions", 1, 8);
  if (a->dimensions < 1 || a->dimensions > 4096)
    return refuse(status, why, 400, "dimensions must be from 1 to 4096");
  a->top = whole(a->root, "top_n", 1, INT64_MAX);
  if (a->top < 1)
    return refuse(status, why, 400, "top_n must be at least 1");
  a->max_tokens = read_longest(a);
  if (a->max_tokens == -2)
    return refuse(status, why, 400, "max_tokens must be at least 1");
  return 0;
}

/* vLLM's chats and completions tell usage in a stream when asked; the others
 * always do. */
static void read_usage(struct mock_ask *a)
{
  const json_value *options = json_get(a->root, "stream_options");
  if (MOCK_IS_FORM(a->api)) {
    a->usage = json_true(json_get(a->root, "stream_include_usage"));
    a->usage_each =
        json_true(json_get(a->root, "stream_continuous_usage_stats"));
    return;
  }
  a->usage = json_true(json_get(options, "include_usage"));
  a->usage_each = json_true(json_get(options, "continuous_usage_stats"));
}

static void read_tool(struct mock_ask *a)
{
  const json_value *tool = json_first(json_get(a->root, "tools"));
  const json_value *f = json_get(tool, "function");
  copy_name(a->function, json_get(f ? f : tool, "name"));
}

int mock_ask_read(struct mock_ask *a, enum mock_api api, struct str body,
                  int *status, struct buf *why)
{
  *a = (struct mock_ask){.api = api, .choices = 1, .max_tokens = -1};
  a->chat = api != MOCK_API_COMPLETIONS && !MOCK_IS_POOLING(api) &&
            !MOCK_IS_FORM(api);
  a->root = json_parse(body, NULL);
  if (!json_is_object(a->root))
    return refuse(status, why, 400,
                  "1 validation error:\\n  {'type': 'json_invalid', 'loc': "
                  "'body', 'msg': 'JSON decode error'}");
  copy_name(a->model, json_get(a->root, "model"));
  /* Ollama streams unless it is told not to. */
  a->stream = json_true(json_get(a->root, "stream")) ||
              (MOCK_IS_NDJSON(api) && !json_get(a->root, "stream"));
  a->ignore_eos = json_true(json_get(a->root, "ignore_eos"));
  read_usage(a);
  read_tool(a);
  a->mock = json_get(a->root, "mock");
  a->events = json_get(a->mock, "events");
  if (read_numbers(a, status, why) < 0)
    return -1;
  if (!MOCK_IS_OPENAI(api) || MOCK_IS_FORM(api))
    a->choices = 1;
  if (MOCK_IS_FORM(api))
    return read_recording(a, status, why);
  return read_prompts(a, status, why);
}

void mock_ask_deinit(struct mock_ask *a)
{
  json_free(a->root);
  a->root = NULL;
  a->mock = NULL;
  a->events = NULL;
}
