/* wav.h -- how long a recording is, by the header of its WAV file (RIFF). */
#ifndef STOKE_DATA_WAV_H
#define STOKE_DATA_WAV_H

#include "base/str.h"

/* Seconds of sound in the file's bytes; 0 when they are no WAV file, or tell
 * no rate. A size that the header has not filled in (0, or what is longer than
 * the file) means the rest of the file. */
double wav_seconds(struct str file);

#endif
