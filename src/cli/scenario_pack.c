/* `stoke scenario pack NAME -o NAME.tar.gz` */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/scenario_commands.h"
#include "script/pack.h"
#include "script/scenario.h"

struct pack_flags {
  char *output;
  struct option_list params;
  bool with_data, force, unsafe;
};

#define AT(field) offsetof(struct pack_flags, field)

static const struct option rows[] = {
    {"o output", "FILE", OPTION_STRING, AT(output), "Options",
     .help = "the pack to write", .shown_default = "NAME.tar.gz"},
    {"P param", "NAME=VALUE", OPTION_PAIRS, AT(params),
     .help = "a parameter that travels along; a file that it names does, too"},
    {"with-data", NULL, OPTION_BOOLEAN, AT(with_data),
     .help = "data of any size; else what is above 8 MiB stays outside, and "
             "only its sum is in the pack"},
    {"force", NULL, OPTION_BOOLEAN, AT(force),
     .help = "overwrite a file that exists"},
    {"unsafe", NULL, OPTION_BOOLEAN, AT(unsafe),
     .help = "it needs --unsafe to be loaded"},
};

static const struct options_spec spec = {
    .program = "stoke scenario pack",
    .usage = "NAME [-o FILE] [-P NAME=VALUE ...]",
    .intro = "Puts a scenario into one file: the script, the modules that it "
             "requires, its data, its parameters, and a manifest with the "
             "SHA-256 of each. `stoke run FILE` runs it elsewhere. The same "
             "content makes the same bytes. Hidden files, keys and the "
             "environment stay out.",
    .examples =
        "stoke scenario pack my/agent -o agent.tar.gz\ta folder\n"
        "stoke scenario pack chat -P file=prompts.txt\twith its prompts\n"
        "stoke run agent.tar.gz --sha256 3f7a…\tthat content and no other\n",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
    .max_args = 1,
};

/* Parameters are written into the pack as they are. */
static void check_params(const struct option_list *params, struct err *e)
{
  static const char *const words[] = {"key", "password", "secret"};
  for (size_t i = 0; i < params->n; i++) {
    struct str value = str_of(params->items[i]);
    struct str name = str_trim(str_split(&value, '='));
    for (size_t k = 0; k < 3; k++)
      if (str_ends(name, str_of(words[k])))
        err_add(e, "-P %.*s: looks like a secret, and packs are handed on",
                STR_ARG(name));
  }
}

static void tell(const struct pack_files *f, const char *path, const char *sum)
{
  for (size_t i = 0; i < f->n; i++)
    printf("  %.12s  %10" PRIu64 "  %s%s\n", f->list[i].sha256,
           f->list[i].bytes, f->list[i].name,
           f->list[i].included ? "" : "  (stays outside; see --with-data)");
  printf("%s\nsha256 %s\n", path, sum);
}

static int write_pack(const struct scenario *s, const struct pack_options *po,
                      const struct pack_flags *f, struct err *e)
{
  struct pack_files files;
  struct buf path = {0};
  char sum[65];
  int status = pack_collect(s, po, &files, e);
  if (f->output)
    buf_adds(&path, f->output);
  else
    buf_addf(&path, "%s.tar.gz", s->name);
  if (status == 0)
    status = pack_write(s, po, &files, buf_cstr(&path), f->force, sum, e);
  if (status == 0)
    tell(&files, buf_cstr(&path), sum);
  pack_files_free(&files);
  buf_free(&path);
  return status;
}

static int pack(const struct options *o)
{
  const struct pack_flags *f = o->dest;
  struct scenario_options so = {
      .name = o->args.items[0],
      .params = (const char *const *)f->params.items,
      .n_params = f->params.n,
      .unsafe = f->unsafe,
      .lenient = true,
  };
  const struct pack_options po = {
      .settings = so.params,
      .n_settings = so.n_params,
      .with_data = f->with_data,
      .secret = getenv("OPENAI_API_KEY"),
  };
  struct err e = {0};
  struct scenario *s;
  int status = 0;
  if (f->output && !pack_is_name(str_of(f->output)))
    err_add(&e, "--output %s: a pack's name ends in .tar.gz", f->output);
  check_params(&f->params, &e);
  s = scenario_open(&so, &e);
  if (s && !e.count)
    write_pack(s, &po, f, &e);
  if (e.count)
    status = scenario_complain(&e);
  scenario_free(s);
  err_free(&e);
  return status;
}

int scenario_pack_main(int argc, char *const argv[])
{
  struct pack_flags flags = {0};
  return scenario_part(&spec, &flags,
                       "which one? `stoke scenario list` shows what there is",
                       pack, argc, argv);
}
