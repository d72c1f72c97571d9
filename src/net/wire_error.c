#include "net/wire_error.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

enum { LINE_MAX_BYTES = 300 };

/* Length of a whole UTF-8 character at p that may be shown, or 0. */
static size_t character(const char *p, size_t len)
{
  struct buf escaped = {0};
  unsigned char c = (unsigned char)p[0];
  size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  if (n == 1)
    return c >= 0x20 && c != 0x7f;
  if (n > len)
    return 0;
  if (json_escape(&escaped, (struct str){p, n}))
    n = 0;
  buf_free(&escaped);
  return n;
}

void wire_error_line(char out[320], struct str s)
{
  size_t len = 0;
  s = str_trim(s);
  while (s.len) {
    size_t n = character(s.p, s.len);
    const char *from = n ? s.p : " ";
    size_t width = n ? n : 1;
    if (len + width > LINE_MAX_BYTES)
      break;
    if (*from != ' ' || (len && out[len - 1] != ' ')) {
      memcpy(out + len, from, width);
      len += width;
    }
    s = (struct str){s.p + width, s.len - width};
  }
  out[len - (len && out[len - 1] == ' ')] = '\0';
}

static void set_line(struct wire_error *out, const char *text)
{
  if (!out->message[0] && text)
    wire_error_line(out->message, str_of(text));
}

static void set_type(struct wire_error *out, const char *text)
{
  if (!out->type[0] && text) {
    char line[320];
    wire_error_line(line, str_of(text));
    /* Types are identifiers; one that isn't may lose its end. */
    snprintf(out->type, sizeof out->type, "%.63s", line);
  }
}

static void set_code(struct wire_error *out, const json_value *v)
{
  double x = json_is_string(v) ? strtod(json_text(v), NULL) : json_double(v, 0);
  if (!out->code && x >= 400 && x <= 599 && x == (int)x)
    out->code = (int)x;
}

/* {"msg": "Field required", "loc": ["body", "messages"]} */
static void add_detail(struct buf *to, const json_value *item)
{
  const char *msg = json_text(json_get(item, "msg"));
  const char *message = json_text(json_get(item, "message"));
  json_value *loc = json_first(json_get(item, "loc"));
  if (to->len)
    buf_adds(to, "; ");
  for (; loc; loc = json_next(loc)) {
    if (json_is_string(loc))
      buf_adds(to, json_text(loc));
    else
      json_print(to, loc);
    buf_adds(to, json_next(loc) ? "." : ": ");
  }
  if (msg || message)
    buf_adds(to, msg ? msg : message);
  else if (json_is_string(item))
    buf_adds(to, json_text(item));
  else
    json_print(to, item);
}

static void read_list(struct wire_error *out, const json_value *list)
{
  struct buf text = {.max = 4096};
  for (json_value *v = json_first(list); v && !text.toobig; v = json_next(v))
    add_detail(&text, v);
  set_line(out, buf_cstr(&text));
  buf_free(&text);
}

static void read_value(struct wire_error *out, const json_value *v);

/* {"choices": [{"finish_reason": "error", "error": {…}}]} */
static void read_choice(struct wire_error *out, const json_value *v)
{
  const json_value *choice = json_first(json_get(v, "choices"));
  read_value(out, json_get(choice, "error"));
  if (!out->message[0] && json_text(json_get(choice, "finish_reason"))) {
    char line[64];
    snprintf(line, sizeof line, "finish_reason %s",
             json_text(json_get(choice, "finish_reason")));
    set_line(out, line);
  }
}

/* What servers call the words, the best first. */
static void read_object(struct wire_error *out, const json_value *v)
{
  static const char *const words[] = {"error",  "detail", "message",  "msg",
                                      "errors", "reason", "response", "title"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!out->message[0])
      read_value(out, json_get(v, words[i]));
  read_choice(out, v);
  set_type(out, json_text(json_get(v, "type")));
  set_type(out, json_text(json_get(v, "code")));
  set_type(out, json_text(json_get(v, "status")));
  set_code(out, json_get(v, "code"));
  set_code(out, json_get(v, "status"));
  set_code(out, json_get(v, "status_code"));
}

static void read_value(struct wire_error *out, const json_value *v)
{
  if (json_is_string(v))
    set_line(out, json_text(v));
  else if (json_is_object(v))
    read_object(out, v);
  else if (json_is_array(v) && json_get(json_first(v), "error"))
    read_object(out, json_first(v));
  else if (json_is_array(v))
    read_list(out, v);
}

static ptrdiff_t ifind(struct str s, struct str needle)
{
  for (size_t i = 0; i + needle.len <= s.len; i++)
    if (str_istarts((struct str){s.p + i, s.len - i}, needle))
      return (ptrdiff_t)i;
  return -1;
}

static bool says(const char *text, const char *words)
{
  return ifind(str_of(text), str_of(words)) >= 0;
}

/* vLLM, OpenAI: "maximum context length is"; llama.cpp:
 * exceed_context_size_error; Anthropic: "prompt is too long". A max_tokens
 * that is too large is another mistake. */
bool wire_error_is_context_length(const struct wire_error *e)
{
  static const char *const words[] = {"context length",
                                      "context_length",
                                      "context size",
                                      "context_size",
                                      "context window",
                                      "prompt is too long",
                                      "prompt too long",
                                      "input is too long",
                                      "maximum input length",
                                      "max_input_tokens",
                                      "exceeds the maximum number of tokens"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (says(e->message, words[i]) || says(e->type, words[i]))
      return true;
  return false;
}

/* The data of the last event when the body is a stream. */
static struct str event_data(struct str body)
{
  struct str rest = body, data = body;
  if (!str_starts(body, STR("data:")) && !str_starts(body, STR("event:")))
    return body;
  while (rest.len) {
    struct str line = str_trim(str_split(&rest, '\n'));
    if (str_starts(line, STR("data:")) && !str_ends(line, STR("[DONE]")))
      data = (struct str){line.p + 5, line.len - 5};
  }
  return data;
}

static struct str html_title(struct str body)
{
  ptrdiff_t from = ifind(body, STR("<title")), end;
  struct str title;
  if (from < 0)
    return body;
  title = (struct str){body.p + from, body.len - (size_t)from};
  str_split(&title, '>');
  end = ifind(title, STR("</title"));
  title.len = end < 0 ? title.len : (size_t)end;
  return str_trim(title).len ? title : body;
}

void wire_error_read(struct wire_error *out, struct str body)
{
  json_value *v;
  *out = (struct wire_error){.code = 0};
  body = event_data(str_trim(body));
  v = json_parse(body, NULL);
  read_value(out, v);
  json_free(v);
  if (!out->message[0])
    wire_error_line(out->message, html_title(body));
}
