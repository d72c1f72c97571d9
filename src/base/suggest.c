#include "base/suggest.h"

/* How far off a typed name may be: a third of its letters. */
static size_t tolerance(struct str typed)
{
  return typed.len < 4 ? 1 : typed.len < 6 ? 2 : typed.len / 3;
}

/* Edits, but a name that contains all that was typed counts as near:
 * "concurrency" means "max-concurrency". */
static size_t distance(struct str typed, struct str name)
{
  size_t limit = tolerance(typed), d = str_distance(typed, name, limit);
  if (d > limit && typed.len >= 4 && str_find(name, typed) >= 0)
    return limit;
  if (d > limit && name.len >= 4 && str_find(typed, name) >= 0)
    return limit;
  return d;
}

void suggest_consider(struct suggest *s, struct str name)
{
  struct suggestion new = {name, distance(s->typed, name)};
  size_t i, room = sizeof s->best / sizeof s->best[0];
  if (new.distance > tolerance(s->typed))
    return;
  for (i = 0; i < s->n; i++) {
    if (new.distance < s->best[i].distance) {
      struct suggestion moved = s->best[i];
      s->best[i] = new;
      new = moved;
    }
  }
  if (s->n < room)
    s->best[s->n++] = new;
}

void suggest_print(const struct suggest *s, const char *prefix, struct buf *out)
{
  for (size_t i = 0; i < s->n; i++) {
    buf_adds(out, i == 0 ? "; did you mean " : i + 1 == s->n ? " or " : ", ");
    buf_addf(out, "%s%.*s", prefix, STR_ARG(s->best[i].name));
  }
  if (s->n)
    buf_addc(out, '?');
}
