#include "cli/bench_bodies.h"

#include <math.h>

#include "base/json.h"
#include "base/units.h"

static void put_number(struct err *e, json_value *body, const char *key,
                       const char *flag, const char *value)
{
  double x;
  if (!value)
    return;
  if (units_number(str_of(value), &x) < 0 || !isfinite(x)) {
    err_add(e, "--%s %s: not a number", flag, value);
    return;
  }
  /* --extra-body goes before the flags. */
  if (!json_get(body, key))
    json_put(body, str_of(key), json_parse(str_trim(str_of(value)), NULL));
}

struct sampling {
  const char *key, *flag, *value;
};

enum { SAMPLINGS = 8 };

static void list_samplings(const struct bench_flags *f,
                           struct sampling list[SAMPLINGS])
{
  const struct sampling all[SAMPLINGS] = {
      {"temperature", "temperature", f->temperature},
      {"top_p", "top-p", f->top_p},
      {"top_k", "top-k", f->top_k},
      {"min_p", "min-p", f->min_p},
      {"frequency_penalty", "frequency-penalty", f->frequency_penalty},
      {"presence_penalty", "presence-penalty", f->presence_penalty},
      {"repetition_penalty", "repetition-penalty", f->repetition_penalty},
      {"best_of", "best-of", f->best_of},
  };
  memcpy(list, all, sizeof all);
}

static void put_samplings(const struct bench_flags *f, json_value *body,
                          struct err *e)
{
  struct sampling all[SAMPLINGS];
  list_samplings(f, all);
  for (size_t i = 0; i < SAMPLINGS; i++)
    put_number(e, body, all[i].key, all[i].flag, all[i].value);
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
                         const struct bench_backend *b, json_value *body,
                         struct run_options *r)
{
  if (!f->chat_template_kwargs)
    return;
  if (b && strcmp(b->api, "chat") == 0)
    json_put(body, STR("chat_template_kwargs"),
             json_parse(str_of(f->chat_template_kwargs), NULL));
  else
    option_list_add(&r->options.notices,
                    STR("--chat-template-kwargs: the template of completions "
                        "is the server's own, so they have no effect"));
}

void bench_bodies_set(const struct bench_flags *f,
                      const struct bench_backend *b, struct run_options *r,
                      struct err *e)
{
  struct buf text = {0};
  json_value *body =
      json_parse(f->extra_body ? str_of(f->extra_body) : STR("{}"), NULL);
  if (!b || b->samples)
    put_samplings(f, body, e);
  else
    drop_samplings(f, r);
  put_template(f, b, body, r);
  if (b && b->vllm && !b->samples && !json_get(body, "truncate_prompt_tokens"))
    json_put(body, STR("truncate_prompt_tokens"), json_parse(STR("-1"), NULL));
  if (json_first(body)) {
    json_print(&text, body);
    options_set(&r->options, "extra-body", buf_cstr(&text), OPTION_FLAG,
                "--extra-body", e);
  }
  json_free(body);
  buf_free(&text);
}
