#include "script/params.h"

#include "base/mem.h"
#include "base/suggest.h"
#include "base/units.h"
#include "script/files.h"

const char *param_type_name(enum param_type t)
{
  static const char *const names[] = {"string",  "number",   "integer",
                                      "boolean", "duration", "path",
                                      "place",   "dist",     "list"};
  return names[t];
}

int param_type_find(struct str name, enum param_type *out)
{
  for (int t = PARAM_STRING; t <= PARAM_LIST; t++) {
    if (str_eq(name, str_of(param_type_name((enum param_type)t)))) {
      *out = (enum param_type)t;
      return 0;
    }
  }
  return -1;
}

bool params_is_file(const struct param *p)
{
  return (p->type == PARAM_PATH ||
          (p->type == PARAM_PLACE && p->text && p->text[0] == '/')) &&
         p->given && p->text;
}

/* ---- values ---- */

void param_clear_value(struct param *p)
{
  for (size_t i = 0; i < p->n_items; i++)
    mem_free(p->items[i]);
  mem_free(p->items);
  mem_free(p->text);
  p->items = NULL;
  p->n_items = 0;
  p->text = NULL;
  p->set = false;
}

void param_add_item(struct param *p, struct str item)
{
  p->items = mem_resize(p->items, p->n_items + 1, sizeof *p->items);
  p->items[p->n_items++] = mem_strndup(item.p ? item.p : "", item.len);
}

static int set_number(struct param *p, struct str s, const char *where,
                      struct err *e)
{
  int64_t whole;
  uint64_t ns;
  double x;
  switch (p->type) {
  case PARAM_INTEGER:
    if (units_integer(s, &whole) < 0)
      return err_add(e, "%s: not a whole number", where);
    x = (double)whole;
    break;
  case PARAM_DURATION:
    if (units_duration(s, &ns) < 0)
      return err_add(e,
                     "%s: not a duration; say for example 30s, 1.5m or "
                     "250ms",
                     where);
    x = (double)ns / 1e9;
    break;
  default:
    if (units_number(s, &x) < 0)
      return err_add(e, "%s: not a number", where);
  }
  if (p->has_min && x < p->min)
    return err_add(e, "%s: must be at least %g", where, p->min);
  if (p->has_max && x > p->max)
    return err_add(e, "%s: must be at most %g", where, p->max);
  p->number = x;
  return 0;
}

/* Single draws may lie beyond the limits, but not all of them. */
static int check_dist(const struct param *p, const char *where, struct err *e)
{
  double lo = p->dist.a, hi = lo;
  if (p->dist.kind == DIST_UNIFORM)
    hi = p->dist.b;
  else if (p->dist.kind == DIST_GAMMA)
    lo = hi = p->dist.a * p->dist.b;
  else if (p->dist.kind == DIST_ZIPF)
    lo = 1;
  if (p->has_min && hi < p->min)
    return err_add(e, "%s: must be at least %g", where, p->min);
  if (p->has_max && lo > p->max)
    return err_add(e, "%s: must be at most %g", where, p->max);
  return 0;
}

static int set_list(struct param *p, struct str s, const char *where,
                    struct err *e)
{
  int status = 0;
  while (s.p) {
    struct str item = str_trim(str_split(&s, ','));
    double x;
    if (!item.len)
      continue;
    if (p->numeric && units_number(item, &x) < 0)
      status = err_add(e, "%s: '%.*s' is not a number", where, STR_ARG(item));
    param_add_item(p, item);
  }
  return status;
}

/* What a user types is looked for where the user is; what a scenario names,
 * where the scenario is. */
static int set_path(struct param *p, struct str s, const char *folder,
                    const char *where, struct err *e)
{
  char *name = mem_strndup(s.p ? s.p : "", s.len), *joined = NULL;
  if (folder && name[0] != '/')
    joined = files_join(folder, name);
  if (p->given)
    p->text = files_real(name);
  if (!p->text && joined)
    p->text = files_real(joined);
  if (!p->text && !p->given && !joined)
    p->text = files_real(name);
  if (!p->text && p->type == PARAM_PLACE)
    p->text = mem_strdup(name);
  if (!p->text)
    err_add(e, "%s: no such file or folder", where);
  mem_free(joined);
  mem_free(name);
  return p->text ? 0 : -1;
}

static int check_choice(const struct param *p, struct str s, const char *where,
                        struct err *e)
{
  struct buf all = {0};
  for (size_t i = 0; i < p->n_choices; i++) {
    double a, b;
    struct str choice = str_of(p->choices[i]);
    if (str_eq(choice, s) ||
        (units_number(choice, &a) == 0 && units_number(s, &b) == 0 && a == b))
      break;
    buf_addf(&all, "%s%s", i ? ", " : "", p->choices[i]);
    if (i + 1 < p->n_choices)
      continue;
    err_add(e, "%s: choose one of %s", where, buf_cstr(&all));
    buf_free(&all);
    return -1;
  }
  buf_free(&all);
  return 0;
}

int param_set(struct param *p, struct str s, const char *folder,
              const char *where, struct err *e)
{
  int status = 0;
  param_clear_value(p);
  switch (p->type) {
  case PARAM_STRING: p->text = mem_strndup(s.p ? s.p : "", s.len); break;
  case PARAM_NUMBER:
  case PARAM_INTEGER:
  case PARAM_DURATION: status = set_number(p, s, where, e); break;
  case PARAM_BOOLEAN:
    if (units_boolean(s, &p->boolean) < 0)
      status = err_add(e, "%s: say true or false", where);
    break;
  case PARAM_PATH:
  case PARAM_PLACE: status = set_path(p, s, folder, where, e); break;
  case PARAM_DIST:
    p->text = mem_strndup(s.p ? s.p : "", s.len);
    status = dist_parse(s, &p->dist, where, e);
    if (status == 0)
      status = check_dist(p, where, e);
    break;
  case PARAM_LIST: status = set_list(p, s, where, e); break;
  }
  if (status == 0)
    status = check_choice(p, s, where, e);
  p->set = status == 0;
  return status;
}

/* ---- settings ---- */

static int unknown(const struct params *p, const char *setting, struct str name,
                   struct err *e)
{
  struct suggest near = {.typed = name};
  struct buf text = {0};
  buf_addf(&text, "-P %s: this scenario has no parameter '%.*s'", setting,
           STR_ARG(name));
  for (size_t i = 0; i < p->len; i++)
    suggest_consider(&near, str_of(p->list[i].name));
  suggest_print(&near, "", &text);
  for (size_t i = 0; i < p->len; i++)
    buf_addf(&text, "%s%s",
             i        ? ", "
             : near.n ? " It has "
                      : "; it has ",
             p->list[i].name);
  if (!p->len)
    buf_adds(&text, "; it has none");
  err_add(e, "%s", buf_cstr(&text));
  buf_free(&text);
  return -1;
}

static struct param *find(struct params *p, struct str name)
{
  for (size_t i = 0; i < p->len; i++)
    if (str_eq(str_of(p->list[i].name), name))
      return &p->list[i];
  return NULL;
}

static int apply(struct params *p, const char *setting, const char *folder,
                 struct err *e)
{
  struct str value = str_of(setting), name = str_split(&value, '=');
  struct buf where = {0};
  int status;
  struct param *found;
  name = str_trim(name);
  if (!value.p)
    return err_add(e, "-P %s: say name=value", setting);
  found = find(p, name);
  if (!found)
    return unknown(p, setting, name, e);
  found->given = true;
  buf_addf(&where, "-P %s", setting);
  status = param_set(found, value, folder, buf_cstr(&where), e);
  buf_free(&where);
  return status;
}

int params_set(struct params *p, const char *const *settings, size_t n,
               const char *folder, struct err *e)
{
  int status = 0;
  for (size_t i = 0; i < n; i++)
    if (apply(p, settings[i], folder, e) < 0)
      status = -1;
  return status;
}

int params_preset(struct params *p, struct str name, struct str value,
                  const char *folder, const char *where, struct err *e)
{
  struct param *found = find(p, name);
  struct buf place = {0};
  int status;
  buf_addf(&place, "%s: parameter %.*s", where, STR_ARG(name));
  if (!found)
    status =
        err_add(e, "%s: the scenario has none of that name", buf_cstr(&place));
  else
    status = param_set(found, value, folder, buf_cstr(&place), e);
  buf_free(&place);
  return status;
}

int params_required(const struct params *p, const char *where, struct err *e)
{
  int status = 0;
  for (size_t i = 0; i < p->len; i++) {
    const struct param *x = &p->list[i];
    if (x->required && !x->set && !x->given)
      status = err_add(e, "%s needs -P %s=… (%s%s%s)", where, x->name,
                       param_type_name(x->type), x->help ? ": " : "",
                       x->help ? x->help : "");
  }
  return status;
}

/* ---- out ---- */

static void write_value(const struct param *p, struct json_writer *w)
{
  double x;
  switch (p->type) {
  case PARAM_STRING:
  case PARAM_PATH:
  case PARAM_PLACE:
  case PARAM_DIST: json_string(w, str_of(p->text)); break;
  case PARAM_INTEGER: json_integer(w, (int64_t)p->number); break;
  case PARAM_NUMBER:
  case PARAM_DURATION: json_number(w, p->number); break;
  case PARAM_BOOLEAN: json_boolean(w, p->boolean); break;
  case PARAM_LIST:
    json_begin_array(w);
    for (size_t i = 0; i < p->n_items; i++) {
      if (p->numeric && units_number(str_of(p->items[i]), &x) == 0)
        json_number(w, x);
      else
        json_string(w, str_of(p->items[i]));
    }
    json_end_array(w);
  }
}

void params_write(const struct params *p, struct json_writer *w)
{
  json_begin_object(w);
  for (size_t i = 0; i < p->len; i++) {
    if (!p->list[i].set)
      continue;
    json_key(w, p->list[i].name);
    write_value(&p->list[i], w);
  }
  json_end_object(w);
}

void params_free(struct params *p)
{
  for (size_t i = 0; i < p->len; i++) {
    struct param *x = &p->list[i];
    param_clear_value(x);
    for (size_t j = 0; j < x->n_choices; j++)
      mem_free(x->choices[j]);
    mem_free(x->choices);
    mem_free(x->name);
    mem_free(x->help);
  }
  mem_free(p->list);
  *p = (struct params){0};
}
