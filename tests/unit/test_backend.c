/* Backends: the bodies that stoke's own make, and those of users. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"
#include "script/backend.h"
#include "script_box.h"

#define REQUEST(table) "return { request = function() return " table " end }"

/* ---- stoke's own ---- */

static const struct {
  const char *table, *path, *body;
} bodies[] = {
    {"{ endpoint = 'responses', prompt = 'hi', max_tokens = 5 }",
     "/v1/responses",
     "{\"input\":\"hi\",\"max_output_tokens\":5,\"model\":\"m\","
     "\"stream\":true}"},
    {"{ endpoint = 'responses', stream = false, reasoning_effort = 'low', "
     "messages = { { role = 'user', content = 'hi' }, "
     "{ role = 'assistant', tool_calls = { { id = 'c1', ['function'] = "
     "{ name = 'f', arguments = '{\"a\":1}' } } } }, "
     "{ role = 'tool', tool_call_id = 'c1', content = 'ok' } }, "
     "tools = { { type = 'function', ['function'] = { name = 'f' } } } }",
     "/v1/responses",
     "{\"input\":[{\"content\":\"hi\",\"role\":\"user\"},"
     "{\"arguments\":\"{\\\"a\\\":1}\",\"call_id\":\"c1\",\"name\":\"f\","
     "\"type\":\"function_call\"},"
     "{\"call_id\":\"c1\",\"output\":\"ok\",\"type\":\"function_call_output\"}"
     "],\"model\":\"m\",\"reasoning\":{\"effort\":\"low\"},\"stream\":false,"
     "\"tools\":[{\"name\":\"f\",\"type\":\"function\"}]}"},
    {"{ endpoint = 'responses', prompt = 'x', tool_choice = { type = "
     "'function', ['function'] = { name = 'f' } }, response_format = { type = "
     "'json_schema', json_schema = { name = 's', schema = { a = 1 } } } }",
     "/v1/responses",
     "{\"input\":\"x\",\"model\":\"m\",\"stream\":true,\"text\":{\"format\":"
     "{\"name\":\"s\",\"schema\":{\"a\":1},\"type\":\"json_schema\"}},"
     "\"tool_choice\":{\"name\":\"f\",\"type\":\"function\"}}"},
    {"{ endpoint = 'anthropic', prompt = 'hi', stop = 'x' }", "/v1/messages",
     "{\"max_tokens\":1024,\"messages\":[{\"content\":\"hi\",\"role\":\"user\"}"
     "],\"model\":\"m\",\"stop_sequences\":[\"x\"],\"stream\":true}"},
    {"{ endpoint = 'anthropic', max_tokens = 7, tool_choice = 'required', "
     "messages = { { role = 'system', content = 's' }, "
     "{ role = 'user', content = 'hi' }, "
     "{ role = 'assistant', content = 'so', tool_calls = { { id = 'c1', "
     "['function'] = { name = 'f', arguments = '{}' } } } }, "
     "{ role = 'tool', tool_call_id = 'c1', content = 'ok' }, "
     "{ role = 'tool', tool_call_id = 'c2', content = 'ko' } }, "
     "tools = { { type = 'function', ['function'] = { name = 'f' } } } }",
     "/v1/messages",
     "{\"max_tokens\":7,\"messages\":[{\"content\":\"hi\",\"role\":\"user\"},"
     "{\"content\":[{\"text\":\"so\",\"type\":\"text\"},{\"id\":\"c1\","
     "\"input\":{},\"name\":\"f\",\"type\":\"tool_use\"}],"
     "\"role\":\"assistant\"},{\"content\":[{\"content\":\"ok\","
     "\"tool_use_id\":\"c1\",\"type\":\"tool_result\"},{\"content\":\"ko\","
     "\"tool_use_id\":\"c2\",\"type\":\"tool_result\"}],\"role\":\"user\"}],"
     "\"model\":\"m\",\"stream\":true,\"system\":\"s\",\"tool_choice\":"
     "{\"type\":\"any\"},\"tools\":[{\"input_schema\":{\"type\":\"object\"},"
     "\"name\":\"f\"}]}"},
    {"{ endpoint = 'ollama', prompt = 'hi', max_tokens = 5, seed = 3, "
     "reasoning_effort = 'none' }",
     "/api/chat",
     "{\"messages\":[{\"content\":\"hi\",\"role\":\"user\"}],\"model\":\"m\","
     "\"options\":{\"num_predict\":5,\"seed\":3},\"stream\":true,"
     "\"think\":false}"},
    {"{ endpoint = 'ollama', messages = { { role = 'assistant', tool_calls = "
     "{ { id = 'c1', ['function'] = { name = 'f', arguments = '{\"a\":1}' } } "
     "} } } }",
     "/api/chat",
     "{\"messages\":[{\"content\":\"\",\"role\":\"assistant\",\"tool_calls\":[{"
     "\"function\":{\"arguments\":{\"a\":1},\"name\":\"f\"}}]}],\"model\":"
     "\"m\","
     "\"stream\":true}"},
    {"{ endpoint = 'ollama_generate', prompt = 'hi', response_format = { type "
     "= 'json_object' } }",
     "/api/generate",
     "{\"format\":\"json\",\"model\":\"m\",\"prompt\":\"hi\","
     "\"stream\":true}"},
    {"{ endpoint = 'embeddings', prompt = { 'a', 'b' }, dimensions = 8 }",
     "/v1/embeddings",
     "{\"dimensions\":8,\"input\":[\"a\",\"b\"],\"model\":\"m\"}"},
    {"{ endpoint = 'rerank', prompt = 'q', documents = { 'a', 'b' }, "
     "top_n = 1 }",
     "/v1/rerank",
     "{\"documents\":[\"a\",\"b\"],\"model\":\"m\",\"query\":\"q\","
     "\"top_n\":1}"},
    {"{ endpoint = 'chat', prompt = 'x', reasoning_effort = 'low' }",
     "/v1/chat/completions",
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"
     "\"reasoning_effort\":\"low\",\"stream\":true,\"stream_options\":"
     "{\"include_usage\":true}}"},
    {"{ endpoint = 'anthropic', messages = stoke.json.list { { role = "
     "'system', content = 's' }, { role = 'user', content = 'hi' } } }",
     "/v1/messages",
     "{\"max_tokens\":1024,\"messages\":[{\"content\":\"hi\","
     "\"role\":\"user\"}],\"model\":\"m\",\"stream\":true,"
     "\"system\":\"s\"}"},
    /* A path is known by its end; a ready body goes as it is. */
    {"{ endpoint = '/proxy/messages', prompt = 'hi', max_tokens = 1 }",
     "/proxy/messages",
     "{\"max_tokens\":1,\"messages\":[{\"content\":\"hi\",\"role\":\"user\"}],"
     "\"model\":\"m\",\"stream\":true}"},
    {"{ endpoint = 'anthropic', body = '{ }', extra = { a = 1 } }",
     "/v1/messages", "{\"a\":1}"},
    {"{ endpoint = 'responses', prompt = 'x', extra = { metadata = { k = 'v' "
     "}, stream = false } }",
     "/v1/responses",
     "{\"input\":\"x\",\"model\":\"m\",\"stream\":false,\"metadata\":{\"k\":"
     "\"v\"}}"},
};

static void bodies_of_every_kind(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[2048];
    struct box b;
    snprintf(text, sizeof text, REQUEST("%s"), bodies[i].table);
    b = box_open(text);
    assert_string_equal(box_body(&b, 1), bodies[i].body);
    assert_string_equal(buf_cstr(&b.request.path), bodies[i].path);
    box_close(&b);
  }
}

static void the_command_line_has_its_word(void **state)
{
  struct box b = box_open(REQUEST("{ prompt = 'x', max_tokens = 9 }"));
  struct vm_config c = {.workers = 1};
  (void)state;
  vm_free(b.vm);
  c.scenario = b.scenario;
  c.errors = b.errors;
  c.body = (struct body_defaults){.endpoint = "anthropic",
                                  .model = "big",
                                  .max_tokens = 3,
                                  .extra_body = "{\"metadata\":{\"u\":1}}"};
  b.vm = vm_new(&c, &b.err);
  assert_string_equal(box_body(&b, 1),
                      "{\"max_tokens\":3,\"messages\":[{\"content\":\"x\","
                      "\"role\":\"user\"}],\"model\":\"big\",\"stream\":false,"
                      "\"metadata\":{\"u\":1}}");
  assert_false(b.request.stream);
  assert_int_equal(b.request.max_tokens, 3);
  box_close(&b);
}

static void no_stream_where_there_is_none(void **state)
{
  struct box b = box_open(REQUEST("{ endpoint = 'embeddings', prompt = 'x' }"));
  (void)state;
  box_body(&b, 1);
  assert_false(b.request.stream);
  assert_ptr_equal(b.request.backend->dialect, wire_dialect_find("embeddings"));
  box_close(&b);
}

static void wrong_requests_are_told(void **state)
{
  static const struct {
    const char *table, *said;
  } rows[] = {
      {"{ endpoint = 'embeddings', prompt = 'x', max_tokens = 1 }",
       "endpoint 'embeddings' has no place for max_tokens"},
      {"{ endpoint = 'chatt', prompt = 'x' }", "did you mean chat?"},
      {"{ endpoint = 'anthropic', prompt = 'x', documents = {} }",
       "unknown field 'documents'"},
      {"{ prompt = 'x', documents = {} }", "unknown field 'documents'"},
      {"{ endpoint = 'anthropic', prompt = { 'x' } }",
       "prompt must be a string here"},
      {"{ endpoint = 'rerank', prompt = 'x' }", "rerank needs documents"},
      {"{ endpoint = 'anthropic', prompt = 'x', temperature = 'hot' }",
       "temperature must be a number"},
      {"{ endpoint = 'anthropic', prompt = 'x', messages = { {} } }",
       "give only one of prompt, messages or body"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    snprintf(text, sizeof text, REQUEST("%s"), rows[i].table);
    b = box_open(text);
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), rows[i].said);
    assert_has(vm_error(b.vm), "test.lua:1: ");
    box_close(&b);
  }
}

/* ---- a user's ---- */

static const char ten_lines[] =
    "return {\n"
    "  path = '/generate_stream',\n"
    "  headers = { ['x-team'] = 'blue' },\n"
    "  body = { prompt = 'inputs', max_tokens = 'parameters.max_new_tokens' "
    "},\n"
    "  dialect = {\n"
    "    stream = { { 'token.text', 'content' },\n"
    "               { 'details.generated_tokens', 'completion_tokens' } },\n"
    "    plain = { { 'generated_text', 'content' } },\n"
    "  },\n"
    "}\n";

static void ten_lines_in_a_folder(void **state)
{
  struct box b;
  const struct backend *tgi;
  (void)state;
  box_write("backends/tgi.lua", ten_lines);
  b = box_open(REQUEST("{ endpoint = 'tgi', prompt = 'x', max_tokens = 4 }"));
  assert_string_equal(
      box_body(&b, 1),
      "{\"inputs\":\"x\",\"parameters\":{\"max_new_tokens\":4}}");
  tgi = b.request.backend;
  assert_string_equal(tgi->name, "tgi");
  assert_string_equal(tgi->headers, "x-team: blue\n");
  assert_true(wire_dialect_has_payload(tgi->dialect));
  assert_ptr_equal(
      backends_of_path(&b.scenario->backends, STR("/x/generate_stream")), tgi);
  /* It is one of the scenario's files. */
  assert_int_equal(b.scenario->n_files, 2);
  assert_has(b.scenario->files[1].path, "backends/tgi.lua");
  box_close(&b);
  remove(box_write("backends/tgi.lua", ""));
}

static void a_function_and_fields_of_its_own(void **state)
{
  struct box b = box_open(
      "return { backends = { mine = { path = '/mine', fields = { 'prompt', "
      "'beams' }, key_header = 'x-key', stream = false, body = function(q) "
      "return { p = q.prompt, b = q.beams, s = q.stream, m = q.model } end } "
      "}, request = function() return { endpoint = 'mine', prompt = 'x', "
      "beams = 2 } end }");
  (void)state;
  assert_string_equal(box_body(&b, 1),
                      "{\"b\":2,\"m\":\"m\",\"p\":\"x\",\"s\":false}");
  assert_string_equal(b.request.backend->key_header, "x-key");
  assert_null(b.request.backend->dialect);
  box_close(&b);
}

static void mistakes_of_its_function(void **state)
{
  static const struct {
    const char *body, *said;
  } rows[] = {
      {"return 1", "the body of backend 'mine' is a number"},
      {"return { 1 }", "is a list"},
      {"return { f = print }", "body.f is a function"},
      {"return q.prompt.x.y", "test.lua:1: "},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512];
    struct box b;
    snprintf(text, sizeof text,
             "return { backends = { mine = { path = '/mine', body = "
             "function(q) %s end } }, request = function() return { endpoint "
             "= 'mine', prompt = 'x' } end }",
             rows[i].body);
    b = box_open(text);
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), rows[i].said);
    box_close(&b);
  }
}

#if defined(__SANITIZE_THREAD__)
#define WATCHED 0 /* tsan holds signals back until a call that may block */
#else
#define WATCHED 1
#endif

/* As long as a hook may, a body may take; not longer. */
static void a_body_that_does_not_return(void **state)
{
  struct watchdog *w = watchdog_new(100 * NS_PER_MS);
  struct box b = box_open(
      "return { backends = { mine = { path = '/mine', body = function() local "
      "x = 0 while true do x = x + 1 end end } }, request = function() return "
      "{ endpoint = 'mine', prompt = 'x' } end }");
  (void)state;
  vm_free(b.vm);
  b.vm = box_vm(&b, (struct vm_config){.watchdog = w});
  vm_start(b.vm, clock_ns());
  if (WATCHED) {
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), "did not return");
  }
  box_close(&b);
  watchdog_free(w);
}

/* All at once, each with its place. */
static void mistakes_when_loading(void **state)
{
  char *said;
  (void)state;
  box_write("backends/broken.lua", "return {");
  said = box_refused(
      "return { request = function() end, backends = { chat = {}, "
      "a = { pathh = '/x', path = 'x', body = 'chatt', stream = 1, "
      "headers = { ['a b'] = 'c' }, key_header = 7, "
      "dialect = { streams = {}, stream = { { 'a..b', 'content' }, "
      "{ 'a', 'contents' }, { 'a' } } } }, "
      "b = { path = '/x', body = { prompt = 'a..b' }, dialect = 'chatty' }, "
      "c = 1, d = { path = '/x' } } }");
  assert_has(said,
             "test.lua: backends.chat: there is a backend 'chat' already");
  assert_has(said, "backends.a: unknown field 'pathh'; did you mean path?");
  assert_has(said, "backends.a: path must be a string that begins with /");
  assert_has(said, "backends.a: body 'chatt': must be chat, completions");
  assert_has(said, "backends.a: stream must be true or false");
  assert_has(said, "backends.a: headers: 'a b' is not a header's name");
  assert_has(said, "backends.a: key_header must be a header's name");
  assert_has(said, "backends.a: dialect has the field 'streams'");
  assert_has(said, "backends.a: dialect: path \"a..b\": cannot be read");
  assert_has(said, "backends.a: dialect.stream[2]: there is no field "
                   "'contents'; did you mean content?");
  assert_has(said, "backends.a: dialect.stream[3] must be { \"path\"");
  assert_has(said, "backends.b: body.prompt must be a place in the body");
  assert_has(said, "backends.b: dialect 'chatty': must be chat");
  assert_has(said, "backends.c: a backend is a table, not a number");
  assert_has(said, "backends.d: body must be a function(request)");
  assert_has(said, "backends/broken.lua: ");
  mem_free(said);
  remove(box_write("backends/broken.lua", ""));
}

static void found_by_path(void **state)
{
  static const struct {
    const char *path, *name;
  } rows[] = {
      {"/v1/chat/completions", "chat"},
      {"/x/chat/completions?api-version=2", "chat"},
      {"/openai/completions", "completions"},
      {"/api/chat", "ollama"},
      {"/v2/rerank", "rerank"},
      {"/rerank", "rerank"},
      {"/v1/responses", "responses"},
      {"/tokenize", NULL},
  };
  struct box b = box_open(REQUEST("nil"));
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct backend *x =
        backends_of_endpoint(&b.scenario->backends, rows[i].path);
    if (rows[i].name)
      assert_string_equal(x->name, rows[i].name);
    else
      assert_null(x);
  }
  box_close(&b);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_of_every_kind),
      cmocka_unit_test(the_command_line_has_its_word),
      cmocka_unit_test(no_stream_where_there_is_none),
      cmocka_unit_test(wrong_requests_are_told),
      cmocka_unit_test(ten_lines_in_a_folder),
      cmocka_unit_test(a_function_and_fields_of_its_own),
      cmocka_unit_test(mistakes_of_its_function),
      cmocka_unit_test(a_body_that_does_not_return),
      cmocka_unit_test(mistakes_when_loading),
      cmocka_unit_test(found_by_path),
  };
  return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
