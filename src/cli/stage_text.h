/* stage_text.h -- stages as people type them: "30s rate=1..10 linear". */
#ifndef STOKE_CLI_STAGE_TEXT_H
#define STOKE_CLI_STAGE_TEXT_H

#include "base/json.h"

/* As the object that stage_read takes, which tells what is wrong with it:
 * {"duration":"30s","request_rate":["1","10"],"shape":"linear"}. The
 * caller's; NULL when it is not even that. */
json_value *stage_text_read(const char *text);

#endif
