/* What decoding costs, a million events at a time, without sockets: events a
 * second of one core for
 *   memchr      looking for newlines and nothing else (the floor)
 *   sse         splitting events
 *   wire        splitting and reading them, with the prediction
 *   wire walk   the same where no event resembles the one before
 *   cjson       splitting, and cJSON for each event
 * over events as vLLM sends them, in reads of 16 KiB. Best of five rounds.
 *
 *   bench_wire [EVENTS_A_STREAM]     (default 1000) */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "net/sse.h"
#include "net/wire.h"

enum { READ = 16 << 10, ROUNDS = 5, TOTAL = 1000000 };

/* A stream of `n` token events; with `vary` each has another id, so that
 * nothing in front of the text can be predicted. */
static struct buf make_stream(unsigned n, bool vary)
{
  static const char *const words[] = {" the",         "ing", " of",
                                      " stream",      ",",   " \\\"quoted\\\"",
                                      " caf\xc3\xa9", "\\n"};
  struct buf b = {0};
  for (unsigned i = 0; i < n; i++)
    buf_addf(&b,
             "data: {\"id\":\"chatcmpl-%016x\",\"object\":"
             "\"chat.completion.chunk\",\"created\":1796050012,\"model\":"
             "\"meta-llama/Llama-3.1-8B\",\"choices\":[{\"index\":0,\"delta\":{"
             "\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":null,"
             "\"token_ids\":null}]}\n\n",
             vary ? i : 7, words[i % 8]);
  buf_adds(&b, "data: [DONE]\n\n");
  return b;
}

struct bench {
  struct buf stream;
  unsigned events; /* in it */
  uint64_t seen;
  struct wire *wire;
};

static int on_event(const struct sse_event *e, void *ud)
{
  struct bench *b = ud;
  b->seen += e->data.len > 6;
  return 0;
}

static int on_event_cjson(const struct sse_event *e, void *ud)
{
  struct bench *b = ud;
  json_value *v = json_parse(e->data, NULL);
  json_value *choice = json_first(json_get(v, "choices"));
  b->seen += json_text(json_get(json_get(choice, "delta"), "content")) != NULL;
  json_free(v);
  return 0;
}

static int on_payload(const struct wire_payload *p, void *ud)
{
  struct bench *b = ud;
  b->seen += p->text.len > 0;
  return 0;
}

static void run_memchr(struct bench *b)
{
  const char *p = b->stream.p, *end = p + b->stream.len;
  uint64_t lines = 0;
  while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
    lines++;
    p++;
  }
  b->seen += lines / 2 - 1;
}

static void feed_sse(struct bench *b, sse_event_cb *cb)
{
  struct sse s;
  sse_init(&s, 0, cb, b);
  for (size_t i = 0; i < b->stream.len; i += READ)
    sse_feed(&s, b->stream.p + i,
             b->stream.len - i < READ ? b->stream.len - i : READ);
  sse_deinit(&s);
}

static void run_sse(struct bench *b)
{
  feed_sse(b, on_event);
}

static void run_cjson(struct bench *b)
{
  feed_sse(b, on_event_cjson);
}

static void run_wire(struct bench *b)
{
  struct wire_config c = {.dialect = wire_dialect_find("chat")};
  wire_start(b->wire, &c, on_payload, b);
  wire_head(b->wire, 200, STR("text/event-stream"));
  for (size_t i = 0; i < b->stream.len; i += READ)
    wire_feed(b->wire, b->stream.p + i,
              b->stream.len - i < READ ? b->stream.len - i : READ);
  wire_end(b->wire, true);
}

static void measure(const char *name, void (*run)(struct bench *),
                    struct bench *b)
{
  double best = 0;
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t start = clock_thread_cpu_ns(), ns;
    b->seen = 0;
    while (b->seen < TOTAL)
      run(b);
    ns = clock_thread_cpu_ns() - start;
    if ((double)b->seen / ns_to_sec(ns) > best)
      best = (double)b->seen / ns_to_sec(ns);
  }
  printf("%-10s %8.2f M events/s  %6.1f ns/event  %5.2f GB/s\n", name,
         best / 1e6, 1e9 / best,
         best * (double)b->stream.len / b->events / 1e9);
}

int main(int argc, char **argv)
{
  unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
  struct bench same = {.events = n, .wire = wire_new()};
  struct bench vary = {.events = n, .wire = wire_new()};
  if (n == 0)
    return 2;
  same.stream = make_stream(n, false);
  vary.stream = make_stream(n, true);
  printf("%u events a stream, %.0f bytes each\n", n,
         (double)same.stream.len / n);
  measure("memchr", run_memchr, &same);
  measure("sse", run_sse, &same);
  measure("wire", run_wire, &same);
  measure("wire walk", run_wire, &vary);
  measure("cjson", run_cjson, &same);
  buf_free(&same.stream);
  buf_free(&vary.stream);
  wire_free(same.wire);
  wire_free(vary.wire);
  return 0;
}
