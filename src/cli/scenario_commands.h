/* scenario_commands.h -- the parts of `stoke scenario`. Each is handed what
 * stood behind its own name and returns the exit status. */
#ifndef STOKE_CLI_SCENARIO_COMMANDS_H
#define STOKE_CLI_SCENARIO_COMMANDS_H

#include "cli/options.h"

int scenario_list_main(int argc, char *const argv[]);
int scenario_show_main(int argc, char *const argv[]);
int scenario_new_main(int argc, char *const argv[]);
int scenario_check_main(int argc, char *const argv[]);
int scenario_pack_main(int argc, char *const argv[]);

/* The frame of most of them: reads the arguments into `flags`, and calls `body`
 * with them. `no_name`: what to say when no argument is there; NULL: none is
 * needed. Returns the exit status, of `body` if it came to that. */
int scenario_part(const struct options_spec *spec, void *flags,
                  const char *no_name, int (*body)(const struct options *o),
                  int argc, char *const argv[]);

/* All mistakes on stderr. Returns 2. */
int scenario_complain(struct err *e);

#endif
