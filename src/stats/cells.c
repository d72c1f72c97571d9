#include "stats/cells.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static const struct str other = {"(other)", 7};

void cells_deinit(struct cells *c)
{
  for (size_t i = 0; i < c->n; i++)
    hist_deinit(&c->list[i].itl);
  for (size_t i = 0; i < c->n_values; i++)
    mem_free(c->values[i]);
  for (size_t i = 0; i < c->n_sets; i++)
    mem_free(c->sets[i]);
  mem_free(c->list);
  mem_free(c->values);
  mem_free(c->sets);
  *c = (struct cells){0};
}

/* ---- names ---- */

static size_t find(char *const *names, size_t n, struct str name)
{
  size_t i = 0;
  while (i < n && !str_eq(str_of(names[i]), name))
    i++;
  return i;
}

/* True when it is in the list, or found room there. */
static bool learn(char ***names, size_t *n, size_t max, struct str name)
{
  if (find(*names, *n, name) < *n)
    return true;
  if (*n >= max)
    return false;
  *names = mem_resize(*names, *n + 1, sizeof **names);
  (*names)[(*n)++] = mem_strndup(name.p, name.len);
  return true;
}

struct filing_tags {
  struct cells *c;
  struct buf set;
  bool crowded;
};

/* One tag of a request's, as it will be filed. Half as many places again are
 * kept for the "(other)" of each name; without one the tag goes unfiled. */
static void file_tag(struct str pair, void *ud)
{
  struct filing_tags *f = ud;
  struct cells *c = f->c;
  struct str value = pair, name = str_split(&value, '=');
  struct buf rest = {0};
  if (!learn(&c->values, &c->n_values, CELLS_TAG_VALUES, pair)) {
    f->crowded = true;
    buf_addstr(&rest, name);
    buf_addc(&rest, '=');
    buf_addstr(&rest, other);
    pair = buf_str(&rest);
    if (!learn(&c->values, &c->n_values, CELLS_TAG_VALUES * 3 / 2, pair))
      pair.len = 0;
  }
  if (pair.len && f->set.len)
    buf_addc(&f->set, ',');
  buf_addstr(&f->set, pair);
  buf_free(&rest);
}

/* The place of a set of tags; the first time, and when tags are crowded, it
 * is made up name by name. */
static uint16_t file_set(struct cells *c, const char *tags)
{
  struct filing_tags f = {.c = c};
  struct str name = str_of(tags ? tags : "");
  size_t i;
  if (!c->n_sets)
    learn(&c->sets, &c->n_sets, 1, STR(""));
  i = find(c->sets, c->n_sets, name);
  if (i < c->n_sets)
    return (uint16_t)i;
  if (!str_eq(name, other)) {
    filter_each_tag(tags, file_tag, &f);
    name = buf_str(&f.set);
  }
  if (str_eq(name, other) ||
      !learn(&c->sets, &c->n_sets, CELLS_TAG_SETS, name)) {
    f.crowded = true;
    name = other;
    learn(&c->sets, &c->n_sets, CELLS_TAG_SETS + 1, name);
  }
  i = find(c->sets, c->n_sets, name);
  c->crowded += f.crowded;
  buf_free(&f.set);
  return (uint16_t)i;
}

/* ---- cells ---- */

static bool same(const struct cell *a, const struct cell *b)
{
  return a->turn == b->turn && a->stage == b->stage && a->tags == b->tags;
}

static size_t find_cell(struct cells *c, const struct cell *key)
{
  size_t i = 0;
  if (c->n && same(&c->list[c->last], key))
    return c->last;
  while (i < c->n && !same(&c->list[i], key))
    i++;
  if (i == c->n && c->n == CELLS_MAX)
    return CELLS_MAX - 1;
  if (i == c->n) {
    if (c->n == c->cap) {
      c->cap = c->cap ? 2 * c->cap : 4;
      c->list = mem_resize(c->list, c->cap, sizeof *c->list);
    }
    c->list[c->n++] = *key;
  }
  return c->last = i;
}

/* The last cell is for all that finds none: it says neither turn nor tags. */
static size_t cell_of(struct cells *c, struct cell key)
{
  size_t i = find_cell(c, &key);
  if (i == CELLS_MAX - 1 && !same(&c->list[i], &key)) {
    c->list[i].turn = TURN_MORE;
    c->list[i].tags = file_set(c, "");
    c->crowded++;
  }
  return i;
}

uint16_t cells_file(struct cells *c, const struct record *r)
{
  struct cell key = {.turn = (uint16_t)turn_filed(r->turn), .stage = r->stage};
  key.tags = file_set(c, r->tags);
  return (uint16_t)cell_of(c, key);
}

void cells_merge(struct cells *into, const struct cells *from, uint16_t *map)
{
  uint64_t crowded = into->crowded + from->crowded;
  for (size_t i = 0; i < from->n; i++) {
    const struct cell *x = &from->list[i];
    struct cell key = {.turn = x->turn, .stage = x->stage};
    key.tags = file_set(into, from->sets[x->tags]);
    map[i] = (uint16_t)cell_of(into, key);
    hist_merge(&into->list[map[i]].itl, &x->itl);
  }
  /* Sets were counted request by request before. */
  into->crowded = crowded + (into->crowded > crowded);
}

struct filing cells_filing(const struct cells *c, size_t i)
{
  return (struct filing){.turn = c->list[i].turn,
                         .stage = c->list[i].stage,
                         .tags = c->sets[c->list[i].tags]};
}
