/* scenario_commands.h -- the parts of `stoke scenario`. Each is handed what
 * stood behind its own name and returns the exit status. */
#ifndef STOKE_CLI_SCENARIO_COMMANDS_H
#define STOKE_CLI_SCENARIO_COMMANDS_H

#include "base/err.h"

int scenario_list_main(int argc, char *const argv[]);
int scenario_show_main(int argc, char *const argv[]);
int scenario_new_main(int argc, char *const argv[]);
int scenario_check_main(int argc, char *const argv[]);
int scenario_pack_main(int argc, char *const argv[]);

/* All mistakes on stderr. Returns 2. */
int scenario_complain(struct err *e);

#endif
