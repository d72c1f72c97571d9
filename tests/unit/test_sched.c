#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "core/sched.h"

#define T0 UINT64_C(1000000000000)

static void init_run(struct sched *s, const struct load *l, uint64_t seed,
                     unsigned worker, unsigned workers)
{
  struct stage stage = load_stage(l, 0);
  sched_init(s, seed, worker, workers, l->num_requests);
  sched_enter(s, &stage, 0, T0);
}

static void end_one(struct sched *s, uint64_t now_ns)
{
  sched_prefilled(s);
  sched_ended(s, now_ns, T0);
}

static void closed_loop_fills_and_refills_its_slots(void **state)
{
  struct load l = {.max_concurrency = 3, .num_requests = 5};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  init_run(&s, &l, 1, 0, 1);
  assert_int_equal(sched_next(&s, T0 - 5, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0);
  for (uint64_t id = 1; id <= 3; id++) {
    assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
    assert_int_equal(item.id, id);
    assert_int_equal(item.due_ns, T0);
    assert_false(item.capped);
  }
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, 0);
  end_one(&s, T0 + 100);
  /* Looked at later than it was freed: due says since when it could go. */
  assert_int_equal(sched_next(&s, T0 + 130, &item, &wake), SCHED_START);
  assert_int_equal(item.due_ns, T0 + 100);
  end_one(&s, T0 + 140);
  assert_int_equal(sched_next(&s, T0 + 140, &item, &wake), SCHED_START);
  assert_int_equal(item.id, 5);
  assert_int_equal(sched_next(&s, T0 + 150, &item, &wake), SCHED_OVER);
  sched_deinit(&s);
}

static void closed_loop_ends_with_its_time(void **state)
{
  struct load l = {.max_concurrency = 1, .duration_ns = 500};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  init_run(&s, &l, 1, 0, 1);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0 + 500);
  end_one(&s, T0 + 499);
  assert_int_equal(sched_next(&s, T0 + 499, &item, &wake), SCHED_START);
  end_one(&s, T0 + 500);
  assert_int_equal(sched_next(&s, T0 + 500, &item, &wake), SCHED_OVER);
  sched_deinit(&s);
}

static void b053_a_cap_delays_but_keeps_due(void **state)
{
  struct load l = {.request_rate = 100,
                   .arrival = ARRIVAL_CONSTANT,
                   .max_concurrency = 1,
                   .num_requests = 3};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  init_run(&s, &l, 1, 0, 1);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  assert_int_equal(sched_next(&s, T0 + NS_PER_MS, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0 + 10 * NS_PER_MS);
  assert_int_equal(sched_next(&s, T0 + 10 * NS_PER_MS, &item, &wake),
                   SCHED_WAIT);
  assert_int_equal(wake, 0);
  end_one(&s, T0 + 100 * NS_PER_MS);
  assert_int_equal(sched_next(&s, T0 + 100 * NS_PER_MS, &item, &wake),
                   SCHED_START);
  assert_int_equal(item.due_ns, T0 + 10 * NS_PER_MS);
  assert_true(item.capped);
  sched_deinit(&s);
}

/* Whatever rate and count stand beside them. */
static void explicit_arrivals_are_open(void **state)
{
  uint64_t offsets[] = {0, 30 * NS_PER_MS};
  struct stage stage = {.rate = {.from = INFINITY, .to = INFINITY},
                        .offsets = offsets,
                        .n_offsets = 2};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, 1, 0, 1, 2);
  sched_enter(&s, &stage, 0, T0);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0 + 30 * NS_PER_MS);
  assert_int_equal(sched_next(&s, wake, &item, &wake), SCHED_START);
  assert_int_equal(item.due_ns, T0 + 30 * NS_PER_MS);
  sched_deinit(&s);
}

static void late_items_all_start_at_once(void **state)
{
  struct load l = {
      .request_rate = 1000, .arrival = ARRIVAL_CONSTANT, .num_requests = 50};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  init_run(&s, &l, 1, 0, 1);
  for (uint64_t i = 0; i < 50; i++) {
    assert_int_equal(sched_next(&s, T0 + NS_PER_SEC, &item, &wake),
                     SCHED_START);
    assert_int_equal(item.due_ns, T0 + i * NS_PER_MS);
  }
  assert_int_equal(sched_next(&s, T0 + NS_PER_SEC, &item, &wake), SCHED_OVER);
  sched_deinit(&s);
}

/* The union of n workers' items, by id: exactly the one-thread run. */
static void threads_share_one_timetable(void **state)
{
  struct load l = {
      .request_rate = 500, .arrival = ARRIVAL_POISSON, .num_requests = 1000};
  static uint64_t one[1001], many[1001];
  (void)state;
  for (unsigned workers = 1; workers <= 7; workers++) {
    uint64_t *due = workers == 1 ? one : many, seen = 0;
    for (unsigned w = 0; w < workers; w++) {
      struct sched s;
      struct sched_item item;
      uint64_t wake;
      init_run(&s, &l, 9, w, workers);
      while (sched_next(&s, UINT64_MAX, &item, &wake) == SCHED_START) {
        due[item.id] = item.due_ns;
        seen++;
      }
      sched_deinit(&s);
    }
    assert_int_equal(seen, 1000);
    if (workers > 1)
      assert_memory_equal(one, many, sizeof one);
  }
}

static uint64_t run_lane(struct sched *s, uint64_t now_ns)
{
  struct sched_item item;
  uint64_t wake, n = 0;
  while (sched_next(s, now_ns, &item, &wake) == SCHED_START)
    n++;
  return n;
}

static void b090_equal_stages_are_two(void **state)
{
  struct stage stage = {.concurrency = {2, 2, RAMP_LINEAR, 0},
                        .duration_ns = 100};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &stage, 0, T0);
  assert_int_equal(run_lane(&s, T0), 2);
  assert_int_equal(sched_next(&s, T0 + 100, &item, &wake), SCHED_OVER);
  sched_enter(&s, &stage, 1, T0 + 100);
  /* The two of the first stage still hold the slots. */
  assert_int_equal(sched_next(&s, T0 + 100, &item, &wake), SCHED_WAIT);
  end_one(&s, T0 + 130);
  assert_int_equal(sched_next(&s, T0 + 130, &item, &wake), SCHED_START);
  assert_int_equal(item.stage, 1);
  assert_int_equal(item.id, 3);
  assert_int_equal(item.due_ns, T0 + 130);
  sched_deinit(&s);
}

/* Over all workers, and not counted together with those of other stages. */
static void b077_each_stage_has_its_own_number(void **state)
{
  struct stage stage = {.concurrency = {100, 100, RAMP_LINEAR, 0}};
  const uint64_t numbers[] = {5, 7, 1};
  (void)state;
  for (unsigned workers = 1; workers <= 3; workers++) {
    uint64_t started[3] = {0};
    for (unsigned w = 0; w < workers; w++) {
      struct sched s;
      struct sched_item item;
      uint64_t wake;
      sched_init(&s, 1, w, workers, 0);
      for (uint16_t i = 0; i < 3; i++) {
        stage.num_requests = numbers[i];
        sched_enter(&s, &stage, i, T0 + i);
        started[i] += run_lane(&s, T0 + i);
        assert_int_equal(sched_next(&s, T0 + i, &item, &wake), SCHED_OVER);
      }
      sched_deinit(&s);
    }
    assert_memory_equal(started, numbers, sizeof numbers);
  }
}

/* By time or number, whichever comes first. */
static void b077_a_number_ends_a_stage_of_some_time(void **state)
{
  struct stage closed = {.concurrency = {9, 9, RAMP_LINEAR, 0},
                         .num_requests = 4,
                         .duration_ns = NS_PER_SEC};
  struct stage open = {.rate = {100, 100, RAMP_LINEAR, 0},
                       .arrival = ARRIVAL_CONSTANT,
                       .num_requests = 3,
                       .duration_ns = NS_PER_SEC};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &closed, 0, T0);
  assert_int_equal(run_lane(&s, T0), 4);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_OVER);
  sched_enter(&s, &open, 1, T0);
  assert_int_equal(run_lane(&s, T0 + NS_PER_SEC / 2), 3);
  assert_int_equal(sched_next(&s, T0 + NS_PER_SEC / 2, &item, &wake),
                   SCHED_OVER);
  open.num_requests = 1000;
  sched_enter(&s, &open, 2, T0 + NS_PER_SEC);
  assert_int_equal(run_lane(&s, T0 + 2 * NS_PER_SEC - 1), 100);
  assert_int_equal(sched_next(&s, T0 + 2 * NS_PER_SEC - 1, &item, &wake),
                   SCHED_WAIT);
  sched_deinit(&s);
}

static void slots_follow_their_ramp(void **state)
{
  struct stage stage = {.concurrency = {1, 5, RAMP_LINEAR, 0},
                        .duration_ns = 4 * NS_PER_SEC};
  struct sched s;
  (void)state;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &stage, 0, T0);
  for (uint64_t i = 0; i < 4; i++) {
    assert_int_equal(run_lane(&s, T0 + i * NS_PER_SEC), 1);
    assert_int_equal(run_lane(&s, T0 + i * NS_PER_SEC + NS_PER_MS), 0);
  }
  sched_deinit(&s);
}

static void slots_ramp_down(void **state)
{
  struct stage stage = {.concurrency = {3, 1, RAMP_LINEAR, 0},
                        .duration_ns = 2 * NS_PER_SEC};
  struct sched s;
  (void)state;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &stage, 0, T0);
  assert_int_equal(run_lane(&s, T0), 3);
  end_one(&s, T0 + NS_PER_SEC + NS_PER_MS);
  assert_int_equal(run_lane(&s, T0 + NS_PER_SEC + NS_PER_MS), 0);
  end_one(&s, T0 + NS_PER_SEC + NS_PER_MS);
  assert_int_equal(run_lane(&s, T0 + NS_PER_SEC + NS_PER_MS), 0);
  end_one(&s, T0 + NS_PER_SEC + NS_PER_MS);
  assert_int_equal(run_lane(&s, T0 + NS_PER_SEC + NS_PER_MS), 1);
  sched_deinit(&s);
}

static void a_backlog_goes_on_in_the_next_stage(void **state)
{
  struct stage busy = {.rate = {1000, 1000, RAMP_LINEAR, 0},
                       .arrival = ARRIVAL_CONSTANT,
                       .concurrency = {1, 1, RAMP_LINEAR, 0},
                       .duration_ns = 10 * NS_PER_MS};
  struct stage calm = busy;
  struct sched s;
  struct sched_item item;
  uint64_t wake, due;
  (void)state;
  calm.rate.from = calm.rate.to = 100;
  calm.concurrency.from = calm.concurrency.to = 0;
  calm.duration_ns = NS_PER_SEC;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &busy, 0, T0);
  assert_int_equal(run_lane(&s, T0 + 9 * NS_PER_MS), 1);
  sched_enter(&s, &calm, 1, T0 + 10 * NS_PER_MS);
  for (uint64_t i = 1; i < 10; i++) {
    assert_int_equal(sched_next(&s, T0 + 10 * NS_PER_MS, &item, &wake),
                     SCHED_START);
    assert_int_equal(item.due_ns, T0 + i * NS_PER_MS);
    assert_int_equal(item.id, i + 1);
    assert_int_equal(item.stage, 0);
    assert_true(item.capped);
  }
  assert_int_equal(sched_next(&s, T0 + 10 * NS_PER_MS, &item, &wake),
                   SCHED_START);
  assert_int_equal(item.id, 11);
  assert_int_equal(item.stage, 1);
  assert_int_equal(sched_next(&s, T0 + 10 * NS_PER_MS, &item, &wake),
                   SCHED_WAIT);
  assert_int_equal(wake, T0 + 20 * NS_PER_MS);
  assert_false(sched_unsent(&s, T0 + 11 * NS_PER_MS, &due));
  assert_true(sched_unsent(&s, T0 + 21 * NS_PER_MS, &due));
  assert_int_equal(due, T0 + 20 * NS_PER_MS);
  sched_deinit(&s);
}

static void drop_forgets_what_meets_the_cap(void **state)
{
  struct stage stage = {.rate = {1000, 1000, RAMP_LINEAR, 0},
                        .arrival = ARRIVAL_CONSTANT,
                        .concurrency = {1, 1, RAMP_LINEAR, 0},
                        .num_requests = 3,
                        .drop = true};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &stage, 0, T0);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  assert_int_equal(sched_next(&s, T0 + NS_PER_MS, &item, &wake), SCHED_DROP);
  assert_int_equal(item.id, 2);
  end_one(&s, T0 + NS_PER_MS);
  assert_int_equal(sched_next(&s, T0 + 2 * NS_PER_MS, &item, &wake),
                   SCHED_START);
  assert_int_equal(item.id, 3);
  assert_int_equal(sched_next(&s, T0 + 2 * NS_PER_MS, &item, &wake),
                   SCHED_OVER);
  sched_deinit(&s);
}

static void a_prefill_cap_looks_at_first_tokens(void **state)
{
  struct stage stage = {.rate = {1000, 1000, RAMP_LINEAR, 0},
                        .arrival = ARRIVAL_CONSTANT,
                        .max_prefill = 2,
                        .num_requests = 10};
  struct sched s;
  (void)state;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &stage, 0, T0);
  assert_int_equal(run_lane(&s, T0 + NS_PER_SEC), 2);
  sched_prefilled(&s);
  assert_int_equal(run_lane(&s, T0 + NS_PER_SEC), 1);
  sched_ended(&s, T0 + NS_PER_SEC, T0);
  assert_int_equal(run_lane(&s, T0 + NS_PER_SEC), 0);
  sched_deinit(&s);
}

static void pacing_holds_a_slot_back(void **state)
{
  struct stage stage = {.concurrency = {1, 1, RAMP_LINEAR, 0},
                        .pacing_ns = 100};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  sched_init(&s, 1, 0, 1, 0);
  sched_enter(&s, &stage, 0, T0);
  assert_int_equal(run_lane(&s, T0), 1);
  end_one(&s, T0 + 30);
  assert_int_equal(sched_next(&s, T0 + 30, &item, &wake), SCHED_WAIT);
  assert_int_equal(wake, T0 + 100);
  assert_int_equal(sched_next(&s, T0 + 100, &item, &wake), SCHED_START);
  assert_int_equal(item.due_ns, T0 + 100);
  sched_deinit(&s);
}

/* Two ramped stages: the union of n workers is the one-thread run. */
static void stages_share_one_timetable(void **state)
{
  struct stage stages[2] = {
      {.rate = {1, 200, RAMP_LINEAR, 0}, .duration_ns = NS_PER_SEC},
      {.rate = {200, 20, RAMP_EXPONENTIAL, 0}, .duration_ns = NS_PER_SEC}};
  static uint64_t one[1001], many[1001];
  (void)state;
  for (unsigned workers = 1; workers <= 5; workers++) {
    uint64_t *due = workers == 1 ? one : many;
    for (unsigned w = 0; w < workers; w++) {
      struct sched s;
      struct sched_item item;
      uint64_t wake;
      sched_init(&s, 5, w, workers, 0);
      for (uint16_t k = 0; k < 2; k++) {
        uint64_t end = T0 + (k + 1u) * NS_PER_SEC;
        sched_enter(&s, &stages[k], k, end - NS_PER_SEC);
        while (sched_next(&s, end - 1, &item, &wake) == SCHED_START)
          due[item.id] = item.due_ns;
      }
      sched_deinit(&s);
    }
    if (workers > 1)
      assert_memory_equal(one, many, sizeof one);
  }
}

static void what_was_due_in_time_goes_however_late_it_is_seen(void **state)
{
  struct load l = {.request_rate = 1000,
                   .arrival = ARRIVAL_CONSTANT,
                   .duration_ns = 10 * NS_PER_MS};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  init_run(&s, &l, 1, 0, 1);
  assert_int_equal(run_lane(&s, T0 + 4 * NS_PER_MS), 5);
  assert_int_equal(run_lane(&s, T0 + 50 * NS_PER_MS), 5);
  assert_int_equal(sched_next(&s, T0 + 50 * NS_PER_MS, &item, &wake),
                   SCHED_OVER);
  sched_deinit(&s);
}

static void shares_add_up(void **state)
{
  (void)state;
  for (uint64_t total = 0; total < 40; total++)
    for (unsigned n = 1; n < 9; n++) {
      uint64_t sum = 0;
      for (unsigned w = 0; w < n; w++)
        sum += sched_share(total, w, n);
      assert_int_equal(sum, total);
    }
}

static void stop_means_over(void **state)
{
  struct load l = {.max_concurrency = 2, .num_requests = 5};
  struct sched s;
  struct sched_item item;
  uint64_t wake;
  (void)state;
  init_run(&s, &l, 1, 0, 1);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_START);
  sched_stop(&s);
  assert_int_equal(sched_next(&s, T0, &item, &wake), SCHED_OVER);
  assert_int_equal(s.in_flight, 1);
  sched_deinit(&s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_loop_fills_and_refills_its_slots),
      cmocka_unit_test(closed_loop_ends_with_its_time),
      cmocka_unit_test(b053_a_cap_delays_but_keeps_due),
      cmocka_unit_test(explicit_arrivals_are_open),
      cmocka_unit_test(late_items_all_start_at_once),
      cmocka_unit_test(threads_share_one_timetable),
      cmocka_unit_test(b090_equal_stages_are_two),
      cmocka_unit_test(b077_each_stage_has_its_own_number),
      cmocka_unit_test(b077_a_number_ends_a_stage_of_some_time),
      cmocka_unit_test(slots_follow_their_ramp),
      cmocka_unit_test(slots_ramp_down),
      cmocka_unit_test(a_backlog_goes_on_in_the_next_stage),
      cmocka_unit_test(drop_forgets_what_meets_the_cap),
      cmocka_unit_test(a_prefill_cap_looks_at_first_tokens),
      cmocka_unit_test(pacing_holds_a_slot_back),
      cmocka_unit_test(stages_share_one_timetable),
      cmocka_unit_test(what_was_due_in_time_goes_however_late_it_is_seen),
      cmocka_unit_test(shares_add_up),
      cmocka_unit_test(stop_means_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
