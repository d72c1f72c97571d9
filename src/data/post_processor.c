#include "data/post_processor.h"

#include <string.h>

#include "data/tokenizer_limits.h"

struct reading {
  struct post_processor *p;
  const char *path;
  struct err *e;
  bool done; /* one that adds tokens was read */
};

static int add_id(struct reading *r, const json_value *v, struct token_list *to)
{
  double id = json_double(v, -1);
  if (id < 0 || id >= UINT32_MAX)
    return err_add(r->e, "%s: post_processor: expected a token's id", r->path);
  if (to->n == TOKENIZER_AROUND_MAX)
    return err_add(r->e, "%s: post_processor: more than %d tokens in a row",
                   r->path, TOKENIZER_AROUND_MAX);
  token_list_add(to, (uint32_t)id);
  return 0;
}

/* {"SpecialToken": {"id": NAME}}: the ids that special_tokens gives NAME. */
static int add_special(struct reading *r, const json_value *template,
                       const json_value *piece, struct token_list *to)
{
  const char *name = json_text(json_get(piece, "id"));
  const json_value *entry =
      name ? json_get(json_get(template, "special_tokens"), name) : NULL;
  const json_value *ids = json_get(entry, "ids");
  if (!json_is_array(ids))
    return err_add(r->e, "%s: post_processor: special_tokens has no %s",
                   r->path, name ? name : "such token");
  for (const json_value *i = json_first(ids); i; i = json_next(i))
    if (add_id(r, i, to) < 0)
      return -1;
  return 0;
}

static int read_template(struct reading *r, const json_value *v)
{
  unsigned sequences = 0;
  const json_value *single = json_get(v, "single");
  for (const json_value *i = json_first(single); i; i = json_next(i)) {
    const json_value *special = json_get(i, "SpecialToken");
    const char *which = json_text(json_get(json_get(i, "Sequence"), "id"));
    if (special && add_special(r, v, special,
                               sequences ? &r->p->after : &r->p->before) < 0)
      return -1;
    sequences += which && strcmp(which, "A") == 0;
    if (!special && (!which || strcmp(which, "A") != 0))
      sequences = 2;
  }
  if (sequences != 1)
    return err_add(r->e,
                   "%s: post_processor TemplateProcessing: a single that "
                   "is not special tokens around one $A is not supported",
                   r->path);
  return 0;
}

/* ["</s>", 2] */
static int add_pair(struct reading *r, const json_value *v,
                    struct token_list *to)
{
  return add_id(r, json_next(json_first(v)), to);
}

static int read_one(struct reading *r, const json_value *v)
{
  const char *type = json_text(json_get(v, "type"));
  int result = 0;
  if (!type)
    return err_add(r->e, "%s: a post_processor without a type", r->path);
  if (strcmp(type, "ByteLevel") == 0)
    return 0; /* it only trims offsets */
  if (strcmp(type, "Sequence") == 0) {
    const json_value *all = json_get(v, "processors");
    for (const json_value *i = json_first(all); i; i = json_next(i))
      if (read_one(r, i) < 0)
        result = -1;
    return result;
  }
  if (r->done)
    return err_add(r->e,
                   "%s: post_processor: a second one that adds tokens "
                   "(%s) is not supported",
                   r->path, type);
  r->done = true;
  if (strcmp(type, "TemplateProcessing") == 0)
    return read_template(r, v);
  if (strcmp(type, "BertProcessing") == 0 ||
      strcmp(type, "RobertaProcessing") == 0)
    return add_pair(r, json_get(v, "cls"), &r->p->before) < 0 ||
                   add_pair(r, json_get(v, "sep"), &r->p->after) < 0
               ? -1
               : 0;
  return err_add(r->e, "%s: the post_processor %s is not supported", r->path,
                 type);
}

int post_processor_init(struct post_processor *p, const json_value *v,
                        const char *path, struct err *e)
{
  struct reading r = {.p = p, .path = path, .e = e};
  *p = (struct post_processor){0};
  return !v || json_is_null(v) ? 0 : read_one(&r, v);
}

void post_processor_deinit(struct post_processor *p)
{
  token_list_free(&p->before);
  token_list_free(&p->after);
}
