/* sessions.h -- what became of the users of a session scenario.
 * A worker adds every session as it ends; the main thread merges. Sessions of
 * the warm-up are not counted. Durations are kept in histograms: counts and
 * means are exact, percentiles within 0.1 %. */
#ifndef STOKE_STATS_SESSIONS_H
#define STOKE_STATS_SESSIONS_H

#include "stats/hist.h"
#include "stats/record.h"

enum session_end {
  SESSION_COMPLETED,
  SESSION_FAILED, /* s:fail, or a script error */
  SESSION_CUT,    /* the run ended before it did */
  SESSION_ENDS
};

/* A session scenario's item, when it is over. Strings are borrowed. */
struct session_record {
  uint64_t id;
  enum phase phase;
  uint16_t stage;
  enum session_end end;
  uint32_t turns;   /* requests made */
  uint32_t planned; /* by s:plan; 0: not told */
  uint64_t started_ns, ended_ns;
  uint64_t think_ns;  /* that it was in s:think, in one branch or more */
  const char *reason; /* why it failed or was cut, or "" */
};

/* Why sessions failed or were cut. Numbers in the words are kept, so the list
 * is bounded; what finds no place in it is counted as "(other)". */
#define SESSION_REASONS 32
struct session_reason {
  enum session_end end;
  char text[160];
  uint64_t count;
};

/* A zeroed one is valid and empty. */
struct sessions {
  uint64_t ends[SESSION_ENDS];
  /* planned = done + skipped: a session that did more than it planned, or
   * never told a plan, planned what it did. */
  uint64_t turns_planned, turns_done, turns_skipped;
  uint64_t max_turns;   /* of one session */
  uint64_t think_ns;    /* of all */
  struct hist duration; /* of completed sessions, from start to end … */
  struct hist active;   /* … less s:think */
  struct session_reason reasons[SESSION_REASONS];
  size_t n_reasons;
};

void sessions_deinit(struct sessions *s);
void sessions_add(struct sessions *s, const struct session_record *r);
void sessions_merge(struct sessions *into, const struct sessions *from);
/* completed + failed + cut. */
uint64_t sessions_started(const struct sessions *s);

#endif
