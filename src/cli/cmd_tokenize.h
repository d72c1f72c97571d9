/* cmd_tokenize.h -- `stoke tokenize`: a tokenizer file tried by hand. */
#ifndef STOKE_CLI_CMD_TOKENIZE_H
#define STOKE_CLI_CMD_TOKENIZE_H

/* Arguments behind the command; returns the exit status. */
int cmd_tokenize(int argc, char *const argv[]);

#endif
