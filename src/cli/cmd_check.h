/* cmd_check.h -- `stoke check`: is this server ready to be measured? */
#ifndef STOKE_CLI_CMD_CHECK_H
#define STOKE_CLI_CMD_CHECK_H

/* argv is what stood behind the command. Returns the exit status. */
int cmd_check(int argc, char *const argv[]);

#endif
