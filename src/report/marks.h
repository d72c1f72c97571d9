/* marks.h -- in front of what held and what did not. */
#ifndef STOKE_REPORT_MARKS_H
#define STOKE_REPORT_MARKS_H

#include <stdbool.h>

/* `unicode`: the terminal shows more than ASCII. */
static inline const char *mark(bool good, bool unicode)
{
  if (unicode)
    return good ? "\xe2\x9c\x93" : "\xe2\x9c\x97";
  return good ? "ok  " : "FAIL";
}

#endif
