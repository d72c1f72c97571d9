/* cmd_compare.h -- `stoke compare` and `stoke trend`: results files read. */
#ifndef STOKE_CLI_CMD_COMPARE_H
#define STOKE_CLI_CMD_COMPARE_H

int cmd_compare(int argc, char *const argv[]);
int cmd_trend(int argc, char *const argv[]);

#endif
