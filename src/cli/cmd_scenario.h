/* cmd_scenario.h -- `stoke scenario`: find, look at, begin, try and hand on
 * scenarios. */
#ifndef STOKE_CLI_CMD_SCENARIO_H
#define STOKE_CLI_CMD_SCENARIO_H

/* `argv` without the program and the command's name. Returns the exit status:
 * 0, 1 when something could not be done, 2 for wrong use and scenarios with
 * mistakes. */
int cmd_scenario(int argc, char *const argv[]);

#endif
