/* tool_request.h -- a command's options as the JSON that its Lua reads. */
#ifndef STOKE_CLI_TOOL_REQUEST_H
#define STOKE_CLI_TOOL_REQUEST_H

#include "base/json.h"
#include "cli/options.h"

/* Write "options":{"key":value, …} from what stands in the destination: keys
 * with underscores, durations in seconds, lists as arrays; strings that
 * nobody set are left out. */
void tool_request_options(struct json_writer *w, const struct options *o);
/* Write "key":["…", …]. */
void tool_request_list(struct json_writer *w, const char *key,
                       const struct option_list *l);

#endif
