/* flac.h -- how long a recording is, by the header of its FLAC file. */
#ifndef STOKE_DATA_FLAC_H
#define STOKE_DATA_FLAC_H

#include "base/str.h"

/* Seconds of sound in the file's bytes; 0 when they are no FLAC file, or do
 * not tell. */
double flac_seconds(struct str file);

#endif
