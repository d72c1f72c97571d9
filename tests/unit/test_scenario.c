#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "script/embed.h"
#include "script_box.h"

static struct scenario *open_named(const char *name, struct err *e)
{
  struct scenario_options o = {.name = name};
  return scenario_open(&o, e);
}

static void assert_refused(const char *text, const char *words)
{
  char *told = box_refused(text);
  assert_has(told, words);
  mem_free(told);
}

/* ---- what a scenario is ---- */

static void plain_data_is_kept(void **state)
{
  struct err e = {0};
  struct buf text = {0};
  struct scenario *s = open_named(
      box_write(
          "plain.lua",
          "return {\n"
          "  name = 'agent', version = 1.5, description = 'd',\n"
          "  load = { request_rate = { 1, 10 }, duration = '1m',\n"
          "    burstiness = math.huge, arrival = 'gamma' },\n"
          "  metrics = { a = 'trend' }, thresholds = { 'ttft.p95 < 2s' },\n"
          "  request = function() end, on_response = function() end,\n"
          "}"),
      &e);
  (void)state;
  assert_non_null(s);
  assert_string_equal(s->name, "agent");
  assert_string_equal(s->version, "1.5");
  assert_string_equal(s->description, "d");
  assert_int_equal(s->hooks, 1u << HOOK_REQUEST | 1u << HOOK_ON_RESPONSE);
  json_print(&text, s->load);
  json_print(&text, s->metrics);
  json_print(&text, s->thresholds);
  assert_string_equal(
      buf_cstr(&text),
      "{\"arrival\":\"gamma\",\"burstiness\":\"inf\",\"duration\":60,"
      "\"request_rate\":[1,10]}{\"a\":\"trend\"}[\"ttft.p95 < 2s\"]");
  buf_free(&text);
  scenario_free(s);
}

static void curves_are_hooks(void **state)
{
  struct err e = {0};
  struct scenario *s = open_named(
      box_write("curve.lua", "return { request = print,\n"
                             "load = { rate = function(t) return t end, "
                             "num_requests = 5 } }"),
      &e);
  (void)state;
  assert_non_null(s);
  assert_true(scenario_has(s, HOOK_RATE));
  assert_false(scenario_has(s, HOOK_ARRIVALS));
  scenario_free(s);
}

static void mistakes_in_the_table(void **state)
{
  static const struct {
    const char *text, *words;
  } rows[] = {
      {"return { reqest = print }", "unknown field 'reqest'; did you mean "
                                    "request"},
      {"return { request = 'x' }", "request must be a function, not a string"},
      {"return {}", "it has no request"},
      {"return { request = print, session = print }", "exclude each other"},
      {"return { request = print, name = 5 }", "name must be a string"},
      {"return { request = print, load = 5 }", "load must be a table"},
      {"return { request = print, load = { rps = 5 } }",
       "load: unknown field 'rps'"},
      {"return { request = print, load = { request_rate = -1 } }",
       "load.request_rate must be a number above 0"},
      {"return { request = print, load = { request_rate = { 1 } } }",
       "two rates"},
      {"return { request = print, load = { duration = 'long' } }",
       "load.duration must be a duration"},
      {"return { request = print, load = { num_requests = 1.5 } }",
       "whole number from 1 up"},
      {"return { request = print, load = { arrival = 'burst' } }",
       "one of poisson, constant, gamma"},
      {"return { request = print, load = { rate = 5 } }",
       "load.rate must be a function"},
      {"return { request = print, load = { rate = print, request_rate = 1 } }",
       "request_rate, rate exclude each other"},
      {"return { request = print, load = { stages = {} } }",
       "must be a list of stages"},
      {"return { request = print, load = { stages = { { label = 5 } } } }",
       "load.stages[1].label must be a string"},
      {"return { request = print, metrics = { a = 'sum' } }",
       "metrics.a must be one of counter, gauge"},
      {"return { request = print, metrics = { ['a b'] = 'rate' } }",
       "'a b' is not a name"},
      {"return { request = print, thresholds = { 5 } }", "must be a string"},
      {"return { request = print, thresholds = { a = 'x' } }",
       "must be a list"},
      {"return { request = print, params = { a = 5 } }",
       "params.a: a table such as"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_refused(rows[i].text, rows[i].words);
}

static void all_mistakes_are_told_at_once(void **state)
{
  const char *params[] = {"turns=x", "nope=1"};
  struct scenario_options o = {
      .name = box_write("many.lua", "return { foo = 1, load = { bar = 2 },\n"
                                    "  params = { turns = { default = 6 },\n"
                                    "    need = { required = true } } }"),
      .params = params,
      .n_params = 2};
  struct err e = {0};
  (void)state;
  assert_null(scenario_open(&o, &e));
  assert_int_equal(e.count, 6);
  assert_has(err_text(&e), "unknown field 'foo'");
  assert_has(err_text(&e), "'bar'");
  assert_has(err_text(&e), "it has no request");
  assert_has(err_text(&e), "-P turns=x: not a number");
  assert_has(err_text(&e), "no parameter 'nope'");
  assert_has(err_text(&e), "needs -P need=");
  err_free(&e);
}

/* ---- scripts that don't load ---- */

static void b152_three_ways_not_to_load(void **state)
{
  struct err e = {0};
  (void)state;
  assert_null(open_named("/nowhere/x.lua", &e));
  assert_has(err_text(&e), "/nowhere/x.lua: no such file");
  err_free(&e);
  assert_refused("return {\n  request = function(\n}", "is not valid Lua: ");
  assert_refused("return {\n  request = function(\n}", "test.lua:3: ");
  assert_refused("local x = 1\nfoo.bar = 1", "failed while it was loaded: ");
  assert_refused("local x = 1\nfoo.bar = 1",
                 "test.lua:2: attempt to index global 'foo' (a nil value)");
  assert_refused("", "the script returned nothing; a scenario returns");
  assert_refused("return 5", "the script returned number");
  assert_refused("\xff\xfe r", "UTF-16");
  assert_refused("\x1bLJ", "is bytecode");
}

#if defined(__SANITIZE_THREAD__)
#define WATCHED 0 /* tsan holds signals back until a call that may block */
#else
#define WATCHED 1
#endif

/* Neither the main chunk nor what looks at its table. */
static void nothing_that_does_not_return_is_waited_for(void **state)
{
  static const char *const rows[] = {
      "while true do end",
      "while true do pcall(error) end",
      "return setmetatable({}, { __index = function() while true do end end })",
      "require 'endless'",
  };
  (void)state;
  box_write("endless.lua", "repeat until false");
  for (size_t i = 0; WATCHED && i < sizeof rows / sizeof *rows; i++) {
    struct scenario_options o = {.name = box_write("test.lua", rows[i]),
                                 .load_ns = 120 * NS_PER_MS};
    struct err e = {0};
    assert_null(scenario_open(&o, &e));
    assert_has(err_text(&e), "did not return");
    err_free(&e);
  }
}

static void b102_a_mark_of_encoding_is_no_trouble(void **state)
{
  struct err e = {0};
  struct scenario *s = open_named(
      box_write("bom.lua", "\xef\xbb\xbfreturn { request = print }"), &e);
  (void)state;
  assert_non_null(s);
  scenario_free(s);
}

/* ---- where it is found ---- */

static void a_folder_is_a_scenario(void **state)
{
  char folder[128];
  struct err e = {0};
  struct scenario *s;
  (void)state;
  box_write("agent/init.lua", "local t = require 'lib.tools'\n"
                              "return { request = t.request }");
  box_write("agent/lib/tools.lua", "return { request = function() end }");
  snprintf(folder, sizeof folder, "%s/agent", box_folder);
  s = open_named(folder, &e);
  if (!s)
    fail_msg("%s", err_text(&e));
  assert_string_equal(s->name, "agent");
  assert_string_equal(s->folder, folder);
  assert_int_equal(s->n_files, 2);
  assert_has(s->files[1].path, "agent/lib/tools.lua");
  scenario_free(s);
  box_write("empty/x.txt", "");
  snprintf(folder, sizeof folder, "%s/empty", box_folder);
  assert_null(open_named(folder, &e));
  assert_has(err_text(&e), "a folder without init.lua");
  err_free(&e);
}

static void names_are_looked_for_in_order(void **state)
{
  struct err e = {0};
  char path[160], cwd[256];
  struct scenario *s;
  (void)state;
  assert_non_null(getcwd(cwd, sizeof cwd));
  box_write("here/scenarios/haiku.lua",
            "return { description = 'mine', request = print }");
  box_write("there/other.lua", "return { request = print }");
  snprintf(path, sizeof path, "%s/here", box_folder);
  assert_int_equal(chdir(path), 0);
  s = open_named("haiku", &e);
  assert_non_null(s);
  assert_string_equal(s->description, "mine");
  assert_string_equal(s->path, "scenarios/haiku.lua");
  scenario_free(s);
  snprintf(path, sizeof path, "/nowhere:%s/there", box_folder);
  setenv("STOKE_PATH", path, 1);
  s = open_named("other", &e);
  assert_non_null(s);
  assert_string_equal(s->name, "other");
  scenario_free(s);
  unsetenv("STOKE_PATH");
  assert_null(open_named("hiaku", &e));
  assert_has(err_text(&e), "did you mean haiku?");
  assert_has(err_text(&e), "chat, completions, ");
  err_free(&e);
  assert_int_equal(chdir(cwd), 0);
}

static void the_hash_is_that_of_sha256sum(void **state)
{
  struct err e = {0};
  struct scenario *s =
      open_named(box_write("hash.lua", "return { request = print }\n"), &e);
  (void)state;
  assert_non_null(s);
  assert_string_equal(
      s->sha256,
      "5de6ccd1c5929976538ebcbc0b7e7a02111a923810c133ac51f49d4f65c7dc27");
  scenario_free(s);
}

/* ---- the ready ones ---- */

/* Can it be asked for requests as it is? Not without the file that it needs,
 * nor when its sessions make them. */
static bool makes_requests(const struct scenario *s)
{
  for (size_t i = 0; i < s->params.len; i++)
    if (s->params.list[i].required)
      return false;
  return scenario_has(s, HOOK_REQUEST);
}

static void every_ready_scenario_makes_requests(void **state)
{
  (void)state;
  for (size_t i = 0; i < embedded_count; i++) {
    const char *path = embedded_files[i].path;
    struct box b = {0};
    struct scenario_options o = {.seed = 3, .lenient = true};
    char name[64];
    struct buf data = {0};
    if (strncmp(path, "scenarios/", 10) != 0)
      continue;
    b.errors = script_errors_new();
    snprintf(name, sizeof name, "%.*s", (int)strlen(path) - 14, path + 10);
    o.name = name;
    b.scenario = scenario_open(&o, &b.err);
    if (!b.scenario) { /* only for want of a file of the user's */
      assert_has(err_text(&b.err), "needs -P file=");
      box_close(&b);
      continue;
    }
    assert_string_equal(b.scenario->name, name);
    assert_non_null(b.scenario->description);
    if (!makes_requests(b.scenario)) {
      box_close(&b);
      continue;
    }
    b.vm = box_vm(&b, (struct vm_config){.main = true});
    assert_int_equal(vm_setup(b.vm, &data, &b.err), 0);
    for (uint64_t id = 1; scenario_has(b.scenario, HOOK_REQUEST) && id < 100;
         id++)
      assert_has(box_body(&b, id),
                 b.request.backend->streams ? "\"stream\":true" : "\"input\":");
    buf_free(&data);
    box_close(&b);
  }
}

/* Prompts of a file, plain or JSON Lines; the path may lie outside of the
 * scenario's folder because the user said so. */
static void chat_takes_prompts_from_a_file(void **state)
{
  static const struct {
    const char *name, *text, *prompt, *error;
  } rows[] = {
      {"p.txt", "\xef\xbb\xbfone\r\n\r\n", "one", NULL},
      {"p.jsonl", "{\"prompt\": \"two\\n\"}\n", "two\\n", NULL},
      {"q.jsonl", "\n{\"prompt\": \"a\"}\n{\"promt\": \"b\"}\n", NULL,
       "q.jsonl:3: no \"prompt\""},
      {"r.jsonl", "{\n", NULL, "r.jsonl:1: bad JSON"},
      {"e.txt", " \n", NULL, "e.txt: there are no rows in it"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char setting[300];
    const char *params[] = {setting};
    struct scenario_options o = {
        .name = "chat", .params = params, .n_params = 1};
    struct box b = {.errors = script_errors_new()};
    struct buf data = {0};
    snprintf(setting, sizeof setting, "file=%s",
             box_write(rows[i].name, rows[i].text));
    b.scenario = scenario_open(&o, &b.err);
    if (!b.scenario)
      fail_msg("%s", err_text(&b.err));
    b.vm = box_vm(&b, (struct vm_config){.main = true});
    if (rows[i].error) {
      assert_int_equal(vm_setup(b.vm, &data, &b.err), -1);
      assert_has(err_text(&b.err), rows[i].error);
    } else {
      assert_int_equal(vm_setup(b.vm, &data, &b.err), 0);
      assert_has(box_body(&b, 1), rows[i].prompt);
    }
    buf_free(&data);
    box_close(&b);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_data_is_kept),
      cmocka_unit_test(curves_are_hooks),
      cmocka_unit_test(mistakes_in_the_table),
      cmocka_unit_test(all_mistakes_are_told_at_once),
      cmocka_unit_test(b152_three_ways_not_to_load),
      cmocka_unit_test(nothing_that_does_not_return_is_waited_for),
      cmocka_unit_test(b102_a_mark_of_encoding_is_no_trouble),
      cmocka_unit_test(a_folder_is_a_scenario),
      cmocka_unit_test(names_are_looked_for_in_order),
      cmocka_unit_test(the_hash_is_that_of_sha256sum),
      cmocka_unit_test(every_ready_scenario_makes_requests),
      cmocka_unit_test(chat_takes_prompts_from_a_file),
  };
  return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
