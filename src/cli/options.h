/* options.h -- command lines from one table.
 * A command describes its options once, in a static table of rows; the table
 * gives parsing, --help and a stable key per row for configuration files and
 * shell completion. What is accepted, on every command alike:
 *   --opt value, --opt=value, opt=value, -oVALUE, -o VALUE, -qk (flags
 *   together),
 *   underscores for dashes in names, any unique beginning of a name,
 *   --no-opt for booleans, several values behind one list flag where the row
 *   says so, negative numbers as values, `--` (what follows is
 *   handed over unchanged), --body.a.b 1 for JSON rows, --help, --help=WORD.
 * A repeated option: the last one wins; lists collect. A stronger source
 * (flag > environment > file > script > default) replaces a weaker one, in
 * whatever order they come. All mistakes are collected in one struct err. */
#ifndef STOKE_CLI_OPTIONS_H
#define STOKE_CLI_OPTIONS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum option_kind {
  OPTION_BOOLEAN,  /* bool; the only kind that takes no value */
  OPTION_STRING,   /* char *, owned */
  OPTION_NUMBER,   /* double; "inf" is allowed */
  OPTION_INTEGER,  /* int64_t; 10k is 10,000 */
  OPTION_COUNT,    /* uint64_t, >= 0 */
  OPTION_UNSIGNED, /* unsigned, >= 0 */
  OPTION_SIZE,     /* uint64_t, bytes; 4k is 4,096 */
  OPTION_DURATION, /* uint64_t, ns; a bare number is seconds */
  OPTION_CHOICE,   /* int: the place in `choices` */
  OPTION_LIST,     /* struct option_list: repeated values */
  OPTION_PAIRS,    /* the same; each must be NAME=VALUE */
  OPTION_JSON,     /* char *, owned: the text of a JSON object */
  OPTION_CALL,     /* `call` does with it what it likes */
};

struct option_list {
  char **items; /* owned, each NUL-terminated */
  size_t n;
};

/* `value` is NUL-terminated; `place` names where it came from, for messages
 * ("--opt value"). Returns 0, or -1 with a message in *e. */
typedef int option_call_cb(void *dest, const char *value, const char *place,
                           struct err *e);

/* One row. Fields that do not apply stay zero. */
struct option {
  const char *names;   /* "u url base-url": single letters are short ones; the
                        * first long name is the canonical one */
  const char *metavar; /* what --help calls the value; NULL for a boolean */
  enum option_kind kind;
  size_t at; /* offset of the field in the destination */
  /* Heading in --help; NULL: that of the row before. */
  const char *group;
  const char *help; /* a phrase, no full stop */
  /* Said in --help; the value itself stands in the destination before
   * parsing. */
  const char *shown_default;
  const char *env;     /* environment variable that sets it too */
  const char *choices; /* OPTION_CHOICE: "chat completions" */
  option_call_cb *call;
  /* Inclusive; in seconds for durations. max 0: no upper bound; min 0: not
   * negative, except OPTION_INTEGER, which then has no lower bound. */
  double min, max;
  bool positive;      /* must be more than 0 */
  bool on;            /* a boolean that is on by default: shown as --no-x */
  bool secret;        /* its value is never shown */
  bool hidden;        /* not in --help, except --help=all and a search */
  bool many;          /* a list whose flag takes all values that follow it */
  bool none;          /* such a one, which may also be no value at all */
  bool whole;         /* no beginning of its names stands for it */
  const char *also;   /* spellings that are accepted whole and never shown */
  const char *notice; /* said once on stderr when it is used as a flag */
};

/* A command's whole description. */
struct options_spec {
  const char *program;  /* "stoke run" */
  const char *usage;    /* what follows the program on the usage line */
  const char *intro;    /* a sentence or two; may be NULL */
  const char *examples; /* lines "command\tcomment\n"; may be NULL */
  const char *footer;   /* printed last by --help, wrapped; may be NULL */
  const struct option *rows;
  size_t n;
  size_t max_args; /* positional arguments allowed */
};

enum option_source {
  OPTION_DEFAULT,
  OPTION_SCRIPT,
  OPTION_FILE,
  OPTION_ENV,
  OPTION_FLAG
};

/* A parse under way or done. */
struct options {
  const struct options_spec *spec;
  void *dest;                 /* the struct that `at` points into */
  enum option_source *source; /* of each row */
  char **texts;               /* of OPTION_CALL rows: as last set; else NULL */
  struct option_list args;    /* positional arguments */
  struct option_list rest;    /* what stood after `--`, unchanged */
  struct option_list notices; /* lines to show, already worded */
  const char *help_word;      /* of --help=WORD, or NULL; borrowed from argv */
};

enum options_result { OPTIONS_ERROR = -1, OPTIONS_OK, OPTIONS_HELP };

/* `dest` is borrowed, and already holds the defaults (owned strings must be
 * from mem.h or NULL). */
void options_init(struct options *o, const struct options_spec *spec,
                  void *dest);
/* Frees also every string and list that the rows own inside `dest`. */
void options_free(struct options *o);

/* Read argv[0 .. argc-1], all of them arguments (no program name), and then
 * the environment for rows that have a variable. Collects every mistake. */
enum options_result options_parse(struct options *o, int argc,
                                  char *const argv[], struct err *e);
/* options_parse, and the talking around it: prints notices and errors on
 * stderr, help on stdout. Returns -1 to go on, or the exit status. */
int options_main(struct options *o, int argc, char *const argv[]);
/* Every message of *e as a line on stderr, then where help is. */
void options_complain(const struct options_spec *spec, struct err *e);

/* Set one row by its key, in any spelling ("request_rate"), from a file or a
 * script; `place` is named in messages. A boolean without a value is NULL.
 * Weaker sources than the one that set it are ignored. 0 or -1. */
int options_set(struct options *o, const char *key, const char *value,
                enum option_source from, const char *place, struct err *e);

/* Which row has this name in any spelling; NULL when none has. */
const struct option *options_find(const struct options_spec *spec,
                                  struct str name);
/* Which row an argument of a command line belongs to, read as options_parse
 * would ("--opt=value", "-qkVALUE"). *value is the part of `arg` that is the
 * value, or NULL when it has none: a row that takes one then has it in the
 * next argument. NULL: an argument of its own. */
const struct option *options_match(const struct options_spec *spec,
                                   const char *arg, const char **value);
/* The canonical name, dashes kept: "request-rate". Borrowed from the row. */
struct str option_key(const struct option *row);
enum option_source options_source(const struct options *o, const char *key);
const char *option_source_name(enum option_source s);

/* The text of --help; with a word, only the rows that mention it. */
void options_help(const struct options_spec *spec, const char *word,
                  struct buf *out);

void option_list_add(struct option_list *l, struct str s);
void option_list_free(struct option_list *l);

#endif
