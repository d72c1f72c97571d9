/* default_scenario.h -- what is sent when no scenario is named. */
#ifndef STOKE_CLI_DEFAULT_SCENARIO_H
#define STOKE_CLI_DEFAULT_SCENARIO_H

/* The ready scenario that suits an API: a backend's name or a path, NULL for
 * a chat. NULL when it must be told what to send … */
const char *default_scenario(const char *endpoint);
/* … by these words behind `stoke run` or `find`; NULL when it need not. */
const char *default_scenario_words(const char *endpoint);

#endif
