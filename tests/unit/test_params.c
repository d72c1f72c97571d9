#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script_box.h"

/* Open a scenario with these parameters declared and set, "a=1;b=2". */
static struct scenario *open_with(const char *declared, const char *set,
                                  struct err *e)
{
  char text[1024], settings[256];
  const char *params[8];
  struct scenario_options o = {.params = params};
  snprintf(text, sizeof text, "return { request = print, params = { %s } }",
           declared);
  snprintf(settings, sizeof settings, "%s", set);
  for (char *p = settings, *end; *p; p = end) {
    params[o.n_params++] = p;
    end = p + strcspn(p, ";");
    if (*end)
      *end++ = '\0';
  }
  o.name = box_write("test.lua", text);
  return scenario_open(&o, e);
}

static void assert_params(const char *declared, const char *set,
                          const char *wanted)
{
  struct err e = {0};
  struct buf json = {0};
  struct json_writer w = {.out = &json};
  struct scenario *s = open_with(declared, set, &e);
  if (!s)
    fail_msg("%s", err_text(&e));
  params_write(&s->params, &w);
  assert_string_equal(buf_cstr(&json), wanted);
  buf_free(&json);
  scenario_free(s);
}

static void values_by_type(void **state)
{
  static const struct {
    const char *declared, *set, *wanted;
  } rows[] = {
      {"a = { default = 6 }", "", "{\"a\":6.0}"},
      {"a = { default = 6 }", "a=7.5", "{\"a\":7.5}"},
      {"a = { default = 6 }", "a=1;a=2", "{\"a\":2.0}"},
      {"a = { default = 6, type = 'integer' }", "a=10k", "{\"a\":10000}"},
      {"a = { default = 'x' }", "a=", "{\"a\":\"\"}"},
      {"a = { default = 'x' }", "a=b=c", "{\"a\":\"b=c\"}"},
      {"a = { default = true }", "a=no", "{\"a\":false}"},
      {"a = { default = '90s', type = 'duration' }", "", "{\"a\":90.0}"},
      {"a = { default = 2, type = 'duration' }", "a=250ms", "{\"a\":0.25}"},
      {"a = { type = 'dist', min = 1, max = 9 }", "a=zipf(20, 1)",
       "{\"a\":\"zipf(20, 1)\"}"},
      {"a = { type = 'dist', default = 'exp(1)' }", "a=normal(1,2)",
       "{\"a\":\"normal(1,2)\"}"},
      {"a = { default = { 'x', 'y' } }", "", "{\"a\":[\"x\",\"y\"]}"},
      {"a = { default = { 'x', 'y' } }", "a=p, q,", "{\"a\":[\"p\",\"q\"]}"},
      {"a = { default = { 1, 2 } }", "a=3,4.5", "{\"a\":[3.0,4.5]}"},
      {"a = { type = 'list' }", "a=1,b", "{\"a\":[\"1\",\"b\"]}"},
      {"a = {}", "", "{}"},
      {"a = {}", "a=x", "{\"a\":\"x\"}"},
      {"b = { default = 1 }, a = { default = 2 }", "", "{\"a\":2.0,\"b\":1.0}"},
      {"a = { choices = { 'x', 'y' }, default = 'x' }", "a=y", "{\"a\":\"y\"}"},
      {"a = { choices = { 1, 2.5 }, default = 1 }", "a=2.50", "{\"a\":2.5}"},
      {"a = { default = 5, min = 5, max = 6 }", "a=6", "{\"a\":6.0}"},
      {"a = { type = 'duration', max = '1m', default = 1 }", "a=60s",
       "{\"a\":60.0}"},
      {"a = { required = true }", "a=x", "{\"a\":\"x\"}"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_params(rows[i].declared, rows[i].set, rows[i].wanted);
}

static void what_the_user_may_not_say(void **state)
{
  static const struct {
    const char *declared, *set, *words;
  } rows[] = {
      {"a = { default = 6 }", "a=six", "-P a=six: not a number"},
      {"a = { default = 6 }", "a", "-P a: say name=value"},
      {"a = { default = 6 }", "aa=1", "no parameter 'aa'; did you mean a?"},
      {"turns = { default = 6 }, size = {}", "q=1", "; it has size, turns"},
      {"", "q=1", "; it has none"},
      {"a = { type = 'integer' }", "a=1.5", "not a whole number"},
      {"a = { default = true }", "a=perhaps", "say true or false"},
      {"a = { type = 'duration' }", "a=long", "not a duration"},
      {"a = { type = 'dist' }", "a=x(1)", "is not a distribution"},
      {"a = { type = 'dist', min = 1 }", "a=0", "must be at least 1"},
      {"a = { type = 'dist', min = 1 }", "a=uniform(0, 0.5)",
       "must be at least 1"},
      {"a = { type = 'dist', max = 9 }", "a=exp(10)", "must be at most 9"},
      {"a = { type = 'path' }", "a=/nowhere", "no such file or folder"},
      {"a = { default = { 1 } }", "a=1,x", "'x' is not a number"},
      {"a = { default = 5, min = 5 }", "a=4", "must be at least 5"},
      {"a = { default = 5, max = 6 }", "a=7", "must be at most 6"},
      {"a = { type = 'duration', max = '1m' }", "a=2m", "at most 60"},
      {"a = { choices = { 'x', 'y' } }", "a=z", "choose one of x, y"},
      {"a = { required = true, help = 'what' }", "",
       "needs -P a=… (string: what)"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct err e = {0};
    struct scenario *s = open_with(rows[i].declared, rows[i].set, &e);
    assert_null(s);
    assert_has(err_text(&e), rows[i].words);
    err_free(&e);
  }
}

static void what_a_scenario_may_not_declare(void **state)
{
  static const struct {
    const char *declared, *words;
  } rows[] = {
      {"a = 5", "params.a: a table such as"},
      {"[1] = {}", "params: names are wanted as keys"},
      {"a = { defualt = 5 }", "params.a: unknown field 'defualt'; did you mean "
                              "default?"},
      {"a = { type = 'float' }", "params.a.type: choose one of string, number"},
      {"a = { type = 'integer', default = 'x' }",
       "params.a.default: not a whole number"},
      {"a = { type = 'integer', default = print }",
       "params.a.default: a function cannot be a: integer"},
      {"a = { default = 5, min = 6 }", "params.a.default: must be at least 6"},
      {"a = { default = 'z', choices = { 'x' } }", "choose one of x"},
      {"a = { choices = 'x' }", "params.a.choices: a list is wanted"},
      {"a = { choices = { {} } }", "a list of strings or numbers"},
      {"a = { default = { {} } }", "a list of strings or numbers"},
      {"a = { help = 5 }", "params.a.help: a string is wanted"},
      {"a = { min = 'x' }", "params.a.min: not a number"},
      {"a = { default = 5, required = true }", "exclude each other"},
      {"a = { type = 'path', default = 'nothing.txt' }",
       "params.a.default: no such file"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct err e = {0};
    struct scenario *s = open_with(rows[i].declared, "", &e);
    assert_null(s);
    assert_has(err_text(&e), rows[i].words);
    assert_has(err_text(&e), "test.lua: ");
    err_free(&e);
  }
}

static void scripts_see_them_as_lua_has_them(void **state)
{
  char text[] =
      "return { params = {\n"
      "  n = { default = 6 }, b = { default = false },\n"
      "  d = { default = '90s', type = 'duration' },\n"
      "  w = { default = '3', type = 'dist' }, none = {},\n"
      "  l = { default = { 1, 2 } }, s = { default = 'x' } },\n"
      "  request = function(ctx)\n"
      "    local p = ctx.params\n"
      "    assert(p.n == 6 and p.b == false and p.d == 90)\n"
      "    assert(p.w:sample(ctx.rng) == 3 and p.none == nil)\n"
      "    assert(#p.l == 2 and p.l[1] + p.l[2] == 3 and p.s == 'x')\n"
      "    return { prompt = 'x' }\n  end }";
  struct box b = box_open(text);
  (void)state;
  box_body(&b, 1);
  box_close(&b);
}

/* The user's path is looked for where the user is, then where the scenario
 * is; the scenario's own default the other way round. */
static void paths_have_a_home(void **state)
{
  struct err e = {0};
  struct scenario *s;
  const struct param *p;
  char wanted[128], cwd[256];
  (void)state;
  assert_non_null(getcwd(cwd, sizeof cwd));
  snprintf(wanted, sizeof wanted, "%s/rows.txt", box_folder);
  box_write("rows.txt", "x");
  s = open_with("a = { type = 'path', default = 'rows.txt' }", "", &e);
  assert_non_null(s);
  p = &s->params.list[0];
  assert_string_equal(p->text, wanted);
  assert_false(p->given);
  scenario_free(s);
  s = open_with("a = { type = 'path' }", "a=rows.txt", &e);
  assert_non_null(s);
  assert_string_equal(s->params.list[0].text, wanted);
  scenario_free(s);
  box_write("other/rows.txt", "x");
  snprintf(wanted, sizeof wanted, "%s/other", box_folder);
  assert_int_equal(chdir(wanted), 0);
  s = open_with("a = { type = 'path' }", "a=rows.txt", &e);
  assert_non_null(s);
  snprintf(wanted, sizeof wanted, "%s/other/rows.txt", box_folder);
  p = &s->params.list[0];
  assert_string_equal(p->text, wanted);
  assert_true(p->given);
  scenario_free(s);
  assert_int_equal(chdir(cwd), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_by_type),
      cmocka_unit_test(what_the_user_may_not_say),
      cmocka_unit_test(what_a_scenario_may_not_declare),
      cmocka_unit_test(scripts_see_them_as_lua_has_them),
      cmocka_unit_test(paths_have_a_home),
  };
  return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
