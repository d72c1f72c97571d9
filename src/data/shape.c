#include "data/shape.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"

enum {
  PROMPT = 1 << 0,
  MESSAGES = 1 << 1,
  CONVERSATIONS = 1 << 2,
  MESSAGE = 1 << 3, /* an element of `messages` */
  ROLE = 1 << 4,
  CONTENT = 1 << 5,
  CALL_ID = 1 << 6,
  CALLS = 1 << 7, /* what an answer may have instead of content */
  TIME = 1 << 8,
  INPUT = 1 << 9,
  OUTPUT = 1 << 10,
  HASHES = 1 << 11,
  HASH = 1 << 12,
  BODY = 1 << 13,
  URL = 1 << 14,
  ROOT = 1 << 15,
  REQUIRED = 1 << 16, /* and the seven bits above */
  DUE = 1 << 25,
  SAID = 1 << 24, /* an element of `conversations` */
  METHOD = 1 << 26,
  ANSWER = 1 << 27, /* `output_len` */
  MOST = 1 << 28,   /* `max_tokens` */
  PART = 1 << 29,   /* of a message's content */
  PHASE = 1 << 30,  /* of a line of --requests-out */
};

static const struct {
  const char *path;
  uint32_t tag;
} places[] = {
    {"prompt", PROMPT},
    {"messages", MESSAGES},
    {"messages[]", MESSAGE},
    {"messages[].role", ROLE},
    {"messages[].content", CONTENT},
    {"messages[].content[]", PART},
    {"messages[].tool_call_id", CALL_ID},
    {"messages[].tool_calls", CALLS},
    {"messages[].function_call", CALLS},
    {"messages[].refusal", CALLS},
    {"conversations", CONVERSATIONS},
    {"conversations[]", SAID},
    {"conversations[].from", ROLE},
    {"conversations[].role", ROLE},
    {"conversations[].value", CONTENT},
    {"conversations[].value[]", PART},
    {"conversations[].content", CONTENT},
    {"conversations[].content[]", PART},
    {"timestamp", TIME},
    {"input_length", INPUT},
    {"output_length", OUTPUT},
    {"due_s", DUE},
    {"phase", PHASE},
    {"prompt_tokens", INPUT},
    {"tokens", OUTPUT},
    {"hash_ids", HASHES},
    {"hash_ids[]", HASH},
    {"body", BODY},
    {"url", URL},
    {"method", METHOD},
    {"output_len", ANSWER},
    {"max_tokens", MOST},
};

/* Who speaks, in both spellings. */
enum role {
  ROLE_UNKNOWN,
  ROLE_SYSTEM,
  ROLE_USER,
  ROLE_ASSISTANT,
  ROLE_TOOL,
  ROLE_FUNCTION, /* a tool's answer before there were ids */
};

static const struct {
  const char *name;
  enum role role;
} roles[] = {
    {"user", ROLE_USER},
    {"assistant", ROLE_ASSISTANT},
    {"system", ROLE_SYSTEM},
    {"tool", ROLE_TOOL},
    {"developer", ROLE_SYSTEM},
    {"function", ROLE_FUNCTION},
    {"human", ROLE_USER},
    {"gpt", ROLE_ASSISTANT},
    {"chatgpt", ROLE_ASSISTANT},
    {"bing", ROLE_ASSISTANT},
    {"bard", ROLE_ASSISTANT},
    {"model", ROLE_ASSISTANT},
    {"observation", ROLE_TOOL},
    {"function_response", ROLE_TOOL},
    {"function_call", ROLE_ASSISTANT},
};

static enum role role_of(struct str name)
{
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (str_eq(name, str_of(roles[i].name)))
      return roles[i].role;
  return ROLE_UNKNOWN;
}

void shape_init(struct shape *s, unsigned block)
{
  struct err e = {0};
  *s = (struct shape){.block = block};
  s->paths.tags = ROOT;
  for (size_t i = 0; i < sizeof places / sizeof *places; i++)
    paths_add(&s->paths, places[i].path, places[i].tag, &e);
  assert(!e.count);
}

void shape_free(struct shape *s)
{
  for (unsigned i = 0; i < s->n_required; i++)
    mem_free(s->required[i]);
  paths_clear(&s->paths);
}

int shape_require(struct shape *s, const char *name, struct err *e)
{
  if (s->n_required == SHAPE_REQUIRED_MAX)
    return err_add(e, "require: at most %d names", SHAPE_REQUIRED_MAX);
  if (paths_add(&s->paths, name, (uint32_t)REQUIRED << s->n_required, e) < 0)
    return -1;
  s->required[s->n_required++] = mem_strdup(name);
  return 0;
}

/* ---- reading ---- */

static void read_number(struct shape_number *n, const struct walk_value *v)
{
  char text[64];
  n->there = true;
  n->is = v->type == WALK_NUMBER && v->raw.len < sizeof text;
  if (!n->is)
    return;
  memcpy(text, v->raw.p, v->raw.len);
  text[v->raw.len] = '\0';
  n->value = strtod(text, NULL);
  n->is = isfinite(n->value);
}

static void trouble(struct shape_seen *seen, const char *what)
{
  if (seen->trouble)
    return;
  seen->trouble = what;
  seen->trouble_at = seen->messages;
}

/* A message is complete; its members came before it. */
static void end_message(struct shape_seen *seen, uint32_t tags,
                        enum walk_type type)
{
  uint32_t has = seen->message, bad = seen->message_bad;
  if (type != WALK_OBJECT)
    trouble(seen, "is not an object");
  else if (!(has & ROLE))
    trouble(seen, "says no role");
  else if (seen->role == ROLE_UNKNOWN)
    trouble(seen, "has an unknown role");
  else if (bad & CONTENT)
    trouble(seen, "has content that is neither text nor a list");
  else if (bad & PART)
    trouble(seen, "has content with a part that is no object");
  else if (!(has & CONTENT) && !(seen->role == ROLE_ASSISTANT && (has & CALLS)))
    trouble(seen, "has no content");
  else if ((tags & MESSAGE) && seen->role == ROLE_TOOL && !(has & CALL_ID))
    trouble(seen, "is a tool's answer without tool_call_id");
  else if (bad & CALL_ID)
    trouble(seen, "has a tool_call_id that is no text");
  seen->asked +=
      seen->role == ROLE_USER && (has & CONTENT) && !seen->message_empty;
  seen->messages++;
  seen->message = seen->message_bad = 0;
  seen->message_empty = false;
  seen->parts = 0;
  seen->role = ROLE_UNKNOWN;
}

static void message_member(struct shape_seen *seen, uint32_t tags,
                           const struct walk_value *v)
{
  bool text = v->type == WALK_STRING;
  if (v->type == WALK_NULL)
    return;
  if (tags & ROLE)
    seen->role = text ? role_of(v->raw) : ROLE_UNKNOWN;
  if ((tags & CONTENT) && !text && v->type != WALK_ARRAY)
    seen->message_bad |= CONTENT;
  if (tags & CONTENT)
    seen->message_empty = text ? !v->raw.len : !seen->parts;
  if ((tags & CALL_ID) && !text)
    seen->message_bad |= CALL_ID;
  seen->message |= tags;
}

/* A number, or a text that is one. */
static bool is_count(const struct walk_value *v)
{
  double x;
  return v->type == WALK_NULL ||
         ((v->type == WALK_NUMBER || v->type == WALK_STRING) &&
          units_number(str_trim(v->raw), &x) == 0 && x == floor(x) && x >= 0 &&
          x < 1e9);
}

/* "/v1/chat/completions", as JSON writes it: without blanks, and without
 * escapes but that of a slash. */
static bool is_path(const struct walk_value *v)
{
  struct str s = v->raw;
  if (v->type != WALK_STRING ||
      !(str_starts(s, STR("/")) || str_starts(s, STR("\\/"))))
    return false;
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.p[i] <= ' ' ||
        (s.p[i] == '\\' && (i + 1 == s.len || s.p[i + 1] != '/')))
      return false;
  return true;
}

static void request_member(struct shape_seen *seen, uint32_t tags,
                           const struct walk_value *v)
{
  if (tags & BODY)
    seen->not_object = v->type != WALK_OBJECT;
  if (tags & URL)
    seen->not_path = !is_path(v);
  if (tags & METHOD)
    seen->not_post = v->type != WALK_NULL && !str_ieq(v->raw, STR("POST"));
  if ((tags & (ANSWER | MOST)) && !is_count(v))
    seen->odd = tags & MOST ? "max_tokens" : "output_len";
}

static int on_value(uint32_t tags, const struct walk_value *v, void *ud)
{
  struct shape_seen *seen = ud;
  if (tags & ROOT)
    seen->root = v->type;
  if (tags & (ROOT | PROMPT))
    seen->empty |= v->type == WALK_STRING && !v->raw.len;
  if (tags & (BODY | URL | METHOD | ANSWER | MOST))
    request_member(seen, tags, v);
  if (tags & (ROLE | CONTENT | CALL_ID | CALLS))
    message_member(seen, tags, v);
  if (tags & PART) {
    seen->parts++;
    if (v->type != WALK_OBJECT)
      seen->message_bad |= PART;
  }
  if (tags & (MESSAGE | SAID))
    end_message(seen, tags, v->type);
  if (tags & HASH) {
    seen->hashes++;
    seen->odd_hash |= v->type != WALK_NUMBER;
  }
  if (tags & TIME)
    read_number(&seen->time, v);
  if (tags & DUE)
    read_number(&seen->due, v);
  if (tags & PHASE)
    seen->warmup = str_eq(v->raw, STR("warmup"));
  if (tags & INPUT)
    read_number(&seen->input, v);
  if (tags & OUTPUT)
    read_number(&seen->output, v);
  if (tags & PROMPT)
    seen->prompt_is_text = v->type == WALK_STRING;
  if (tags & (MESSAGES | CONVERSATIONS))
    seen->list = v->raw;
  /* A list, where a list belongs. */
  if ((tags & (MESSAGES | CONVERSATIONS | HASHES)) && v->type != WALK_ARRAY)
    tags &= ~(uint32_t)(MESSAGES | CONVERSATIONS | HASHES);
  /* Of a name that is there twice the last one counts. */
  if (v->type == WALK_NULL)
    seen->tags &= ~tags;
  else
    seen->tags |= tags;
  return 0;
}

const char *shape_read(struct shape *s, const char *p, const char *end)
{
  s->seen = (struct shape_seen){0};
  return walk_value(&s->paths, p, end, on_value, &s->seen);
}

/* ---- judging ---- */

bool shape_has_prompt(const struct shape *s)
{
  return s->seen.prompt_is_text;
}

bool shape_has_messages(const struct shape *s)
{
  return s->seen.tags & MESSAGES;
}

enum data_format shape_guess(const struct shape *s)
{
  uint32_t tags = s->seen.tags;
  if (tags & CONVERSATIONS)
    return DATA_SHAREGPT;
  if (tags & BODY && tags & URL)
    return DATA_BATCH;
  if (tags & TIME && tags & INPUT)
    return DATA_MOONCAKE;
  if (s->seen.due.there && s->seen.input.there && s->seen.output.there)
    return DATA_RUN;
  return DATA_GUESS;
}

bool shape_sends(const struct shape *s)
{
  return s->seen.tags & (PROMPT | MESSAGES) || shape_guess(s) != DATA_GUESS;
}

static enum shape_verdict bad(char why[160], const char *what)
{
  snprintf(why, 160, "%s", what);
  return SHAPE_BAD;
}

static enum shape_verdict check_messages(const struct shape *s,
                                         const char *list, char why[160])
{
  const struct shape_seen *seen = &s->seen;
  if (!seen->trouble)
    return seen->asked ? SHAPE_OK : SHAPE_LEFT_OUT;
  snprintf(why, 160, "%s[%u] %s", list, seen->trouble_at, seen->trouble);
  return SHAPE_BAD;
}

static bool whole(const struct shape_number *n, double least)
{
  return n->is && n->value == floor(n->value) && n->value >= least &&
         n->value < 1e9;
}

static enum shape_verdict check_trace(const struct shape *s, char why[160])
{
  const struct shape_seen *seen = &s->seen;
  uint64_t blocks;
  if (!seen->time.is)
    return bad(why, "no \"timestamp\" (a number: milliseconds)");
  if (!whole(&seen->input, 1))
    return bad(why, "\"input_length\" must be a whole number from 1 on");
  if (!whole(&seen->output, 0))
    return bad(why, "\"output_length\" must be a whole number from 0 on");
  if (!(seen->tags & HASHES))
    return SHAPE_OK;
  if (seen->odd_hash)
    return bad(why, "\"hash_ids\" must be numbers");
  blocks = ((uint64_t)seen->input.value + s->block - 1) / s->block;
  if (blocks == seen->hashes)
    return SHAPE_OK;
  snprintf(why, 160,
           "%.0f tokens are %llu blocks of %u, but there are %llu hash_ids "
           "(another block size? block = …)",
           seen->input.value, (unsigned long long)blocks, s->block,
           (unsigned long long)seen->hashes);
  return SHAPE_BAD;
}

/* Lines of an earlier run. What got no answer has no lengths, and the warm-up
 * is no part of the load. */
static enum shape_verdict check_run(const struct shape *s, char why[160])
{
  const struct shape_seen *seen = &s->seen;
  if (!seen->due.there)
    return bad(why, "no \"due_s\": not a line of --requests-out");
  return seen->due.is && !seen->warmup && whole(&seen->input, 1) &&
                 whole(&seen->output, 0)
             ? SHAPE_OK
             : SHAPE_LEFT_OUT;
}

double shape_seconds(const struct shape *s)
{
  return s->seen.due.is ? s->seen.due.value : s->seen.time.value / 1e3;
}

/* A row of plain JSON that is to send its prompt. */
static enum shape_verdict check_prompt(const struct shape *s, char why[160])
{
  const struct shape_seen *seen = &s->seen;
  if (s->lax)
    return SHAPE_OK;
  if (seen->empty && seen->prompt_is_text)
    return bad(why, "\"prompt\" is empty");
  if (s->text_prompts && !seen->prompt_is_text)
    return bad(why, seen->tags & PROMPT
                        ? "\"prompt\" is no text, as it is in the rows before"
                        : "no \"prompt\"");
  if (!seen->odd)
    return SHAPE_OK;
  snprintf(why, 160, "\"%s\" is no whole number", seen->odd);
  return SHAPE_BAD;
}

static enum shape_verdict check_batch(const struct shape *s, char why[160])
{
  const struct shape_seen *seen = &s->seen;
  if (!(seen->tags & BODY))
    return bad(why, "no \"body\"");
  if (seen->not_object)
    return bad(why, "\"body\" is no object");
  if (!(seen->tags & URL))
    return bad(why, "no \"url\"");
  if (seen->not_path)
    return bad(why, "\"url\" is no path such as \"/v1/chat/completions\"");
  if (seen->not_post)
    return bad(why, "\"method\" is not POST");
  return SHAPE_OK;
}

/* What the row is, when it is not what was wanted. */
static const char *instead(const struct shape_seen *seen)
{
  if (seen->tags & CONVERSATIONS)
    return ", but \"conversations\": it is ShareGPT";
  if (seen->tags & MESSAGES)
    return ", but \"messages\"";
  return seen->tags & BODY && seen->tags & URL
             ? ", but \"url\" and \"body\": it is a batch"
             : "";
}

static enum shape_verdict check_plain(const struct shape *s, char why[160])
{
  const struct shape_seen *seen = &s->seen;
  if (seen->root == WALK_STRING)
    return seen->empty ? SHAPE_LEFT_OUT : SHAPE_OK;
  if (seen->root == WALK_ARRAY)
    return bad(why, "a row must be an object or a text, not a list (is the "
                    "file one JSON array? format = \"json\")");
  if (seen->root != WALK_OBJECT)
    return bad(why, "a row must be an object or a text");
  for (unsigned i = 0; i < s->n_required; i++)
    if (!(seen->tags & (uint32_t)REQUIRED << i)) {
      snprintf(why, 160, "no \"%.80s\"%s", s->required[i], instead(seen));
      return SHAPE_BAD;
    }
  if (seen->tags & MESSAGES)
    return check_messages(s, "messages", why);
  return SHAPE_OK;
}

enum shape_verdict shape_check(const struct shape *s, enum data_format f,
                               char why[160])
{
  enum shape_verdict v = check_plain(s, why);
  uint32_t tags = s->seen.tags;
  if (v == SHAPE_BAD)
    return v;
  switch (f) {
  case DATA_SHAREGPT:
    return tags & CONVERSATIONS ? check_messages(s, "conversations", why)
                                : bad(why, "no list \"conversations\"");
  case DATA_MOONCAKE: return check_trace(s, why);
  case DATA_RUN: return check_run(s, why);
  case DATA_BATCH: return check_batch(s, why);
  case DATA_JSON:
  case DATA_JSONL:
    if (v == SHAPE_OK && s->seen.root == WALK_OBJECT && !(tags & MESSAGES))
      v = check_prompt(s, why);
    return v;
  default: return v;
  }
}

static int on_body(uint32_t tags, const struct walk_value *v, void *ud)
{
  /* A text's quotes are no part of it. */
  if (tags & BODY)
    *(struct str *)ud = v->raw;
  return 0;
}

struct str shape_body(const struct shape *s, struct str row)
{
  struct str body = {0};
  walk_value(&s->paths, row.p, row.p + row.len, on_body, &body);
  return body;
}
