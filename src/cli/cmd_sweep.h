/* cmd_sweep.h -- `stoke sweep`: runs over a grid of settings. */
#ifndef STOKE_CLI_CMD_SWEEP_H
#define STOKE_CLI_CMD_SWEEP_H

int cmd_sweep(int argc, char *const argv[]);

#endif
