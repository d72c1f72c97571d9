/* The option engine: every spelling, every kind, every kind of mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/mem.h"
#include "cli/options.h"

struct target {
  char *url, *secret, *body;
  double rate;
  int64_t offset;
  uint64_t count, size, wait;
  unsigned threads;
  int shape;
  bool quiet, force, stream;
  struct option_list headers, params;
  int calls;
};

static int on_call(void *dest, const char *value, const char *place,
                   struct err *e)
{
  struct target *t = dest;
  if (strcmp(value, "bad") == 0)
    return err_add(e, "%s: refused", place);
  t->calls++;
  return 0;
}

#define AT(field) offsetof(struct target, field)

static const struct option rows[] = {
    {"u url base-url", "URL", OPTION_STRING, AT(url), "Target",
     "where the server is", .env = "STOKE_TEST_URL"},
    {"api-key", "KEY", OPTION_STRING, AT(secret), .help = "the key",
     .secret = true, .notice = "--api-key can be seen in the process list"},
    {"H header", "LINE", OPTION_LIST, AT(headers), .help = "a header"},
    {"R request-rate", "RATE", OPTION_NUMBER, AT(rate), "Load",
     "requests per second", .positive = true},
    {"offset", "N", OPTION_INTEGER, AT(offset), .help = "any whole number"},
    {"c max-concurrency", "N", OPTION_COUNT, AT(count), .help = "at once",
     .min = 1, .shown_default = "1"},
    {"threads", "N", OPTION_UNSIGNED, AT(threads), .help = "threads",
     .max = 64},
    {"lua-memory", "SIZE", OPTION_SIZE, AT(size), .help = "memory"},
    {"d duration", "TIME", OPTION_DURATION, AT(wait), .help = "how long",
     .max = 3600},
    {"arrival", "SHAPE", OPTION_CHOICE, AT(shape), .help = "gaps",
     .choices = "poisson constant"},
    {"P param", "NAME=VALUE", OPTION_PAIRS, AT(params), .help = "a parameter"},
    {"extra-body", "JSON", OPTION_JSON, AT(body), .help = "more body"},
    {"q quiet", NULL, OPTION_BOOLEAN, AT(quiet), "Output", .help = "say less"},
    {"k force", NULL, OPTION_BOOLEAN, AT(force), .help = "overwrite"},
    {"stream", NULL, OPTION_BOOLEAN, AT(stream), .help = "do not stream",
     .on = true},
    {"call", "X", OPTION_CALL, .help = "calls", .call = on_call},
    {"old-name", "X", OPTION_CALL, .help = "ancient", .call = on_call,
     .hidden = true},
};

static const struct options_spec spec = {
    .program = "stoke test",
    .usage = "[FILE] [options]",
    .intro = "Tests options.",
    .examples = "stoke test -c 4\tfour at once\n",
    .rows = rows,
    .n = sizeof rows / sizeof rows[0],
    .max_args = 1,
};

enum { MOST_ARGS = 12 };

struct parsed {
  struct options o;
  struct target t;
  struct err e;
  enum options_result result;
};

static void parse(struct parsed *p, char *const argv[])
{
  int argc = 0;
  while (argv[argc])
    argc++;
  *p = (struct parsed){.t = {.stream = true}};
  options_init(&p->o, &spec, &p->t);
  p->result = options_parse(&p->o, argc, argv, &p->e);
}

static void done(struct parsed *p)
{
  options_free(&p->o);
  err_free(&p->e);
}

#define PARSE(p, ...) parse(p, (char *const[]){__VA_ARGS__, NULL})
#define PARSE_OK(p, ...)                                                       \
  do {                                                                         \
    PARSE(p, __VA_ARGS__);                                                     \
    assert_string_equal(err_text(&(p)->e), "");                                \
    assert_int_equal((p)->result, OPTIONS_OK);                                 \
  } while (0)

static void spellings(void **state)
{
  /* Each of these says the same. */
  char *const ways[][4] = {
      {"--url", "http://h", NULL},
      {"--url=http://h", NULL},
      {"--base-url", "http://h"},
      {"--base_url=http://h"},
      {"-u", "http://h", NULL},
      {"-uhttp://h", NULL},
      {"-u=http://h", NULL},
      {"--ur", "http://h"},
      {"--base", "http://h"},
      {"-qu", "http://h"},
      {"-qkuhttp://h"},
      {"url=http://h"},
      {"base_url=http://h"},
      {"--url", "x", "--url", "http://h"},
  };
  struct parsed p;
  (void)state;
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    char *argv[5] = {0};
    memcpy(argv, ways[i], sizeof ways[i]);
    parse(&p, argv);
    assert_string_equal(err_text(&p.e), "");
    assert_string_equal(p.t.url, "http://h");
    done(&p);
  }
}

static void kinds(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--request-rate", "inf", "--offset", "-5", "-c", "10k",
           "--lua-memory", "4k", "-d", "1.5m", "--arrival", "constant");
  assert_true(p.t.rate > 1e300);
  assert_int_equal(p.t.offset, -5);
  assert_int_equal(p.t.count, 10000);
  assert_int_equal(p.t.size, 4096);
  assert_int_equal(p.t.wait, UINT64_C(90000000000));
  assert_int_equal(p.t.shape, 1);
  done(&p);
  PARSE_OK(&p, "--threads=64", "-R", ".5", "--call", "a", "--old-name=b");
  assert_int_equal(p.t.threads, 64);
  assert_true(p.t.rate == 0.5);
  assert_int_equal(p.t.calls, 2);
  done(&p);
}

static void booleans(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "-qk", "--no-stream");
  assert_true(p.t.quiet && p.t.force);
  assert_false(p.t.stream);
  done(&p);
  PARSE_OK(&p, "--quiet", "--no-quiet", "--no_str", "--stream=yes");
  assert_false(p.t.quiet);
  assert_true(p.t.stream);
  done(&p);
}

static void lists_collect(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "-H", "A: 1", "-HB: 2", "-P", "x=1=2", "--param=y=");
  assert_int_equal(p.t.headers.n, 2);
  assert_string_equal(p.t.headers.items[1], "B: 2");
  assert_int_equal(p.t.params.n, 2);
  assert_string_equal(p.t.params.items[0], "x=1=2");
  assert_string_equal(p.t.params.items[1], "y=");
  done(&p);
}

static void arguments_and_rest(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "chat", "-q", "--", "--url", "-x", "--");
  assert_int_equal(p.o.args.n, 1);
  assert_string_equal(p.o.args.items[0], "chat");
  assert_int_equal(p.o.rest.n, 3);
  assert_string_equal(p.o.rest.items[0], "--url");
  assert_string_equal(p.o.rest.items[2], "--");
  assert_null(p.t.url);
  done(&p);
  PARSE_OK(&p, "-");
  assert_string_equal(p.o.args.items[0], "-");
  done(&p);
}

static void dotted_json(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--extra-body", "{\"a\": 1, \"big\": 12345678901234567890}");
  assert_string_equal(p.t.body, "{\"a\": 1, \"big\": 12345678901234567890}");
  done(&p);
  PARSE_OK(&p, "--extra_body.a.b", "false", "--extra-body.a.c=1k",
           "--extra-body.s", "plain", "--extra-body.l+", "1,b",
           "--extra-body.l+=x");
  assert_string_equal(p.t.body, "{\"a\":{\"b\":false,\"c\":1000},"
                                "\"s\":\"plain\",\"l\":[\"1\",\"b\",\"x\"]}");
  done(&p);
}

/* One command line with mistakes and the exact words about them. */
struct mistake {
  char *argv[6];
  const char *said;
};

static const struct mistake mistakes[] = {
    {{"--reqest-rate", "5"},
     "--reqest-rate: no such option; did you mean --request-rate?\n"},
    {{"--concurrency=5"},
     "--concurrency: no such option; did you mean --max-concurrency?\n"},
    {{"--zzzz", "5"}, "--zzzz: no such option\n"},
    {{"-z"}, "-z: no such option\n"},
    {{"-qz5"}, "-z: no such option\n"},
    {{"--a", "5"},
     "ambiguous option: --a could match --api-key, --arrival; write more of "
     "it\n"},
    {{"--url"}, "--url: needs a value (URL)\n"},
    {{"-u"}, "-u: needs a value (URL)\n"},
    {{"--url", "--force"},
     "--url: needs a value (URL), but what follows is --force\n"},
    {{"--url", "--", "x"},
     "--url: needs a value (URL), but what follows is --\n"},
    {{"--url.x", "1"}, "--url.x: no such option; did you mean --url?\n"},
    {{"-R", "abc"}, "-R abc: not a number; say for example 4 or 0.5\n"},
    {{"--request-rate=0"}, "--request-rate 0: must be more than 0\n"},
    {{"--request_rate", "-1"}, "--request_rate -1: must be more than 0\n"},
    {{"--max-concurrency", "0"}, "--max-concurrency 0: must be at least 1\n"},
    {{"--max-concurrency", "-1"}, "--max-concurrency -1: must be at least 1\n"},
    {{"-c", "2.5"}, "-c 2.5: must be a whole number\n"},
    {{"-c", "many"}, "-c many: not a number; say for example 100 or 10k\n"},
    {{"-c", ""}, "-c : not a number; say for example 100 or 10k\n"},
    {{"--threads", "65"}, "--threads 65: must be at most 64\n"},
    {{"--threads", "-1"}, "--threads -1: must not be negative\n"},
    {{"-d", "10x"},
     "-d 10x: not a duration; say for example 30s, 5m or 250ms\n"},
    {{"-d", "-1s"},
     "-d -1s: not a duration; say for example 30s, 5m or 250ms\n"},
    {{"-d", "2h"}, "-d 2h: must be at most 3600s\n"},
    {{"--lua-memory", "big"},
     "--lua-memory big: not a size; say for example 512M or 64k\n"},
    {{"--arrival", "poison"},
     "--arrival poison: must be poisson or constant; "
     "did you mean poisson?\n"},
    {{"-P", "novalue"}, "-P novalue: must be NAME=VALUE\n"},
    {{"-P", "=1"}, "-P =1: must be NAME=VALUE\n"},
    {{"--extra-body", "{a:1}"},
     "--extra-body {a:1}: not JSON (trouble at byte 2)\n"},
    {{"--extra-body", "[1]"},
     "--extra-body [1]: must be a JSON object, as {\"top_k\": 5}\n"},
    {{"--extra-body.a..b", "1"},
     "--extra-body.a..b 1: not names with dots between them\n"},
    {{"--quiet=maybe"}, "--quiet maybe: say yes or no\n"},
    {{"--no-quiet=yes"}, "--no-quiet: takes no value\n"},
    {{"--call", "bad"}, "--call bad: refused\n"},
    {{"a", "b"}, "b: unexpected argument\n"},
    /* All at once. */
    {{"-c0", "--nope", "-R", "x"},
     "-c 0: must be at least 1\n"
     "--nope: no such option\n"
     "-R x: not a number; say for example 4 or 0.5\n"},
};

static void every_mistake_has_its_words(void **state)
{
  struct parsed p;
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    parse(&p, mistakes[i].argv);
    assert_int_equal(p.result, OPTIONS_ERROR);
    assert_string_equal(err_text(&p.e), mistakes[i].said);
    done(&p);
  }
}

static void a_value_in_a_message_is_cut_and_harmless(void **state)
{
  struct parsed p;
  char text[200] = "a\033[31m\n";
  (void)state;
  memset(text + 7, 'x', 150);
  PARSE(&p, "-c", text);
  assert_null(strchr(err_text(&p.e), '\033'));
  assert_int_equal(p.e.count, 1);
  assert_non_null(strstr(err_text(&p.e), "x...: not a number"));
  done(&p);
}

static void flag_beats_environment_beats_file(void **state)
{
  struct parsed p;
  (void)state;
  setenv("STOKE_TEST_URL", "http://env", 1);
  PARSE_OK(&p, "-q");
  assert_string_equal(p.t.url, "http://env");
  assert_int_equal(options_source(&p.o, "url"), OPTION_ENV);
  assert_int_equal(
      options_set(&p.o, "base_url", "http://file", OPTION_FILE, "x.json", &p.e),
      0);
  assert_string_equal(p.t.url, "http://env");
  done(&p);
  PARSE_OK(&p, "--url=http://flag");
  assert_string_equal(p.t.url, "http://flag");
  assert_int_equal(options_source(&p.o, "base_url"), OPTION_FLAG);
  assert_int_equal(options_source(&p.o, "rate"), OPTION_DEFAULT);
  done(&p);
  unsetenv("STOKE_TEST_URL");
}

static void keys_from_a_file(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "-H", "A: flag");
  options_set(&p.o, "request_rate", "2.5", OPTION_FILE, "f", &p.e);
  options_set(&p.o, "no_stream", NULL, OPTION_FILE, "f", &p.e);
  options_set(&p.o, "header", "B: file", OPTION_FILE, "f", &p.e);
  assert_string_equal(err_text(&p.e), "");
  assert_true(p.t.rate == 2.5);
  assert_false(p.t.stream);
  assert_int_equal(p.t.headers.n, 1);
  assert_int_equal(
      options_set(&p.o, "requst_rate", "5", OPTION_FILE, "f", &p.e), -1);
  assert_int_equal(
      options_set(&p.o, "offset", "x", OPTION_FILE, "f.json: offset", &p.e),
      -1);
  assert_string_equal(
      err_text(&p.e),
      "--requst_rate: no such option; did you mean --request-rate?\n"
      "f.json: offset: not a number; say for example 100 or 10k\n");
  done(&p);
}

static void a_secret_is_never_shown(void **state)
{
  struct parsed p;
  (void)state;
  PARSE_OK(&p, "--api-key", "sk-secret");
  assert_string_equal(p.t.secret, "sk-secret");
  assert_int_equal(p.o.notices.n, 1);
  done(&p);
}

static void help_from_the_table(void **state)
{
  struct parsed p;
  struct buf text = {0};
  (void)state;
  PARSE(&p, "-c0", "--help");
  assert_int_equal(p.result, OPTIONS_HELP);
  assert_null(p.o.help_word);
  options_help(&spec, NULL, &text);
  assert_non_null(strstr(buf_cstr(&text),
                         "Usage: stoke test [FILE] [options]\n\n"
                         "Tests options.\n\n"
                         "Target:\n"
                         "  -u, --url URL               where the server is "
                         "(also --base-url; environment\n"
                         "                              STOKE_TEST_URL)\n"));
  assert_non_null(strstr(buf_cstr(&text), "--no-stream"));
  assert_null(strstr(buf_cstr(&text), "ancient"));
  assert_non_null(strstr(buf_cstr(&text), "# four at once\n  stoke test -c 4"));
  for (struct str all = buf_str(&text); all.p;)
    assert_true(str_split(&all, '\n').len <= 80);
  buf_free(&text);
  done(&p);
}

static void help_searches(void **state)
{
  struct parsed p;
  struct buf text = {0};
  (void)state;
  PARSE(&p, "--help=REQUEST_R");
  assert_string_equal(p.o.help_word, "REQUEST_R");
  options_help(&spec, p.o.help_word, &text);
  assert_string_equal(buf_cstr(&text), "\nLoad:\n  -R, --request-rate RATE     "
                                       "requests per second\n");
  buf_reset(&text);
  options_help(&spec, "nothing", &text);
  assert_string_equal(buf_cstr(&text),
                      "Nothing in `stoke test --help` mentions \"nothing\".\n");
  buf_reset(&text);
  options_help(&spec, "all", &text);
  assert_non_null(strstr(buf_cstr(&text), "ancient"));
  buf_free(&text);
  done(&p);
}

static void names_are_unique(void **state)
{
  (void)state;
  for (size_t i = 0; i < spec.n; i++)
    assert_ptr_equal(options_find(&spec, option_key(&rows[i])), &rows[i]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spellings),
      cmocka_unit_test(kinds),
      cmocka_unit_test(booleans),
      cmocka_unit_test(lists_collect),
      cmocka_unit_test(arguments_and_rest),
      cmocka_unit_test(dotted_json),
      cmocka_unit_test(every_mistake_has_its_words),
      cmocka_unit_test(a_value_in_a_message_is_cut_and_harmless),
      cmocka_unit_test(flag_beats_environment_beats_file),
      cmocka_unit_test(keys_from_a_file),
      cmocka_unit_test(a_secret_is_never_shown),
      cmocka_unit_test(help_from_the_table),
      cmocka_unit_test(help_searches),
      cmocka_unit_test(names_are_unique),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
