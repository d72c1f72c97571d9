#include "script/backend.h"

#include "base/mem.h"
#include "base/suggest.h"

void backends_free(struct backends *b)
{
  for (size_t i = 0; i < b->n; i++) {
    struct backend *x = &b->items[i];
    mem_free(x->name);
    mem_free(x->path);
    mem_free(x->headers);
    mem_free(x->key_header);
    mem_free(x->builder);
    wire_dialect_free(x->own);
  }
  mem_free(b->items);
  *b = (struct backends){0};
}

const struct backend *backends_find(const struct backends *b, struct str name)
{
  for (size_t i = 0; i < b->n; i++)
    if (str_eq(name, str_of(b->items[i].name)))
      return &b->items[i];
  return NULL;
}

/* What tells a path from others: "/v1" may be missing, or another version. */
static struct str tail_of(const struct backend *b)
{
  struct str s = str_of(b->path);
  if (str_starts(s, STR("/v1/")))
    s = (struct str){s.p + 3, s.len - 3};
  return s;
}

const struct backend *backends_of_path(const struct backends *b,
                                       struct str path)
{
  const struct backend *best = NULL;
  path = str_split(&path, '?');
  for (size_t i = 0; i < b->n; i++) {
    struct str tail = tail_of(&b->items[i]);
    if (str_ends(path, tail) && (!best || tail.len > tail_of(best).len))
      best = &b->items[i];
  }
  return best;
}

const struct backend *backends_of_endpoint(const struct backends *b,
                                           const char *endpoint)
{
  struct str s = str_of(endpoint ? endpoint : "chat");
  return s.len && s.p[0] == '/' ? backends_of_path(b, s) : backends_find(b, s);
}

void backends_explain(const struct backends *b, struct str name,
                      struct buf *out)
{
  struct suggest near = {.typed = name};
  for (size_t i = 0; i < b->n; i++) {
    buf_addf(out, "%s%s", i ? ", " : "", b->items[i].name);
    suggest_consider(&near, str_of(b->items[i].name));
  }
  buf_adds(out, ", or a path that begins with /");
  suggest_print(&near, "", out);
}
