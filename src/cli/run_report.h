/* run_report.h -- a finished run becomes a table, notes and a file. */
#ifndef STOKE_CLI_RUN_REPORT_H
#define STOKE_CLI_RUN_REPORT_H

#include "cli/run_command.h"
#include "core/run.h"
#include "script/scenario.h"

struct run_report {
  const struct run_front *front;
  const struct run_options *options;
  const struct scenario *scenario;
  struct run_result *result;
  const char *command;                   /* masked */
  uint64_t open_files, open_files_limit; /* 0: unknown */
};

/* Shows and writes everything. Returns the exit status (README.md). */
int run_report(const struct run_report *r);

#endif
