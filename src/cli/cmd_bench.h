/* cmd_bench.h -- `stoke bench serve`: `vllm bench serve`, as it is called,
 * as it prints, as it saves. */
#ifndef STOKE_CLI_CMD_BENCH_H
#define STOKE_CLI_CMD_BENCH_H

/* What stood behind the command on the command line. Returns the exit
 * status. */
int cmd_bench(int argc, char *const argv[]);

#endif
