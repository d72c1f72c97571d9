#include "stats/filter.h"

#include <stdio.h>

const char *turn_name(unsigned filed, char out[16])
{
  snprintf(out, 16, filed > TURNS_MAX ? "%u+" : "%u", filed);
  return out;
}

void filter_each_tag(const char *tags, filter_tag_cb *tag, void *ud)
{
  struct str rest = str_of(tags);
  while (rest.len)
    tag(str_split(&rest, ','), ud);
}

struct tag_search {
  const struct filter_term *term;
  bool any_name, found;
};

static void look_at(struct str pair, void *ud)
{
  struct tag_search *s = ud;
  struct str value = pair, name = str_split(&value, '=');
  if (str_eq(value, str_of(s->term->value)) &&
      (s->any_name || str_eq(name, str_of(s->term->name))))
    s->found = true;
}

static bool has_tag(const struct filter_term *t, const char *tags)
{
  struct tag_search s = {.term = t, .any_name = strcmp(t->name, "tag") == 0};
  filter_each_tag(tags, look_at, &s);
  return s.found;
}

static bool term_holds(const struct filter_term *t, const struct filing *x,
                       const struct stage_names *stages)
{
  char name[16];
  if (strcmp(t->name, "turn") == 0)
    return strcmp(turn_name(x->turn, name), t->value) == 0;
  if (strcmp(t->name, "stage") == 0)
    return x->stage < stages->n && stages->names[x->stage] &&
           strcmp(stages->names[x->stage], t->value) == 0;
  return has_tag(t, x->tags);
}

bool filter_has(const struct filter *f, const char *name)
{
  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->terms[i].name, name) == 0)
      return true;
  return false;
}

bool filter_matches(const struct filter *f, const struct filing *x,
                    const struct stage_names *stages)
{
  for (size_t i = 0; i < f->n; i++)
    if (!term_holds(&f->terms[i], x, stages))
      return false;
  return true;
}
