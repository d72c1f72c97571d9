/* run_command.h -- from a command line to a table and an exit status.
 * `run`, `find` and `bench serve` are one command behind different fronts: a
 * front says which options there are and what they mean for a run, and may
 * look on at the points below. */
#ifndef STOKE_CLI_RUN_COMMAND_H
#define STOKE_CLI_RUN_COMMAND_H

#include "cli/run_options.h"
#include "core/run.h"
#include "report/run_info.h"
#include "script/request.h"
#include "stats/summary.h"

/* A run that is about to begin, for the front. */
struct run_stand {
  struct run_options *options;
  const struct request *sample; /* as the scenario makes them; NULL: it
                                 * does not tell beforehand */
};

/* Functions may be NULL, but not `read`. They run on the main thread, but for
 * `record`. */
struct run_front {
  const struct options_spec *spec; /* for --help, complaints and masking */
  enum options_result (*read)(struct run_options *r, int argc,
                              char *const argv[], struct err *e, void *ud);
  /* The same mistakes in this front's words. */
  void (*reword)(struct err *e);
  /* The load is settled and everything is right: nothing was sent yet. */
  void (*settled)(struct run_options *r, void *ud);
  /* Everything is prepared. -1: go on; else the exit status. */
  int (*begin)(const struct run_stand *s, void *ud);
  /* The measured phase is about to begin, its warm-up is over. */
  void (*measuring)(void *ud);
  /* Each record as it ends, on its worker's thread. */
  void (*record)(unsigned worker, const struct record *r, void *ud);
  /* The load is over: what else is known of it. */
  void (*end)(const struct run_stand *s, void *ud);
  /* The figures are made and not shown yet. */
  void (*describe)(struct summary *s, struct run_info *info, void *ud);
  /* It names the model when the server has several: the first. */
  bool first_model;
  void *ud;
};

int run_command(const struct run_front *f, int argc, char *const argv[]);

#endif
