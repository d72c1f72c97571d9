#include "script/body.h"

#include <assert.h>
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "script/merge.h"

enum { MEMBERS_MAX = 64 };

/* `values` grows, so a value is kept by its place in it. */
struct member {
  struct str key;
  size_t at, len;
};

struct body {
  struct body_defaults defaults;
  struct str api;
  unsigned default_choices; /* n of extra_body; 0: not said */
  struct str model, prompt, extra;
  bool has_prompt, stream;
  struct member members[MEMBERS_MAX];
  size_t n_members;
  struct buf values;        /* of the members, one after the other */
  struct buf plain, merged; /* the body before, and half-way through, extras */
};

static bool is_false(const json_value *v)
{
  return json_is_boolean(v) && !json_true(v);
}

struct body *body_new(const struct body_defaults *d, struct err *e)
{
  struct body *b;
  double n = 0;
  bool whole = false;
  if (d->extra_body) {
    json_value *v = json_parse(str_of(d->extra_body), NULL);
    bool object = json_is_object(v);
    n = json_double(json_get(v, "n"), 0);
    whole = is_false(json_get(v, "stream"));
    json_free(v);
    if (!object) {
      err_add(e, "--extra-body: not a JSON object; say for example "
                 "'{\"temperature\": 0}'");
      return NULL;
    }
  }
  b = mem_new(struct body);
  b->defaults = *d;
  b->defaults.stream = d->stream && !whole;
  b->default_choices = n >= 1 && n <= BODY_CHOICES_MAX ? (unsigned)n : 0;
  return b;
}

void body_free(struct body *b)
{
  if (!b)
    return;
  buf_free(&b->values);
  buf_free(&b->plain);
  buf_free(&b->merged);
  mem_free(b);
}

void body_start(struct body *b, const char *api)
{
  b->api = str_of(api);
  b->model = str_of(b->defaults.model);
  b->prompt = b->extra = (struct str){NULL, 0};
  b->has_prompt = false;
  b->stream = b->defaults.stream;
  b->n_members = 0;
  buf_reset(&b->values);
}

void body_model(struct body *b, struct str model)
{
  b->model = model;
}

void body_prompt(struct body *b, struct str prompt)
{
  b->prompt = prompt;
  b->has_prompt = true;
}

void body_extra(struct body *b, struct str object)
{
  b->extra = object;
}

unsigned body_default_choices(const struct body *b)
{
  return b->default_choices;
}

bool body_has_extra(const struct body *b)
{
  return b->extra.p != NULL;
}

int body_merge_extra(const struct body *b, struct str whole, struct buf *out)
{
  return merge_objects(out, whole, b->extra);
}

const char *body_default_model(const struct body *b)
{
  return b->defaults.model ? b->defaults.model : "";
}

void body_stream(struct body *b, bool stream)
{
  b->stream = stream && b->defaults.stream;
}

bool body_streams(const struct body *b)
{
  return b->stream;
}

/* The member of that name, made when there is none; its value begins at the
 * end of `values`. */
static struct member *open_member(struct body *b, const char *key)
{
  struct str name = str_of(key);
  struct member *m = b->members, *end = m + b->n_members;
  while (m < end && !str_eq(m->key, name))
    m++;
  if (m == end)
    b->n_members++;
  assert(b->n_members <= MEMBERS_MAX);
  *m = (struct member){.key = name, .at = b->values.len};
  return m;
}

static void close_member(struct body *b, struct member *m)
{
  m->len = b->values.len - m->at;
}

void body_json(struct body *b, const char *key, struct str json)
{
  struct member *m = open_member(b, key);
  buf_addstr(&b->values, json);
  close_member(b, m);
}

void body_string(struct body *b, const char *key, struct str s)
{
  struct member *m = open_member(b, key);
  buf_addc(&b->values, '"');
  json_escape(&b->values, s);
  buf_addc(&b->values, '"');
  close_member(b, m);
}

void body_integer(struct body *b, const char *key, int64_t x)
{
  char text[24];
  int n = snprintf(text, sizeof text, "%lld", (long long)x);
  body_json(b, key, (struct str){text, (size_t)n});
}

void body_boolean(struct body *b, const char *key, bool x)
{
  body_json(b, key, x ? STR("true") : STR("false"));
}

static void add_string(struct buf *out, struct str s)
{
  buf_addc(out, '"');
  json_escape(out, s);
  buf_addc(out, '"');
}

static void add_prompt(const struct body *b, struct buf *out)
{
  if (str_eq(b->api, STR("completions"))) {
    buf_addstr(out, STR("\"prompt\":"));
    add_string(out, b->prompt);
    buf_addc(out, ',');
  } else {
    buf_addstr(out, STR("\"messages\":[{\"role\":\"user\",\"content\":"));
    add_string(out, b->prompt);
    buf_addstr(out, STR("}],"));
  }
}

static void add_plain(const struct body *b, struct buf *out)
{
  buf_addc(out, '{');
  if (b->model.p) {
    buf_addstr(out, STR("\"model\":"));
    add_string(out, b->model);
    buf_addc(out, ',');
  }
  if (b->has_prompt)
    add_prompt(b, out);
  for (size_t i = 0; i < b->n_members; i++) {
    const struct member *m = &b->members[i];
    buf_addc(out, '"');
    buf_addstr(out, m->key);
    buf_addstr(out, STR("\":"));
    buf_add(out, b->values.p + m->at, m->len);
    buf_addc(out, ',');
  }
  buf_addstr(out, b->stream ? STR("\"stream\":true,\"stream_options\":"
                                  "{\"include_usage\":true}}")
                            : STR("\"stream\":false}"));
}

int body_merge_all(struct body *b, struct str whole, struct buf *out)
{
  struct str first = str_of(b->defaults.extra_body), second = b->extra;
  if (first.p && second.p) {
    buf_reset(&b->merged);
    merge_objects(&b->merged, whole, first);
    merge_objects(out, buf_str(&b->merged), second);
  } else if (first.p || second.p) {
    merge_objects(out, whole, first.p ? first : second);
  } else {
    buf_addstr(out, whole);
  }
  return out->toobig ? -1 : 0;
}

int body_finish(struct body *b, struct buf *out)
{
  if (b->defaults.max_tokens >= 0)
    body_integer(b, "max_tokens", b->defaults.max_tokens);
  if (!b->defaults.extra_body && !b->extra.p) {
    add_plain(b, out);
    return out->toobig ? -1 : 0;
  }
  buf_reset(&b->plain);
  add_plain(b, &b->plain);
  return body_merge_all(b, buf_str(&b->plain), out);
}
