#include "cli/option_value.h"

#include <inttypes.h>
#include <limits.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/suggest.h"

static void *field(const struct option *row, void *dest)
{
  return (char *)dest + row->at;
}

/* The bounds of a row, in the unit that people type. */
static int in_bounds(const struct option *row, double x, const char *place,
                     struct err *e)
{
  const char *unit = row->kind == OPTION_DURATION ? "s" : "";
  if (row->positive && x <= 0)
    return err_add(e, "%s: must be more than 0", place);
  if (x < 0 && row->min == 0 && row->kind != OPTION_INTEGER)
    return err_add(e, "%s: must not be negative", place);
  if (x < row->min && row->min != 0)
    return err_add(e, "%s: must be at least %.10g%s", place, row->min, unit);
  if (row->max > 0 && x > row->max)
    return err_add(e, "%s: must be at most %.10g%s", place, row->max, unit);
  return 0;
}

static int store_number(const struct option *row, double *to, struct str s,
                        const char *place, struct err *e)
{
  double x;
  if (units_number(s, &x) < 0)
    return err_add(e, "%s: not a number; say for example 4 or 0.5", place);
  if (in_bounds(row, x, place, e) < 0)
    return -1;
  *to = x;
  return 0;
}

/* All whole numbers; `most` is what the field can hold. */
static int read_integer(const struct option *row, struct str s, int64_t most,
                        int64_t *out, const char *place, struct err *e)
{
  int64_t x;
  double fraction;
  if (units_integer(s, &x) < 0) {
    if (units_number(s, &fraction) == 0)
      return err_add(e, "%s: must be a whole number", place);
    return err_add(e, "%s: not a number; say for example 100 or 10k", place);
  }
  if (in_bounds(row, (double)x, place, e) < 0)
    return -1;
  if (x > most)
    return err_add(e, "%s: must be at most %" PRId64, place, most);
  *out = x;
  return 0;
}

static int store_integer(const struct option *row, void *to, struct str s,
                         const char *place, struct err *e)
{
  int64_t x = 0, most = row->kind == OPTION_UNSIGNED ? UINT_MAX : INT64_MAX;
  if (read_integer(row, s, most, &x, place, e) < 0)
    return -1;
  if (row->kind == OPTION_INTEGER)
    *(int64_t *)to = x;
  else if (row->kind == OPTION_COUNT)
    *(uint64_t *)to = (uint64_t)x;
  else
    *(unsigned *)to = (unsigned)x;
  return 0;
}

static int store_size(const struct option *row, uint64_t *to, struct str s,
                      const char *place, struct err *e)
{
  uint64_t x;
  if (units_size(s, &x) < 0)
    return err_add(e, "%s: not a size; say for example 512M or 64k", place);
  if (in_bounds(row, (double)x, place, e) < 0)
    return -1;
  *to = x;
  return 0;
}

static int store_duration(const struct option *row, uint64_t *to, struct str s,
                          const char *place, struct err *e)
{
  uint64_t x;
  if (units_duration(s, &x) < 0)
    return err_add(e, "%s: not a duration; say for example 30s, 5m or 250ms",
                   place);
  if (in_bounds(row, (double)x / 1e9, place, e) < 0)
    return -1;
  *to = x;
  return 0;
}

static int store_boolean(bool *to, struct str s, const char *place,
                         struct err *e)
{
  if (units_boolean(s, to) < 0)
    return err_add(e, "%s: say yes or no", place);
  return 0;
}

static int store_choice(const struct option *row, int *to, struct str typed,
                        const char *place, struct err *e)
{
  struct suggest near = {.typed = typed};
  struct str rest = str_of(row->choices);
  struct buf text = {0};
  for (int i = 0; rest.p; i++) {
    struct str name = str_split(&rest, ' ');
    if (str_ieq(name, typed)) {
      *to = i;
      buf_free(&text);
      return 0;
    }
    suggest_consider(&near, name);
    buf_addf(&text, "%s%.*s",
             i == 0   ? ""
             : rest.p ? ", "
                      : " or ",
             STR_ARG(name));
  }
  suggest_print(&near, "", &text);
  err_add(e, "%s: must be %s", place, buf_cstr(&text));
  buf_free(&text);
  return -1;
}

static int store_pair(struct option_list *to, struct str s, const char *place,
                      struct err *e)
{
  struct str rest = s, name = str_trim(str_split(&rest, '='));
  if (!rest.p || name.len == 0)
    return err_add(e, "%s: must be NAME=VALUE", place);
  option_list_add(to, s);
  return 0;
}

/* A dotted value is JSON where it reads as JSON, a number with k or M behind
 * it, or else a string (as vLLM reads it). */
static json_value *dotted_value(struct str s)
{
  struct buf text = {0};
  struct json_writer w = {.out = &text};
  int64_t count;
  json_value *v = json_parse(s, NULL);
  if (v)
    return v;
  if (units_integer(s, &count) == 0)
    json_integer(&w, count);
  else
    json_string(&w, s);
  v = json_parse(buf_str(&text), NULL);
  buf_free(&text);
  return v;
}

/* "a,b" at a name with + behind it are two strings more. */
static int put_items(json_value *root, struct str path, struct str s)
{
  struct buf text = {0};
  int rc = 0;
  while (rc == 0 && s.p) {
    struct json_writer w = {.out = &text};
    buf_reset(&text);
    json_string(&w, str_split(&s, ','));
    rc = json_put(root, path, json_parse(buf_str(&text), NULL));
  }
  buf_free(&text);
  return rc;
}

/* --body.a.b VALUE: merged into what is there. */
static int store_dotted(char **to, struct str path, struct str s,
                        const char *place, struct err *e)
{
  struct buf text = {0};
  json_value *root = json_parse(*to ? str_of(*to) : STR("{}"), NULL);
  int rc = str_ends(path, STR("+")) ? put_items(root, path, s)
                                    : json_put(root, path, dotted_value(s));
  if (rc < 0) {
    err_add(e, "%s: not names with dots between them", place);
  } else {
    json_print(&text, root);
    mem_free(*to);
    *to = buf_take(&text);
  }
  json_free(root);
  return rc;
}

/* The text is kept as typed: a number too long for a double stays whole. */
static int store_json(char **to, struct str s, const char *place, struct err *e)
{
  size_t at = 0;
  json_value *v = json_parse(s, &at);
  bool object = json_is_object(v);
  json_free(v);
  if (!v)
    return err_add(e, "%s: not JSON (trouble at byte %zu)", place, at);
  if (!object)
    return err_add(e, "%s: must be a JSON object, as {\"top_k\": 5}", place);
  mem_free(*to);
  s = str_trim(s);
  *to = mem_strndup(s.p, s.len);
  return 0;
}

int option_store(const struct option *row, void *dest, struct str path,
                 const char *value, const char *place, struct err *e)
{
  struct str s = str_of(value);
  void *to = field(row, dest);
  switch (row->kind) {
  case OPTION_BOOLEAN: return store_boolean(to, s, place, e);
  case OPTION_NUMBER: return store_number(row, to, s, place, e);
  case OPTION_INTEGER:
  case OPTION_COUNT:
  case OPTION_UNSIGNED: return store_integer(row, to, s, place, e);
  case OPTION_SIZE: return store_size(row, to, s, place, e);
  case OPTION_DURATION: return store_duration(row, to, s, place, e);
  case OPTION_CHOICE: return store_choice(row, to, s, place, e);
  case OPTION_PAIRS: return store_pair(to, s, place, e);
  case OPTION_JSON:
    return path.p ? store_dotted(to, path, s, place, e)
                  : store_json(to, s, place, e);
  case OPTION_CALL: return row->call(dest, value, place, e);
  case OPTION_LIST: option_list_add(to, s); break;
  case OPTION_STRING:
    mem_free(*(char **)to);
    *(char **)to = mem_strdup(value);
    break;
  }
  return 0;
}

void option_clear(const struct option *row, void *dest)
{
  void *to = field(row, dest);
  if (row->kind == OPTION_STRING || row->kind == OPTION_JSON) {
    mem_free(*(char **)to);
    *(char **)to = NULL;
  } else if (row->kind == OPTION_LIST || row->kind == OPTION_PAIRS) {
    option_list_free(to);
  }
}
