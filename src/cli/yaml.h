/* yaml.h -- a YAML document as JSON, for configuration files. */
#ifndef STOKE_CLI_YAML_H
#define STOKE_CLI_YAML_H

#include "base/buf.h"
#include "base/err.h"

/* Append the JSON of the one document in `text`. Plain scalars are null,
 * true, false and numbers as in JSON, everything else is a string (so yes
 * and 0x10 are). Keys must be scalars. Anchors, aliases and a second document
 * are errors. 0, or -1 with "place:line: what" in *e. */
int yaml_to_json(struct str text, const char *place, struct buf *out,
                 struct err *e);

#endif
