#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "script_box.h"

/* Tests of the box are Lua files that run in a VM: a copy is made in the
 * test's folder, where the files around it are what the test expects. */

static struct scenario *open_test(const char *name, size_t memory, bool unsafe,
                                  struct err *e)
{
  struct buf text;
  char path[128];
  struct scenario_options o = {
      .memory = memory, .unsafe = unsafe, .load_ns = 600 * NS_PER_SEC};
  snprintf(path, sizeof path, "tests/lua/%s", name);
  text = file_read(path);
  snprintf(path, sizeof path, "box/%s", name);
  o.name = box_write(path, buf_cstr(&text));
  buf_free(&text);
  return scenario_open(&o, e);
}

static void assert_runs(const char *name, size_t memory, bool unsafe)
{
  struct err e = {0};
  struct scenario *s = open_test(name, memory, unsafe, &e);
  if (!s)
    fail_msg("%s", err_text(&e));
  scenario_free(s);
}

static void link_in(const char *target, const char *name)
{
  char path[160];
  snprintf(path, sizeof path, "%s/box/%s", box_folder, name);
  assert_int_equal(symlink(target, path), 0);
}

static void ways_out_of_the_box(void **state)
{
  char pipe_path[160];
  (void)state;
  box_write("outside.txt", "secret");
  box_write("outside/outside.txt", "secret");
  box_write("outside/mod.lua", "return {}");
  box_write("box/data/inside.txt", "inside");
  box_write("box/.env", "secret");
  box_write("box/.ssh/id_rsa", "secret");
  box_write("box/data/.secret", "secret");
  box_write("box/data/mod.lua", "return { here = true }");
  box_write("box/bytecode.lua", "\x1bLJ\x02\x02\x0b");
  snprintf(pipe_path, sizeof pipe_path, "%s/box/pipe", box_folder);
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  link_in("../outside.txt", "link.txt");
  link_in("../outside", "linked");
  link_in("../outside/mod.lua", "linkmod.lua");
  assert_runs("box_escape.lua", 0, false);
}

static void bombs_go_off_inside(void **state)
{
  (void)state;
  assert_runs("box_bombs.lua", (size_t)32 << 20, false);
}

static void unsafe_opens_everything(void **state)
{
  struct err e = {0};
  struct scenario_options o = {
      .name = box_write("unsafe.lua",
                        "local ffi = require 'ffi'\n"
                        "assert(ffi.sizeof('int') == 4 and io.open and debug)\n"
                        "assert(require('stoke.prompts').list[1])\n"
                        "assert(require('unsafe_mod').ok and os.execute)\n"
                        "assert(not pcall(math.randomseed, 1))\n"
                        "return { request = print }"),
      .unsafe = true};
  char path[256];
  struct scenario *s;
  (void)state;
  strcpy(path, o.name);
  box_write("unsafe_mod.lua", "return { ok = true }");
  o.name = path;
  s = scenario_open(&o, &e);
  if (!s)
    fail_msg("%s", err_text(&e));
  assert_true(s->unsafe);
  scenario_free(s);
}

/* What a script names as the default of a path opens nothing that lies
 * outside; what the user says does. */
static void only_the_user_opens_other_folders(void **state)
{
  static const char text[] = "return { params = { file = { type = 'path', "
                             "default = '/etc/passwd' } },\n"
                             "  setup = function(run) return "
                             "assert(stoke.read(run.params.file)) end,\n"
                             "  request = function() end }";
  char setting[300], path[256];
  const char *params[] = {setting};
  (void)state;
  snprintf(setting, sizeof setting, "file=%s",
           box_write("elsewhere/users.txt", "users"));
  strcpy(path, box_write("box/opens.lua", text));
  for (size_t given = 0; given < 2; given++) {
    struct box b = {.errors = script_errors_new()};
    struct scenario_options o = {
        .name = path, .params = params, .n_params = given};
    struct buf data = {0};
    b.scenario = scenario_open(&o, &b.err);
    assert_non_null(b.scenario);
    b.vm = box_vm(&b, (struct vm_config){.main = true});
    assert_int_equal(vm_setup(b.vm, &data, &b.err), given ? 0 : -1);
    if (!given)
      assert_has(err_text(&b.err), "outside of the scenario's folder");
    buf_free(&data);
    box_close(&b);
  }
}

/* The random stream as an object: only for what it is made for. */
static void the_stream_is_hard_to_misuse(void **state)
{
  static const char *const rows[] = {
      "r.int({}, 1, 2)",
      "r:int(2, 1)",
      "r:int(0/0, 1)",
      "r:int(1, 1e300)",
      "r:uniform(2, 1)",
      "r:normal(0, -1)",
      "r:lognormal(0, 1)",
      "r:exp(-1)",
      "r:gamma(0, 1)",
      "r:zipf(0, 1)",
      "r:zipf(10, -1)",
      "r:bool(2)",
      "r:pick {}",
      "r:pick 'abc'",
      "r:weighted {}",
      "r:weighted { a = -1 }",
      "r:weighted { a = 0 }",
      "r:weighted { 'a' }",
      "r:weighted { [true] = 1 }",
      "r:shuffle(5)",
      "r:hex(-1)",
      "r:hex(1e9)",
      "r:words(1e9)",
      "r:words('x')",
      "setmetatable(r, {})",
      "r.s = 5",
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    snprintf(text, sizeof text,
             "return { request = function(ctx) local r = ctx.rng\n%s\n"
             "return { prompt = 'x' } end }",
             rows[i]);
    b = box_open(text);
    if (box_request(&b, 1) != VM_FAILED)
      fail_msg("%s", rows[i]);
    assert_has(vm_error(b.vm), "test.lua:2: ");
    box_close(&b);
  }
}

static void what_is_missing_is_explained(void **state)
{
  static const char *const rows[] = {
      "io.open('x')",
      "os.execute('x')",
      "debug.traceback()",
      "os.getenv('HOME')",
      "dofile('x')",
      "ffi.cdef('')",
      "package.loadlib('x', 'y')",
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[128];
    struct box b;
    snprintf(text, sizeof text, "return { request = function() %s end }",
             rows[i]);
    b = box_open(text);
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), "--unsafe opens everything");
    box_close(&b);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ways_out_of_the_box),
      cmocka_unit_test(bombs_go_off_inside),
      cmocka_unit_test(unsafe_opens_everything),
      cmocka_unit_test(only_the_user_opens_other_folders),
      cmocka_unit_test(the_stream_is_hard_to_misuse),
      cmocka_unit_test(what_is_missing_is_explained),
  };
  return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
