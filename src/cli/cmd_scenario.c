/* `stoke scenario SUBCOMMAND` */
#include "cli/cmd_scenario.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "cli/scenario_commands.h"

struct part {
  const char *name;
  int (*run)(int argc, char *const argv[]);
  const char *summary;
};

static const struct part parts[] = {
    {"list", scenario_list_main, "which scenarios there are, and where"},
    {"show", scenario_show_main, "what one does, its parameters and its load"},
    {"new", scenario_new_main, "write a small one to begin with"},
    {"check", scenario_check_main, "run one once and see what it would send"},
    {"pack", scenario_pack_main, "put one into a file that can be handed on"},
};
#define N_PARTS (sizeof parts / sizeof *parts)

static void usage(FILE *to)
{
  fputs("stoke scenario: find, look at, begin, try and hand on scenarios\n\n"
        "Usage: stoke scenario COMMAND [options]\n\n",
        to);
  for (size_t i = 0; i < N_PARTS; i++)
    fprintf(to, "  %-10s %s\n", parts[i].name, parts[i].summary);
  fputs("\nTo begin with:\n"
        "  stoke scenario new mine\n"
        "  stoke scenario check mine.lua\n"
        "  stoke run mine.lua -u http://127.0.0.1:8000\n",
        to);
}

static int unknown(const char *name)
{
  struct suggest near = {.typed = str_of(name)};
  struct buf text = {0};
  for (size_t i = 0; i < N_PARTS; i++)
    suggest_consider(&near, str_of(parts[i].name));
  suggest_print(&near, "", &text);
  log_line("scenario %s: no such command%s", name, buf_cstr(&text));
  log_line("`stoke scenario --help` shows what there is");
  buf_free(&text);
  return 2;
}

int scenario_part(const struct options_spec *spec, void *flags,
                  const char *no_name, int (*body)(const struct options *o),
                  int argc, char *const argv[])
{
  struct options o;
  int status;
  options_init(&o, spec, flags);
  status = options_main(&o, argc, argv);
  if (status < 0 && no_name && !o.args.n) {
    log_line("%s", no_name);
    status = 2;
  }
  if (status < 0)
    status = body(&o);
  options_free(&o);
  return status;
}

int scenario_complain(struct err *e)
{
  log_lines(str_of(err_text(e)));
  return 2;
}

int cmd_scenario(int argc, char *const argv[])
{
  if (argc < 1) {
    usage(stderr);
    return 2;
  }
  for (size_t i = 0; i < N_PARTS; i++)
    if (strcmp(argv[0], parts[i].name) == 0)
      return parts[i].run(argc - 1, argv + 1);
  if (strcmp(argv[0], "--help") != 0 && strcmp(argv[0], "-h") != 0 &&
      strcmp(argv[0], "help") != 0)
    return unknown(argv[0]);
  usage(stdout);
  return 0;
}
