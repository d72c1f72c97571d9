#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "script/vm_impl.h"
#include "script_box.h"

/* ---- request(ctx) ---- */

static void a_prompt_becomes_a_chat_body(void **state)
{
  struct box b = box_open("return { request = function(ctx)\n"
                          "  return { prompt = 'n' .. ctx.id }\nend }");
  (void)state;
  assert_string_equal(
      box_body(&b, 7),
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"n7\"}],"
      "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
  assert_string_equal(buf_cstr(&b.request.path), "/v1/chat/completions");
  assert_string_equal(b.request.backend->name, "chat");
  assert_string_equal(buf_cstr(&b.request.model), "m");
  assert_true(b.request.stream);
  assert_int_equal(b.request.max_tokens, -1);
  box_close(&b);
}

static void every_field_of_the_table(void **state)
{
  struct box b = box_open(
      "return { request = function(ctx) return {\n"
      "  endpoint = 'completions', model = 'other', prompt = 'a\"b',\n"
      "  max_tokens = 5, min_tokens = 1, n = 2, temperature = 0.5, top_p = 1,\n"
      "  stop = { 'x' }, seed = 3, ignore_eos = true, stream = false,\n"
      "  tool_choice = 'none', tools = {},\n"
      "  extra = { b = { c = 1 }, a = stoke.json.null },\n"
      "  headers = { ['X-B'] = 1, ['x-a'] = 'v' },\n"
      "  timeout = 1.5, ttft_timeout = '250ms', idle_timeout = 2,\n"
      "  tags = { len = 'long', b = true }, slo = { ttft = 0.5, tpot = "
      "'50ms' },\n"
      "  cancel_after = { tokens = 32, seconds = 2 }, prompt_tokens = 9,\n"
      "  keep_body = true,\n"
      "} end }");
  (void)state;
  assert_string_equal(
      box_body(&b, 1),
      "{\"model\":\"other\",\"prompt\":\"a\\\"b\",\"max_tokens\":5,"
      "\"min_tokens\":1,\"n\":2,\"temperature\":0.5,\"top_p\":1,"
      "\"stop\":[\"x\"],\"seed\":3,\"tools\":[],\"tool_choice\":\"none\","
      "\"ignore_eos\":true,\"stream\":false,\"a\":null,\"b\":{\"c\":1}}");
  assert_string_equal(buf_cstr(&b.request.path), "/v1/completions");
  assert_string_equal(buf_cstr(&b.request.model), "other");
  assert_string_equal(buf_cstr(&b.request.headers), "X-B: 1\nx-a: v\n");
  assert_string_equal(buf_cstr(&b.request.tags), "b=true,len=long");
  assert_false(b.request.stream);
  assert_int_equal(b.request.choices, 2);
  assert_int_equal(b.request.max_tokens, 5);
  assert_int_equal(b.request.planned_prompt_tokens, 9);
  assert_int_equal(b.request.timeout_ns, 1500 * NS_PER_MS);
  assert_int_equal(b.request.ttft_timeout_ns, 250 * NS_PER_MS);
  assert_int_equal(b.request.idle_timeout_ns, 2 * NS_PER_SEC);
  assert_int_equal(b.request.slo_ttft_ns, 500 * NS_PER_MS);
  assert_int_equal(b.request.slo_tpot_ns, 50 * NS_PER_MS);
  assert_int_equal(b.request.slo_e2el_ns, 0);
  assert_int_equal(b.request.cancel_after_tokens, 32);
  assert_int_equal(b.request.cancel_after_ns, 2 * NS_PER_SEC);
  assert_true(b.request.keep_body);
  box_close(&b);
}

static void ready_bodies_go_as_they_are(void **state)
{
  static const struct {
    const char *table, *path, *api, *body;
  } rows[] = {
      {"{ body = '{ \"x\" : 1 }' }", "/v1/chat/completions", "chat",
       "{ \"x\" : 1 }"},
      {"{ body = { z = 1, a = { 1, 2 } }, endpoint = '/tokenize' }",
       "/tokenize", NULL, "{\"a\":[1,2],\"z\":1}"},
      {"{ body = '{\"a\":{\"b\":1}}', extra = { a = { c = 2 } } }",
       "/v1/chat/completions", "chat", "{\"a\":{\"b\":1,\"c\":2}}"},
      {"{ body = 'plain', endpoint = '/x/completions' }", "/x/completions",
       "completions", "plain"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    snprintf(text, sizeof text, "return { request = function() return %s end }",
             rows[i].table);
    b = box_open(text);
    assert_string_equal(box_body(&b, 1), rows[i].body);
    assert_string_equal(buf_cstr(&b.request.path), rows[i].path);
    if (rows[i].api)
      assert_string_equal(b.request.backend->name, rows[i].api);
    else
      assert_null(b.request.backend);
    box_close(&b);
  }
}

/* n decides how the answer's gaps are read, wherever it was said. */
static void b031_choices_are_known(void **state)
{
  static const struct {
    const char *table, *extra_body;
    unsigned choices;
  } rows[] = {
      {"{ prompt = 'a' }", NULL, 1},
      {"{ prompt = 'a', n = 3 }", NULL, 3},
      {"{ prompt = 'a', extra = { n = 2 } }", NULL, 2},
      {"{ body = { n = 4 } }", NULL, 4},
      {"{ prompt = 'a' }", "{\"n\":5}", 5},
      {"{ prompt = 'a', n = 3, extra = { n = 2 } }", "{\"n\":5}", 2},
      {"{ body = { x = 1 } }", "{\"n\":5}", 1},
      {"{ prompt = 'a' }", "{\"n\":\"x\"}", 1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    snprintf(text, sizeof text, "return { request = function() return %s end }",
             rows[i].table);
    b = box_open(text);
    vm_free(b.vm);
    b.vm = box_vm(&b, (struct vm_config){
                          .workers = 1, .body.extra_body = rows[i].extra_body});
    assert_int_equal(box_request(&b, 1), VM_OK);
    assert_int_equal(b.request.choices, rows[i].choices);
    box_close(&b);
  }
}

static void mistakes_in_the_table(void **state)
{
  static const struct {
    const char *value, *words;
  } rows[] = {
      {"'text'", "test.lua:1: request must return a table, or nil at the end, "
                 "not a string"},
      {"{ prompt = 'a', max_token = 5 }",
       "test.lua:1: request: unknown field 'max_token'; did you mean "
       "max_tokens"},
      {"{ prompt = 'a', chat_template_kwargs = {} }", "into extra"},
      {"{ prompt = 5 }", "prompt must be a string, not number"},
      {"{ prompt = 'a', max_tokens = '5' }", "max_tokens must be a number"},
      {"{ prompt = 'a', max_tokens = 5.5 }", "must be a whole number, not 5.5"},
      {"{ prompt = 'a', temperature = 0/0 }", "must be a finite number"},
      {"{ prompt = 'a', headers = 'X: y' }",
       "headers must be a table, not string"},
      {"{ prompt = 'a', headers = { 'X: y' } }", "must have names as keys"},
      {"{ prompt = 'a', headers = { ['a b'] = 'c' } }", "not a header name"},
      {"{ prompt = 'a', headers = { a = 'c\\nd: e' } }", "control character"},
      {"{ prompt = 'a', headers = { A = '1', a = '2' } }",
       "stands there twice"},
      {"{ prompt = 'a', headers = { ['transfer-encoding'] = 'chunked' } }",
       "leave Transfer-Encoding out"},
      {"{ prompt = 'a', headers = { ['Content-Length'] = 3 } }",
       "Content-Length is 3 but"},
      {"{ prompt = 'a', messages = {} }", "give only one of prompt"},
      {"{ max_tokens = 3 }", "give one of prompt"},
      {"{ messages = {} }", "messages is empty"},
      {"{ messages = { { role = 'user', content = print } } }",
       "messages[1].content is a function"},
      {"{ messages = { { role = 'user' }, 'x', y = 1 } }",
       "messages has both string keys and array items"},
      {"{ messages = { [1] = 'a', [3] = 'b' } }", "array with holes"},
      {"{ body = { { 1 } }, max_tokens = 1 }", "put max_tokens into it"},
      {"{ body = { x = 0/0 } }", "body.x is not a number"},
      {"{ prompt = 'a', extra = { 1 } }", "extra must have names as keys"},
      {"{ body = '[1]', extra = { a = 1 } }", "needs a body that is a JSON"},
      {"{ prompt = 'a', endpoint = 'chats' }", "did you mean chat"},
      {"{ messages = { 1 }, endpoint = 'completions' }", "take a prompt"},
      {"{ prompt = 'a', n = 0 }", "n must be from 1 to 1024"},
      {"{ prompt = 'a', timeout = -1 }", "timeout must be seconds"},
      {"{ prompt = 'a', slo = { ttfb = 1 } }", "slo has the field 'ttfb'"},
      {"{ prompt = 'a', slo = { ttft = 'soon' } }", "slo.ttft must be seconds"},
      {"{ prompt = 'a', cancel_after = { token = 1 } }", "it takes tokens or"},
      {"{ prompt = 'a', tags = { a = 'b,c' } }", "tags: 'b,c' must not"},
      {"{ prompt = 'a', tags = { a = {} } }", "tags.a must be a string"},
      {"{ prompt = 'a', stream = 1 }", "stream must be true or false"},
      {"{ prompt = 'a', [1] = 'b' }", "a key that is a number"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    snprintf(text, sizeof text, "return { request = function() return %s end }",
             rows[i].value);
    b = box_open(text);
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), rows[i].words);
    assert_has(vm_error(b.vm), "test.lua:1: ");
    box_close(&b);
  }
}

static void content_length_that_fits_is_dropped(void **state)
{
  struct box b = box_open("return { request = function() return { body = "
                          "'12345', headers = { ['Content-Length'] = 5 } } end "
                          "}");
  (void)state;
  box_body(&b, 1);
  assert_int_equal(b.request.headers.len, 0);
  box_close(&b);
}

static void nil_is_the_end(void **state)
{
  struct box b = box_open("return { request = function(ctx)\n"
                          "  if ctx.id > 2 then return nil end\n"
                          "  if ctx.id > 1 then return nil, 'why' end\n"
                          "  return { prompt = 'x' }\nend }");
  (void)state;
  assert_int_equal(box_request(&b, 1), VM_OK);
  assert_int_equal(box_request(&b, 2), VM_FAILED);
  assert_has(vm_error(b.vm), "test.lua:1: request: why");
  assert_int_equal(box_request(&b, 3), VM_END);
  box_close(&b);
}

/* ---- the same id sends the same thing ---- */

static const char random_text[] =
    "return { request = function(ctx)\n"
    "  local r = ctx.rng\n"
    "  return { prompt = table.concat({ r:words(3), r:int(1, 9), r:hex(8),\n"
    "    r:pick { 'a', 'b', 'c' }, r:weighted { x = 1, y = 2 },\n"
    "    r:weighted { 1, 1 }, math.random(1000), math.random(),\n"
    "    r:normal(5, 1), r:zipf(100, 1.1), r:gamma(2, 1), r:exp(1),\n"
    "    r:lognormal(1, 1), r:uniform(), tostring(r:bool(0.5)),\n"
    "    table.concat(r:shuffle { 1, 2, 3, 4, 5 }) }, ' ') }\nend }";

static void the_same_id_says_the_same_in_every_vm(void **state)
{
  struct box a = box_open(random_text), b = box_open(random_text);
  char *first, *again;
  (void)state;
  box_body(&a, 1);
  first = mem_strdup(box_body(&a, 42));
  again = mem_strdup(box_body(&b, 42));
  assert_string_equal(first, again);
  assert_string_not_equal(first, box_body(&b, 43));
  assert_string_equal(first, box_body(&b, 42));
  mem_free(first);
  mem_free(again);
  box_close(&a);
  box_close(&b);
}

static void b165_warm_up_draws_from_a_stream_of_its_own(void **state)
{
  struct box b = box_open(random_text);
  struct vm_item item = {.id = 42, .phase = PHASE_WARMUP};
  char *measured = mem_strdup(box_body(&b, 42));
  (void)state;
  assert_int_equal(vm_request(b.vm, &item, &b.request), VM_OK);
  assert_string_not_equal(measured, buf_cstr(&b.request.body));
  mem_free(measured);
  box_close(&b);
}

/* The list of words and the streams are part of what a seed means. */
static void the_meaning_of_a_seed_does_not_change(void **state)
{
  struct box b = box_open("return { request = function(ctx)\n"
                          "  return { body = ctx.rng:words(4) .. ' ' ..\n"
                          "    ctx.rng:int(1, 1000) }\nend }");
  (void)state;
  assert_string_equal(box_body(&b, 1), "soon property boy article 764");
  box_close(&b);
}

/* ---- ctx ---- */

static void context_has_what_the_run_gives(void **state)
{
  const char *path = box_write(
      "test.lua",
      "return { params = { turns = { default = 6 }, mode = { default = 'x' } "
      "},\n"
      "  setup = function(run)\n"
      "    assert(run.params.turns == 7 and run.args[2] == '--b')\n"
      "    return { list = { 1, 2.5, 'a\\0b', { deep = true } }, [3] = 'z' }\n"
      "  end,\n"
      "  request = function(ctx)\n"
      "    local d = ctx.data\n"
      "    assert(d.list[2] == 2.5 and d.list[3] == 'a\\0b')\n"
      "    assert(d.list[4].deep == true and d[3] == 'z')\n"
      "    assert(ctx.now() >= 0 and ctx.stage == 'ramp')\n"
      "    return { prompt = ctx.params.turns .. ctx.args[1] .. #ctx.args }\n"
      "  end }");
  const char *params[] = {"turns=7"}, *args[] = {"a", "--b"};
  struct scenario_options o = {
      .name = path, .params = params, .n_params = 1, .args = args, .n_args = 2};
  struct box b = {.errors = script_errors_new()};
  struct vm_item item = {.id = 1, .phase = PHASE_MEASURE, .stage = "ramp"};
  struct vm *main_vm;
  struct buf data = {0};
  (void)state;
  b.scenario = scenario_open(&o, &b.err);
  assert_non_null(b.scenario);
  main_vm = box_vm(&b, (struct vm_config){.main = true});
  assert_int_equal(vm_setup(main_vm, &data, &b.err), 0);
  b.vm = box_vm(&b, (struct vm_config){.data = buf_str(&data)});
  vm_start(b.vm, clock_ns());
  assert_int_equal(vm_request(b.vm, &item, &b.request), VM_OK);
  assert_has(buf_cstr(&b.request.body), "\"7a2\"");
  buf_free(&data);
  vm_free(main_vm);
  box_close(&b);
}

static void setup_returns_plain_data_only(void **state)
{
  static const struct {
    const char *result, *words;
  } rows[] = {
      {"{ a = { { f = print } } }", "setup's result.a[1].f is a function"},
      {"coroutine.create(print)", "setup's result is a thread"},
      {"(function() local t = {} t.t = t return t end)()", "holds itself"},
      {"error('no')", "setup failed: "},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    struct buf data = {0};
    snprintf(text, sizeof text,
             "return { request = function() end,\nsetup = function() return %s "
             "end }",
             rows[i].result);
    b = box_open(text);
    assert_int_equal(vm_setup(b.vm, &data, &b.err), -1);
    assert_has(err_text(&b.err), rows[i].words);
    assert_has(err_text(&b.err), "test.lua:2: ");
    assert_int_equal(script_errors_total(b.errors), 0);
    buf_free(&data);
    box_close(&b);
  }
}

/* ---- on_response ---- */

static struct record a_record(void)
{
  return (struct record){.id = 3,
                         .due_ns = 1 * NS_PER_SEC,
                         .sent_ns = 2 * NS_PER_SEC,
                         .connected_ns = 2 * NS_PER_SEC + NS_PER_MS,
                         .first_byte_ns = 3 * NS_PER_SEC,
                         .first_token_ns = 4 * NS_PER_SEC,
                         .first_answer_ns = 4 * NS_PER_SEC,
                         .last_token_ns = 6 * NS_PER_SEC,
                         .done_ns = 7 * NS_PER_SEC,
                         .status = 200,
                         .streamed = true,
                         .attempts = 1,
                         .chunks = 5,
                         .tokens = 5,
                         .prompt_tokens = 9,
                         .cached_tokens = -1,
                         .reasoning_tokens = -1,
                         .token_source = TOKENS_USAGE,
                         .finish_reason = "stop"};
}

static enum vm_result respond(struct box *b, const struct record *record,
                              const struct wire_result *wire, struct verdict *v)
{
  struct vm_item item = {.id = 3, .phase = PHASE_MEASURE};
  struct response r = {.record = record,
                       .wire = wire,
                       .headers = STR("x-a: 1\nX-Two: a\nx-a: 2\n")};
  return vm_on_response(b->vm, &item, &r, v);
}

static void a_response_shows_everything(void **state)
{
  struct box b = box_open(
      "return { request = function() end, on_response = function(r)\n"
      "  assert(r.ok and r.outcome == 'ok' and r.status == 200 and r.id == 3)\n"
      "  assert(r.error == nil and r.error_type == nil)\n"
      "  assert(r.text == '{\"a\":[]}' and r.reasoning == 'hm')\n"
      "  assert(#r:json().a == 0)\n"
      "  assert(r.body == nil and r.finish_reason == 'stop')\n"
      "  local c = r.tool_calls\n"
      "  assert(#c == 1 and c[1].id == 'i' and c[1].name == 'f')\n"
      "  assert(c[1].arguments == '{}')\n"
      "  assert(r.usage.prompt_tokens == 9 and r.usage.completion_tokens == "
      "5)\n"
      "  assert(r.usage.cached_tokens == 4 and r.usage.reasoning_tokens == "
      "nil)\n"
      "  assert(r.tokens == 5 and r.token_source == 'usage' and r.chunks == "
      "5)\n"
      "  assert(r.attempts == 1 and r.headers['x-a'] == '1, 2')\n"
      "  assert(r.queue == 1 and r.connect == 0.001 and r.ttfb == 1)\n"
      "  assert(r.ttft == 2 and r.tpot == 0.5 and r.e2el == 4)\n"
      "  local ok, e = pcall(function() return r.textt end)\n"
      "  assert(not ok and e:find(\"no field 'textt'\"))\n"
      "  kept = r\n"
      "end }");
  struct record record = a_record();
  struct wire_tool_call call = {0};
  struct wire_result wire = {.usage = {9, 5, 4, -1},
                             .text = STR("{\"a\":[]}"),
                             .reasoning = STR("hm"),
                             .tool_calls = &call,
                             .n_tool_calls = 1};
  struct verdict v = {0};
  (void)state;
  buf_adds(&call.id, "i");
  buf_adds(&call.name, "f");
  buf_adds(&call.arguments, "{}");
  if (respond(&b, &record, &wire, &v) != VM_OK)
    fail_msg("%s", vm_error(b.vm));
  assert_false(v.failed);
  buf_free(&call.id);
  buf_free(&call.name);
  buf_free(&call.arguments);
  box_close(&b);
}

static void a_response_is_gone_after_its_hook(void **state)
{
  struct box b = box_open("local kept\n"
                          "return { on_response = function(r)\n"
                          "  if kept then return false, kept.text end\n"
                          "  kept = r\nend,\n"
                          "request = function() return kept.text end }");
  struct record record = a_record();
  struct verdict v = {0};
  (void)state;
  assert_int_equal(respond(&b, &record, NULL, &v), VM_OK);
  assert_int_equal(box_request(&b, 1), VM_FAILED);
  assert_has(vm_error(b.vm), "test.lua:6: this response is gone");
  box_close(&b);
}

static void b160_what_on_response_may_return(void **state)
{
  static const struct {
    const char *returns;
    enum vm_result result;
    bool failed;
    const char *words;
  } rows[] = {
      {"", VM_OK, false, NULL},
      {"return nil", VM_OK, false, NULL},
      {"return true", VM_OK, false, NULL},
      {"return false, 'x'", VM_OK, true, "x"},
      {"return false", VM_OK, true, "on_response returned false"},
      {"return 42", VM_FAILED, false,
       "test.lua:2: on_response returned a "
       "number"},
      {"return false, {}", VM_FAILED, false, "must be a string"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    struct record record = a_record();
    struct verdict v = {0};
    snprintf(text, sizeof text,
             "return { request = function() end,\non_response = function(r) %s "
             "end }",
             rows[i].returns);
    b = box_open(text);
    assert_int_equal(respond(&b, &record, NULL, &v), rows[i].result);
    assert_int_equal(v.failed, rows[i].failed);
    if (rows[i].result == VM_FAILED)
      assert_has(vm_error(b.vm), rows[i].words);
    else if (rows[i].failed)
      assert_string_equal(buf_cstr(&v.reason), rows[i].words);
    buf_free(&v.reason);
    box_close(&b);
  }
}

/* ---- summary ---- */

static void summary_returns_a_table_or_text(void **state)
{
  static const struct {
    const char *body, *custom, *text, *error;
  } rows[] = {
      {"return { x = r.completed / 2, s = r.sessions.done }",
       "{\"s\":3,\"x\":5}", "", NULL},
      {"return 'ttft ' .. tostring(r.mean_ttft_ms)", "", "ttft nil", NULL},
      {"", "", "", NULL},
      {"return 5", "", "", "summary returned a number"},
      {"return { 1 }", "", "", "summary returned a list"},
      {"return { f = print }", "", "", "result.f is a function"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    struct buf custom = {0}, words = {0};
    enum vm_result result;
    snprintf(text, sizeof text,
             "return { request = function() end, summary = function(r) %s end "
             "}",
             rows[i].body);
    b = box_open(text);
    result = vm_summary(b.vm,
                        STR("{\"completed\":10,\"mean_ttft_ms\":null,"
                            "\"stoke\":{\"sessions\":{\"done\":3}}}"),
                        &custom, &words);
    assert_int_equal(result, rows[i].error ? VM_FAILED : VM_OK);
    if (rows[i].error) {
      assert_has(vm_error(b.vm), rows[i].error);
    } else {
      assert_string_equal(buf_cstr(&custom), rows[i].custom);
      assert_string_equal(buf_cstr(&words), rows[i].text);
    }
    buf_free(&custom);
    buf_free(&words);
    box_close(&b);
  }
}

/* ---- errors ---- */

static void b142_an_error_has_a_place_and_a_traceback(void **state)
{
  struct box b = box_open("local function inner()\n"
                          "  local s = ('%d'):format(nil)\n  return s\nend\n"
                          "return { request = function()\n"
                          "  local x = inner()\n  return x\nend }");
  (void)state;
  for (int i = 0; i < 5; i++)
    assert_int_equal(box_request(&b, 1), VM_FAILED);
  assert_has(vm_error(b.vm), "test.lua:2: bad argument #1 to 'format'");
  assert_int_equal(script_errors_total(b.errors), 5);
  assert_has(buf_cstr(&b.vm->traceback), "test.lua:6");
  assert_null(strstr(buf_cstr(&b.vm->traceback), " 0x")); /* [C]: at 0x7f… */
  assert_false(script_errors_add(b.errors, "request", vm_error(b.vm)));
  box_close(&b);
}

static void errors_that_are_no_strings(void **state)
{
  static const struct {
    const char *raise, *words;
  } rows[] = {
      {"error({})", "test.lua:1: (an error that is a table)"},
      {"error(nil)", "test.lua:1: (an error that is a nil)"},
      {"error(setmetatable({}, { __tostring = function() return 'me' end }))",
       "test.lua:1: me"},
      {"error('no place', 0)", "test.lua:1: no place"},
      {"error(setmetatable({}, { __tostring = error }))", "test.lua:1: "},
      {"error(42)", "42"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[256];
    struct box b;
    snprintf(text, sizeof text, "return { request = function() %s end }",
             rows[i].raise);
    b = box_open(text);
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), rows[i].words);
    box_close(&b);
  }
}

static void the_script_may_ask_for_the_end(void **state)
{
  struct box b = box_open("return { request = function(ctx)\n"
                          "  if ctx.id == 1 then stoke.stop('had enough') end\n"
                          "  return { prompt = 'x' }\nend }");
  (void)state;
  assert_null(vm_stop_reason(b.vm));
  assert_int_equal(box_request(&b, 1), VM_OK);
  assert_string_equal(vm_stop_reason(b.vm), "had enough");
  box_close(&b);
  b = box_open("return { request = function() pcall(os.exit, 3) end }");
  assert_int_equal(box_request(&b, 1), VM_END);
  assert_has(vm_stop_reason(b.vm), "os.exit was called");
  box_close(&b);
}

/* ---- memory and time ---- */

static struct box open_small(const char *text)
{
  struct box b = box_open(text);
  vm_free(b.vm);
  b.scenario->memory = (size_t)32 << 20;
  b.vm = box_vm(&b, (struct vm_config){.workers = 1});
  return b;
}

static void b155_a_table_that_grows_ends_in_an_error(void **state)
{
  struct box b =
      open_small("return { request = function(ctx)\n  local t = {}\n"
                 "  while ctx.id == 1 do t[#t + 1] = { #t, tostring(#t) } end\n"
                 "  return { prompt = 'still here' }\nend }");
  struct vm_stats s;
  (void)state;
  assert_int_equal(box_request(&b, 1), VM_FAILED);
  assert_has(vm_error(b.vm),
             "test.lua:3: not enough memory (the cap is 32 MiB");
  s = vm_stats(b.vm);
  assert_true(s.memory_peak <= (size_t)40 << 20);
  assert_true(s.memory_peak > (size_t)24 << 20);
  assert_has(box_body(&b, 2), "still here");
  box_close(&b);
}

/* Garbage alone never does. */
static void garbage_is_collected_in_time(void **state)
{
  struct box b =
      open_small("local keep = {}\n"
                 "for i = 1, 100000 do keep[i] = { i } end\n"
                 "return { request = function(ctx)\n"
                 "  for i = 1, 1e6 do local t = { i, i .. 'x' } end\n"
                 "  return { prompt = 'x' }\nend }");
  (void)state;
  for (uint64_t id = 1; id < 10; id++)
    box_body(&b, id);
  box_close(&b);
}

/* What asks for far more than there is at once: the state is given up. */
static void one_giant_step_ends_the_vm(void **state)
{
  static const char *const rows[] = {
      "local s = 'x' while true do s = s .. s end",
      "local s = ('x'):rep(1e6) s:gsub('', s)",
      "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end "
      "table.concat(t)",
      "local t = {} while true do t[#t + 1] = 1 end",
      "for i = 1, 300 do local s = ('x'):rep(1e5):rep(i < 290 and 1 or 1e3) "
      "end",
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct box b;
    char text[256];
    snprintf(text, sizeof text,
             "return { request = function()\n%s\nreturn { prompt = 'x' } end }",
             rows[i]);
    b = open_small(text);
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), "not enough memory (the cap is 32 MiB");
    assert_has(vm_error(b.vm), "test.lua:");
    if (vm_dead(b.vm))
      assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_int_equal(script_errors_gave_up(b.errors), vm_dead(b.vm));
    box_close(&b);
  }
}

static void b157_time_in_hooks_is_told(void **state)
{
  struct box b =
      box_open("return { request = function(ctx)\n"
               "  local t = os.clock()\n"
               "  while ctx.id == 2 and os.clock() - t < 0.02 do end\n"
               "  return { prompt = 'x' }\nend }");
  struct vm_stats s;
  (void)state;
  box_body(&b, 1);
  box_body(&b, 2);
  s = vm_stats(b.vm);
  assert_int_equal(s.calls, 2);
  assert_true(s.slow >= 1);
  assert_true(s.worst_ns >= 19 * NS_PER_MS && s.total_ns >= s.worst_ns);
  assert_has(s.worst_place, "test.lua:1 (request)");
  box_close(&b);
}

static void idle_collection_goes_in_steps(void **state)
{
  struct box b = box_open("return { request = function(ctx)\n"
                          "  local t = {}\n"
                          "  for i = 1, 20000 do t[i] = { i } end\n"
                          "  return { prompt = 'x' }\nend }");
  size_t before;
  int calls = 0;
  (void)state;
  for (int i = 1; i < 20 && vm_stats(b.vm).memory < 3 << 20; i++)
    box_body(&b, 1);
  before = vm_stats(b.vm).memory;
  while (vm_gc(b.vm, 100 * NS_PER_US) && calls < 100000)
    calls++;
  assert_true(vm_stats(b.vm).memory < before);
  assert_true(vm_stats(b.vm).gc_ns > 0);
  assert_false(vm_gc(b.vm, NS_PER_MS));
  box_close(&b);
}

#if defined(__SANITIZE_THREAD__)
#define WATCHED 0 /* tsan holds signals back until a call that may block */
#else
#define WATCHED 1
#endif

/* Hooks that do not return: a loop in the interpreter, compiled ones, one
 * inside pcall, and time spent in C, where no debug hook runs. */
static void the_watchdog_ends_what_does_not_return(void **state)
{
  static const struct {
    const char *body;
    bool dead;
  } rows[] = {
      {"jit.off(true, true) while true do end", false},
      {"while true do pcall(error) end", false},
      {"local x = 0 while true do x = x + 1 end", true},
      {"while true do end", true},
      {"local s = ('a'):rep(40) s:find(('a?'):rep(40) .. ('a'):rep(40))", true},
      {"local t = {} while true do t = { t[1] } end", true},
  };
  struct watchdog *w = watchdog_new(100 * NS_PER_MS);
  (void)state;
  for (size_t i = 0; WATCHED && i < sizeof rows / sizeof *rows; i++) {
    struct box b;
    char text[256];
    uint64_t start;
    snprintf(text, sizeof text,
             "return { request = function()\n%s\nreturn { prompt = 'x' } end }",
             rows[i].body);
    b = box_open(text);
    vm_free(b.vm);
    b.vm = box_vm(&b, (struct vm_config){.watchdog = w});
    vm_start(b.vm, clock_ns());
    start = clock_ns();
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_true(clock_ns() - start >= 100 * NS_PER_MS);
    assert_has(vm_error(b.vm), "did not return");
    if (vm_dead(b.vm))
      assert_int_equal(box_request(&b, 1), VM_FAILED);
    else
      assert_false(rows[i].dead);
    box_close(&b);
  }
  watchdog_free(w);
}

/* What a worker's VM computes as it is made: load(params), a second time. */
static void the_watchdog_sees_a_vm_that_is_made(void **state)
{
  struct watchdog *w = watchdog_new(NS_PER_MS);
  struct box b = box_open("return { load = function() local stoke = "
                          "require 'stoke' while stoke.worker == 2 do end "
                          "return {} end, request = function() end }");
  (void)state;
  vm_free(b.vm);
  b.vm = NULL;
  if (WATCHED)
    b.vm = box_vm(&b,
                  (struct vm_config){.watchdog = w, .worker = 1, .workers = 2});
  assert_null(b.vm);
  if (WATCHED)
    assert_has(err_text(&b.err), "did not return");
  box_close(&b);
  watchdog_free(w);
}

#if defined(__SANITIZE_ADDRESS__)
#define LEFT 0 /* what is left is never freed, and it would say so */
#else
#define LEFT WATCHED
#endif

/* Called without end until the watchdog jumps out of it, or out of the loop:
 * whoever calls it next must not wait for a lock that was left behind. */
static void what_is_left_holds_no_lock(void **state)
{
  static const char *const calls[] = {
      "os.time { year = 2020, month = 1, day = 1 }",
      "os.date('*t')",
      "os.date('%c %Z')",
      "stoke.read('test.lua')",
      "stoke.lines('test.lua')",
      "stoke.read('../nothing')",
      "stoke.json.encode { a = { 1, 'x' }, b = ('y'):rep(99) }",
      "stoke.json.decode('{\"a\":[1,{\"b\":\"c\"}]}')",
      "stoke.json.list():add { 1 }",
      "stoke.base64(('x'):rep(999))",
      "stoke.hex(stoke.hmac('k', 'x'))",
      "pcall(stoke.dist, 'nonsense(')",
      "stoke.dist('lognormal(1, 2)'):sample(ctx.rng)",
      "stoke.noise_image(64, 64):url(ctx.rng)",
      "ctx.rng:words(50)",
      "stoke.data.open('test.lua', { format = 'lines' }):row(1)",
      "pcall(require, 'nothing.at.all')",
      "load('return 1')",
  };
  struct watchdog *w = watchdog_new(50 * NS_PER_MS);
  (void)state;
  alarm(300); /* instead of hanging for ever */
  for (size_t i = 0; LEFT && i < sizeof calls / sizeof *calls; i++) {
    struct box b;
    char text[256];
    snprintf(text, sizeof text,
             "return { request = function(ctx)\n"
             "repeat local x = %s until ctx.id == 2\n"
             "return { prompt = 'x' } end }",
             calls[i]);
    b = box_open(text);
    vm_free(b.vm);
    b.vm = box_vm(&b, (struct vm_config){.watchdog = w});
    vm_start(b.vm, clock_ns());
    assert_int_equal(box_request(&b, 1), VM_FAILED);
    assert_has(vm_error(b.vm), "did not return");
    vm_free(b.vm);
    b.vm = box_vm(&b, (struct vm_config){0});
    vm_start(b.vm, clock_ns());
    if (box_request(&b, 2) != VM_OK)
      fail_msg("%s: %s", calls[i], vm_error(b.vm));
    box_close(&b);
  }
  alarm(0);
  watchdog_free(w);
}

/* A guard that stayed up would keep the watchdog from a later hang. */
static int raise_behind_a_guard(lua_State *L)
{
  vm_guard(vm_of(L));
  return vm_hook_error(L, "no");
}

static int catch_it(lua_State *L)
{
  lua_pushcfunction(L, raise_behind_a_guard);
  *(int *)vm_ud(L) = lua_pcall(L, 0, 0, 0);
  assert_int_equal(vm_of(L)->guard, 0);
  return 0;
}

static void an_error_takes_its_guard_down(void **state)
{
  struct box b = box_open("return { request = print }");
  int status = 0;
  (void)state;
  assert_int_equal(vm_call(b.vm, HOOK_REQUEST, catch_it, &status), VM_OK);
  assert_int_equal(status, LUA_ERRRUN);
  box_close(&b);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAPPED_BY_US 0 /* sanitizers map as they like */
#else
#define MAPPED_BY_US 1
#endif

/* Bytes of address space. */
static size_t mapped(void)
{
  FILE *f = fopen("/proc/self/statm", "r");
  size_t pages = 0;
  assert_non_null(f);
  assert_int_equal(fscanf(f, "%zu", &pages), 1);
  fclose(f);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* With what has to be told to the VM when it is collected. */
static void a_vm_that_ends_gives_its_memory_back(void **state)
{
  static const char text[] =
      "local rows, held = {}, {}\n"
      "for i = 1, 20000 do rows[i] = { i, 'row ' .. i } end\n"
      "for i = 1, 50 do held[i] = stoke.json.list({ i, 'x' }) end\n"
      "held.image = stoke.noise_image(64, 64)\n"
      "return { request = function() return { prompt = rows[1][2] } end }";
  size_t before = 0;
  (void)state;
  for (int i = 0; i < 40; i++) {
    struct box b = box_open(text);
    box_close(&b);
    if (i == 9)
      before = mapped();
  }
  if (MAPPED_BY_US)
    assert_true(mapped() < before + (20 << 20));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_prompt_becomes_a_chat_body),
      cmocka_unit_test(every_field_of_the_table),
      cmocka_unit_test(ready_bodies_go_as_they_are),
      cmocka_unit_test(b031_choices_are_known),
      cmocka_unit_test(mistakes_in_the_table),
      cmocka_unit_test(content_length_that_fits_is_dropped),
      cmocka_unit_test(nil_is_the_end),
      cmocka_unit_test(the_same_id_says_the_same_in_every_vm),
      cmocka_unit_test(b165_warm_up_draws_from_a_stream_of_its_own),
      cmocka_unit_test(the_meaning_of_a_seed_does_not_change),
      cmocka_unit_test(context_has_what_the_run_gives),
      cmocka_unit_test(setup_returns_plain_data_only),
      cmocka_unit_test(a_response_shows_everything),
      cmocka_unit_test(a_response_is_gone_after_its_hook),
      cmocka_unit_test(b160_what_on_response_may_return),
      cmocka_unit_test(summary_returns_a_table_or_text),
      cmocka_unit_test(b142_an_error_has_a_place_and_a_traceback),
      cmocka_unit_test(errors_that_are_no_strings),
      cmocka_unit_test(the_script_may_ask_for_the_end),
      cmocka_unit_test(b155_a_table_that_grows_ends_in_an_error),
      cmocka_unit_test(garbage_is_collected_in_time),
      cmocka_unit_test(one_giant_step_ends_the_vm),
      cmocka_unit_test(b157_time_in_hooks_is_told),
      cmocka_unit_test(idle_collection_goes_in_steps),
      cmocka_unit_test(an_error_takes_its_guard_down),
      cmocka_unit_test(the_watchdog_ends_what_does_not_return),
      cmocka_unit_test(the_watchdog_sees_a_vm_that_is_made),
      cmocka_unit_test(what_is_left_holds_no_lock),
      cmocka_unit_test(a_vm_that_ends_gives_its_memory_back),
  };
  return cmocka_run_group_tests(tests, box_setup, box_teardown);
}
