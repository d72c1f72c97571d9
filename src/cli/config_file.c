#include "cli/config_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "cli/mask.h"
#include "cli/yaml.h"
#include "data/foreign.h"
#include "script/config_lua.h"

enum { MAX_BYTES = 4 << 20 };

/* ---- in ---- */

struct loading {
  struct options *o;
  const char *path;
  struct err *e;
};

static bool ends_with(const char *s, const char *end)
{
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

static int read_text(const char *path, struct buf *out, struct err *e)
{
  FILE *f = fopen(path, "rb");
  const char *why;
  size_t n;
  int failed = 0;
  if (!f)
    return err_add(e, "--config %s: %s", path, strerror(errno));
  n = fread(buf_reserve(out, MAX_BYTES), 1, MAX_BYTES, f);
  if (ferror(f)) /* a folder, say */
    failed = errno;
  out->len += n;
  fclose(f);
  if (failed)
    return err_add(e, "--config %s: %s", path, strerror(failed));
  if ((why = foreign_file(buf_str(out))))
    return err_add(e, "--config %s: %s", path, why);
  if (n == MAX_BYTES)
    return err_add(e, "--config %s: too large for a configuration", path);
  return 0;
}

static json_value *read_document(const char *path, struct err *e)
{
  struct buf text = {0}, json = {0};
  json_value *v = NULL;
  size_t at = 0;
  int status = read_text(path, &text, e);
  if (status < 0)
    goto out;
  if (ends_with(path, ".lua"))
    status = config_lua_read(buf_str(&text), path, &json, e);
  else if (ends_with(path, ".json"))
    buf_addstr(&json, buf_str(&text));
  else
    status = yaml_to_json(buf_str(&text), path, &json, e);
  if (status == 0 && !(v = json_parse(buf_str(&json), &at)))
    err_add(e, "%s: not JSON from byte %zu on", path, at);
  if (v && !json_is_object(v)) {
    err_add(e, "%s: must be names of options with their values", path);
    json_free(v);
    v = NULL;
  }
out:
  buf_free(&text);
  buf_free(&json);
  return v;
}

static void add_text(struct buf *out, const json_value *v)
{
  if (json_is_string(v))
    buf_adds(out, json_text(v));
  else if (json_is_boolean(v))
    buf_adds(out, json_true(v) ? "yes" : "no");
  else
    json_print(out, v);
}

/* Goodput's "ttft:500". */
static bool is_limit(const struct options_spec *spec, const char *key)
{
  const struct option *row = options_find(spec, str_of(key));
  return row && row->metavar && strcmp(row->metavar, "KEY:MS") == 0;
}

/* One value; `name` is that of a pair, or NULL. */
static void set_one(struct loading *l, const char *key, const char *name,
                    const json_value *v)
{
  struct buf text = {0}, place = {0};
  buf_addf(&place, "%s: %s", l->path, key);
  if (name)
    buf_addf(&text, "%s%s", name, is_limit(l->o->spec, key) ? ":" : "=");
  add_text(&text, v);
  options_set(l->o, key, buf_cstr(&text), OPTION_FILE, buf_cstr(&place), l->e);
  buf_free(&text);
  buf_free(&place);
}

static bool is_collection(const struct option *row)
{
  return row->kind == OPTION_LIST || row->kind == OPTION_PAIRS;
}

static bool is_written(const struct option *row, const char *const *metavars)
{
  while (row->metavar && *metavars && strcmp(*metavars, row->metavar) != 0)
    metavars++;
  return row->metavar && *metavars && row->kind == OPTION_STRING;
}

/* "50,99" as [50, 99], and JSON in a string as the JSON itself. */
static bool may_be_table(const struct option *row, const json_value *v)
{
  static const char *const lists[] = {"LIST", "A,B", NULL};
  static const char *const objects[] = {"JSON", "DICT", "R", NULL};
  return is_written(row, json_is_array(v) ? lists : objects);
}

static void set_table(struct loading *l, const char *key, const json_value *v)
{
  struct buf text = {0}, place = {0};
  bool list = json_is_array(v);
  buf_addf(&place, "%s: %s", l->path, key);
  if (!list)
    json_print(&text, v);
  for (v = list ? json_first(v) : NULL; v; v = json_next(v)) {
    add_text(&text, v);
    buf_adds(&text, json_next(v) ? "," : "");
  }
  options_set(l->o, key, buf_cstr(&text), OPTION_FILE, buf_cstr(&place), l->e);
  buf_free(&text);
  buf_free(&place);
}

/* What makes sense in no file. */
static bool is_about_itself(const struct option *row)
{
  struct str key = option_key(row);
  return str_eq(key, STR("config")) || str_eq(key, STR("print-config")) ||
         str_eq(key, STR("version"));
}

static bool is_negated(const char *key)
{
  return strncmp(key, "no_", 3) == 0 || strncmp(key, "no-", 3) == 0;
}

static void unknown_key(struct loading *l, const char *key)
{
  struct suggest near = {.typed = str_of(key)};
  struct buf text = {0};
  for (size_t i = 0; i < l->o->spec->n; i++) {
    struct str names = str_of(l->o->spec->rows[i].names);
    while (names.p) {
      struct str name = str_split(&names, ' ');
      if (name.len > 1)
        suggest_consider(&near, name);
    }
  }
  suggest_print(&near, "", &text);
  err_add(l->e, "%s: %s: no such option%s", l->path, key, buf_cstr(&text));
  buf_free(&text);
}

static void set_key(struct loading *l, const json_value *v)
{
  const char *key = json_name(v);
  const struct option *row = options_find(l->o->spec, str_of(key));
  bool table = json_is_object(v) || json_is_array(v);
  if (json_is_null(v))
    return; /* as if it were not there */
  if (row && is_about_itself(row)) {
    err_add(l->e, "%s: %s: is for the command line alone", l->path, key);
  } else if (!row && !is_negated(key)) {
    unknown_key(l, key);
  } else if (row && is_collection(row) && table) {
    bool named = json_is_object(v);
    for (v = json_first(v); v; v = json_next(v))
      set_one(l, key, named ? json_name(v) : NULL, v);
  } else if (row && table && may_be_table(row, v)) {
    set_table(l, key, v);
  } else if (row && table && row->kind != OPTION_JSON) {
    err_add(l->e, "%s: %s: wants one value", l->path, key);
  } else {
    set_one(l, key, NULL, v);
  }
}

int config_file_read(struct options *o, const char *path, struct err *e)
{
  struct loading l = {.o = o, .path = path, .e = e};
  unsigned before = e->count;
  json_value *all = read_document(path, e);
  for (const json_value *v = json_first(all); v; v = json_next(v)) {
    if (strcmp(json_name(v), "scenario") != 0)
      set_key(&l, v);
    else if (!json_text(v))
      err_add(e, "%s: scenario: wants a name", path);
    else if (!o->args.n)
      option_list_add(&o->args, str_of(json_text(v)));
  }
  json_free(all);
  return e->count > before ? -1 : 0;
}

/* ---- out ---- */

static void add_quoted(struct buf *out, struct str s)
{
  struct json_writer w = {.out = out};
  json_string(&w, s);
}

static void add_string(const struct option *row, const char *s, struct buf *out)
{
  struct buf shown = {0};
  mask_value(&shown, row, s);
  add_quoted(out, buf_str(&shown));
  buf_free(&shown);
}

/* "Authorization: Bearer x" keeps its name. */
static void add_item(const struct option *row, const char *item,
                     struct buf *out)
{
  size_t len = strcspn(item, ":=");
  struct buf shown = {0};
  if (str_eq(option_key(row), STR("header")) &&
      mask_is_secret_header(str_trim((struct str){item, len})))
    buf_addf(&shown, "%.*s: %s", (int)len, item, MASK);
  else
    buf_adds(&shown, item);
  add_quoted(out, buf_str(&shown));
  buf_free(&shown);
}

static void add_list(const struct option *row, const struct option_list *l,
                     struct buf *out)
{
  buf_addc(out, '[');
  for (size_t i = 0; i < l->n; i++) {
    buf_adds(out, i ? ", " : "");
    add_item(row, l->items[i], out);
  }
  buf_addc(out, ']');
}

static void add_number(double x, const char *unit, struct buf *out)
{
  if (isinf(x))
    buf_adds(out, "inf");
  else
    buf_addf(out, "%.12g%s", x, unit);
}

/* The word of a choice. */
static void add_choice(const struct option *row, int at, struct buf *out)
{
  struct str rest = str_of(row->choices), word = {0};
  for (int i = 0; i <= at && rest.p; i++)
    word = str_split(&rest, ' ');
  buf_addstr(out, word);
}

static void add_value(const struct option *row, const void *at,
                      const char *text, struct buf *out)
{
  switch (row->kind) {
  case OPTION_BOOLEAN:
    buf_adds(out, *(const bool *)at ? "true" : "false");
    break;
  case OPTION_JSON:
  case OPTION_STRING:
    text = *(char *const *)at;
    if (row->kind == OPTION_JSON)
      buf_adds(out, text ? text : "null");
    else if (text)
      add_string(row, text, out);
    break;
  case OPTION_NUMBER: add_number(*(const double *)at, "", out); break;
  case OPTION_INTEGER: add_number((double)*(const int64_t *)at, "", out); break;
  case OPTION_SIZE:
  case OPTION_COUNT: add_number((double)*(const uint64_t *)at, "", out); break;
  case OPTION_UNSIGNED: add_number(*(const unsigned *)at, "", out); break;
  case OPTION_DURATION:
    add_number(ns_to_sec(*(const uint64_t *)at), "s", out);
    break;
  case OPTION_CHOICE: add_choice(row, *(const int *)at, out); break;
  case OPTION_LIST:
  case OPTION_PAIRS: add_list(row, at, out); break;
  case OPTION_CALL: add_quoted(out, str_of(text ? text : "")); break;
  }
}

static void add_key(const struct option *row, struct buf *out)
{
  struct str name = option_key(row);
  for (size_t i = 0; i < name.len; i++)
    buf_addc(out, name.p[i] == '-' ? '_' : name.p[i]);
}

static void add_row(const struct options *o, size_t i, struct buf *out)
{
  const struct option *row = &o->spec->rows[i];
  bool weak = o->source[i] == OPTION_DEFAULT;
  buf_adds(out, weak ? "# " : "");
  add_key(row, out);
  buf_adds(out, ": ");
  if (weak && row->kind != OPTION_BOOLEAN)
    buf_adds(out, row->shown_default ? row->shown_default : "none");
  else
    add_value(row, (const char *)o->dest + row->at, o->texts[i], out);
  buf_addf(out, "%s%s\n", weak ? "  # " : "  # ",
           option_source_name(o->source[i]));
}

void config_file_print(const struct options *o, struct buf *out)
{
  if (o->args.n) {
    buf_adds(out, "scenario: ");
    add_quoted(out, str_of(o->args.items[0]));
    buf_addc(out, '\n');
  }
  for (size_t i = 0; i < o->spec->n; i++)
    if (!o->spec->rows[i].hidden && !is_about_itself(&o->spec->rows[i]))
      add_row(o, i, out);
}
