#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "make_record.h"
#include "stats/cells.h"
#include "stats/group.h"

static const char *const labels[] = {"ramp", NULL, "spike"};
static const struct stage_names stages = {labels, 3};
static const struct filter all;

static struct filter where(const char *name, const char *value)
{
  struct filter f = {.n = 1};
  snprintf(f.terms[0].name, FILTER_TEXT, "%s", name);
  snprintf(f.terms[0].value, FILTER_TEXT, "%s", value);
  return f;
}

static struct metrics *fresh(void)
{
  return metrics_new(&(struct metrics_config){.epoch_ns = T0});
}

/* ---- filters ---- */

static bool matches(const char *name, const char *value, unsigned turn,
                    unsigned stage, const char *tags)
{
  struct filter f = where(name, value);
  struct filing x = {turn_filed(turn), stage, tags};
  return filter_matches(&f, &x, &stages);
}

static void filters(void **state)
{
  (void)state;
  assert_true(matches("class", "long", 1, 0, "class=long"));
  assert_true(matches("class", "long", 1, 0, "a=b,class=long,z=1"));
  assert_false(matches("class", "long", 1, 0, "class=longer"));
  assert_false(matches("class", "long", 1, 0, "xclass=long"));
  assert_false(matches("class", "long", 1, 0, ""));
  assert_false(matches("class", "long", 1, 0, NULL));
  assert_true(matches("tag", "long", 1, 0, "a=b,class=long"));
  assert_false(matches("tag", "class", 1, 0, "class=long"));
  assert_true(matches("turn", "3", 3, 0, ""));
  assert_false(matches("turn", "3", 4, 0, ""));
  assert_true(matches("turn", "65+", 900, 0, ""));
  assert_true(matches("stage", "spike", 1, 2, ""));
  assert_false(matches("stage", "spike", 1, 1, ""));
  assert_false(matches("stage", "spike", 1, 9, ""));
  assert_true(filter_matches(&all, &(struct filing){1, 0, NULL}, &stages));
}

/* ---- groups ---- */

/* Turn t of n has a TTFT of 100 * t ms, and gaps of t ms. */
static void add(struct metrics *m, uint64_t id, unsigned turn, unsigned stage,
                const char *tags)
{
  struct record_event events[3];
  struct record r =
      make_stream(events, 3, T0 + id * MS, turn * 100 * MS, turn * MS);
  r.id = id;
  r.turn = turn;
  r.stage = (uint16_t)stage;
  r.tags = tags;
  metrics_add(m, &r);
}

static struct group group(const struct metrics *m, const char *name,
                          const char *value)
{
  struct summary none = {.n_percentiles = 0};
  struct filter f = where(name, value);
  struct group g;
  group_build(&g, m, &f, &stages, &none);
  return g;
}

static void turns_stages_and_tags_have_figures_of_their_own(void **state)
{
  struct metrics *m = fresh();
  struct group g;
  (void)state;
  for (unsigned i = 0; i < 10; i++) {
    add(m, 1 + 3 * i, 1, 0, "class=short");
    add(m, 2 + 3 * i, 2, 2, "class=long,user=x");
    add(m, 3 + 3 * i, 70, 2, NULL);
  }
  g = group(m, "turn", "1");
  assert_int_equal(g.completed, 10);
  assert_true(g.latency[FIGURE_TTFT].mean == 100);
  assert_int_equal(g.latency[FIGURE_ITL].count, 20);
  assert_true(fabs(g.latency[FIGURE_ITL].mean - 1) < 1e-9);
  g = group(m, "turn", "65+");
  assert_true(g.latency[FIGURE_TTFT].max == 7000);
  g = group(m, "class", "long");
  assert_int_equal(g.sent, 10);
  assert_int_equal(g.output_tokens, 30);
  assert_int_equal(g.input_tokens, 50);
  assert_true(g.latency[FIGURE_TTFT].p[LATENCY_P50] == 200);
  g = group(m, "stage", "spike");
  assert_int_equal(g.sent, 20);
  g = group(m, "class", "none");
  assert_int_equal(g.sent, 0);
  assert_true(isnan(g.latency[FIGURE_TTFT].mean) && isnan(g.duration_s));
  assert_int_equal(metrics_turns(m), TURN_MORE);
  metrics_free(m);
}

static void failures_enter_no_latency(void **state)
{
  struct metrics *m = fresh();
  struct record r = make_failed(T0, 5 * MS, OUTCOME_TIMEOUT_TTFT, 0, "late");
  struct group g;
  (void)state;
  add(m, 1, 1, 0, "class=long");
  r.tags = "class=long";
  metrics_add(m, &r);
  g = group(m, "class", "long");
  assert_int_equal(g.sent, 2);
  assert_int_equal(g.failed, 1);
  assert_int_equal(g.outcomes[OUTCOME_TIMEOUT_TTFT], 1);
  assert_int_equal(g.latency[FIGURE_TTFT].count, 1);
  metrics_free(m);
}

/* How records are spread over workers must not change a group. */
static void merging_keeps_groups(void **state)
{
  static const char *const tags[] = {"a=1", "a=2", "a=1,b=1", "", "b=1"};
  struct metrics *one = fresh(), *parts[3] = {fresh(), fresh(), fresh()};
  (void)state;
  for (unsigned i = 1; i <= 600; i++) {
    add(one, i, 1 + i % 7, i % 3, tags[i % 5]);
    add(parts[(i * 7 + i / 11) % 3], i, 1 + i % 7, i % 3, tags[i % 5]);
  }
  metrics_merge(parts[0], parts[1]);
  metrics_merge(parts[0], parts[2]);
  for (int t = 1; t <= 7; t++) {
    char value[16];
    struct group a = group(one, "turn", turn_name((unsigned)t, value));
    struct group b = group(parts[0], "turn", value);
    assert_memory_equal(&a, &b, sizeof a);
  }
  for (size_t i = 0; i < metrics_tags(one); i++) {
    struct str value = str_of(metrics_tag(one, i)), name;
    char key[32];
    struct group a, b;
    name = str_split(&value, '=');
    snprintf(key, sizeof key, "%.*s", STR_ARG(name));
    a = group(one, key, value.p);
    b = group(parts[0], key, value.p);
    assert_true(a.sent > 0);
    assert_memory_equal(&a, &b, sizeof a);
  }
  for (int i = 0; i < 3; i++)
    metrics_free(parts[i]);
  metrics_free(one);
}

/* A script that tags with something of every request's own. */
static void crowded_tags_are_filed_as_other_and_told(void **state)
{
  struct metrics *m = fresh(), *other = fresh();
  struct group g;
  uint64_t sum = 0;
  (void)state;
  for (unsigned i = 1; i <= 5000; i++) {
    char tags[48];
    snprintf(tags, sizeof tags, "class=long,id=%u", i);
    add(i % 2 ? m : other, i, 1, 0, tags);
  }
  assert_true(metrics_crowded(m) > 2000);
  metrics_merge(m, other);
  assert_true(metrics_crowded(m) > 4000);
  assert_true(metrics_tags(m) <= CELLS_TAG_VALUES * 3 / 2);
  for (size_t i = 0; i < metrics_tags(m); i++) {
    struct str value = str_of(metrics_tag(m, i)), name;
    name = str_split(&value, '=');
    if (str_eq(name, STR("id")))
      sum += group(m, "id", value.p).sent;
  }
  assert_int_equal(sum, 5000);
  g = group(m, "class", "long");
  assert_int_equal(g.sent, 5000);
  metrics_free(m);
  metrics_free(other);
}

/* Nor may the combinations grow without end. */
static void crowded_cells_lose_no_request(void **state)
{
  struct metrics *m = fresh();
  struct group g;
  struct summary none = {.n_percentiles = 0};
  (void)state;
  for (unsigned i = 0; i < 6000; i++) {
    char tags[48];
    snprintf(tags, sizeof tags, "a=%u,b=%u", i % 30, i / 30 % 30);
    add(m, i + 1, 1 + i % 60, i % 3, tags);
  }
  assert_true(metrics_crowded(m) > 0);
  group_build(&g, m, &all, &stages, &none);
  assert_int_equal(g.sent, 6000);
  assert_int_equal(g.latency[FIGURE_ITL].count, 12000);
  metrics_free(m);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(filters),
      cmocka_unit_test(turns_stages_and_tags_have_figures_of_their_own),
      cmocka_unit_test(failures_enter_no_latency),
      cmocka_unit_test(merging_keeps_groups),
      cmocka_unit_test(crowded_tags_are_filed_as_other_and_told),
      cmocka_unit_test(crowded_cells_lose_no_request),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
