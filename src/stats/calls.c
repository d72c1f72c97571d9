#include "stats/calls.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

void calls_deinit(struct calls *c)
{
  for (size_t i = 0; i < c->n; i++)
    hist_deinit(&c->list[i].latency);
  mem_free(c->list);
  *c = (struct calls){0};
}

static struct call *find(struct calls *c, const char *name)
{
  char shown[sizeof c->list->name];
  snprintf(shown, sizeof shown, "%s", name);
  if (!c->list)
    c->list = mem_zalloc(CALL_NAMES, sizeof *c->list);
  for (size_t i = 0; i < c->n; i++)
    if (strcmp(c->list[i].name, shown) == 0)
      return &c->list[i];
  if (c->n == CALL_NAMES)
    return &c->list[CALL_NAMES - 1];
  if (c->n == CALL_NAMES - 1)
    snprintf(shown, sizeof shown, "(other)");
  memcpy(c->list[c->n].name, shown, sizeof shown);
  return &c->list[c->n++];
}

void calls_add(struct calls *c, const struct record *r)
{
  struct call *call;
  if (r->phase == PHASE_WARMUP)
    return;
  call = find(c, r->http);
  call->count++;
  if (r->outcome == OUTCOME_OK)
    hist_add(&call->latency, ns_since(r->sent_ns, r->done_ns));
  else
    call->failed++;
}

void calls_merge(struct calls *into, const struct calls *from)
{
  for (size_t i = 0; i < from->n; i++) {
    const struct call *f = &from->list[i];
    struct call *to = find(into, f->name);
    to->count += f->count;
    to->failed += f->failed;
    hist_merge(&to->latency, &f->latency);
  }
}
