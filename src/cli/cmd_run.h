/* cmd_run.h -- `stoke run`: put load on a server and measure it; and what
 * does the same with a driver of ours: `stoke find`. */
#ifndef STOKE_CLI_CMD_RUN_H
#define STOKE_CLI_CMD_RUN_H

/* What stood behind the command on the command line. Returns the exit
 * status. */
int cmd_run(int argc, char *const argv[]);
int cmd_find(int argc, char *const argv[]);

#endif
