/* `stoke scenario show NAME` */
#include <stdio.h>

#include "base/mem.h"
#include "cli/scenario_commands.h"
#include "script/pack.h"
#include "script/scenario.h"

struct show_flags {
  bool source;
};

static const struct option rows[] = {
    {"source", NULL, OPTION_BOOLEAN, offsetof(struct show_flags, source),
     "Options", .help = "print its text instead"},
};

static const struct options_spec spec = {
    .program = "stoke scenario show",
    .usage = "NAME [--source]",
    .intro = "What a scenario does, what -P may set, which functions it has, "
             "the load that it brings, and the sums that say which it is.",
    .examples = "stoke scenario show chat\twhat `stoke run chat` would do\n"
                "stoke scenario show chat --source >mine.lua\t"
                "a copy to change\n",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
    .max_args = 1,
};

static void add_bounds(struct buf *out, const struct param *p)
{
  if (p->has_min)
    buf_addf(out, ", at least %g", p->min);
  if (p->has_max)
    buf_addf(out, ", at most %g", p->max);
  for (size_t i = 0; i < p->n_choices; i++)
    buf_addf(out, "%s%s", i ? " | " : ", ", p->choices[i]);
}

/* The value as -P would spell it. */
static void add_value(struct buf *out, const struct param *p)
{
  switch (p->type) {
  case PARAM_STRING:
  case PARAM_PATH:
  case PARAM_PLACE:
  case PARAM_DIST: buf_adds(out, p->text); break;
  case PARAM_NUMBER:
  case PARAM_INTEGER: buf_addf(out, "%.14g", p->number); break;
  case PARAM_DURATION: buf_addf(out, "%.14gs", p->number); break;
  case PARAM_BOOLEAN: buf_adds(out, p->boolean ? "true" : "false"); break;
  case PARAM_LIST:
    for (size_t i = 0; i < p->n_items; i++)
      buf_addf(out, "%s%s", i ? "," : "", p->items[i]);
  }
}

static void print_params(const struct params *all)
{
  struct buf line = {0};
  if (all->len)
    puts("\nParameters, set with -P NAME=VALUE:");
  for (size_t i = 0; i < all->len; i++) {
    const struct param *p = &all->list[i];
    buf_reset(&line);
    buf_addf(&line, "  %s", p->name);
    if (p->set)
      buf_addc(&line, '=');
    if (p->set)
      add_value(&line, p);
    buf_addf(&line, "  (%s%s", param_type_name(p->type),
             p->required ? ", required" : "");
    add_bounds(&line, p);
    buf_addf(&line, ")%s%s", p->help ? "  " : "", p->help ? p->help : "");
    puts(buf_cstr(&line));
  }
  buf_free(&line);
}

static void print_hooks(const struct scenario *s)
{
  fputs("\nFunctions: ", stdout);
  for (int h = 0, n = 0; h < HOOK_COUNT; h++)
    if (scenario_has(s, (enum hook)h))
      printf("%s%s", n++ ? ", " : "", hook_name((enum hook)h));
  putchar('\n');
}

static void print_json(const char *title, const json_value *v)
{
  struct buf text = {0};
  if (!v || !json_first(v))
    return;
  json_print(&text, v);
  printf("%s: %s\n", title, buf_cstr(&text));
  buf_free(&text);
}

static void print_files(const struct scenario *s)
{
  puts("\nFiles:");
  for (size_t i = 0; i < s->n_files; i++)
    printf("  %s  %s\n", s->files[i].sha256, s->files[i].path);
  printf("Sum of the scenario: %s\n", s->sha256);
  if (s->pack)
    printf("Sum of the pack: %s\n", s->pack->sha256);
}

static void show(const struct scenario *s)
{
  printf("%s%s%s: %s\n", s->name, s->version ? " " : "",
         s->version ? s->version : "",
         s->description ? s->description : "(no description)");
  printf("%s%s\n", s->folder ? "" : "built in: ", s->path);
  print_params(&s->params);
  print_hooks(s);
  print_json("Load", s->load);
  print_json("Metrics", s->metrics);
  print_json("Thresholds", s->thresholds);
  print_files(s);
}

static int open_and_show(const struct options *o)
{
  const struct show_flags *f = o->dest;
  struct scenario_options so = {.name = o->args.items[0], .lenient = true};
  struct err e = {0};
  struct scenario *s = scenario_open(&so, &e);
  int status = s ? 0 : scenario_complain(&e);
  if (s && f->source)
    fwrite(s->source, 1, s->source_len, stdout);
  else if (s)
    show(s);
  scenario_free(s);
  err_free(&e);
  return status;
}

int scenario_show_main(int argc, char *const argv[])
{
  struct show_flags flags = {0};
  return scenario_part(&spec, &flags,
                       "which one? `stoke scenario list` shows what there is",
                       open_and_show, argc, argv);
}
