#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/option_value.h"
#include "base/suggest.h"
#include "base/units.h"

/* ---- lists ---- */

void option_list_add(struct option_list *l, struct str s)
{
  l->items = mem_resize(l->items, l->n + 1, sizeof *l->items);
  l->items[l->n++] = mem_strndup(s.p, s.len);
}

void option_list_free(struct option_list *l)
{
  for (size_t i = 0; i < l->n; i++)
    mem_free(l->items[i]);
  mem_free(l->items);
  *l = (struct option_list){0};
}

/* ---- names ---- */

/* What a name on the command line turned out to be. */
struct match {
  const struct option *row; /* NULL: none, or ambiguous */
  bool negated;             /* --no-x */
  bool ambiguous;
};

/* Underscores are dashes. */
static bool name_starts(struct str name, struct str typed)
{
  if (typed.len > name.len)
    return false;
  for (size_t i = 0; i < typed.len; i++)
    if ((typed.p[i] == '_' ? '-' : typed.p[i]) != name.p[i])
      return false;
  return true;
}

/* Is `typed` one of these long names, or the beginning of one? */
static bool names_match(const char *list, struct str typed, bool whole)
{
  struct str names = str_of(list);
  while (names.p) {
    struct str name = str_split(&names, ' ');
    if (name.len > 1 && name_starts(name, typed) &&
        (!whole || name.len == typed.len))
      return true;
  }
  return false;
}

static bool row_matches(const struct option *row, struct str typed, bool whole)
{
  return names_match(row->names, typed, whole || row->whole) ||
         (whole && names_match(row->also, typed, true));
}

static bool strip_no(struct str *typed)
{
  if (!str_starts(*typed, STR("no-")) && !str_starts(*typed, STR("no_")))
    return false;
  *typed = (struct str){typed->p + 3, typed->len - 3};
  return true;
}

/* One pass over the table, whole names or beginnings. */
static struct match look_up(const struct options_spec *spec, struct str typed,
                            bool whole)
{
  struct match m = {0};
  struct str bare = typed;
  bool no = strip_no(&bare);
  for (size_t i = 0; i < spec->n && typed.len; i++) {
    const struct option *row = &spec->rows[i];
    bool plain = row_matches(row, typed, whole);
    bool negated = !plain && no && row->kind == OPTION_BOOLEAN &&
                   row_matches(row, bare, whole);
    if (!plain && !negated)
      continue;
    if (m.row)
      return (struct match){.ambiguous = true};
    m = (struct match){.row = row, .negated = negated};
  }
  return m;
}

static struct match find_long(const struct options_spec *spec, struct str typed)
{
  struct match m = look_up(spec, typed, true);
  return m.row ? m : look_up(spec, typed, false);
}

static const struct option *find_short(const struct options_spec *spec, char c)
{
  for (size_t i = 0; i < spec->n; i++) {
    struct str names = str_of(spec->rows[i].names);
    while (names.p) {
      struct str name = str_split(&names, ' ');
      if (name.len == 1 && name.p[0] == c)
        return &spec->rows[i];
    }
  }
  return NULL;
}

const struct option *options_find(const struct options_spec *spec,
                                  struct str name)
{
  return look_up(spec, name, true).row;
}

/* "max_concurrency=4" without dashes, when it names an option in full. */
static bool is_assignment(const struct options_spec *spec, const char *arg)
{
  size_t len = strcspn(arg, ".=");
  return strchr(arg, '=') && options_find(spec, (struct str){arg, len});
}

const struct option *options_match(const struct options_spec *spec,
                                   const char *arg, const char **value)
{
  const struct option *row = NULL;
  *value = NULL;
  if (strncmp(arg, "--", 2) == 0 || is_assignment(spec, arg)) {
    const char *name = arg[0] == '-' ? arg + 2 : arg;
    const char *equals = strchr(arg, '=');
    *value = equals ? equals + 1 : NULL;
    return find_long(spec, (struct str){name, strcspn(name, ".=")}).row;
  }
  if (arg[0] != '-')
    return NULL;
  for (arg++; *arg && (row = find_short(spec, *arg)); arg++)
    if (row->kind != OPTION_BOOLEAN)
      break;
  if (row && row->kind != OPTION_BOOLEAN && arg[1])
    *value = arg + 1 + (arg[1] == '=');
  return row;
}

struct str option_key(const struct option *row)
{
  struct str names = str_of(row->names), name = {0};
  do
    name = str_split(&names, ' ');
  while (name.len == 1 && names.p);
  return name;
}

static void list_ambiguous(const struct options_spec *spec, struct str typed,
                           struct err *e)
{
  struct buf text = {0};
  for (size_t i = 0; i < spec->n; i++) {
    struct str names = str_of(spec->rows[i].names);
    while (names.p && !spec->rows[i].whole) {
      struct str name = str_split(&names, ' ');
      if (name.len > 1 && name_starts(name, typed))
        buf_addf(&text, "%s--%.*s", text.len ? ", " : "", STR_ARG(name));
    }
  }
  err_add(e, "ambiguous option: --%.*s could match %s; write more of it",
          STR_ARG(typed), buf_cstr(&text));
  buf_free(&text);
}

static void unknown_option(const struct options_spec *spec, struct str typed,
                           struct err *e)
{
  struct suggest near = {.typed = typed};
  struct buf text = {0};
  for (size_t i = 0; i < spec->n; i++) {
    struct str names = str_of(spec->rows[i].names);
    while (names.p && !spec->rows[i].hidden) {
      struct str name = str_split(&names, ' ');
      if (name.len > 1)
        suggest_consider(&near, name);
    }
  }
  suggest_print(&near, "--", &text);
  err_add(e, "--%.*s: no such option%s", STR_ARG(typed), buf_cstr(&text));
  buf_free(&text);
}

/* ---- setting ---- */

static int set_row(struct options *o, const struct option *row, struct str path,
                   const char *value, enum option_source from,
                   const char *place, struct err *e)
{
  enum option_source *had = &o->source[row - o->spec->rows];
  if (from < *had)
    return 0;
  if (from > *had) {
    /* What a weaker source collected does not mix with this. Defaults of
     * other kinds are plainly overwritten. */
    if (row->kind == OPTION_LIST || row->kind == OPTION_PAIRS ||
        row->kind == OPTION_JSON)
      option_clear(row, o->dest);
    if (from == OPTION_FLAG && row->notice)
      option_list_add(&o->notices, str_of(row->notice));
    *had = from;
  }
  if (row->kind == OPTION_CALL) {
    mem_free(o->texts[row - o->spec->rows]);
    o->texts[row - o->spec->rows] = mem_strdup(value);
  }
  return option_store(row, o->dest, path, value, place, e);
}

/* "--opt value" for messages: cut, free of control characters, and without
 * the value of a secret. */
static char *flag_place(const struct option *row, struct str typed,
                        const char *dashes, const char *value)
{
  enum { LONGEST = 60 };
  struct buf b = {0};
  buf_addf(&b, "%s%.*s", dashes, STR_ARG(typed));
  if (value && !row->secret) {
    buf_addc(&b, ' ');
    for (size_t i = 0; value[i] && i < LONGEST; i++)
      buf_addc(&b, (unsigned char)value[i] < ' ' ? '?' : value[i]);
    if (strlen(value) > LONGEST)
      buf_adds(&b, "...");
  }
  return buf_take(&b);
}

static void set_flag(struct options *o, const struct option *row,
                     struct str typed, const char *dashes, struct str path,
                     const char *value, struct err *e)
{
  char *place = flag_place(row, typed, dashes, value);
  set_row(o, row, path, value ? value : "yes", OPTION_FLAG, place, e);
  mem_free(place);
}

/* What "no_stream: true" says of stream. What is neither is told later. */
static const char *opposite(const char *value)
{
  bool on;
  if (units_boolean(str_of(value), &on) < 0)
    return value;
  return on ? "no" : "yes";
}

int options_set(struct options *o, const char *key, const char *value,
                enum option_source from, const char *place, struct err *e)
{
  struct match m = look_up(o->spec, str_of(key), true);
  if (!m.row) {
    unknown_option(o->spec, str_of(key), e);
    return -1;
  }
  if (!value && m.row->kind != OPTION_BOOLEAN)
    return err_add(e, "%s: needs a value", place);
  if (!value)
    value = "yes";
  return set_row(o, m.row, (struct str){0}, m.negated ? opposite(value) : value,
                 from, place, e);
}

/* ---- the command line ---- */

/* The arguments still to be read. */
struct cursor {
  char *const *at;
  int left;
};

/* Does this argument start an option? "-" is a file name, "-5" a number. */
static bool looks_like_option(const char *arg)
{
  if (arg[0] != '-' || arg[1] == '\0')
    return false;
  return !(arg[1] >= '0' && arg[1] <= '9') && arg[1] != '.';
}

/* The value of an option: after its '=', or the next argument. */
static const char *take_value(struct cursor *c, const struct option *row,
                              struct str typed, const char *dashes,
                              struct err *e)
{
  if (c->left > 0 && !looks_like_option(c->at[0])) {
    c->left--;
    return *c->at++;
  }
  err_add(e, "%s%.*s: needs a value (%s)%s%s", dashes, STR_ARG(typed),
          row->metavar, c->left > 0 ? ", but what follows is " : "",
          c->left > 0 ? c->at[0] : "");
  return NULL;
}

static void parse_long(struct options *o, const char *arg, struct cursor *c,
                       struct err *e)
{
  const char *value = strchr(arg, '=');
  struct str typed = {arg, value ? (size_t)(value - arg) : strlen(arg)};
  struct str path = typed, name = str_split(&path, '.');
  struct match m = find_long(o->spec, name);
  bool attached = value != NULL;
  value = value ? value + 1 : NULL;
  if (m.row && path.p && m.row->kind != OPTION_JSON)
    m = (struct match){0};
  if (!m.row) {
    if (m.ambiguous)
      list_ambiguous(o->spec, name, e);
    else
      unknown_option(o->spec, typed, e);
    /* What follows is most likely its value, not an argument of its own. */
    if (!value && c->left > 0 && !looks_like_option(c->at[0]))
      c->at++, c->left--;
  } else if (m.negated) {
    if (value)
      err_add(e, "--%.*s: takes no value", STR_ARG(typed));
    else
      set_flag(o, m.row, typed, "--", path, "no", e);
  } else {
    if (!value && m.row->none && (c->left == 0 || looks_like_option(c->at[0])))
      return;
    if (!value && m.row->kind != OPTION_BOOLEAN &&
        !(value = take_value(c, m.row, typed, "--", e)))
      return;
    set_flag(o, m.row, typed, "--", path, value, e);
    while (m.row->many && !attached && c->left > 0 &&
           !looks_like_option(c->at[0])) {
      set_flag(o, m.row, typed, "--", path, *c->at++, e);
      c->left--;
    }
  }
}

/* -q, -qk, -c16, -c 16, -c=16 */
static void parse_short(struct options *o, const char *arg, struct cursor *c,
                        struct err *e)
{
  for (; *arg; arg++) {
    struct str letter = {arg, 1};
    const struct option *row = find_short(o->spec, *arg);
    const char *value = arg[1] == '=' ? arg + 2 : arg + 1;
    if (!row) {
      err_add(e, "-%c: no such option", *arg);
      return;
    }
    if (row->kind == OPTION_BOOLEAN) {
      set_flag(o, row, letter, "-", (struct str){0}, NULL, e);
      continue;
    }
    if (arg[1] || (value = take_value(c, row, letter, "-", e)))
      set_flag(o, row, letter, "-", (struct str){0}, value, e);
    return;
  }
}

static void parse_environment(struct options *o, struct err *e)
{
  for (size_t i = 0; i < o->spec->n; i++) {
    const struct option *row = &o->spec->rows[i];
    const char *value = row->env ? getenv(row->env) : NULL;
    char *place;
    if (!value || !*value)
      continue;
    place = flag_place(row, str_of(row->env), "", value);
    set_row(o, row, (struct str){0}, value, OPTION_ENV, place, e);
    mem_free(place);
  }
}

static void parse_argument(struct options *o, const char *arg, struct err *e)
{
  option_list_add(&o->args, str_of(arg));
  if (o->args.n > o->spec->max_args)
    err_add(e, "%s: unexpected argument", arg);
}

static bool is_help(const char *arg, const char **word)
{
  if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
    *word = NULL;
    return true;
  }
  *word = arg + strlen("--help=");
  return strncmp(arg, "--help=", strlen("--help=")) == 0;
}

enum options_result options_parse(struct options *o, int argc,
                                  char *const argv[], struct err *e)
{
  struct cursor c = {argv, argc};
  unsigned before = e->count;
  while (c.left > 0) {
    const char *arg = *c.at++;
    c.left--;
    if (is_help(arg, &o->help_word))
      return OPTIONS_HELP;
    if (strcmp(arg, "--") == 0)
      break;
    if (strncmp(arg, "--", 2) == 0)
      parse_long(o, arg + 2, &c, e);
    else if (arg[0] == '-' && arg[1])
      parse_short(o, arg + 1, &c, e);
    else if (is_assignment(o->spec, arg))
      parse_long(o, arg, &c, e);
    else
      parse_argument(o, arg, e);
  }
  for (; c.left > 0; c.left--)
    option_list_add(&o->rest, str_of(*c.at++));
  parse_environment(o, e);
  return e->count > before ? OPTIONS_ERROR : OPTIONS_OK;
}

int options_main(struct options *o, int argc, char *const argv[])
{
  struct err e = {0};
  struct buf text = {0};
  int status = -1;
  switch (options_parse(o, argc, argv, &e)) {
  case OPTIONS_OK:
    for (size_t i = 0; i < o->notices.n; i++)
      log_line("%s", o->notices.items[i]);
    break;
  case OPTIONS_HELP:
    options_help(o->spec, o->help_word, &text);
    fputs(buf_cstr(&text), stdout);
    status = 0;
    break;
  case OPTIONS_ERROR:
    options_complain(o->spec, &e);
    status = 2;
    break;
  }
  buf_free(&text);
  err_free(&e);
  return status;
}

void options_complain(const struct options_spec *spec, struct err *e)
{
  log_lines(str_of(err_text(e)));
  log_line("`%s --help` shows what there is", spec->program);
}

/* ---- life ---- */

void options_init(struct options *o, const struct options_spec *spec,
                  void *dest)
{
  *o = (struct options){
      .spec = spec,
      .dest = dest,
      .source = mem_zalloc(spec->n, sizeof *o->source),
      .texts = mem_zalloc(spec->n, sizeof *o->texts),
  };
}

void options_free(struct options *o)
{
  for (size_t i = 0; o->spec && i < o->spec->n; i++) {
    option_clear(&o->spec->rows[i], o->dest);
    mem_free(o->texts[i]);
  }
  option_list_free(&o->args);
  option_list_free(&o->rest);
  option_list_free(&o->notices);
  mem_free(o->source);
  mem_free(o->texts);
  *o = (struct options){0};
}

enum option_source options_source(const struct options *o, const char *key)
{
  const struct option *row = options_find(o->spec, str_of(key));
  return row ? o->source[row - o->spec->rows] : OPTION_DEFAULT;
}

const char *option_source_name(enum option_source s)
{
  static const char *const names[] = {"default", "script", "file",
                                      "environment", "flag"};
  return names[s];
}
