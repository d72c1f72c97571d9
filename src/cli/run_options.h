/* run_options.h -- the command line of `stoke run`.
 * Its table of options, and what has to be true beyond single values: the
 * URL, keys, headers and files, and how the options that shape the load fit
 * together and with the scenario's own. */
#ifndef STOKE_CLI_RUN_OPTIONS_H
#define STOKE_CLI_RUN_OPTIONS_H

#include "base/json.h"
#include "cli/options.h"
#include "core/config.h"
#include "report/blocks.h"

/* So many results, all the same and hopeless, are enough; with --no-preflight
 * they are not. */
#define RUN_FAIL_FAST 10

struct run_options {
  struct config config;
  struct options options; /* sources, positional arguments, `--` arguments */

  /* As typed. */
  char *url, *endpoint, *api_key, *api_key_env;
  char *sha256;
  struct option_list headers, params, metadata, stages, thresholds;
  char *thresholds_file;
  int arrival, overflow, ramp_up;
  double ramp_up_from, ramp_up_to;
  uint64_t num_sessions;
  char *percentile_metrics, *metric_percentiles;

  char *config_file;
  char *output, *requests_out; /* NULL: none; "-": stdout */
  bool until_exhausted;        /* the scenario's end is the run's, whatever
                         * num_requests */
  bool append;                 /* `output` gets one more line */
  bool force, quiet, preflight, unsafe, version, print_config;
  bool no_live;
  bool plot;
  const char *url_flag; /* what named the server; NULL: --url */
  bool wrk;             /* the scenario is a script for wrk */
  char *wrk_url;        /* what it loads, with its path */

  /* Of `stoke find`. */
  struct option_list slos;
  int find_of; /* 0: request rate, 1: concurrency */
  double find_from, find_most, find_factor, find_precision;
  uint64_t find_window_ns, find_limit_ns;

  /* From the above. */
  unsigned blocks; /* see report/blocks.h */
  double percentiles[USER_PERCENTILES_MAX];
  size_t n_percentiles;
  struct option_list secrets; /* keys, as they could appear in some text */
};

/* `stoke run`, and `stoke find`, which takes the same and more. */
extern const struct options_spec run_options_spec, find_options_spec;

/* The same in steps, for whoever gets the values from elsewhere: the defaults
 * and an empty `options` to set them in, and the check of what is set. */
void run_options_init(struct run_options *r, const struct options_spec *spec);
void run_options_check(struct run_options *r, struct err *e);
/* Servers log x-request-id; two runs must not share one. "stoke-1a2b3c4d-"
 * unless there is a name already. */
void run_options_name_requests(struct run_options *r, const char *program);
/* Read argv (behind the command), the environment, and check what can be
 * checked without the scenario. Everything wrong is in *e. OPTIONS_HELP also
 * when there are mistakes. Free in any case. */
enum options_result run_options_read(struct run_options *r,
                                     const struct options_spec *spec, int argc,
                                     char *const argv[], struct err *e);
/* What of the load only the scenario's functions say. */
enum load_nature {
  LOAD_SESSIONS = 1, /* items are sessions */
  LOAD_DRIVEN = 2,   /* control(run) drives it */
  LOAD_RATE = 4,     /* load.rate is a function of time */
  LOAD_ARRIVALS = 8, /* load.arrivals gives the gaps */
};

/* The scenario's `load` (an object, or NULL; `place` is its file) under the
 * flags, defaults under both, and then: do they fit together? `nature` is a
 * set of load_nature. 0 or -1. In run_load.c. */
int run_options_settle(struct run_options *r, const json_value *load,
                       unsigned nature, const char *place, struct err *e);
/* The load in words: "4 requests at a time for 10 s"; or of sessions. Appended.
 */
void run_options_describe(const struct run_options *r, bool sessions,
                          struct buf *out);
/* Where the API key, or a header in its place, came from; NULL: no key. */
const char *run_options_key_source(const struct run_options *r);
void run_options_free(struct run_options *r);

#endif
