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

void mock_ask_words(const struct mock_ask *a, mock_ask_word_cb *word, void *ud)
{
  const json_value *m;
  if (!a->chat) {
    words_of(json_get(a->root, "prompt"), word, ud);
    return;
  }
  for (m = json_first(json_get(a->root, "messages")); m; m = json_next(m))
    words_of(json_get(m, "content"), word, ud);
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

static int read_prompts(struct mock_ask *a, int *status, struct buf *why)
{
  const json_value *v = json_get(a->root, a->chat ? "messages" : "prompt");
  if (a->chat && !json_is_array(v))
    return refuse(status, why, 400,
                  "1 validation error:\\n  {'type': 'list_type', 'loc': "
                  "'body.messages', 'msg': 'Input should be a valid list'}");
  if (!a->chat && !json_is_array(v) && !json_is_string(v))
    return refuse(status, why, 400,
                  "Either prompt or prompt_embeds must be "
                  "provided and non-empty.");
  if (!a->chat &&
      (json_is_string(json_first(v)) || json_is_array(json_first(v)))) {
    int64_t prompts = 0;
    for (v = json_first(v); v; v = json_next(v))
      prompts++;
    a->choices *= prompts;
  }
  mock_ask_words(a, count_word, &a->prompt_tokens);
  return 0;
}

static int read_numbers(struct mock_ask *a, int *status, struct buf *why)
{
  a->choices = whole(a->root, "n", 1, 1);
  if (a->choices < 1 || a->choices > 128)
    return refuse(status, why, 400, "n must be a whole number from 1 to 128");
  a->max_tokens = whole(a->root, "max_completion_tokens", 1, -1);
  if (a->max_tokens == -1)
    a->max_tokens = whole(a->root, "max_tokens", 1, -1);
  if (a->max_tokens == -2)
    return refuse(status, why, 400, "max_tokens must be at least 1");
  return 0;
}

int mock_ask_read(struct mock_ask *a, bool chat, struct str body, int *status,
                  struct buf *why)
{
  const json_value *options, *tool;
  *a = (struct mock_ask){.chat = chat, .choices = 1, .max_tokens = -1};
  a->root = json_parse(body, NULL);
  if (!json_is_object(a->root))
    return refuse(status, why, 400,
                  "1 validation error:\\n  {'type': 'json_invalid', 'loc': "
                  "'body', 'msg': 'JSON decode error'}");
  copy_name(a->model, json_get(a->root, "model"));
  a->stream = json_true(json_get(a->root, "stream"));
  a->ignore_eos = json_true(json_get(a->root, "ignore_eos"));
  options = json_get(a->root, "stream_options");
  a->usage = json_true(json_get(options, "include_usage"));
  a->usage_each = json_true(json_get(options, "continuous_usage_stats"));
  tool = json_first(json_get(a->root, "tools"));
  copy_name(a->function, json_get(json_get(tool, "function"), "name"));
  a->mock = json_get(a->root, "mock");
  a->events = json_get(a->mock, "events");
  if (read_numbers(a, status, why) < 0)
    return -1;
  return read_prompts(a, status, why);
}

void mock_ask_deinit(struct mock_ask *a)
{
  json_free(a->root);
  a->root = NULL;
  a->mock = NULL;
  a->events = NULL;
}
