/* Slots, line, gate and steps in simulated time; and that the capacity
 * formula says what a saturated engine really does. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "mock/engine.h"

/* No loop: the heap is used, and fired by hand. */
struct world {
  struct mock_deadlines deadlines;
  struct mock_engine engine;
  uint64_t now;
};

struct user {
  struct mock_job job;
  struct world *w;
  unsigned starts, steps, want;
  uint64_t started_at, last_at, done_at;
};

static void on_start(struct mock_job *j, uint64_t at)
{
  struct user *u = LIST_ENTRY(j, struct user, job);
  u->starts++;
  u->started_at = at;
}

static void on_step(struct mock_job *j, uint64_t at)
{
  struct user *u = LIST_ENTRY(j, struct user, job);
  u->last_at = at;
  if (++u->steps == u->want) {
    u->done_at = at;
    mock_engine_leave(&u->w->engine, j);
  }
}

static void world_init(struct world *w, struct mock_engine_config c)
{
  *w = (struct world){0};
  mock_engine_init(&w->engine, &c, &w->deadlines);
}

static void world_free(struct world *w)
{
  mem_free(w->deadlines.heap);
}

static struct user user_of(struct world *w, unsigned want, uint64_t prefill)
{
  return (struct user){
      .job = {.start = on_start, .step = on_step, .prefill_tokens = prefill},
      .w = w,
      .want = want};
}

/* Fire the engine's turn, if one is set. */
static bool turn(struct world *w)
{
  struct mock_deadline *d = &w->engine.turn;
  if (!d->pos)
    return false;
  if (d->at > w->now)
    w->now = d->at;
  mock_deadline_clear(&w->deadlines, d);
  d->fire(d);
  return true;
}

static void slots_and_line(void **state)
{
  struct world w;
  struct user u[4];
  (void)state;
  world_init(&w, (struct mock_engine_config){.slots = 2, .queue = 1});
  for (int i = 0; i < 4; i++)
    u[i] = user_of(&w, 1, 0);
  for (int i = 0; i < 3; i++)
    assert_true(mock_engine_enter(&w.engine, &u[i].job, 10));
  assert_int_equal(w.engine.running_count, 2);
  assert_int_equal(w.engine.waiting_count, 1);
  assert_int_equal(u[2].starts, 0);
  /* The line is full. */
  assert_false(mock_engine_enter(&w.engine, &u[3].job, 10));
  assert_int_equal(u[3].job.place, MOCK_OUTSIDE);
  mock_engine_leave(&w.engine, &u[0].job);
  assert_true(turn(&w));
  assert_int_equal(u[2].starts, 1);
  assert_true(mock_engine_enter(&w.engine, &u[3].job, 10));
  /* Leaving from the line, and leaving twice. */
  mock_engine_leave(&w.engine, &u[3].job);
  mock_engine_leave(&w.engine, &u[3].job);
  assert_int_equal(w.engine.waiting_count, 0);
  mock_engine_leave(&w.engine, &u[1].job);
  mock_engine_leave(&w.engine, &u[2].job);
  assert_int_equal(w.engine.running_count, 0);
  world_free(&w);
}

static void b086_gate_holds_until_all_are_in(void **state)
{
  struct world w;
  struct user u[4];
  (void)state;
  world_init(&w, (struct mock_engine_config){.queue = -1, .hold_until = 3});
  for (int i = 0; i < 4; i++)
    u[i] = user_of(&w, 1, 0);
  mock_engine_enter(&w.engine, &u[0].job, 1);
  mock_engine_enter(&w.engine, &u[1].job, 2);
  /* Who leaves does not count. */
  mock_engine_leave(&w.engine, &u[1].job);
  mock_engine_enter(&w.engine, &u[1].job, 3);
  assert_int_equal(u[0].starts + u[1].starts, 0);
  mock_engine_enter(&w.engine, &u[2].job, 9);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(u[i].starts, 1);
    assert_int_equal(u[i].started_at, 9);
  }
  /* It stays open. */
  mock_engine_enter(&w.engine, &u[3].job, 11);
  assert_int_equal(u[3].started_at, 11);
  world_free(&w);
}

static void steps_cost_what_the_header_says(void **state)
{
  struct world w;
  struct user a, b;
  uint64_t begin;
  (void)state;
  world_init(&w, (struct mock_engine_config){.slots = 2,
                                             .queue = -1,
                                             .step_ns = 1000,
                                             .step_each_ns = 10,
                                             .prefill_ns = 5});
  a = user_of(&w, 3, 100);
  b = user_of(&w, 2, 20);
  mock_engine_enter(&w.engine, &a.job, 0);
  assert_true(turn(&w)); /* begins a step at once */
  begin = a.started_at;
  mock_engine_enter(&w.engine, &b.job, 0);
  assert_true(turn(&w));
  assert_int_equal(a.last_at, begin + 1000 + 10 + 5 * 100);
  assert_int_equal(b.started_at, a.last_at); /* joined at the step's end */
  assert_true(turn(&w));
  assert_int_equal(b.last_at, b.started_at + 1000 + 20 + 5 * 20);
  assert_int_equal(a.last_at, b.last_at);
  assert_true(turn(&w));
  assert_int_equal(a.done_at, b.started_at + 2 * (1000 + 20) + 5 * 20);
  assert_int_equal(b.done_at, a.done_at);
  assert_false(turn(&w)); /* idle */
  world_free(&w);
}

/* Keep every slot busy for many requests; return requests a second. */
static double saturated_rate(struct mock_engine_config c, unsigned events,
                             uint64_t prompt)
{
  enum { USERS = 32, REQUESTS = 4000 };
  struct world w;
  struct user u[USERS];
  unsigned done = 0;
  uint64_t first = 0;
  world_init(&w, c);
  for (int i = 0; i < USERS; i++) {
    /* Of unequal length, so that they do not all come and go together; the
     * mean is `events`. */
    u[i] = user_of(&w, events + (i % 2 ? 1 : -1), prompt);
    mock_engine_enter(&w.engine, &u[i].job, 0);
  }
  while (done < REQUESTS && turn(&w)) {
    first = first ? first : w.now;
    for (int i = 0; i < USERS; i++) {
      if (u[i].job.place == MOCK_OUTSIDE) {
        done++;
        u[i].steps = 0;
        mock_engine_enter(&w.engine, &u[i].job, w.now);
      }
    }
  }
  w.now = w.engine.turn.at;
  world_free(&w);
  return done / ns_to_sec(w.now - first);
}

static void capacity_is_what_a_saturated_engine_does(void **state)
{
  static const struct mock_engine_config rows[] = {
      {.slots = 8, .queue = -1, .step_ns = 20000000},
      {.slots = 8, .queue = -1, .step_ns = 1000000, .step_each_ns = 500000},
      {.slots = 16, .queue = -1, .step_ns = 5000000, .prefill_ns = 100000},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double said = mock_capacity(&rows[i], 0, 0, 50, 20);
    double done = saturated_rate(rows[i], 20, 50);
    assert_true(fabs(done - said) < 0.02 * said);
  }
}

static void capacity_without_steps(void **state)
{
  struct mock_engine_config c = {.slots = 10, .prefill_ns = 1000000};
  (void)state;
  /* 100 ms + 20 * 1 ms + 9 * 10 ms = 210 ms for each of 10 slots. */
  assert_true(fabs(mock_capacity(&c, 100e6, 10e6, 20, 10) - 10 / 0.21) < 1e-9);
  c.slots = 0;
  assert_true(isinf(mock_capacity(&c, 100e6, 10e6, 20, 10)));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(slots_and_line),
      cmocka_unit_test(b086_gate_holds_until_all_are_in),
      cmocka_unit_test(steps_cost_what_the_header_says),
      cmocka_unit_test(capacity_is_what_a_saturated_engine_does),
      cmocka_unit_test(capacity_without_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
