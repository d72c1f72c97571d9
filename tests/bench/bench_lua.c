/* What scripts cost, without sockets, in ns a call on one core:
 *   body         a chat body with a prompt of 1 KB, in C alone
 *   body extra   the same with --extra-body merged into it
 *   empty        on_response(r) that does nothing
 *   fields       one that reads four fields
 *   prompt       request(ctx) with a prompt of 1 KB, to the finished body
 *   words        one that draws 200 words
 *   messages     one that builds six messages and a tool
 *   json         one that builds the whole body: the same, and options
 * CPU time, the best of many short rounds: other work on the machine does
 * not count.
 *
 *   bench_lua [CALLS]     a round (default 1000) */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "script/scenario.h"
#include "script/vm.h"

enum { ROUNDS = 200 };

static const char script[] =
    "local base = ('The quick brown fox jumps over the lazy dog. '):rep(22)\n"
    "local kinds = {\n"
    "  prompt = function(ctx) return { prompt = base .. ctx.id, max_tokens = "
    "64 } "
    "end,\n"
    "  words = function(ctx)\n"
    "    return { prompt = ctx.rng:words(200), max_tokens = 64 } end,\n"
    "  messages = function(ctx)\n"
    "    local m = { { role = 'system', content = base } }\n"
    "    for i = 1, 5 do m[#m + 1] = { role = 'user', content = 'turn ' .. i } "
    "end\n"
    "    return { messages = m, tools = { { type = 'function', ['function'] = "
    "{\n"
    "      name = 'f', parameters = { type = 'object', properties = {} } } } } "
    "}\n"
    "  end,\n"
    "}\n"
    "kinds.json = function(ctx)\n"
    "  local m = kinds.messages(ctx)\n"
    "  m.model, m.stream, m.temperature, m.max_tokens = 'm', true, 0.5, 64\n"
    "  m.stop = { 'a', 'b' }\n"
    "  return { body = m } end\n"
    "return { params = { kind = { default = 'prompt' } },\n"
    "  request = function(ctx) return kinds[ctx.params.kind](ctx) end,\n"
    "  on_response = function(r)\n"
    "    if r.id == 1 then return r.ok and r.status == 200 and r.tokens > 0\n"
    "      and r.ttft > 0 end end }\n";

struct bench {
  struct scenario *scenario;
  struct script_errors *errors;
  struct vm *vm;
  struct request request;
};

static struct bench open_bench(const char *path, const char *kind)
{
  struct bench b = {.errors = script_errors_new()};
  struct err e = {0};
  char setting[32];
  const char *params[] = {setting};
  struct scenario_options o = {.name = path, .params = params, .n_params = 1};
  snprintf(setting, sizeof setting, "kind=%s", kind);
  b.scenario = scenario_open(&o, &e);
  if (b.scenario) {
    struct vm_config c = {.scenario = b.scenario,
                          .errors = b.errors,
                          .body = {.model = "meta-llama/Llama-3.1-8B",
                                   .stream = true,
                                   .max_tokens = -1}};
    b.vm = vm_new(&c, &e);
  }
  if (!b.vm) {
    fputs(err_text(&e), stderr);
    exit(1);
  }
  return b;
}

static void close_bench(struct bench *b)
{
  vm_free(b->vm);
  scenario_free(b->scenario);
  script_errors_free(b->errors);
  request_free(&b->request);
}

static void show(const char *name, uint64_t best_ns, unsigned calls)
{
  printf("%-12s %8.0f ns\n", name, (double)best_ns / calls);
}

static void bench_requests(const char *path, const char *kind, unsigned calls)
{
  struct bench b = open_bench(path, kind);
  uint64_t best = UINT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t start = clock_thread_cpu_ns(), took;
    for (unsigned i = 1; i <= calls; i++) {
      struct vm_item item = {.id = i, .phase = PHASE_MEASURE};
      if (vm_request(b.vm, &item, &b.request) != VM_OK)
        exit(1);
    }
    took = clock_thread_cpu_ns() - start;
    best = took < best ? took : best;
  }
  show(kind, best, calls);
  close_bench(&b);
}

static void bench_responses(const char *path, const char *name, uint64_t id,
                            unsigned calls)
{
  struct bench b = open_bench(path, "prompt");
  struct record record = {.id = id,
                          .sent_ns = 1,
                          .first_token_ns = 2,
                          .streamed = true,
                          .status = 200,
                          .tokens = 5};
  struct response r = {.record = &record};
  struct vm_item item = {.id = id, .phase = PHASE_MEASURE};
  struct verdict v = {0};
  uint64_t best = UINT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t start = clock_thread_cpu_ns(), took;
    for (unsigned i = 0; i < calls; i++)
      if (vm_on_response(b.vm, &item, &r, &v) != VM_OK || v.failed)
        exit(1);
    took = clock_thread_cpu_ns() - start;
    best = took < best ? took : best;
  }
  show(name, best, calls);
  buf_free(&v.reason);
  close_bench(&b);
}

static void bench_body(const char *name, const char *extra, unsigned calls)
{
  struct body_defaults d = {.model = "meta-llama/Llama-3.1-8B",
                            .stream = true,
                            .max_tokens = -1,
                            .extra_body = extra};
  struct err e = {0};
  struct body *b = body_new(&d, &e);
  struct buf prompt = {0}, out = {0};
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 22; i++)
    buf_adds(&prompt, "The quick brown fox jumps over the lazy dog.\n ");
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t start = clock_thread_cpu_ns(), took;
    for (unsigned i = 0; i < calls; i++) {
      buf_reset(&out);
      body_start(b, "chat");
      body_prompt(b, buf_str(&prompt));
      body_integer(b, "max_tokens", 64);
      body_finish(b, &out);
    }
    took = clock_thread_cpu_ns() - start;
    best = took < best ? took : best;
  }
  show(name, best, calls);
  buf_free(&prompt);
  buf_free(&out);
  body_free(b);
}

int main(int argc, char **argv)
{
  unsigned calls = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
  char path[] = "/tmp/stoke-bench-XXXXXX.lua";
  int fd = mkstemps(path, 4);
  if (fd < 0 || write(fd, script, sizeof script - 1) < 0)
    return 1;
  bench_body("body", NULL, calls);
  bench_body("body extra", "{\"temperature\":0,\"top_k\":1}", calls);
  bench_responses(path, "empty", 2, calls);
  bench_responses(path, "fields", 1, calls);
  bench_requests(path, "prompt", calls);
  bench_requests(path, "words", calls);
  bench_requests(path, "messages", calls);
  bench_requests(path, "json", calls);
  close(fd);
  unlink(path);
  return 0;
}
