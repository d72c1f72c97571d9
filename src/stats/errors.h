/* errors.h -- failures grouped by what they have in common.
 * Two failures belong together when outcome, status and message agree after
 * numbers and identifiers in the message were replaced. At most ERRORS_MAX
 * groups are kept; what comes after joins one group per outcome and status
 * whose message is "" (various). */
#ifndef STOKE_STATS_ERRORS_H
#define STOKE_STATS_ERRORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/outcome.h"

#define ERRORS_MAX     64
#define ERRORS_MESSAGE 320

struct error_group {
  enum outcome outcome;
  int status;
  uint64_t count;
  uint64_t sample_id;           /* the record whose words are shown: lowest */
  char key[ERRORS_MESSAGE];     /* the message without its numbers */
  char message[ERRORS_MESSAGE]; /* one sample, as it came */
};

struct errors {
  struct error_group *groups;
  size_t len, cap;
};

void errors_deinit(struct errors *e);
void errors_add(struct errors *e, enum outcome o, int status, uint64_t id,
                const char *message);
void errors_merge(struct errors *into, const struct errors *from);
/* Most frequent first; ties by outcome, status and message. */
void errors_sort(struct errors *e);

#endif
