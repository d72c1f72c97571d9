#include "cli/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/suggest.h"
#include "cli/cmd_bench.h"
#include "cli/cmd_check.h"
#include "cli/cmd_compare.h"
#include "cli/cmd_mock.h"
#include "cli/cmd_run.h"
#include "cli/cmd_scenario.h"
#include "cli/cmd_sweep.h"
#include "cli/cmd_tokenize.h"
#include "cli/version.h"

struct command {
  const char *name;
  int (*run)(int argc, char *const argv[]);
  const char *summary;
};

static const struct command commands[] = {
    {"run", cmd_run, "put load on a server and measure it"},
    {"check", cmd_check, "look a server over before it is measured"},
    {"bench", cmd_bench, "bench serve: in the place of `vllm bench serve`"},
    {"find", cmd_find, "find the load at which a server saturates"},
    {"sweep", cmd_sweep, "run over a grid of settings"},
    {"compare", cmd_compare, "show runs side by side, and what is noise"},
    {"trend", cmd_trend, "list runs in the order of time"},
    {"scenario", cmd_scenario,
     "find, look at, begin, try and hand on scenarios"},
    {"mock", cmd_mock, "be a server to try things on, with known answers"},
    {"tokenize", cmd_tokenize, "show how a model's tokenizer cuts a text"},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static const struct command *find(const char *name)
{
  for (size_t i = 0; i < N_COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0)
      return &commands[i];
  return NULL;
}

static void usage(FILE *to)
{
  fputs("stoke: a load tester for LLM endpoints, with scenarios in Lua\n\n"
        "Usage: stoke COMMAND [options]\n\n",
        to);
  for (size_t i = 0; i < N_COMMANDS; i++)
    fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fputs("  help       the same as COMMAND --help\n"
        "  version    its version, and those of its main libraries\n\n"
        "To begin with:\n"
        "  stoke mock --port 8000 &\n"
        "  stoke run -u http://127.0.0.1:8000 -c 8 -d 10s\n",
        to);
}

static int unknown(const char *name)
{
  struct suggest near = {.typed = str_of(name)};
  struct buf text = {0};
  if (name[0] == '-') {
    log_line("%s: options come after a command, as in `stoke run %s`", name,
             name);
  } else {
    for (size_t i = 0; i < N_COMMANDS; i++)
      suggest_consider(&near, str_of(commands[i].name));
    suggest_print(&near, "", &text);
    log_line("%s: no such command%s", name, buf_cstr(&text));
  }
  log_line("`stoke --help` shows what there is");
  buf_free(&text);
  return 2;
}

static int help(int argc, char *const argv[])
{
  static char flag[] = "--help";
  char *const args[] = {flag, NULL};
  const struct command *c = argc > 0 ? find(argv[0]) : NULL;
  if (argc > 0 && !c)
    return unknown(argv[0]);
  if (c)
    return c->run(1, args);
  usage(stdout);
  return 0;
}

static bool is_one_of(const char *s, const char *a, const char *b,
                      const char *c)
{
  return strcmp(s, a) == 0 || strcmp(s, b) == 0 || strcmp(s, c) == 0;
}

/* A stream that the caller closed must not become the number of a socket or a
 * results file: these say EBADF to whoever writes there. */
static void reserve_streams(void)
{
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0)
      (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

/* What was printed without a look at the result: did it get out? A reader of
 * a pipe that has had enough is no failure. */
static int end(int status)
{
  struct stat s;
  bool failed = fflush(stdout) != 0;
  int why = failed ? errno : 0; /* else it was an earlier write */
  if ((!failed && !ferror(stdout)) || status)
    return status;
  if (fstat(STDOUT_FILENO, &s) == 0 &&
      (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode)))
    return status;
  log_line("the standard output could not be written%s%s", why ? ": " : "",
           why ? strerror(why) : "");
  return 1;
}

static int run(int argc, char *const argv[])
{
  const struct command *c;
  if (argc < 2) {
    usage(stderr);
    return 2;
  }
  if ((c = find(argv[1])))
    return c->run(argc - 2, argv + 2);
  if (is_one_of(argv[1], "help", "--help", "-h"))
    return help(argc - 2, argv + 2);
  if (is_one_of(argv[1], "version", "--version", "-V"))
    return version_main();
  return unknown(argv[1]);
}

int commands_main(int argc, char *const argv[])
{
  reserve_streams();
  setlocale(LC_CTYPE, "C.UTF-8"); /* libidn2 asks: what is bücher.example? */
  return end(run(argc, argv));
}
