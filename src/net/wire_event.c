#include "net/wire_int.h"

/* The walker reports values in the order in which they end, and elements of
 * arrays after their contents: so a choice, a tool call's fragment or a text
 * is complete when its element ends, or with the event where a dialect has no
 * such array. A payload is told once the next one is known or the event is
 * over, because its usage may stand behind it. */

#define BIT(field) (1u << (field))

/* No server has counted more: what claims it is as good as not told, and sums
 * of any number of requests stay exact. */
#define MAX_TOKENS INT64_C(1000000000000)

static bool test(const uint64_t *set, int i)
{
  return set[i / 64] >> i % 64 & 1;
}

static void mark(uint64_t *set, int i)
{
  set[i / 64] |= UINT64_C(1) << i % 64;
}

/* ---- a payload ---- */

static void count(struct wire *w, const struct wire_payload *p)
{
  if (!test(w->chosen, p->choice)) {
    mark(w->chosen, p->choice);
    w->r.choices++;
  }
  w->r.refusals += p->fields >> WIRE_REFUSAL & 1;
}

/* Where its texts go, or NULL. */
static struct kept *kept_of(struct wire *w, enum wire_field f, int choice)
{
  if (!w->c.keep_text || choice != 0)
    return NULL;
  switch (f) {
  case WIRE_CONTENT: return &w->text;
  case WIRE_REASONING: return &w->reasoning;
  case WIRE_REFUSAL: return &w->refusal;
  default: return NULL;
  }
}

/* How much was kept with it included. */
static void note_ends(const struct wire *w, struct wire_payload *p)
{
  p->text_end = w->text.raw.len;
  p->reasoning_end = w->reasoning.raw.len;
  p->cut = w->text.raw.toobig || w->reasoning.raw.toobig;
}

static void tell(struct wire *w, const struct wire_payload *p)
{
  if (w->mode == WIRE_MODE_PLAIN)
    return; /* a plain answer has no first token */
  w->r.events++;
  if (w->cb)
    w->stopped = w->cb(p, w->ud);
}

static void tell_waiting(struct wire *w)
{
  struct wire_event *e = &w->event;
  if (e->is_waiting && !w->stopped)
    tell(w, &e->waiting);
  e->is_waiting = false;
}

/* ---- a choice ---- */

static int choice_number(const struct wire *w, int64_t index, int position)
{
  int64_t n = w->c.choices;
  if (index < 0)
    index = position;
  return index < n && index < WIRE_MAX_CHOICES ? (int)index : 0;
}

static void end_tool(struct wire *w)
{
  struct wire_choice *c = &w->event.choice;
  if (!c->has_tool)
    return;
  if (c->tool.name.raw.len)
    c->fields |= BIT(WIRE_TOOL_NAME);
  if (c->tool.arguments.raw.len)
    c->fields |= BIT(WIRE_TOOL_ARGUMENTS);
  if (w->c.keep_tools &&
      (c->tool.id.raw.len || c->tool.name.raw.len || c->tool.arguments.raw.len))
    wire_tools_add(&w->tools, &c->tool);
  c->tool = (struct wire_tool){.index = -1};
  c->has_tool = false;
}

/* `part`: an element of an array of texts ends. What then stands beside the
 * array under the same name is the same said again. */
static void end_text(struct wire *w, bool part)
{
  struct wire_choice *c = &w->event.choice;
  int choice = choice_number(w, c->index, w->event.position);
  for (int f = 0; f < WIRE_TEXTS; f++) {
    struct str *text = &c->texts[f];
    struct kept *kept;
    if (text->len == 0 || (!part && c->parts & BIT(f))) {
      *text = (struct str){NULL, 0};
      continue;
    }
    c->fields |= BIT(f);
    c->parts |= part ? BIT(f) : 0;
    w->event.texts++;
    if (c->text.len == 0 && f != WIRE_AUDIO)
      c->text = *text;
    kept = kept_of(w, (enum wire_field)f, choice);
    if (kept)
      kept_add(kept, *text);
    *text = (struct str){NULL, 0};
  }
}

static void set_finish(struct wire *w, int choice, struct str reason)
{
  size_t n = sizeof w->r.finish_reason - 1;
  if (reason.len == 0)
    return;
  mark(w->finished, choice);
  if (w->r.finish_reason[0])
    return;
  n = reason.len < n ? reason.len : n;
  memcpy(w->r.finish_reason, reason.p, n);
  w->r.finish_reason[n] = '\0';
}

/* What end_text and end_tool have not emptied themselves: a choice is reset
 * for every event, and is large. */
static void choice_reset(struct wire_choice *c)
{
  c->index = c->tool.index = -1;
  c->finish = c->text = (struct str){NULL, 0};
  c->fields = c->parts = 0;
}

static void end_choice(struct wire *w)
{
  struct wire_event *e = &w->event;
  struct wire_choice *c = &e->choice;
  struct wire_payload p = {.completion_tokens = -1};
  p.choice = choice_number(w, c->index, e->position);
  end_tool(w);
  wire_tools_merge(&w->tools, p.choice, w->c.max_text);
  end_text(w, false);
  set_finish(w, p.choice, c->finish);
  if (c->fields) {
    p.fields = c->fields;
    p.text = c->text;
    note_ends(w, &p);
    tell_waiting(w);
    count(w, &p);
    e->waiting = p;
    e->is_waiting = true;
    e->told++;
  }
  e->position++;
  choice_reset(c);
}

/* ---- values ---- */

bool wire_settle(struct wire *w)
{
  if (w->stopped || !w->c.settle)
    return true;
  w->stopped = w->c.settle(w->ud);
  return !w->stopped;
}

/* The event says more than text, as it does from here on. False: stop. */
static bool has_effects(struct wire *w)
{
  if (!w->event.effects)
    wire_settle(w);
  w->event.effects = true;
  return !w->stopped;
}

static void set_usage(struct wire *w, int64_t *to, const struct walk_value *v)
{
  int64_t n = walk_integer(v, -1);
  /* Counts add up as the stream goes on: a nought takes nothing back. */
  if (n < 0 || n > MAX_TOKENS || (n == 0 && *to > 0) || !has_effects(w))
    return;
  *to = n;
  w->answer = true;
  if (to == &w->r.usage.completion_tokens)
    w->event.completion_tokens = n;
}

static void set_tool(struct wire *w, struct walk_value *to,
                     const struct walk_value *v)
{
  if ((v->type == WALK_STRING || v->type == WALK_OBJECT) && has_effects(w)) {
    *to = *v;
    w->event.choice.has_tool = true;
  }
}

/* A server that gives a request up says so where others say "stop". */
static bool is_failure(struct str reason)
{
  static const char *const words[] = {"error", "abort", "failed", "cancelled"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (str_ieq(reason, str_of(words[i])))
      return true;
  return false;
}

static void take(struct wire *w, enum wire_field f, const struct walk_value *v)
{
  struct wire_event *e = &w->event;
  struct wire_choice *c = &e->choice;
  bool is_text = v->type == WALK_STRING && v->raw.len > 0;
  switch (f) {
  case WIRE_CONTENT:
  case WIRE_REASONING:
  case WIRE_REFUSAL:
  case WIRE_AUDIO:
    if (is_text)
      c->texts[f] = v->raw;
    break;
  case WIRE_TOOL_INDEX: c->tool.index = walk_integer(v, -1); break;
  case WIRE_TOOL_ID:
    if (is_text)
      set_tool(w, &c->tool.id, v);
    break;
  case WIRE_TOOL_NAME:
    if (is_text)
      set_tool(w, &c->tool.name, v);
    break;
  case WIRE_TOOL_ARGUMENTS: set_tool(w, &c->tool.arguments, v); break;
  case WIRE_CHOICE_INDEX:
    c->index = walk_integer(v, -1);
    w->answer = true;
    break;
  case WIRE_FINISH:
    if (is_text && has_effects(w)) {
      c->finish = v->raw;
      w->answer = true;
      e->failed = e->failed || is_failure(v->raw);
    }
    break;
  case WIRE_PROMPT_TOKENS: set_usage(w, &w->r.usage.prompt_tokens, v); break;
  case WIRE_COMPLETION_TOKENS:
    set_usage(w, &w->r.usage.completion_tokens, v);
    break;
  case WIRE_CACHED_TOKENS: set_usage(w, &w->r.usage.cached_tokens, v); break;
  case WIRE_REASONING_TOKENS:
    set_usage(w, &w->r.usage.reasoning_tokens, v);
    break;
  case WIRE_CACHED_BESIDE: set_usage(w, &w->cached_beside, v); break;
  case WIRE_ERROR: e->failed = e->failed || walk_truthy(v); break;
  case WIRE_KIND:
    e->failed = e->failed || (is_text && str_ieq(v->raw, STR("error")));
    break;
  case WIRE_END:
    if (walk_truthy(v) && has_effects(w))
      w->ended = w->answer = true;
    break;
  case WIRE_TYPE:
  case WIRE_FIELD_COUNT: break;
  }
}

static int on_value(uint32_t tags, const struct walk_value *v, void *ud)
{
  struct wire *w = ud;
  uint32_t fields =
      tags & ~(DIALECT_TOOL_ENDS | DIALECT_TEXT_ENDS | DIALECT_CHOICE_ENDS);
  struct wire_read *read = &w->event.read;
  if (read->n < sizeof read->values / sizeof *read->values)
    read->values[read->n] = v->raw;
  read->n++;
  for (; fields; fields &= fields - 1)
    take(w, (enum wire_field)__builtin_ctz(fields), v);
  if (tags & DIALECT_TOOL_ENDS)
    end_tool(w);
  if (tags & DIALECT_TEXT_ENDS)
    end_text(w, !(tags & DIALECT_CHOICE_ENDS));
  if (tags & DIALECT_CHOICE_ENDS)
    end_choice(w);
  return w->stopped;
}

/* ---- an event ---- */

static void event_reset(struct wire_event *e)
{
  if (!e->choice_is_clean)
    e->choice = (struct wire_choice){.index = -1, .tool.index = -1};
  e->choice_is_clean = false;
  e->position = 0;
  e->completion_tokens = -1;
  e->is_waiting = e->effects = e->failed = false;
  e->told = e->texts = 0;
  e->read.n = 0;
}

/* Only one text and nothing that adds up or decides: another event of this
 * shape would do the same again. */
static bool is_plain_text(const struct wire_event *e)
{
  return e->told == 1 && e->texts == 1 && !e->effects && !e->failed &&
         e->waiting.text.len;
}

/* Per token: the payload is the shape's own, whose choice is among those
 * chosen, and streams alone have shapes. */
static void read_predicted(struct wire *w, struct str text)
{
  struct wire_payload *p = &w->shape.payload;
  p->text = text;
  w->r.refusals += p->fields >> WIRE_REFUSAL & 1;
  if (w->shape.kept)
    kept_add(w->shape.kept, text);
  note_ends(w, p);
  w->r.events++;
  if (w->cb)
    w->stopped = w->cb(p, w->ud);
}

static int read_document(struct wire *w, const struct paths *paths,
                         struct str data)
{
  struct wire_event *e = &w->event;
  struct wire_choice *c = &e->choice;
  event_reset(e);
  w->tools.n_pending = 0;
  if (walk(paths, data, on_value, w) < 0 && !w->stopped)
    return -1;
  if (w->stopped)
    return 0; /* nothing more is read */
  e->listed = e->position > 0;
  if (c->fields || c->has_tool || c->finish.len || e->position == 0)
    end_choice(w);
  e->choice_is_clean = true;
  if (e->failed)
    wire_fail_with(w, OUTCOME_API_ERROR, data);
  return 0;
}

int wire_event_read(struct wire *w, struct str name, struct str data)
{
  struct wire_event *e = &w->event;
  const struct paths *paths = dialect_paths(&w->c.dialect->stream, name, data);
  struct str text;
  if (wire_shape_match(&w->shape, paths, data, &text)) {
    read_predicted(w, text);
    return 0;
  }
  if (read_document(w, paths, data) < 0)
    return -1;
  if (is_plain_text(e)) {
    const struct wire_payload *p = &e->waiting;
    wire_shape_learn(&w->shape, paths, data, p, &e->read);
    w->shape.kept =
        kept_of(w, (enum wire_field)__builtin_ctz(p->fields), p->choice);
  }
  e->waiting.completion_tokens = e->completion_tokens;
  tell_waiting(w);
  if (w->c.hollow && e->listed && !e->told && !e->failed && !w->stopped)
    w->c.hollow(w->ud);
  return 0;
}

int wire_event_read_plain(struct wire *w, struct str document)
{
  const struct dialect_rules *rules = &w->c.dialect->plain;
  return read_document(w, dialect_paths(rules, STR(""), document), document);
}
