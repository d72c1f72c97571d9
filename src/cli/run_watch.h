/* run_watch.h -- what is shown and kept while a run goes on: the live screen
 * and the line per request. */
#ifndef STOKE_CLI_RUN_WATCH_H
#define STOKE_CLI_RUN_WATCH_H

#include "cli/run_command.h"
#include "core/run.h"
#include "report/live.h"
#include "report/requests_out.h"

struct run_watch {
  const struct run_options *options;
  const struct run_front *front;
  const struct run_result *result; /* of the run under way: its epoch */
  struct live *live;
  int fd;                       /* of --requests-out, or -1 */
  struct requests_out *writers; /* one per worker */
  unsigned n_writers;
  uint64_t open_files; /* the most that were seen open */
};

/* 0, or -1 with a message; close it in both cases. `o` and `result` are
 * borrowed until then. */
int run_watch_open(struct run_watch *w, const struct run_options *o,
                   const struct run_result *result,
                   const struct run_front *front, struct err *e);
/* For run_execute; they point to *w. */
struct run_callbacks run_watch_callbacks(struct run_watch *w);
/* The screen goes away and the last lines are written. -1 and a message when
 * some could not be. */
int run_watch_close(struct run_watch *w, struct err *e);

#endif
