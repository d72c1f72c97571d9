#include "base/json.h"
#include "base/mem.h"
#include "net/wire_int.h"

void wire_tools_reset(struct wire_tools *t)
{
  t->n = t->n_pending = 0;
}

void wire_tools_free(struct wire_tools *t)
{
  for (size_t i = 0; i < t->room; i++) {
    buf_free(&t->calls[i].id);
    buf_free(&t->calls[i].name);
    buf_free(&t->calls[i].arguments);
  }
  mem_free(t->calls);
  mem_free(t->joiners);
  mem_free(t->pending);
}

void wire_tools_add(struct wire_tools *t, const struct wire_tool *f)
{
  if (t->n_pending == t->pending_room) {
    t->pending_room = t->pending_room ? 2 * t->pending_room : 2;
    t->pending = mem_resize(t->pending, t->pending_room, sizeof *t->pending);
  }
  t->pending[t->n_pending++] = *f;
}

static void grow(struct wire_tools *t)
{
  size_t room = t->room ? 2 * t->room : 4;
  t->calls = mem_resize(t->calls, room, sizeof *t->calls);
  t->joiners = mem_resize(t->joiners, room, sizeof *t->joiners);
  memset(t->calls + t->room, 0, (room - t->room) * sizeof *t->calls);
  t->room = room;
}

static bool told(const struct walk_value *v)
{
  return v->raw.len > 0;
}

static struct wire_tool_call *last_of(struct wire_tools *t, int choice,
                                      int64_t index)
{
  for (size_t i = t->n; i-- > 0;)
    if (t->calls[i].choice == choice &&
        (index < 0 || t->calls[i].index == index))
      return &t->calls[i];
  return NULL;
}

/* The call that a fragment continues, or NULL when it starts one. Servers
 * differ: most count with `index`; some give every call the same one; some
 * repeat the id, or make up a new one, in each fragment; some send whole
 * calls without an index. A name is what all of them send once. */
static struct wire_tool_call *continued(struct wire_tools *t, int choice,
                                        const struct wire_tool *f)
{
  struct wire_tool_call *c = last_of(t, choice, f->index);
  bool same_id;
  if (!c || !told(&f->name) || c->name.len == 0)
    return c;
  same_id = told(&f->id) && str_eq(buf_str(&c->id), f->id.raw);
  if (f->index >= 0 && !told(&f->id))
    return c;
  return same_id ? c : NULL;
}

static struct wire_tool_call *start(struct wire_tools *t, int choice,
                                    int64_t index)
{
  struct wire_tool_call *c, *before = last_of(t, choice, -1);
  int next = before ? before->index + 1 : 0;
  if (t->n == t->room)
    grow(t);
  t->joiners[t->n] = (struct joiner){.waiting = false};
  c = &t->calls[t->n++];
  c->choice = choice;
  c->index = index >= 0 && index <= INT32_MAX ? (int)index : next;
  buf_reset(&c->id);
  buf_reset(&c->name);
  buf_reset(&c->arguments);
  return c;
}

static void add_arguments(struct wire_tools *t, struct wire_tool_call *c,
                          const struct walk_value *v)
{
  if (v->type == WALK_STRING)
    joiner_add(&t->joiners[c - t->calls], &c->arguments, v->raw);
  else
    buf_addstr(&c->arguments, v->raw);
}

static void merge(struct wire_tools *t, int choice, const struct wire_tool *f,
                  size_t max)
{
  struct wire_tool_call *c = continued(t, choice, f);
  if (!c)
    c = start(t, choice, f->index);
  c->arguments.max = max;
  if (c->id.len == 0)
    json_unescape(&c->id, f->id.raw);
  if (c->name.len == 0)
    json_unescape(&c->name, f->name.raw);
  if (told(&f->arguments))
    add_arguments(t, c, &f->arguments);
}

void wire_tools_merge(struct wire_tools *t, int choice, size_t max)
{
  for (size_t i = 0; i < t->n_pending; i++)
    merge(t, choice, &t->pending[i], max);
  t->n_pending = 0;
}

void wire_tools_end(struct wire_tools *t)
{
  for (size_t i = 0; i < t->n; i++)
    joiner_end(&t->joiners[i], &t->calls[i].arguments);
}
