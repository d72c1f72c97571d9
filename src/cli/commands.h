/* commands.h -- which command is meant, and what there is. */
#ifndef STOKE_CLI_COMMANDS_H
#define STOKE_CLI_COMMANDS_H

/* The whole program, as main is called. Returns the exit status. */
int commands_main(int argc, char *const argv[]);

#endif
