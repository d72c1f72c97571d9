#include "mock/plan.h"

#include "base/units.h"

void mock_plan_defaults(struct mock_plan *p)
{
  *p = (struct mock_plan){
      .ttft = {.mean = 50e6},
      .itl = {.mean = 10e6},
      .tokens = {.mean = 32},
      .chunk = 1,
      .reasoning_key = STR("reasoning_content"),
      .usage_tokens = -1,
      .prompt_tokens = -1,
      .cached_tokens = -1,
      .error_at = -1,
      .cut_at = -1,
      .cut_byte = -1,
      .stall_at = -1,
      .bad_json_at = -1,
      .blank_at = -1,
      .stall_ns = MOCK_NEVER,
      .early_role_ns = MOCK_NEVER,
      .ping_ns = MOCK_NEVER,
      .huge_bytes = -1,
      .split_at = -1,
  };
}

/* ---- arguments ---- */

static int set_count(int64_t *to, struct str s)
{
  int64_t x;
  if (units_integer(s, &x) < 0 || x < 0)
    return -1;
  *to = x;
  return 0;
}

/* A count that may be left out. */
static int opt_count(int64_t *to, struct str s, int64_t otherwise)
{
  *to = otherwise;
  return s.len ? set_count(to, s) : 0;
}

static int opt_time(uint64_t *to, struct str s, uint64_t otherwise)
{
  *to = otherwise;
  return s.len ? units_duration(s, to) : 0;
}

static int choose(struct str s, const char *const *names, int *to)
{
  for (int i = 0; names[i]; i++) {
    if (str_eq(s, str_of(names[i]))) {
      *to = i;
      return 0;
    }
  }
  return -1;
}

static int no_args(struct str args)
{
  return args.len ? -1 : 0;
}

/* ---- a function a kind: `a` is what follows the first colon ---- */

#define SETTER(name) static int set_##name(struct mock_plan *p, struct str a)
#define FLAG(name, field)                                                      \
  SETTER(name)                                                                 \
  {                                                                            \
    p->field = true;                                                           \
    return no_args(a);                                                         \
  }
#define COUNT(name, field)                                                     \
  SETTER(name)                                                                 \
  {                                                                            \
    return set_count(&p->field, a);                                            \
  }
/* A count or a time that may be left out. */
#define OPT_COUNT(name, field, otherwise)                                      \
  SETTER(name)                                                                 \
  {                                                                            \
    return opt_count(&p->field, a, otherwise);                                 \
  }
#define OPT_TIME(name, field, otherwise)                                       \
  SETTER(name)                                                                 \
  {                                                                            \
    return opt_time(&p->field, a, otherwise);                                  \
  }
#define INSTEAD(name, value)                                                   \
  SETTER(name)                                                                 \
  {                                                                            \
    p->instead = value;                                                        \
    return no_args(a);                                                         \
  }
/* One value of an enum. */
#define VALUE(name, field, value)                                              \
  SETTER(name)                                                                 \
  {                                                                            \
    p->field = value;                                                          \
    return no_args(a);                                                         \
  }

SETTER(ttft)
{
  return mock_dist_parse_time(a, &p->ttft);
}

SETTER(itl)
{
  return mock_dist_parse_time(a, &p->itl);
}

SETTER(tokens)
{
  p->tokens_set = true;
  return mock_dist_parse_count(a, &p->tokens);
}

SETTER(chunk)
{
  return set_count(&p->chunk, a) < 0 || p->chunk < 1 ? -1 : 0;
}

SETTER(text)
{
  static const char *const names[] = {"words",  "cjk",        "emoji",
                                      "spaces", "surrogates", NULL};
  int i;
  if (choose(a, names, &i) < 0)
    return -1;
  p->text = (enum mock_text)i;
  return 0;
}

SETTER(reasoning_key)
{
  p->reasoning_key = a;
  return a.len ? 0 : -1;
}

SETTER(cached_share)
{
  double x;
  if (units_number(a, &x) < 0 || !(x >= 0 && x <= 1))
    return -1;
  p->cached_share = x;
  return 0;
}

SETTER(status)
{
  struct str code = str_split(&a, ':');
  p->instead = MOCK_STATUS;
  p->retry_after = a;
  return set_count(&p->status, code) < 0 || p->status < 200 || p->status > 999
             ? -1
             : 0;
}

SETTER(redirect)
{
  struct str code = str_split(&a, ':');
  p->instead = MOCK_REDIRECT;
  p->location = a;
  return set_count(&p->status, code) < 0 || p->status < 300 ||
                 p->status > 399 || !a.len
             ? -1
             : 0;
}

SETTER(close_reused)
{
  p->instead = MOCK_CLOSE;
  p->only_reused = true;
  return no_args(a);
}

SETTER(rst_reused)
{
  p->instead = MOCK_RESET;
  p->only_reused = true;
  return no_args(a);
}

SETTER(content_type)
{
  p->content_type = a;
  return a.len ? 0 : -1;
}

SETTER(error)
{
  static const char *const names[] = {"object", "string", "flat",
                                      "named",  "vllm",   NULL};
  struct str at = str_split(&a, ':');
  int form = MOCK_ERROR_OBJECT;
  if (a.len && choose(a, names, &form) < 0)
    return -1;
  p->error_form = (enum mock_error_form)form;
  return opt_count(&p->error_at, at, 0);
}

static int cut_how(struct mock_plan *p, struct str how)
{
  p->cut_reset = str_eq(how, STR("rst"));
  return p->cut_reset || !how.len || str_eq(how, STR("fin")) ? 0 : -1;
}

SETTER(cut)
{
  struct str at = str_split(&a, ':');
  return opt_count(&p->cut_at, at, 0) < 0 ? -1 : cut_how(p, a);
}

SETTER(cut_bytes)
{
  struct str at = str_split(&a, ':');
  return set_count(&p->cut_byte, at) < 0 ? -1 : cut_how(p, a);
}

SETTER(stall)
{
  struct str at = str_split(&a, ':');
  return opt_count(&p->stall_at, at, 0) < 0
             ? -1
             : opt_time(&p->stall_ns, a, MOCK_NEVER);
}

SETTER(error_field)
{
  static const char *const names[] = {"null", "false", "empty", "object", NULL};
  static const struct str texts[] = {STR("null"), STR("false"), STR("\"\""),
                                     STR("{}")};
  int i;
  if (choose(a, names, &i) < 0)
    return -1;
  p->error_field = texts[i];
  return 0;
}

SETTER(split)
{
  struct str every = str_split(&a, ':');
  return opt_count(&p->split, every, 1) < 0 || p->split < 1
             ? -1
             : opt_time(&p->split_delay_ns, a, 0);
}

SETTER(split_at)
{
  struct str at = str_split(&a, ':');
  return set_count(&p->split_at, at) < 0
             ? -1
             : opt_time(&p->split_delay_ns, a, 50 * 1000000);
}

SETTER(huge)
{
  struct str bytes = str_split(&a, ':');
  p->huge_all = str_eq(a, STR("all"));
  return set_count(&p->huge_bytes, bytes) < 0 || (a.len && !p->huge_all) ? -1
                                                                         : 0;
}

FLAG(refusal, refusal)
FLAG(no_stream, no_stream)
FLAG(force_stream, force_stream)
FLAG(no_usage, no_usage)
FLAG(usage_each, usage_each)
FLAG(usage_always, usage_always)
FLAG(early_hints, early_hints)
FLAG(close_after, close_after)
FLAG(not_chunked, not_chunked)
FLAG(no_role, no_role)
FLAG(no_finish, no_finish)
FLAG(no_done, no_done)
FLAG(finish_apart, finish_apart)
FLAG(one_event, one_event)
FLAG(comments, comments)
FLAG(bom, bom)
FLAG(multi_line, multi_line)
FLAG(rising_index, rising_index)
COUNT(reasoning, reasoning)
COUNT(tool_calls, tool_calls)
COUNT(usage, usage_tokens)
COUNT(prompt, prompt_tokens)
COUNT(cached, cached_tokens)
OPT_COUNT(bad_json, bad_json_at, 0)
OPT_COUNT(blank, blank_at, 0)
OPT_COUNT(null_deltas, null_deltas, 1)
OPT_COUNT(empty_deltas, empty_deltas, 1)
OPT_TIME(slow_headers, slow_headers_ns, 1000000000)
OPT_TIME(early_role, early_role_ns, 0)
OPT_TIME(ping, ping_ns, 1000000000)
OPT_TIME(late_finish, late_finish_ns, 1000000000)
OPT_TIME(late_done, late_done_ns, 1000000000)
OPT_TIME(late_end, late_end_ns, 1000000000)
INSTEAD(json_error, MOCK_JSON_ERROR)
INSTEAD(html, MOCK_HTML)
INSTEAD(garbage, MOCK_GARBAGE)
INSTEAD(empty_body, MOCK_EMPTY_BODY)
INSTEAD(empty_stream, MOCK_EMPTY_STREAM)
INSTEAD(hang, MOCK_HANG)
INSTEAD(close, MOCK_CLOSE)
INSTEAD(rst, MOCK_RESET)
VALUE(crlf, line_end, MOCK_CRLF)
VALUE(cr, line_end, MOCK_CR)
VALUE(gzip, encoding, MOCK_GZIP)
VALUE(br, encoding, MOCK_BR)

/* ---- the list ---- */

static const struct kind {
  const char *name;
  const char *args; /* as they are written behind the name */
  const char *text;
  int (*set)(struct mock_plan *p, struct str args);
} kinds[] = {
    /* time and size */
    {"ttft", ":DIST", "time to the first token", set_ttft},
    {"itl", ":DIST", "gap between events", set_itl},
    {"tokens", ":DIST", "tokens of the answer (max_tokens still caps)",
     set_tokens},
    {"chunk", ":K", "tokens an event", set_chunk},
    /* shape */
    {"text", ":words|cjk|emoji|spaces|surrogates", "what the tokens say",
     set_text},
    {"reasoning", ":K", "the first K tokens are reasoning", set_reasoning},
    {"reasoning-key", ":NAME", "their key (reasoning_content, reasoning)",
     set_reasoning_key},
    {"tool-calls", ":K", "K interleaved tool calls instead of content",
     set_tool_calls},
    {"refusal", "", "refusal deltas instead of content", set_refusal},
    {"usage", ":N", "report N completion tokens", set_usage},
    {"prompt", ":N", "report N prompt tokens", set_prompt},
    {"cached", ":N", "report N cached prompt tokens", set_cached},
    {"cached-share", ":X", "the share of the prompt that is cached",
     set_cached_share},
    {"no-usage", "", "no usage, even when asked for", set_no_usage},
    {"usage-each", "", "usage so far in every event", set_usage_each},
    {"usage-always", "", "a usage event though nobody asked", set_usage_always},
    {"no-stream", "", "one JSON body, though a stream was asked for",
     set_no_stream},
    {"force-stream", "", "a stream, though none was asked for",
     set_force_stream},
    {"no-role", "", "no role event in front", set_no_role},
    {"early-role", "[:T]",
     "the role event T after the start, not with the "
     "first token",
     set_early_role},
    {"finish-apart", "", "finish_reason in an event of its own",
     set_finish_apart},
    {"one-event", "", "role, text and finish_reason in one event",
     set_one_event},
    {"rising-index", "", "choices[0].index counts the tokens (TGI)",
     set_rising_index},
    /* in place of an answer */
    {"status", ":CODE[:RETRY]",
     "an error status; RETRY: seconds or date+SEC "
     "for Retry-After",
     set_status},
    {"redirect", ":CODE:LOCATION", "a redirect", set_redirect},
    {"json-error", "", "200 with an error object", set_json_error},
    {"html", "", "200 with an HTML page", set_html},
    {"garbage", "", "bytes that are not HTTP", set_garbage},
    {"empty-body", "", "200 and no body", set_empty_body},
    {"empty-stream", "", "200 and only [DONE]", set_empty_stream},
    {"hang", "", "no byte at all", set_hang},
    {"close", "", "closed (FIN) before any byte", set_close},
    {"rst", "", "reset before any byte", set_rst},
    {"close-reused", "", "as close, but only on a kept connection",
     set_close_reused},
    {"rst-reused", "", "as rst, but only on a kept connection", set_rst_reused},
    /* in the stream; K counts tokens sent before it */
    {"error", "[:K[:object|string|flat|named|vllm]]",
     "an error event, then the end", set_error},
    {"cut", "[:K[:fin|rst]]", "the connection ends there", set_cut},
    {"cut-bytes", ":N[:fin|rst]", "the same after N bytes of the body",
     set_cut_bytes},
    {"stall", "[:K[:T]]", "silence of T, or for ever", set_stall},
    {"bad-json", "[:K]", "an event that is no JSON", set_bad_json},
    {"blank", "[:K]", "token K has empty text", set_blank},
    {"null-deltas", "[:N]", "N content:null events before the first token",
     set_null_deltas},
    {"empty-deltas", "[:N]", "N content:\"\" events before the first token",
     set_empty_deltas},
    {"error-field", ":null|false|empty|object",
     "a falsy \"error\" in each "
     "event",
     set_error_field},
    {"huge", ":BYTES[:all]", "the first token (or each) has so much text",
     set_huge},
    {"no-finish", "", "no finish_reason", set_no_finish},
    {"no-done", "", "no [DONE]", set_no_done},
    {"late-finish", "[:T]", "finish event T after the last token",
     set_late_finish},
    {"late-done", "[:T]", "[DONE] T late", set_late_done},
    {"late-end", "[:T]", "the body's end T after [DONE]", set_late_end},
    {"comments", "", "a comment line before each event", set_comments},
    {"ping", "[:T]", "a comment each T until the first token", set_ping},
    {"multi-line", "", "each event over two data lines", set_multi_line},
    {"bom", "", "a byte order mark in front", set_bom},
    {"crlf", "", "lines end in CR LF", set_crlf},
    {"cr", "", "lines end in CR", set_cr},
    /* on the wire */
    {"split", "[:N[:T]]",
     "each N bytes (1) a chunk and write of their own, T "
     "apart",
     set_split},
    {"split-at", ":N[:T]",
     "one such cut after N bytes of the body, T long "
     "(50ms)",
     set_split_at},
    {"content-type", ":TYPE", "another content type", set_content_type},
    {"slow-headers", "[:T]", "headers T late", set_slow_headers},
    {"early-hints", "", "a 103 answer in front", set_early_hints},
    {"not-chunked", "", "no framing: the body ends with the connection",
     set_not_chunked},
    {"close-after", "", "closed after the answer without saying so",
     set_close_after},
    {"gzip", "", "compressed, flushed at each event", set_gzip},
    {"br", "", "says content-encoding: br (and sends noise)", set_br},
};

#define KINDS (sizeof kinds / sizeof *kinds)

int mock_plan_set(struct mock_plan *p, struct str kind, struct str args,
                  bool *known)
{
  for (size_t i = 0; i < KINDS; i++) {
    if (str_ieq(kind, str_of(kinds[i].name))) {
      if (known)
        *known = true;
      return kinds[i].set(p, args);
    }
  }
  if (known)
    *known = false;
  return -1;
}

static const char *nearest(struct str kind)
{
  size_t best = 3;
  const char *name = NULL;
  for (size_t i = 0; i < KINDS; i++) {
    size_t d = str_distance(kind, str_of(kinds[i].name), best);
    if (d < best) {
      best = d;
      name = kinds[i].name;
    }
  }
  return name;
}

static const char *args_of(struct str kind)
{
  for (size_t i = 0; i < KINDS; i++)
    if (str_ieq(kind, str_of(kinds[i].name)))
      return kinds[i].args;
  return "";
}

static int apply_one(struct mock_plan *p, struct str spec, const char *place,
                     struct err *e)
{
  struct str args = spec, kind = str_split(&args, ':');
  bool known;
  const char *guess;
  if (mock_plan_set(p, kind, args, &known) == 0)
    return 0;
  if (known)
    return err_add(e, "%s: %.*s: bad argument; say %.*s%s", place,
                   STR_ARG(spec), STR_ARG(kind), args_of(kind));
  guess = nearest(kind);
  return err_add(e, "%s: no fault \"%.*s\"%s%s; stoke mock --help lists them",
                 place, STR_ARG(kind), guess ? ", did you mean " : "",
                 guess ? guess : "");
}

int mock_plan_apply(struct mock_plan *p, struct str specs, const char *place,
                    struct err *e)
{
  int status = 0;
  while (specs.len) {
    struct str one = str_trim(str_split(&specs, ','));
    if (one.len && apply_one(p, one, place, e) < 0)
      status = -1;
  }
  return status;
}

void mock_plan_help(struct buf *out)
{
  for (size_t i = 0; i < KINDS; i++) {
    size_t start = out->len, width;
    buf_addf(out, "  %s%s", kinds[i].name, kinds[i].args);
    width = out->len - start;
    if (width > 26)
      buf_addf(out, "\n%28s%s\n", "", kinds[i].text);
    else
      buf_addf(out, "%*s%s\n", (int)(28 - width), "", kinds[i].text);
  }
}
