/* `stoke scenario list` */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/scenario_commands.h"
#include "script/embed.h"
#include "script/files.h"
#include "script/pack.h"
#include "script/scenario.h"

/* Others' files lie there, too: none of them may hold up the list. */
static const uint64_t load_ns = 2 * NS_PER_SEC;

struct list_flags {
  bool json;
};

static const struct option rows[] = {
    {"json", NULL, OPTION_BOOLEAN, offsetof(struct list_flags, json), "Options",
     .help = "as a JSON array"},
};

static const struct options_spec spec = {
    .program = "stoke scenario list",
    .usage = "[--json]",
    .intro = "All scenarios that `stoke run NAME` would find: in ./scenarios, "
             "in the folders of STOKE_PATH, and those that are built in.",
    .examples = "STOKE_PATH=~/team stoke scenario list\t"
                "with those of the team's folder\n",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
};

struct entry {
  char *name, *version, *description, *where; /* where it is opened from */
  bool hidden;                                /* another comes first */
};

struct listing {
  struct entry *list;
  size_t n;
};

static bool has_name(const struct listing *l, const char *name)
{
  for (size_t i = 0; i < l->n; i++)
    if (strcmp(l->list[i].name, name) == 0)
      return true;
  return false;
}

/* "cannot be loaded: …" in one line, for what has mistakes. */
static char *trouble(struct err *e)
{
  struct str all = str_of(err_text(e)), line = str_split(&all, '\n');
  struct buf text = {0};
  buf_addf(&text, "cannot be loaded: %.*s", STR_ARG(line));
  return buf_take(&text);
}

/* `name` is what people type, `from` where just this one is. */
static void add(struct listing *l, struct str name, const char *from)
{
  struct scenario_options o = {
      .name = from, .lenient = true, .load_ns = load_ns};
  struct err e = {0};
  struct scenario *s = scenario_open(&o, &e);
  struct entry x = {.name = mem_strndup(name.p, name.len),
                    .where = mem_strdup(from)};
  x.hidden = has_name(l, x.name);
  x.version = s && s->version ? mem_strdup(s->version) : NULL;
  x.description = !s               ? trouble(&e)
                  : s->description ? mem_strdup(s->description)
                                   : NULL;
  l->list = mem_resize(l->list, l->n + 1, sizeof *l->list);
  l->list[l->n++] = x;
  scenario_free(s);
  err_free(&e);
}

/* The name of a file or folder as a scenario; empty when it is none. */
static struct str name_of(const char *folder, const char *file)
{
  struct str name = str_of(file);
  char *path = files_join(folder, file), *init = files_join(path, "init.lua");
  if (file[0] == '.')
    name.len = 0;
  else if (files_is_folder(path))
    name.len = files_is_file(init) ? name.len : 0;
  else if (str_ends(name, STR(".tar.gz")))
    name.len -= strlen(".tar.gz");
  else if (str_ends(name, STR(".lua")))
    name.len -= strlen(".lua");
  else
    name.len = 0;
  mem_free(init);
  mem_free(path);
  return name;
}

static void add_folder(struct listing *l, const char *folder)
{
  struct dirent **found;
  int n = scandir(folder, &found, NULL, alphasort);
  for (int i = 0; i < n; i++) {
    struct str name = name_of(folder, found[i]->d_name);
    char *path = files_join(folder, found[i]->d_name);
    if (name.len)
      add(l, name, path);
    mem_free(path);
    free(found[i]);
  }
  if (n >= 0)
    free(found);
}

static void add_path(struct listing *l)
{
  struct str rest = str_of(getenv("STOKE_PATH"));
  while (rest.p) {
    struct str part = str_split(&rest, ':');
    char *folder = mem_strndup(part.p, part.len);
    if (part.len)
      add_folder(l, folder);
    mem_free(folder);
  }
}

static void add_builtin(struct listing *l)
{
  for (size_t i = 0; i < embedded_count; i++) {
    struct str name = str_of(embedded_files[i].path);
    struct buf from = {0};
    if (!str_starts(name, STR("scenarios/")))
      continue;
    name = (struct str){name.p + 10, name.len - 10};
    if (str_ends(name, STR("/init.lua")))
      name.len -= strlen("/init.lua");
    else if (!memchr(name.p, '/', name.len))
      name.len -= strlen(".lua");
    else
      continue;
    buf_addf(&from, "builtin:%.*s", STR_ARG(name));
    add(l, name, buf_cstr(&from));
    buf_free(&from);
  }
}

static void print_text(const struct listing *l)
{
  size_t widest = 4;
  for (size_t i = 0; i < l->n; i++)
    if (strlen(l->list[i].name) > widest)
      widest = strlen(l->list[i].name);
  for (size_t i = 0; i < l->n; i++) {
    const struct entry *x = &l->list[i];
    bool builtin = str_starts(str_of(x->where), STR("builtin:"));
    printf("%-*s  %s%s%s", (int)widest, x->name,
           x->description ? x->description : "(no description)",
           x->version ? ", version " : "", x->version ? x->version : "");
    printf("  (%s%s)\n", builtin ? "built in" : x->where,
           x->hidden ? ", hidden by the one above" : "");
  }
}

static void put(struct json_writer *w, const char *key, const char *text)
{
  json_key(w, key);
  if (text)
    json_string(w, str_of(text));
  else
    json_null(w);
}

static void print_json(const struct listing *l)
{
  struct buf out = {0};
  struct json_writer w = {.out = &out, .spaced = true};
  json_begin_array(&w);
  for (size_t i = 0; i < l->n; i++) {
    const struct entry *x = &l->list[i];
    json_begin_object(&w);
    put(&w, "name", x->name);
    put(&w, "version", x->version);
    put(&w, "description", x->description);
    put(&w, "where", x->where);
    json_key(&w, "hidden");
    json_boolean(&w, x->hidden);
    json_end_object(&w);
  }
  json_end_array(&w);
  puts(buf_cstr(&out));
  buf_free(&out);
}

static void free_listing(struct listing *l)
{
  for (size_t i = 0; i < l->n; i++) {
    mem_free(l->list[i].name);
    mem_free(l->list[i].version);
    mem_free(l->list[i].description);
    mem_free(l->list[i].where);
  }
  mem_free(l->list);
}

static int list(const struct options *o)
{
  const struct list_flags *f = o->dest;
  struct listing l = {0};
  add_folder(&l, "scenarios");
  add_path(&l);
  add_builtin(&l);
  if (f->json)
    print_json(&l);
  else
    print_text(&l);
  free_listing(&l);
  return 0;
}

int scenario_list_main(int argc, char *const argv[])
{
  struct list_flags flags = {0};
  return scenario_part(&spec, &flags, NULL, list, argc, argv);
}
