/* cmd_mock.h -- `stoke mock`: the embedded LLM server.
 * Returns the exit status: 0 when it was told to stop, 2 for wrong use. */
#ifndef STOKE_CLI_CMD_MOCK_H
#define STOKE_CLI_CMD_MOCK_H

/* `argv` without the program and the command's name. */
int cmd_mock(int argc, char *const argv[]);

#endif
