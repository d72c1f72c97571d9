/* Sessions: what a coroutine may do, when, and how it can end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lua.h>

#include "base/clock.h"
#include "session_box.h"

#define SESSION(body) "return { session = function(s)\n" body "\nend }"

static void expect_end(const char *lua, enum session_end end,
                       const char *reason)
{
  struct session_end_seen seen = stage_once(lua, 0);
  if (seen.end != end || !strstr(seen.reason, reason))
    fail_msg("ended %d with '%s', not %d with '%s': %s", seen.end, seen.reason,
             end, reason, lua);
}

/* ---- a session's own calls ---- */

static void ends_without_waiting(void **state)
{
  struct session_end_seen seen = stage_once(SESSION("s:plan(3)"), 0);
  (void)state;
  assert_int_equal(seen.end, SESSION_COMPLETED);
  assert_int_equal(seen.turns, 0);
  assert_int_equal(seen.planned, 3);
  assert_string_equal(seen.reason, "");
}

static void sleeps_and_thinks(void **state)
{
  struct session_end_seen seen = stage_once(
      SESSION("s:sleep(0.01) s:think('20ms') s:think(0.01) s:sleep(-1)"), 0);
  (void)state;
  assert_int_equal(seen.end, SESSION_COMPLETED);
  assert_true(seen.ns >= 38 * NS_PER_MS);
  /* Sleep is no thought. */
  assert_true(seen.think_ns >= 28 * NS_PER_MS);
  assert_true(seen.think_ns <= seen.ns - 9 * NS_PER_MS);
}

/* What several think at the same time is time that passed once. */
static void thoughts_side_by_side(void **state)
{
  struct session_end_seen seen =
      stage_once(SESSION("local f = function(b) b:think(0.05) end "
                         "s:parallel { f, f, function(b) "
                         "  b:parallel { f, f } end } "
                         "s:sleep(0.02)"),
                 0);
  (void)state;
  assert_int_equal(seen.end, SESSION_COMPLETED);
  assert_true(seen.think_ns >= 49 * NS_PER_MS);
  assert_true(seen.think_ns <= seen.ns - 19 * NS_PER_MS);
}

/* Nor is what a session no longer came to think. */
static void thoughts_cut_short(void **state)
{
  struct session_end_seen seen = stage_once(
      SESSION("s:parallel { function(b) b:think(500) end, function(b) "
              "  b:sleep(0.02) b:fail('enough') end }"),
      0);
  (void)state;
  assert_int_equal(seen.end, SESSION_FAILED);
  assert_true(seen.think_ns >= 19 * NS_PER_MS);
  assert_true(seen.think_ns <= seen.ns);
}

static void reasons_of_failure(void **state)
{
  static const struct {
    const char *lua, *reason;
  } rows[] = {
      {SESSION("s:fail('no tool call')"), "no tool call"},
      {SESSION("s:fail()"), "the scenario failed it"},
      {SESSION("return s:fail('x' .. s.id)"), "x1"},
      {SESSION("pcall(s.fail, s, 'not to be caught')"), "not to be caught"},
      {SESSION("s:sleep(0.001) return nil, 'as functions fail'"),
       "as functions fail"},
      {SESSION("return false, 'as well'"), "as well"},
      {SESSION("error('oops')"), "test.lua:2: oops"},
      {SESSION("\n\nlocal t = nil; t.x = 1"), "test.lua:4: "},
      {SESSION("error({})"), "test.lua:2: (an error that is a table)"},
      {SESSION("error(setmetatable({}, { __tostring = function()"
               "  return 'in words' end }))"),
       "test.lua:2: in words"},
      {SESSION("error(setmetatable({}, { __tostring = function()"
               "  error('worse') end }))"),
       "test.lua:2: worse"},
      {SESSION("s:sleep('soon')"), "test.lua:2: bad argument #1 to 'sleep'"},
      {SESSION("s:sleep()"), "test.lua:2: bad argument"},
      {SESSION("s:sleep(1e12)"), "test.lua:2: bad argument"},
      {SESSION("return s.foo"), "test.lua:2: a session has no field 'foo'"},
      {SESSION("s:request('hi')"), "test.lua:2: bad argument"},
      {SESSION("s:request { promt = 'hi' }"),
       "test.lua:2: s:request: unknown field 'promt'; did you mean prompt?"},
      {SESSION("s:plan(0)"), "test.lua:2: bad argument"},
      {SESSION("coroutine.yield()"),
       "test.lua:2: the session yielded by itself"},
      {SESSION("s:parallel { 1 }"), "number 1 is a number, not a function"},
      {SESSION("s:parallel(function() end)"), "table expected"},
      {SESSION("s:parallel { a = function() end }"), "list of functions"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    expect_end(rows[i].lua, SESSION_FAILED, rows[i].reason);
}

static void returns_are_no_failures(void **state)
{
  static const char *const rows[] = {
      SESSION("return nil"),        SESSION("return false"),
      SESSION("return true, 'ok'"), SESSION("return nil, nil"),
      SESSION("return 1, 2, 3"),
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    expect_end(rows[i], SESSION_COMPLETED, "");
}

/* ---- where one may wait ---- */

static void yields_across_lua(void **state)
{
  static const char *const rows[] = {
      SESSION("pcall(function() s:sleep(0.001) error('x') end)"
              "s:fail('went on')"),
      SESSION("xpcall(function() s:sleep(0.001) error('x') end,"
              "function() return 1 end) s:fail('went on')"),
      SESSION("for i in function(_, i) s:sleep(0.001)"
              "  if not i then return 1 end end do end s:fail('went on')"),
      SESSION("local t = setmetatable({}, { __index = function()"
              "  s:sleep(0.001) return 'went on' end }) s:fail(t.x)"),
      SESSION("local t = setmetatable({}, { __add = function()"
              "  s:sleep(0.001) return 'went on' end }) s:fail(t + 1)"),
      /* a coroutine of the script's own, which yields for itself */
      SESSION("local f = coroutine.wrap(function()"
              "  coroutine.yield('went') coroutine.yield(' on') end)"
              "local a = f() s:sleep(0.001) s:fail(a .. f())"),
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    expect_end(rows[i], SESSION_FAILED, "went on");
}

static void places_that_cannot_wait(void **state)
{
  static const struct {
    const char *lua, *reason;
  } rows[] = {
      {SESSION("('x'):gsub('x', function() s:sleep(0.001) end)"),
       "test.lua:2: s:sleep waits, and cannot"},
      {SESSION("table.sort({ 1, 2 }, function()"
               "  s:request { prompt = 'x' } end)"),
       "test.lua:2: s:request waits, and cannot"},
      {SESSION("coroutine.wrap(function() s:sleep(0.001) end)()"),
       "s:sleep must be called from the session's own coroutine"},
      {SESSION("s:parallel { function() s:sleep(0.001) end }"),
       "a branch has its own s"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    expect_end(rows[i].lua, SESSION_FAILED, rows[i].reason);
}

/* What could not wait has not begun anything either. */
static void a_wait_that_failed_leaves_nothing(void **state)
{
  (void)state;
  expect_end(SESSION("pcall(string.gsub, 'x', 'x', function()"
                     "  s:request { prompt = 'x' } end)"
                     "pcall(string.gsub, 'x', 'x', function()"
                     "  s:parallel { function() end } end)"
                     "s:sleep(0.01) s:fail('turn ' .. s.turn)"),
             SESSION_FAILED, "turn 0");
}

/* An answer that comes to a coroutine which somebody else has resumed would
 * come to nobody, or to a dead one. */
static void is_not_the_scripts_to_resume(void **state)
{
  (void)state;
  expect_end(SESSION("local own = coroutine.wrap(function()"
                     "  return coroutine.running() end)()"
                     "s:parallel { function(b)"
                     "  if coroutine.running() then b:fail('a branch') end"
                     "  end }"
                     "s:sleep(0.001)"
                     "s:fail(type(own) .. ' ' .. type(coroutine.running()))"),
             SESSION_FAILED, "thread nil");
}

static void outlives_its_use(void **state)
{
  struct session_stage g;
  (void)state;
  stage_open(&g,
             "local kept, branch\n"
             "return { session = function(s)\n"
             "  if s.id == 1 then\n"
             "    kept = s\n"
             "    s:parallel { function(b) branch = b end }\n"
             "    return\n"
             "  end\n"
             "  local _, a = pcall(function() return kept.rng end)\n"
             "  local _, b = pcall(function() branch:sleep(1) end)\n"
             "  s:fail(a .. '|' .. b)\n"
             "end }",
             0);
  stage_start(&g, 1);
  stage_run(&g);
  stage_start(&g, 2);
  stage_run(&g);
  assert_has(g.ends[1].reason, "this session is over|");
  assert_has(g.ends[1].reason, "this branch is over");
  stage_close(&g);
}

/* ---- random numbers ---- */

static void same_id_same_draws(void **state)
{
  static const char lua[] =
      SESSION("local a = s.rng:int(1, 1e9) .. ' ' .. math.random(1e9)"
              "local t = s:parallel { function(b) return b.rng:int(1, 1e9) end,"
              "  function(b) b:sleep(0.001) return b.rng:int(1, 1e9) end }"
              "s:fail(a .. ' ' .. t[1] .. ' ' .. t[2])");
  struct session_end_seen a = stage_once(lua, 0), b = stage_once(lua, 0);
  (void)state;
  assert_string_equal(a.reason, b.reason);
}

/* ---- branches ---- */

static void results_in_order(void **state)
{
  (void)state;
  expect_end(SESSION("local t = s:parallel {"
                     "  function(b) b:sleep(0.02) return 'a' end,"
                     "  function(b) return 'b', 'dropped' end,"
                     "  function(b) b:sleep(0.01) end,"
                     "  function(b) return b.branch .. b.id end }"
                     "s:fail(t[1] .. t[2] .. tostring(t[3]) .. t[4])"),
             SESSION_FAILED, "abnil41");
  expect_end(SESSION("local t = s:parallel {} s:fail(#t)"), SESSION_FAILED,
             "0");
}

static void side_by_side(void **state)
{
  struct session_end_seen seen =
      stage_once(SESSION("local begun = 0\n"
                         "local f = function(b) begun = begun + 1\n"
                         "  b:sleep(0.05) assert(begun == 10) end\n"
                         "s:parallel { f, f, f, f, f, f, f, f, f, f }"),
                 0);
  (void)state;
  assert_int_equal(seen.end, SESSION_COMPLETED);
  assert_true(seen.ns >= 50 * NS_PER_MS);
}

static void branches_of_branches(void **state)
{
  (void)state;
  expect_end(SESSION("local function tree(b, n)"
                     "  if n == 0 then b:sleep(0.001) return 1 end"
                     "  local f = function(c) return tree(c, n - 1) end"
                     "  local t = b:parallel { f, f }"
                     "  return t[1] + t[2] end "
                     "s:fail(tree(s, 6) .. ' leaves')"),
             SESSION_FAILED, "64 leaves");
}

static void the_first_wins(void **state)
{
  static const struct {
    const char *lua, *reason;
  } rows[] = {
      {"b:sleep(5)", "2 nil"},
      {"b:parallel { function(c) c:sleep(5) end, function() end }", "2 nil"},
      {"return b:race { function(c) c:sleep(5) return 5 end }", "2 nil"},
      {"return false", "2 nil"},
      {"return 'at once'", "at once 1"},
  };
  char lua[400];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    snprintf(
        lua, sizeof lua,
        SESSION("local r, place = s:race { function(b) %s end,"
                "  function(b) b:sleep(0.001) return 2 end }"
                "s:parallel { function(b) b:sleep(0.001) end }"
                "s:fail(r .. ' ' .. tostring(place ~= 2 and place or nil))"),
        rows[i].lua);
    expect_end(lua, SESSION_FAILED, rows[i].reason);
  }
  expect_end(SESSION("s:fail(tostring(s:race { function() end }) .. "
                     "tostring(s:race {}))"),
             SESSION_FAILED, "nilnil");
  expect_end(SESSION("s:race { function(b) b:sleep(0.001) error('a') end,"
                     "  function(b) b:sleep(5) end }"),
             SESSION_FAILED, "test.lua:2: a");
}

static void one_branch_fails_all(void **state)
{
  (void)state;
  expect_end(SESSION("s:parallel { function(b) b:sleep(30) end,\n"
                     "function(b) b:sleep(0.001) error('boo') end }\n"
                     "s:fail('not reached')"),
             SESSION_FAILED, "test.lua:3: boo");
  expect_end(SESSION("s:parallel { function(b) b:sleep(30) end,\n"
                     "function(b) b:parallel { function(c) c:fail('deep') end }"
                     " end }"),
             SESSION_FAILED, "deep");
}

/* ---- ends ---- */

/* A session that ends inside another's resume, and one after the other. */
static void many_after_each_other(void **state)
{
  struct session_stage g;
  (void)state;
  stage_open(&g,
             SESSION("if s.id % 3 == 0 then s:sleep(0) end "
                     "if s.id % 5 == 0 then s:parallel { function() end } end"),
             0);
  g.restart = 20000;
  stage_start(&g, 1);
  stage_run(&g);
  assert_int_equal(g.n_ends, 20000);
  assert_int_equal(g.prefilled, 20000);
  stage_close(&g);
}

static void on_interruption(EV_P_ ev_timer *t, int revents)
{
  struct session_stage *g = t->data;
  (void)loop, (void)revents;
  g->restart = 0;
}

/* Sessions that never wait still leave the loop its turns. */
static void never_waiting_is_interruptible(void **state)
{
  struct session_stage g;
  ev_timer t;
  (void)state;
  stage_open(&g, SESSION("if s.id == 1 then s:sleep(0.001) end"), 0);
  g.restart = UINT64_MAX;
  ev_timer_init(&t, on_interruption, 0.05, 0);
  t.data = &g;
  ev_timer_start(g.client.loop, &t);
  stage_start(&g, 1);
  stage_run(&g);
  assert_true(g.n_ends > 100);
  stage_close(&g);
}

static void cut_while_sleeping(void **state)
{
  struct session_stage g;
  (void)state;
  stage_open(&g,
             SESSION("if s.id == 1 then s:sleep(30) end "
                     "s:parallel { function(b) b:sleep(30) end,"
                     "             function(b) b:sleep(30) end }"),
             0);
  stage_start(&g, 1);
  stage_start(&g, 2);
  session_cancel_all(g.pool, "the run was stopped");
  assert_int_equal(g.left, 0);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(g.ends[i].end, SESSION_CUT);
    assert_string_equal(g.ends[i].reason, "the run was stopped");
  }
  stage_close(&g);
}

static void too_many_errors_stop_the_run(void **state)
{
  struct session_stage g;
  (void)state;
  stage_open(&g, SESSION("error('always')"), 0);
  g.restart = 30;
  stage_start(&g, 1);
  stage_run(&g);
  assert_int_equal(g.stops, 1);
  stage_close(&g);
}

static void asks_the_run_to_stop(void **state)
{
  struct session_stage g;
  (void)state;
  stage_open(&g, SESSION("s:stop('enough') s:sleep(0.001)"), 0);
  stage_start(&g, 1);
  stage_run(&g);
  assert_int_equal(g.stops, 1);
  assert_int_equal(g.ends[0].end, SESSION_COMPLETED);
  stage_close(&g);
}

static void memory_past_the_cap_fails_one(void **state)
{
  struct session_stage g;
  (void)state;
  stage_open(&g,
             SESSION("if s.id == 2 then local t = {}\n"
                     "for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end end\n"
                     "s:sleep(0.001)"),
             0);
  g.restart = 4;
  stage_start(&g, 1);
  stage_run(&g);
  assert_int_equal(g.n_ends, 4);
  assert_int_equal(g.ends[1].end, SESSION_FAILED);
  assert_has(g.ends[1].reason, "memory");
  assert_int_equal(g.ends[3].end, SESSION_COMPLETED);
  stage_close(&g);
}

/* What 10,000 users on one thread cost who have said a little: the history
 * itself lies outside the Lua heap. */
static void ten_thousand_are_small(void **state)
{
  enum { N = 10000 };
  struct session_stage g;
  size_t before, each;
  (void)state;
  stage_open(&g,
             SESSION("local chat = s:conversation { system = 'Be brief.' }\n"
                     "chat:add('user', 'I am number ' .. s.id)\n"
                     "local wait = s.rng:uniform(30, 40)\n"
                     "s:sleep(wait)\n"
                     "chat:continue()"),
             0);
  lua_gc(vm_state(g.box.vm), LUA_GCCOLLECT, 0);
  before = vm_stats(g.box.vm).memory;
  for (uint64_t id = 1; id <= N; id++)
    stage_start(&g, id);
  lua_gc(vm_state(g.box.vm), LUA_GCCOLLECT, 0);
  each = (vm_stats(g.box.vm).memory - before) / N;
  print_message("# a waiting session holds %zu bytes of Lua\n", each);
  assert_in_range(each, 500, 8 * 1024);
  session_cancel_all(g.pool, "seen enough");
  assert_int_equal(g.n_ends, N);
  lua_gc(vm_state(g.box.vm), LUA_GCCOLLECT, 0);
  assert_in_range(vm_stats(g.box.vm).memory, 0, before + (2 << 20));
  stage_close(&g);
}

/* ---- on the wire ---- */

static void answers(struct conn *c)
{
  while (next_request(c))
    answer(c, "200 OK", "Content-Type: application/json\r\n",
           "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"yes\"},"
           "\"finish_reason\":\"stop\"}],"
           "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}");
}

static void hangs(struct conn *c)
{
  while (next_request(c))
    until_closed(c);
}

static struct rawserver server;

static void a_request_is_answered(void **state)
{
  struct session_stage g;
  (void)state;
  server_start(&server, answers, NULL);
  stage_open(&g,
             SESSION("local r = s:request { prompt = 'x', stream = false }\n"
                     "local q = s:request { prompt = 'y', stream = false }\n"
                     "s:fail(r.text .. q.tokens .. s.turn)"),
             server.port);
  stage_start(&g, 7);
  stage_run(&g);
  assert_string_equal(g.ends[0].reason, "yes12");
  assert_int_equal(g.n_records, 2);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(g.records[i].outcome, OUTCOME_OK);
    assert_int_equal(g.records[i].session, 7);
    assert_int_equal(g.records[i].turn, i + 1);
    assert_int_equal(g.records[i].id, (7 << 16) + i + 1);
  }
  stage_close(&g);
  server_stop(&server);
}

static void a_failed_request_does_not_raise(void **state)
{
  (void)state;
  expect_end(SESSION("local r = s:request { prompt = 'x' }"
                     "s:fail(tostring(r.ok) .. ' ' .. r.outcome)"),
             SESSION_FAILED, "false connect");
}

static void killed_while_a_branch_is_on_the_wire(void **state)
{
  struct session_stage g;
  (void)state;
  server_start(&server, hangs, NULL);
  stage_open(&g,
             SESSION("s:parallel {\n"
                     "function(b) b:request { prompt = 'x' } end,\n"
                     "function(b) b:request { prompt = 'y' } end,\n"
                     "function(b) b:sleep(0.02) b:fail('enough') end }"),
             server.port);
  stage_start(&g, 1);
  stage_run(&g);
  assert_int_equal(g.ends[0].end, SESSION_FAILED);
  assert_string_equal(g.ends[0].reason, "enough");
  assert_int_equal(g.ends[0].turns, 2);
  assert_int_equal(g.n_records, 2);
  for (unsigned i = 0; i < 2; i++) {
    assert_int_equal(g.records[i].outcome, OUTCOME_CANCELLED);
    assert_int_equal(g.records[i].branch, i + 1);
  }
  stage_close(&g);
  server_stop(&server);
}

static void cut_while_on_the_wire(void **state)
{
  struct session_stage g;
  (void)state;
  server_start(&server, hangs, NULL);
  stage_open(&g, SESSION("s:request { prompt = 'x' } s:fail('went on')"),
             server.port);
  stage_start(&g, 1);
  turn_for(&g.client, 0.05);
  session_cancel_all(g.pool, "the run was stopped");
  stage_run(&g);
  assert_int_equal(g.ends[0].end, SESSION_CUT);
  assert_int_equal(g.records[0].outcome, OUTCOME_CANCELLED);
  assert_string_equal(g.messages[0], "the run was stopped");
  stage_close(&g);
  server_stop(&server);
}

static void b167_requests_are_bounded(void **state)
{
  struct session_stage g;
  (void)state;
  server_start(&server, answers, NULL);
  stage_open(&g, SESSION("for i = 1, 3 do s:request { prompt = 'x' } end"),
             server.port);
  session_pool_free(g.pool);
  g.config.max_requests = 4;
  g.pool = session_pool_new(&g.config);
  stage_start(&g, 1);
  stage_run(&g);
  stage_start(&g, 2);
  stage_run(&g);
  assert_int_equal(g.ends[0].end, SESSION_COMPLETED);
  assert_int_equal(g.ends[1].end, SESSION_CUT);
  assert_int_equal(g.ends[1].turns, 1);
  assert_int_equal(g.exhausted, 1);
  assert_int_equal(g.n_records, 4);
  stage_close(&g);
  server_stop(&server);
}

static void on_response_judges_turns(void **state)
{
  struct session_stage g;
  (void)state;
  server_start(&server, answers, NULL);
  stage_open(&g,
             "return { session = function(s)\n"
             "  local r = s:request { prompt = 'x', stream = false }\n"
             "  local q = s:request { prompt = 'x', stream = false }\n"
             "  s:fail(r.outcome .. ' ' .. q.outcome) end,\n"
             "on_response = function(r)\n"
             "  if r.id % 2 == 0 then error('what') end\n"
             "  return false, 'no' end }",
             server.port);
  stage_start(&g, 1);
  stage_run(&g);
  assert_string_equal(g.ends[0].reason, "check script");
  stage_close(&g);
  server_stop(&server);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ends_without_waiting),
      cmocka_unit_test(sleeps_and_thinks),
      cmocka_unit_test(thoughts_side_by_side),
      cmocka_unit_test(thoughts_cut_short),
      cmocka_unit_test(reasons_of_failure),
      cmocka_unit_test(returns_are_no_failures),
      cmocka_unit_test(yields_across_lua),
      cmocka_unit_test(places_that_cannot_wait),
      cmocka_unit_test(a_wait_that_failed_leaves_nothing),
      cmocka_unit_test(is_not_the_scripts_to_resume),
      cmocka_unit_test(outlives_its_use),
      cmocka_unit_test(same_id_same_draws),
      cmocka_unit_test(results_in_order),
      cmocka_unit_test(side_by_side),
      cmocka_unit_test(branches_of_branches),
      cmocka_unit_test(the_first_wins),
      cmocka_unit_test(one_branch_fails_all),
      cmocka_unit_test(many_after_each_other),
      cmocka_unit_test(never_waiting_is_interruptible),
      cmocka_unit_test(cut_while_sleeping),
      cmocka_unit_test(too_many_errors_stop_the_run),
      cmocka_unit_test(asks_the_run_to_stop),
      cmocka_unit_test(memory_past_the_cap_fails_one),
      cmocka_unit_test(ten_thousand_are_small),
      cmocka_unit_test(a_request_is_answered),
      cmocka_unit_test(a_failed_request_does_not_raise),
      cmocka_unit_test(killed_while_a_branch_is_on_the_wire),
      cmocka_unit_test(cut_while_on_the_wire),
      cmocka_unit_test(b167_requests_are_bounded),
      cmocka_unit_test(on_response_judges_turns),
  };
  return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
