/* What the hooks of a stream are shown, and when. Events are read as if there
 * were no hooks; the record then goes back to what it was at each event that a
 * hook looks at, and stays there when the hook hangs up. */
#include <stdio.h>

#include "script/exchange_impl.h"

/* So much text is shown, whatever is still to come. */
enum { TEXT_MAX = 1 << 20 };

/* Let the record say what was known when event i of the unseen arrived. */
static void show(unsigned i, void *ud)
{
  struct exchange *x = ud;
  const struct unseen *u = &x->pool->unseen;
  struct record *r = &x->record;
  r->chunks = u->before + i + 1;
  r->n_events = r->chunks;
  r->last_token_ns = u->at[i].arrival_ns;
}

static void show_text(unsigned i, void *ud)
{
  struct exchange *x = ud;
  const struct unseen_event *e = &x->pool->unseen.at[i];
  wire_so_far(x->wire, e->text_end, e->reasoning_end);
}

/* At event i; what came behind it has not come. */
static void hang_up(struct exchange *x, unsigned i, enum vm_result why)
{
  struct exchange_pool *p = x->pool;
  const struct unseen *u = &p->unseen;
  p->live.tokens -= u->n - 1 - i;
  wire_stop_at(x->wire, u->at[i].text_end, u->at[i].reasoning_end);
  x->hung_up = true;
  if (why == VM_FAILED) {
    x->script_failed = true;
    snprintf(x->message, sizeof x->message, "%s", vm_error(p->config.vm));
  }
  xfer_cancel(x->xfer, OUTCOME_CANCELLED, "the scenario hung up");
}

static struct str raw_texts(const struct unseen *u, const struct wire *w)
{
  struct str all = u->source == UNSEEN_TEXT ? wire_kept(w, WIRE_CONTENT)
                   : u->source == UNSEEN_REASONING
                       ? wire_kept(w, WIRE_REASONING)
                       : buf_str(&u->own);
  return (struct str){all.p ? all.p + u->start : "", (size_t)u->ends[u->n - 1]};
}

/* Each text in whole characters: half of one waits for the next event. */
static struct str unescape(struct unseen *u, struct joiner *j, struct str raw)
{
  size_t from = 0;
  buf_reset(&u->plain);
  for (unsigned i = 0; i < u->n; i++) {
    size_t to = (size_t)u->ends[i];
    joiner_add(j, &u->plain, (struct str){raw.p + from, to - from});
    u->ends[i] = (int32_t)u->plain.len;
    from = to;
  }
  return buf_str(&u->plain);
}

/* Most texts have no escapes and stay where they are. */
static struct str texts(struct unseen *u, struct exchange *x)
{
  struct str raw = raw_texts(u, x->wire);
  if (!x->joiner.waiting && !memchr(raw.p, '\\', raw.len))
    return raw;
  return unescape(u, &x->joiner, raw);
}

/* Show them; nonzero when that was the end of the answer. */
static int see(struct exchange *x)
{
  struct exchange_pool *p = x->pool;
  struct unseen *u = &p->unseen;
  unsigned at;
  const struct response r = {
      .record = &x->record,
      .wire = wire_result(x->wire),
      .headers = xfer_header_lines(x->xfer),
  };
  const struct vm_events e = {
      .response = &r,
      .n = u->n,
      .before = u->before,
      .text = texts(u, x),
      .ends = u->ends,
      .show = show,
      .show_text = show_text,
      .ud = x,
  };
  enum vm_result result = vm_stream(p->config.vm, &e, &at);
  show(at, x);
  if (result != VM_OK)
    hang_up(x, at, result);
  x->text_end = u->at[at].text_end;
  x->reasoning_end = u->at[at].reasoning_end;
  u->of = NULL;
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
  bool kept = x->request.choices < 2 && !p->cut;
  if (kept && p->fields & 1u << WIRE_CONTENT)
    return UNSEEN_TEXT;
  if (kept && p->fields & 1u << WIRE_REASONING)
    return UNSEEN_REASONING;
  return UNSEEN_OWN;
}

static void start(struct unseen *u, struct exchange *x,
                  const struct wire_payload *p)
{
  u->of = x;
  u->n = 0;
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

/* Where its text ends, from the first one's start. */
static size_t end_of(struct unseen *u, const struct wire_payload *p)
{
  switch (u->source) {
  case UNSEEN_TEXT: return p->text_end - u->start;
  case UNSEEN_REASONING: return p->reasoning_end - u->start;
  case UNSEEN_OWN: buf_addstr(&u->own, p->text);
  }
  return u->own.len;
}

int exchange_on_hooked_payload(const struct wire_payload *p, void *ud)
{
  struct exchange *x = ud;
  struct unseen *u = &x->pool->unseen;
  struct unseen_event *e;
  size_t end;
  bool goes_on = u->of == x && u->fields == p->fields && u->cut == p->cut;
  if (!goes_on && start_anew(u, x, p))
    return 1;
  exchange_on_payload(p, x);
  end = end_of(u, p);
  u->ends[u->n] = (int32_t)end;
  e = &u->at[u->n++];
  e->arrival_ns = x->arrival_ns;
  e->text_end = p->text_end;
  e->reasoning_end = p->reasoning_end;
  if (u->n < VM_EVENTS_MAX && end < TEXT_MAX && !x->hung_up && !x->ending)
    return 0;
  return see(x) || x->hung_up;
}
