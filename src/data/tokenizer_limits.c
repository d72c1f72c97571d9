#include "data/tokenizer_limits.h"

#include <string.h>

static size_t count(const json_value *v, const char *list)
{
  const char *type = json_text(json_get(v, "type"));
  const json_value *all = json_get(v, list);
  size_t n = 1;
  if (type && strcmp(type, "Sequence") == 0)
    for (const json_value *i = json_first(all); i; i = json_next(i))
      n += count(i, list);
  return n;
}

int tokenizer_check_steps(const json_value *v, const char *list,
                          const char *part, const char *path, struct err *e)
{
  return count(v, list) <= TOKENIZER_STEPS_MAX
             ? 0
             : err_add(e, "%s: %s: more than %d steps", path, part,
                       TOKENIZER_STEPS_MAX);
}
