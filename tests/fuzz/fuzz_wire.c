/* A whole answer, in one piece and in many: the verdict, the payloads and the
 * texts are the same, and what README.md promises holds. An input may begin
 * with an HTTP head, as the recordings do. */
#include "base/buf.h"
#include "base/json.h"
#include "fuzz.h"
#include "recording.h"
#include "wire_line.h"

struct wire_case {
  const char *dialect, *content_type;
  unsigned choices;
  int status;
  bool cut, raw;
};

static const char *const dialects[] = {"chat",      "completions", "responses",
                                       "anthropic", "ollama",      "embeddings",
                                       "rerank"};
static const char *const types[] = {"text/event-stream", "application/json",
                                    "application/x-ndjson", "text/html"};

/* Status and type of the head, which is dropped. */
static void use_head(struct wire_case *c, struct str *in, char type[96])
{
  ptrdiff_t end = str_find(*in, STR("\r\n\r\n"));
  struct str head = {in->p, end > 0 ? (size_t)end : 0};
  struct str value;
  if (!str_starts(*in, STR("HTTP/1.1 ")) || end < 12)
    return;
  c->status = (in->p[9] - '0') * 100 + (in->p[10] - '0') * 10 + in->p[11] - '0';
  value = recording_header(head, "content-type");
  snprintf(type, 96, "%.*s", (int)(value.len < 95 ? value.len : 95), value.p);
  c->content_type = type;
  *in = (struct str){in->p + end + 4, in->len - (size_t)end - 4};
}

static void check_result(const struct wire_result *r)
{
  struct buf again = {0};
  FUZZ_CHECK(r->outcome < OUTCOME_COUNT);
  FUZZ_CHECK(strlen(r->message) <= 300);
  FUZZ_CHECK(json_escape(&again, str_of(r->message)) == 0);
  FUZZ_CHECK(!strpbrk(r->message, "\n\r\t"));
  FUZZ_CHECK(r->usage.completion_tokens >= -1);
  FUZZ_CHECK(r->streamed || r->events == 0);
  FUZZ_CHECK(r->error_code == 0 ||
             (r->error_code >= 400 && r->error_code <= 599));
  buf_free(&again);
}

static int on_payload(const struct wire_payload *p, void *ud)
{
  FUZZ_CHECK(p->fields != 0);
  FUZZ_CHECK(p->choice >= 0 && p->choice < 4);
  return write_payload(p, ud);
}

static void run(struct wire *w, const struct wire_case *c, struct str in,
                uint32_t state, bool whole, struct buf *out)
{
  struct wire_config config = {.dialect = wire_dialect_find(c->dialect),
                               .choices = c->choices,
                               .keep_text = true,
                               .keep_tools = true,
                               .raw = c->raw,
                               .max_event = 4096,
                               .max_text = 16384};
  wire_start(w, &config, on_payload, out);
  wire_head(w, c->status, str_of(c->content_type));
  while (in.len) {
    size_t n = whole ? in.len : fuzz_piece(&state, in.len);
    char *copy = fuzz_copy(in.p, n);
    wire_feed(w, copy, n);
    free(copy);
    in = (struct str){in.p + n, in.len - n};
  }
  wire_end(w, !c->cut);
  check_result(wire_result(w));
  write_result(out, wire_result(w));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct str in = {(const char *)data, size};
  unsigned a = fuzz_take(&in), b = fuzz_take(&in);
  char type[96];
  struct wire_case c = {.dialect = dialects[a % 7],
                        .choices = b % 4,
                        .status = 200,
                        .content_type = types[a / 7 % 4],
                        .cut = b & 16,
                        .raw = (b & 224) == 224};
  struct buf one = {0}, many = {0};
  struct wire *w = wire_new();
  use_head(&c, &in, type);
  run(w, &c, in, a ^ b << 8, true, &one);
  run(w, &c, in, a ^ b << 8, false, &many);
  if (!str_eq(buf_str(&one), buf_str(&many))) {
    fprintf(stderr, "%s\n%s\n", buf_cstr(&one), buf_cstr(&many));
    abort();
  }
  wire_free(w);
  buf_free(&one);
  buf_free(&many);
  return 0;
}
