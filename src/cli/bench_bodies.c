#include "cli/bench_bodies.h"

#include <math.h>

#include "base/json.h"
#include "base/units.h"
#include "script/merge.h"

struct sampling {
  const char *key, *flag, *value;
  bool whole;
};

enum { SAMPLINGS = 8 };

static void list_samplings(const struct bench_flags *f,
                           struct sampling list[SAMPLINGS])
{
  const struct sampling all[SAMPLINGS] = {
      {"temperature", "temperature", f->temperature, false},
      {"top_p", "top-p", f->top_p, false},
      {"top_k", "top-k", f->top_k, true},
      {"min_p", "min-p", f->min_p, false},
      {"frequency_penalty", "frequency-penalty", f->frequency_penalty, false},
      {"presence_penalty", "presence-penalty", f->presence_penalty, false},
      {"repetition_penalty", "repetition-penalty", f->repetition_penalty,
       false},
      {"best_of", "best-of", f->best_of, true},
  };
  memcpy(list, all, sizeof all);
}

static void put_sampling(const struct sampling *s, struct json_writer *w,
                         struct err *e)
{
  double x;
  if (!s->value)
    return;
  if (units_number(str_of(s->value), &x) < 0 || !isfinite(x)) {
    err_add(e, "--%s %s: not a number", s->flag, s->value);
  } else if (s->whole && (x != floor(x) || fabs(x) > 1e15)) {
    err_add(e, "--%s %s: not a whole number", s->flag, s->value);
  } else if (s->whole) {
    json_key(w, s->key);
    json_integer(w, (int64_t)x);
  } else {
    json_key(w, s->key);
    json_number(w, x);
  }
}

static void put_samplings(const struct bench_flags *f, struct json_writer *w,
                          struct err *e)
{
  struct sampling all[SAMPLINGS];
  list_samplings(f, all);
  for (size_t i = 0; i < SAMPLINGS; i++)
    put_sampling(&all[i], w, e);
}

/* Nothing is sampled where no text is made. */
static void drop_samplings(const struct bench_flags *f, struct run_options *r)
{
  struct sampling all[SAMPLINGS];
  list_samplings(f, all);
  for (size_t i = 0; i < SAMPLINGS; i++) {
    struct buf text = {0};
    if (!all[i].value)
      continue;
    buf_addf(&text,
             "--%s: has no effect, the answers of this backend are no "
             "text",
             all[i].flag);
    option_list_add(&r->options.notices, buf_str(&text));
    buf_free(&text);
  }
}

static void put_template(const struct bench_flags *f,
                         const struct bench_backend *b, struct json_writer *w,
                         struct run_options *r)
{
  if (!f->chat_template_kwargs)
    return;
  if (b && strcmp(b->api, "chat") == 0) {
    json_key(w, "chat_template_kwargs");
    json_raw(w, str_of(f->chat_template_kwargs));
  } else if (b && strcmp(b->api, "completions") != 0) {
    option_list_add(&r->options.notices,
                    STR("--chat-template-kwargs: have no effect, this backend "
                        "has no chat template"));
  }
}

void bench_bodies_set(const struct bench_flags *f,
                      const struct bench_backend *b, struct run_options *r,
                      struct err *e)
{
  struct buf flags = {0}, text = {0};
  struct json_writer w = {.out = &flags};
  json_begin_object(&w);
  if (!b || b->samples)
    put_samplings(f, &w, e);
  else
    drop_samplings(f, r);
  put_template(f, b, &w, r);
  if (b && b->vllm && !b->samples) {
    json_key(&w, "truncate_prompt_tokens");
    json_integer(&w, -1);
  }
  /* A server that stores each answer would grow with the benchmark. */
  if (b && strcmp(b->api, "responses") == 0) {
    json_key(&w, "store");
    json_boolean(&w, false);
  }
  json_end_object(&w);
  /* --extra-body goes before the flags, byte for byte. */
  merge_objects(&text, buf_str(&flags),
                f->extra_body ? str_of(f->extra_body) : STR("{}"));
  if (!str_eq(buf_str(&text), STR("{}")))
    options_set(&r->options, "extra-body", buf_cstr(&text), OPTION_FLAG,
                "--extra-body", e);
  buf_free(&flags);
  buf_free(&text);
}
