/* locate.h -- from what a user typed to a scenario's source. */
#ifndef STOKE_SCRIPT_LOCATE_H
#define STOKE_SCRIPT_LOCATE_H

#include "script/scenario.h"

/* Find `name` (see scenario_open) and fill s's name, path, folder,
 * shown_folder and source; a pack is unpacked (`sha256` is what it must hash
 * to, or NULL). 0, or -1 and a message that says where was looked. */
int locate(const char *name, const char *sha256, struct scenario *s,
           struct err *e);

#endif
