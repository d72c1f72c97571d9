/* scenario.h -- a scenario as the whole run sees it: plain data.
 * scenario_open finds the script, reads it once, runs its main chunk in a VM
 * of its own, checks the table that it returns and keeps everything that is
 * not a function. After that it is immutable, so all threads may read it; the
 * workers' VMs (script/vm.h) run the same source again for its functions. */
#ifndef STOKE_SCRIPT_SCENARIO_H
#define STOKE_SCRIPT_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "script/backend.h"
#include "script/params.h"

/* Functions that a scenario may define. X(ENUM, "name", "where it stands") */
#define HOOK_LIST(X)                                                           \
  X(SETUP, "setup", "")                                                        \
  X(INIT, "init", "")                                                          \
  X(EXIT, "exit", "")                                                          \
  X(REQUEST, "request", "")                                                    \
  X(SESSION, "session", "")                                                    \
  X(ON_FIRST_TOKEN, "on_first_token", "")                                      \
  X(ON_CHUNK, "on_chunk", "")                                                  \
  X(ON_RESPONSE, "on_response", "")                                            \
  X(CONTROL, "control", "")                                                    \
  X(TEARDOWN, "teardown", "")                                                  \
  X(SUMMARY, "summary", "")                                                    \
  X(RATE, "rate", "load")                                                      \
  X(ARRIVALS, "arrivals", "load")

enum hook {
#define X(ENUM, name, table) HOOK_##ENUM,
  HOOK_LIST(X)
#undef X
      HOOK_COUNT
};

/* "on_response" */
const char *hook_name(enum hook h);

struct pack;

struct scenario_options {
  const char *name;          /* a path or a name */
  const char *const *params; /* "k=v" of every -P, in order */
  size_t n_params;
  const char *const *args; /* what stood after "--" */
  size_t n_args;
  uint64_t seed;
  size_t memory; /* what a VM may keep alive; 0: 512 MiB */
  bool unsafe;   /* --unsafe: the full libraries */
  /* A module of our own that drives the load in place of control(run):
   * require(driver)(options) returns that function. NULL: none. */
  const char *driver, *driver_options; /* options: a JSON object */
  /* A script for wrk: the URL that it is to load, and header lines of the
   * command line. NULL: it is a scenario. */
  const char *wrk_url, *wrk_headers;
  uint64_t load_ns; /* the main chunk must return in this time; 0: 1 min */
  bool lenient;     /* required parameters may be missing: it will not run */
  /* What the content must hash to: a pack's file, or else the scenario's own
   * sum. NULL: whatever it is. */
  const char *sha256;
};

/* One Lua file that belongs to the scenario; the entry is the first. */
struct scenario_file {
  char *path;   /* as people know it: "my/agent/init.lua", or embedded */
  char *name;   /* within its folder: "init.lua", "tools/search.lua" */
  char *sha256; /* 64 hex digits */
};

struct data_store;
struct tokenizer_store;

struct scenario {
  char *name, *version, *description; /* version, description: NULL if unset */
  char *path;         /* of the entry, as it stands in messages */
  char *folder;       /* absolute, real; NULL when it is built in */
  char *shown_folder; /* the folder as messages show it: ".", "my/agent" */
  char *source;       /* the entry's text; all VMs run these bytes */
  size_t source_len;
  /* Of the entry when that is all; else of the lines that `sha256sum` prints
   * in the folder for all files, sorted by name: the same wherever it lies. */
  char sha256[65];
  struct pack *pack; /* that it came in, or NULL; see pack.h */
  struct scenario_file *files;
  size_t n_files;
  struct params params;     /* declared, with their values; see params.h */
  struct backends backends; /* stoke's own and the scenario's */
  char **backend_files;     /* names of the modules in backends/ */
  size_t n_backend_files;
  bool backends_listed; /* by scenario_open; nobody looks again */
  uint32_t hooks;       /* 1u << HOOK_REQUEST | … */
  /* What the table says, checked (unknown fields are errors) and normalised:
   * durations are seconds, infinity is the string "inf". NULL: not given. */
  json_value *load;       /* object, spelled as stoke.Load in lua/types */
  json_value *metrics;    /* object: name -> "counter", "gauge", … */
  json_value *thresholds; /* array of strings */
  /* As given. */
  char **args;
  size_t n_args;
  char *wrk_url, *wrk_headers;
  uint64_t seed;
  size_t memory;
  bool unsafe;
  /* What its s:http and run:http send elsewhere goes to the server under test
   * instead, with the other's name as Host. */
  bool stays_here;
  /* The data files that its VMs opened; has a lock of its own. */
  struct data_store *data;
  struct tokenizer_store *tokenizers; /* likewise */
  char *driver, *driver_options;      /* NULL: none */
};

/* Look for o->name as a path (a file, a folder with init.lua, or a pack), then
 * in ./scenarios, in each folder of $STOKE_PATH (there NAME.lua, a folder NAME,
 * or NAME.tar.gz), then among the built-in ones; "builtin:NAME" looks at these
 * alone.
 * NULL on failure, with every mistake in *e at once: a missing file, a syntax
 * error and an error of the main chunk each have words of their own. */
struct scenario *scenario_open(const struct scenario_options *o, struct err *e);
void scenario_free(struct scenario *s);

static inline bool scenario_has(const struct scenario *s, enum hook h)
{
  return s->hooks >> h & 1;
}

#endif
