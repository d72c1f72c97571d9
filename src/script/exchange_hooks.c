/* What the hooks of a stream are shown, and when. Events are read as if there
 * were no hooks; the record then goes back to what it was at each event that a
 * hook looks at, and stays there when the hook hangs up. */
#include <stdio.h>

#include "base/clock.h"
#include "script/exchange_impl.h"

/* What a lot of events may take in the hooks. */
#define LOT_NS NS_PER_MS

/* Let the record say what was known when event i of the unseen arrived. */
static void show(unsigned i, void *ud)
{
  struct exchange *x = ud;
  struct record *r = &x->record;
  r->chunks = x->pool->unseen.before + i + 1;
  r->n_events = r->chunks;
  r->last_token_ns = r->sent_ns + r->events[r->n_events - 1].after_ns;
}

/* How much wire had kept then. */
static size_t text_end(const struct exchange *x, unsigned i)
{
  const struct unseen *u = &x->pool->unseen;
  switch (u->source) {
  case UNSEEN_TEXT: return u->ends[i];
  case UNSEEN_REASONING: return x->text_end;
  case UNSEEN_OWN: break;
  }
  return u->kept[i].text;
}

static size_t reasoning_end(const struct exchange *x, unsigned i)
{
  const struct unseen *u = &x->pool->unseen;
  switch (u->source) {
  case UNSEEN_TEXT: return x->reasoning_end;
  case UNSEEN_REASONING: return u->ends[i];
  case UNSEEN_OWN: break;
  }
  return u->kept[i].reasoning;
}

static void show_text(unsigned i, void *ud)
{
  struct exchange *x = ud;
  wire_so_far(x->wire, text_end(x, i), reasoning_end(x, i));
}

/* At event i; what came behind it has not come. */
static void hang_up(struct exchange *x, unsigned i, enum vm_result why)
{
  struct exchange_pool *p = x->pool;
  p->live.tokens -= p->unseen.n - 1 - i;
  wire_stop_at(x->wire, text_end(x, i), reasoning_end(x, i));
  x->hung_up = true;
  if (why == VM_FAILED) {
    x->script_failed = true;
    snprintf(x->message, sizeof x->message, "%s", vm_error(p->config.vm));
  }
  xfer_cancel(x->xfer, OUTCOME_CANCELLED, "the scenario hung up");
}

/* All of them, from where the first one's begins. */
static struct str raw_texts(const struct unseen *u, const struct wire *w)
{
  struct str all = u->source == UNSEEN_TEXT ? wire_kept(w, WIRE_CONTENT)
                   : u->source == UNSEEN_REASONING
                       ? wire_kept(w, WIRE_REASONING)
                       : buf_str(&u->own);
  return (struct str){all.p ? all.p + u->start : "",
                      u->ends[u->n - 1] - u->start};
}

/* Each text in whole characters: half of one waits for the next event. */
static struct str unescape(struct unseen *u, struct joiner *j, struct str raw)
{
  size_t from = 0;
  buf_reset(&u->plain);
  for (unsigned i = 0; i < u->n; i++) {
    size_t to = u->ends[i] - u->start;
    joiner_add(j, &u->plain, (struct str){raw.p + from, to - from});
    u->plain_ends[i] = u->plain.len;
    from = to;
  }
  return buf_str(&u->plain);
}

/* Most texts have no escapes and stay where they are. */
static struct vm_texts texts(void *ud)
{
  struct exchange *x = ud;
  struct unseen *u = &x->pool->unseen;
  struct str raw = raw_texts(u, x->wire);
  if (!x->joiner.waiting && !memchr(raw.p, '\\', raw.len))
    return (struct vm_texts){raw, u->ends, u->start};
  return (struct vm_texts){unescape(u, &x->joiner, raw), u->plain_ends, 0};
}

/* Hooks that take long per event are shown fewer in one go, or a lot of them
 * would be taken for one call that hangs. */
static void size_lots(struct exchange *x)
{
  struct unseen *u = &x->pool->unseen;
  uint64_t took = vm_last_ns(x->pool->config.vm), fit;
  if (took > LOT_NS || u->lot < VM_EVENTS_MAX) {
    fit = u->n * LOT_NS / (took | 1);
    if (fit > 2 * u->lot)
      fit = 2 * u->lot;
    u->lot = fit < 1 ? 1 : fit > VM_EVENTS_MAX ? VM_EVENTS_MAX : (unsigned)fit;
  }
}

/* Show them; nonzero when that was the end of the answer. */
static int see(struct exchange *x)
{
  struct exchange_pool *p = x->pool;
  struct unseen *u = &p->unseen;
  const struct response r = {
      .record = &x->record,
      .wire = wire_result(x->wire),
      .headers = xfer_header_lines(x->xfer),
  };
  struct vm_events e = {
      .response = &r,
      .n = u->n,
      .before = u->before,
      .show = show,
      .show_text = show_text,
      .texts = texts,
      .ud = x,
  };
  enum vm_result result;
  unsigned at;
  size_t text, reasoning;
  result = vm_stream(p->config.vm, &e, &at);
  size_lots(x);
  show(at, x);
  if (result != VM_OK)
    hang_up(x, at, result);
  text = text_end(x, at);
  reasoning = reasoning_end(x, at);
  x->text_end = text;
  x->reasoning_end = reasoning;
  u->of = NULL;
  if (!p->config.on_chunk) /* on_first_token has had its look */
    wire_go_on(x->wire, exchange_on_payload, p->config.keep_text);
  return result != VM_OK;
}

int exchange_settle(void *ud)
{
  struct exchange *x = ud;
  return x->pool->unseen.of == x ? see(x) : 0;
}

/* What waits for the first token may enter Lua itself. */
void exchange_read_over(struct xfer *xf, void *ud)
{
  struct exchange *x = ud;
  (void)xf;
  exchange_settle(x);
  if (x->first_waits && x->first)
    x->first(x->ud);
  x->first_waits = false;
}

/* ---- collecting ---- */

static enum unseen_source source_of(const struct exchange *x,
                                    const struct wire_payload *p)
{
  if (x->request.choices > 1 || p->cut)
    return UNSEEN_OWN;
  return p->fields == 1u << WIRE_CONTENT     ? UNSEEN_TEXT
         : p->fields == 1u << WIRE_REASONING ? UNSEEN_REASONING
                                             : UNSEEN_OWN;
}

static void start(struct unseen *u, struct exchange *x,
                  const struct wire_payload *p)
{
  u->of = x;
  u->n = 0;
  /* No more for on_first_token alone; and none are read after the end. */
  u->max = x->pool->config.on_chunk && !x->ending ? u->lot : 1;
  u->fields = p->fields;
  u->cut = p->cut;
  u->source = source_of(x, p);
  u->before = x->record.chunks;
  u->start = u->source == UNSEEN_TEXT        ? x->text_end
             : u->source == UNSEEN_REASONING ? x->reasoning_end
                                             : 0;
  buf_reset(&u->own);
}

/* Make p the first of a new lot. Nonzero: that was the end of the answer. */
static int start_anew(struct unseen *u, struct exchange *x,
                      const struct wire_payload *p)
{
  struct exchange *of = u->of;
  int rc = of ? see(of) : 0;
  if (rc && of == x)
    return rc;
  start(u, x, p);
  return 0;
}

/* Is it one more of the same? */
static inline bool goes_on(const struct unseen *u, const struct exchange *x,
                           const struct wire_payload *p)
{
  return u->of == x && u->fields == p->fields && u->cut == p->cut;
}

/* Note where its text ends, from the first one's start. */
static size_t add_own(struct unseen *u, const struct wire_payload *p)
{
  buf_addstr(&u->own, p->text);
  u->kept[u->n].text = p->text_end;
  u->kept[u->n].reasoning = p->reasoning_end;
  return u->own.len;
}

/* One that begins a lot, or ends it, or is not like the others. Apart, or its
 * needs would cost all of the others something. */
static __attribute__((noinline)) int on_another(struct exchange *x,
                                                const struct wire_payload *p)
{
  struct unseen *u = &x->pool->unseen;
  int enough;
  if (!goes_on(u, x, p) && start_anew(u, x, p))
    return 1;
  enough = exchange_add_payload(x, p);
  u->ends[u->n++] = u->source == UNSEEN_TEXT        ? p->text_end
                    : u->source == UNSEEN_REASONING ? p->reasoning_end
                                                    : add_own(u, p);
  if (u->n < u->max && !enough)
    return 0;
  return see(x) || enough;
}

int exchange_on_hooked_payload(const struct wire_payload *p, void *ud)
{
  struct exchange *x = ud;
  struct unseen *u = &x->pool->unseen;
  if (u->source != UNSEEN_TEXT || u->n + 1 >= u->max || !goes_on(u, x, p) ||
      !exchange_add_plainly(x, p))
    return on_another(x, p);
  u->ends[u->n++] = p->text_end;
  return 0;
}
