/* stoke sweep: its own options, told apart from those of the runs it starts.
 * What it does with them is in lua/stoke/cmd/sweep.lua, which starts every
 * cell as a process of its own: a run that dies takes nothing along, no
 * cell inherits another's heap or connections, and a cell's command line is
 * one that a person can type. */
#include "cli/cmd_sweep.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "base/version.h"
#include "cli/run_options.h"
#include "cli/tool_request.h"
#include "script/tool.h"

struct sweep_flags {
  struct option_list vary, set;
  bool zip, same_prompts, save_requests, dry_run, force, quiet, plot;
  uint64_t repeat, pause_ns;
  char *result_dir, *csv, *output, *stop_when;
};

#define AT(field) offsetof(struct sweep_flags, field)

static const struct option rows[] = {
    {"vary", "NAME=VALUES", OPTION_PAIRS, AT(vary), "Cells",
     .help = "an option of `stoke run`, or a parameter of the scenario, and "
             "its values: 1,2,4 or 1..16*2 (factor) or 0.5..3:0.5 (step); "
             "may be repeated, the first varies fastest"},
    {"set", "NAME=EXPR", OPTION_PAIRS, AT(set),
     .help = "compute another one from them: num_prompts=3*max_concurrency; "
             "may be repeated"},
    {"zip", NULL, OPTION_BOOLEAN, AT(zip),
     .help = "take the lists side by side instead of every combination"},
    {"repeat", "N", OPTION_COUNT, AT(repeat),
     .help = "runs of each cell; figures are then means with a 95 % "
             "confidence interval",
     .shown_default = "1", .positive = true, .max = 1000},
    {"pause", "TIME", OPTION_DURATION, AT(pause_ns),
     .help = "wait between runs", .shown_default = "0"},
    {"stop-when", "EXPR", OPTION_STRING, AT(stop_when),
     .help = "skip the higher values of the first --vary once this is true: "
             "error_rate > 5%, timeout_rate > 1%, ttft.p99 > 2s"},
    {"same-prompts", NULL, OPTION_BOOLEAN, AT(same_prompts),
     .help = "every run has the same seed; otherwise each has its own, so "
             "that a server's cache cannot flatter the later ones"},
    {"dry-run", NULL, OPTION_BOOLEAN, AT(dry_run),
     .help = "print the command of each run and end"},
    {"result-dir", "DIR", OPTION_STRING, AT(result_dir), "Results",
     .help = "a JSON file for each run goes there; runs that are there "
             "already are not run again",
     .shown_default = "stoke-sweep"},
    {"csv", "FILE", OPTION_STRING, AT(csv), .help = "a line for each cell"},
    {"o output", "FILE", OPTION_STRING, AT(output),
     .help = "all cells in one JSON file"},
    {"save-requests", NULL, OPTION_BOOLEAN, AT(save_requests),
     .help = "also a JSON line for each request, beside each run's file"},
    {"plot", NULL, OPTION_BOOLEAN, AT(plot),
     .help = "draw throughput and p99 of TTFT over the first --vary"},
    {"force", NULL, OPTION_BOOLEAN, AT(force),
     .help = "run every cell again, and overwrite files that exist"},
    {"q quiet", NULL, OPTION_BOOLEAN, AT(quiet),
     .help = "show the table alone"},
};

static const struct options_spec spec = {
    .program = "stoke sweep",
    .usage = "[SCENARIO] --vary NAME=VALUES [options] [options of stoke run]",
    .intro = "Run a scenario over a grid of settings, one after the other. "
             "Options that are not listed here are those of `stoke run`, and "
             "hold for every cell. Begun again after an interruption, it goes "
             "on where it was.",
    .examples =
        "stoke sweep -u host:8000 --vary max_concurrency=1..64*2 "
        "--set num_prompts='5*max_concurrency' --csv sweep.csv\t"
        "five requests a slot at 1, 2, 4 ... 64 at a time\n"
        "stoke sweep my.lua -u host:8000 -d 30s --vary request_rate=1..8 "
        "--vary input_len=512,2048 --stop-when 'error_rate > 5%'\t"
        "rates, for two lengths of the scenario's own parameter\n",
    .footer = "Exit status: 0 done; 1 no cell succeeded; 2 wrong use; 99 a "
              "threshold is broken in a cell; 130 interrupted.",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
    .max_args = 0,
};

/* ---- whose option is it? ---- */

struct split {
  struct option_list own, run, hashed; /* hashed: run without secrets */
};

static bool is_value(const char *arg)
{
  return arg && (arg[0] != '-' || !arg[1] || arg[1] == '.' ||
                 (arg[1] >= '0' && arg[1] <= '9'));
}

/* The name as written, without dashes and value. */
static struct str bare_name(const char *arg)
{
  arg += strspn(arg, "-");
  return (struct str){arg, strcspn(arg, ".=")};
}

static void consider_rows(struct suggest *near, const struct options_spec *s)
{
  for (size_t i = 0; i < s->n; i++) {
    struct str names = str_of(s->rows[i].names);
    while (names.p) {
      struct str name = str_split(&names, ' ');
      if (name.len > 1)
        suggest_consider(near, name);
    }
  }
}

static void unknown(const char *arg, struct err *e)
{
  struct suggest near = {.typed = bare_name(arg)};
  struct buf text = {0};
  consider_rows(&near, &spec);
  consider_rows(&near, &run_options_spec);
  suggest_print(&near, "--", &text);
  err_add(e, "%.*s: no such option, of a sweep or a run%s",
          (int)strcspn(arg, "="), arg, buf_cstr(&text));
  buf_free(&text);
}

/* A whole name goes before the beginning of another. */
static const struct option *whose(const char *arg, bool *own,
                                  const char **value)
{
  const char *run_value;
  const struct option *mine = options_match(&spec, arg, value);
  const struct option *theirs =
      options_match(&run_options_spec, arg, &run_value);
  struct str name = bare_name(arg);
  *own = mine && (!theirs || arg[1] != '-' || options_find(&spec, name) ||
                  !options_find(&run_options_spec, name));
  if (!*own)
    *value = run_value;
  return *own ? mine : theirs;
}

static void split_arguments(struct split *s, int argc, char *const argv[],
                            struct err *e)
{
  for (int i = 0; i < argc; i++) {
    const char *arg = argv[i], *value;
    const struct option *row;
    struct option_list *to;
    bool own, secret;
    if (strcmp(arg, "--") == 0) {
      for (; i < argc; i++) {
        option_list_add(&s->run, str_of(argv[i]));
        option_list_add(&s->hashed, str_of(argv[i]));
      }
      return;
    }
    if (strcmp(arg, "-h") == 0 || strncmp(arg, "--help", 6) == 0) {
      option_list_add(&s->own, str_of(arg));
      continue;
    }
    row = whose(arg, &own, &value);
    if (!row && !is_value(arg)) {
      unknown(arg, e);
      i += argc > i + 1 && is_value(argv[i + 1]);
      continue;
    }
    if (row && !own && str_eq(option_key(row), STR("requests-out")))
      err_add(e, "--requests-out: each run would overwrite it; "
                 "--save-requests keeps one beside each run's file");
    to = own ? &s->own : &s->run;
    secret =
        own || (row && (row->secret || str_eq(option_key(row), STR("header"))));
    option_list_add(to, str_of(arg));
    if (!secret)
      option_list_add(&s->hashed, str_of(arg));
    if (row && row->kind != OPTION_BOOLEAN && !value && i + 1 < argc &&
        is_value(argv[i + 1])) {
      option_list_add(to, str_of(argv[++i]));
      if (!secret)
        option_list_add(&s->hashed, str_of(argv[i]));
    }
  }
}

/* ---- the request ---- */

/* Every name of every option of a run, and which of them it is. */
static void write_flags(struct json_writer *w)
{
  json_key(w, "flags");
  json_begin_object(w);
  for (size_t i = 0; i < run_options_spec.n; i++) {
    struct str names = str_of(run_options_spec.rows[i].names);
    while (names.p) {
      json_key_str(w, str_split(&names, ' '));
      json_string(w, option_key(&run_options_spec.rows[i]));
    }
  }
  json_end_object(w);
  json_key(w, "switches");
  json_begin_object(w);
  for (size_t i = 0; i < run_options_spec.n; i++)
    if (run_options_spec.rows[i].kind == OPTION_BOOLEAN) {
      json_key_str(w, option_key(&run_options_spec.rows[i]));
      json_boolean(w, true);
    }
  json_end_object(w);
}

static int start(const struct options *o, const struct split *s)
{
  struct buf text = {0};
  struct json_writer w = {.out = &text};
  int status;
  json_begin_object(&w);
  tool_request_options(&w, o);
  tool_request_list(&w, "run", &s->run);
  tool_request_list(&w, "hashed", &s->hashed);
  write_flags(&w);
  json_key(&w, "version");
  json_string(&w, str_of(stoke_version));
  json_end_object(&w);
  status = tool_run("sweep", buf_str(&text));
  buf_free(&text);
  return status;
}

int cmd_sweep(int argc, char *const argv[])
{
  struct sweep_flags flags = {.repeat = 1,
                              .result_dir = mem_strdup("stoke-sweep")};
  struct options o;
  struct split s = {0};
  struct err e = {0};
  int status;
  options_init(&o, &spec, &flags);
  split_arguments(&s, argc, argv, &e);
  status = options_main(&o, (int)s.own.n, s.own.items);
  if (status < 0 && e.count) {
    options_complain(&spec, &e);
    status = 2;
  }
  if (status < 0)
    status = start(&o, &s);
  options_free(&o);
  option_list_free(&s.own);
  option_list_free(&s.run);
  option_list_free(&s.hashed);
  err_free(&e);
  return status;
}
