#include "report/blocks.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "report/run_info.h"

static const struct {
  const char *name, *title, *label;
  enum figure figure;
} blocks[] = {
#define X(ENUM, name, figure, title, label)                                    \
  {name, title, label, FIGURE_##figure},
    BLOCK_LIST(X)
#undef X
};

const char *block_name(enum block b)
{
  assert(b < BLOCK_COUNT);
  return blocks[b].name;
}

enum figure block_figure(enum block b)
{
  assert(b < BLOCK_COUNT);
  return blocks[b].figure;
}

const char *block_title(enum block b)
{
  assert(b < BLOCK_COUNT);
  return blocks[b].title;
}

const char *block_label(enum block b)
{
  assert(b < BLOCK_COUNT);
  return blocks[b].label;
}

int block_find(struct str name)
{
  for (int b = 0; b < BLOCK_COUNT; b++)
    if (str_eq(name, str_of(blocks[b].name)))
      return b;
  return -1;
}

static int unknown(struct str name, struct err *e)
{
  struct buf all = {0};
  for (int b = 0; b < BLOCK_COUNT; b++)
    buf_addf(&all, "%s%s", b ? ", " : "", blocks[b].name);
  err_add(e, "--percentile-metrics %.*s: no such metric; choose from %s",
          STR_ARG(name), buf_cstr(&all));
  buf_free(&all);
  return -1;
}

int blocks_parse(struct str list, unsigned *out, struct err *e)
{
  unsigned set = 0, bad = 0;
  while (list.p) {
    struct str name = str_trim(str_split(&list, ','));
    int b = block_find(name);
    if (b >= 0)
      set |= 1u << b;
    else if (name.len)
      bad++, unknown(name, e);
  }
  if (bad)
    return -1;
  *out = set;
  return 0;
}

static bool holds(const double *list, size_t n, double x)
{
  while (n && list[n - 1] != x)
    n--;
  return n > 0;
}

int percentiles_parse(struct str list, double *out, size_t *n, struct err *e)
{
  double found[USER_PERCENTILES_MAX];
  size_t count = 0;
  while (list.p) {
    struct str one = str_split(&list, ',');
    double p;
    if (units_number(one, &p) < 0 || !(p >= 0 && p <= 100))
      return err_add(e,
                     "--metric-percentiles %.*s: not a number from 0 to 100; "
                     "say for example 50,90,99.9",
                     STR_ARG(one));
    if (holds(found, count, p))
      continue;
    if (count == USER_PERCENTILES_MAX)
      return err_add(e, "--metric-percentiles: at most %d of them",
                     USER_PERCENTILES_MAX);
    found[count++] = p;
  }
  memcpy(out, found, count * sizeof *out);
  *n = count;
  return 0;
}

const char *percentile_name(double p, char buf[32])
{
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buf, 32, "%.*g", digits, p);
    if (strtod(buf, NULL) == p)
      break;
  }
  return buf;
}

unsigned blocks_shown(unsigned asked, const struct run_info *r)
{
  bool cap = r->max_concurrency > 0;
  bool rate = r->request_rate > 0 && isfinite(r->request_rate);
  if (!cap)
    asked &= ~(1u << BLOCK_QUEUE);
  if (!cap || !rate)
    asked &= ~(1u << BLOCK_E2EL_QUEUE);
  /* Answers without tokens have no other times. */
  if (r->pooling)
    asked = 1u << BLOCK_E2EL |
            (asked & (1u << BLOCK_QUEUE | 1u << BLOCK_E2EL_QUEUE));
  return asked;
}
