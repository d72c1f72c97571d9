/* threshold_impl.h -- a threshold being read, for the files that read it. */
#ifndef STOKE_STATS_THRESHOLD_IMPL_H
#define STOKE_STATS_THRESHOLD_IMPL_H

#include "stats/threshold.h"

struct threshold_parser {
  struct threshold *t;
  const struct custom *custom;
  struct str whole, rest;
  const char *place;
  struct err *e;
};

/* Add the one message that there is for a text; -1. */
int threshold_wrong(struct threshold_parser *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void threshold_skip_blanks(struct threshold_parser *p);
/* What comes next, taken off: `len` bytes; letters, digits, _ (and dots). */
struct str threshold_take(struct threshold_parser *p, size_t len);
struct str threshold_take_word(struct threshold_parser *p, bool dots);
/* As a string; false when it is empty or does not fit. */
bool threshold_keep(char *out, size_t size, struct str s);

/* threshold_metric.c: the parts in their order; 0 or -1. */
bool threshold_find_subject(struct threshold_parser *p, struct str name);
int threshold_no_metric(struct threshold_parser *p, struct str name);
int threshold_read_braces(struct threshold_parser *p);
int threshold_read_statistic(struct threshold_parser *p, struct str metric);
/* What the value of what was read is made of. */
enum quantity threshold_quantity(const struct threshold_parser *p);

#endif
