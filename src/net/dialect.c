#include "net/dialect.h"

#include "base/mem.h"
#include "base/walk.h"

#define BIT(field) (1u << (field))

enum {
  PAYLOAD_TEXT = BIT(WIRE_CONTENT) | BIT(WIRE_REASONING) | BIT(WIRE_REFUSAL) |
                 BIT(WIRE_AUDIO),
  PAYLOAD_TOOL = BIT(WIRE_TOOL_INDEX) | BIT(WIRE_TOOL_ID) |
                 BIT(WIRE_TOOL_NAME) | BIT(WIRE_TOOL_ARGUMENTS)
};

static uint32_t ends_of(enum wire_field f)
{
  if (BIT(f) & PAYLOAD_TEXT)
    return DIALECT_TEXT_ENDS;
  if (BIT(f) & PAYLOAD_TOOL)
    return DIALECT_TOOL_ENDS;
  return f == WIRE_CHOICE_INDEX ? DIALECT_CHOICE_ENDS : 0;
}

/* The element that a rule's value belongs to: "choices[]" of
 * "choices[].delta.content". Its end is when the value is complete. */
static void add_end(struct paths *p, const struct wire_rule *r, struct err *e)
{
  struct str path = str_of(r->path);
  uint32_t ends = ends_of(r->field);
  while (path.len && !str_ends(path, STR("[]")))
    path.len--;
  if (ends && path.len) {
    char *element = mem_strndup(path.p, path.len);
    paths_add(p, element, ends, e);
    mem_free(element);
  }
}

static void add_rule(struct paths *p, const struct wire_rule *r, struct err *e)
{
  if (paths_add(p, r->path, BIT(r->field), e) == 0)
    add_end(p, r, e);
}

static bool has_kind(const struct dialect_rules *d, struct str when)
{
  for (size_t i = 0; i < d->n_kinds; i++)
    if (str_eq(d->kinds[i].when, when))
      return true;
  return false;
}

static void add_kind(struct dialect_rules *d, struct str when)
{
  if (has_kind(d, when))
    return;
  d->kinds = mem_resize(d->kinds, d->n_kinds + 1, sizeof *d->kinds);
  d->kinds[d->n_kinds++] =
      (struct dialect_kind){.when = {mem_strndup(when.p, when.len), when.len}};
}

static void compile(struct dialect_rules *d, const struct wire_rule *rules,
                    size_t n, struct err *e)
{
  add_kind(d, STR(""));
  for (size_t i = 0; i < n; i++)
    if (rules[i].when)
      add_kind(d, str_of(rules[i].when));
  for (size_t k = 0; k < d->n_kinds; k++) {
    struct err again = {0}; /* each mistake is told once */
    for (size_t i = 0; i < n; i++)
      if (!rules[i].when || str_eq(d->kinds[k].when, str_of(rules[i].when)))
        add_rule(&d->kinds[k].paths, &rules[i],
                 k == 0 || rules[i].when ? e : &again);
    err_free(&again);
  }
  for (size_t i = 0; i < n; i++) {
    if (rules[i].field == WIRE_TYPE)
      paths_add(&d->type, rules[i].path, 1, e);
    if (BIT(rules[i].field) & (PAYLOAD_TEXT | PAYLOAD_TOOL))
      d->has_payload = true;
    if (rules[i].field == WIRE_END && !rules[i].when)
      d->says_end = true;
  }
}

static void clear(struct dialect_rules *d)
{
  for (size_t i = 0; i < d->n_kinds; i++) {
    paths_clear(&d->kinds[i].paths);
    mem_free((char *)(uintptr_t)d->kinds[i].when.p);
  }
  mem_free(d->kinds);
  paths_clear(&d->type);
}

struct wire_dialect *wire_dialect_new(const struct wire_rule *stream,
                                      size_t n_stream,
                                      const struct wire_rule *plain,
                                      size_t n_plain, struct err *e)
{
  struct wire_dialect *d = mem_new(struct wire_dialect);
  unsigned before = e->count;
  compile(&d->stream, stream, n_stream, e);
  compile(&d->plain, plain, n_plain, e);
  if (e->count == before)
    return d;
  wire_dialect_free(d);
  return NULL;
}

void wire_dialect_free(struct wire_dialect *d)
{
  if (!d)
    return;
  clear(&d->stream);
  clear(&d->plain);
  mem_free(d);
}

bool wire_dialect_has_payload(const struct wire_dialect *d)
{
  return d->stream.has_payload;
}

static const struct paths *find(const struct dialect_rules *d, struct str when)
{
  for (size_t i = 1; i < d->n_kinds; i++)
    if (str_eq(d->kinds[i].when, when))
      return &d->kinds[i].paths;
  return NULL;
}

static int keep_string(uint32_t tags, const struct walk_value *v, void *ud)
{
  struct str *type = ud;
  (void)tags;
  if (v->type == WALK_STRING)
    *type = v->raw;
  return 1; /* the rest is read with the right places */
}

const struct paths *dialect_paths(const struct dialect_rules *d,
                                  struct str name, struct str data)
{
  const struct paths *p = NULL;
  struct str type = {NULL, 0};
  if (d->n_kinds == 1)
    return &d->kinds[0].paths;
  if (name.len)
    p = find(d, name);
  if (!p) {
    walk(&d->type, data, keep_string, &type);
    p = find(d, type);
  }
  return p ? p : &d->kinds[0].paths;
}

static int keep_end(uint32_t tags, const struct walk_value *v, void *ud)
{
  bool *more = ud;
  if (tags & BIT(WIRE_END))
    *more = v->type == WALK_FALSE;
  return 0;
}

bool dialect_goes_on(const struct dialect_rules *d, struct str data)
{
  bool more = false;
  return walk(&d->kinds[0].paths, data, keep_end, &more) == 0 && more;
}
