#include "base/mem.h"
#include "stats/threshold.h"

/* All thresholds of a run. */

int thresholds_add(struct thresholds *all, struct str text,
                   const struct custom *custom, const char *place,
                   struct err *e)
{
  struct threshold t;
  if (threshold_parse(&t, text, custom, place, e) < 0)
    return -1;
  all->list = mem_resize(all->list, all->n + 1, sizeof *all->list);
  all->list[all->n++] = t;
  return 0;
}

int thresholds_add_lines(struct thresholds *all, struct str text,
                         const struct custom *custom, const char *file,
                         struct err *e)
{
  unsigned before = e->count;
  for (unsigned number = 1; text.p; number++) {
    struct str line = str_split(&text, '\n');
    struct buf place = {0};
    line = str_trim(str_split(&line, '#'));
    buf_addf(&place, "%s:%u", file, number);
    if (line.len)
      thresholds_add(all, line, custom, buf_cstr(&place), e);
    buf_free(&place);
  }
  return e->count > before ? -1 : 0;
}

void thresholds_add_parts(const struct thresholds *all, struct custom *c)
{
  for (size_t i = 0; i < all->n; i++) {
    const struct threshold *t = &all->list[i];
    if (t->subject == SUBJECT_CUSTOM && t->filter.n)
      custom_add_part(c, (size_t)t->which, &t->filter);
  }
}

void thresholds_deinit(struct thresholds *all)
{
  for (size_t i = 0; i < all->n; i++)
    threshold_deinit(&all->list[i]);
  mem_free(all->list);
  *all = (struct thresholds){0};
}
