/* cmd_run.h -- `stoke run`: put load on a server and measure it. */
#ifndef STOKE_CLI_CMD_RUN_H
#define STOKE_CLI_CMD_RUN_H

/* What stood behind "run" on the command line. Returns the exit status. */
int cmd_run(int argc, char *const argv[]);

#endif
