/* json_scan.h -- a cursor over a JSON text, for files too big for a tree.
 * The caller walks what it knows and skips the rest; nothing is allocated but
 * the strings it asks for. The first mistake makes the cursor `bad`, and from
 * then on every call says so; json_scan_line tells where. Skipped values are
 * only checked for balance. */
#ifndef STOKE_DATA_JSON_SCAN_H
#define STOKE_DATA_JSON_SCAN_H

#include <stdint.h>

#include "base/buf.h"

struct json_scan {
  const char *begin, *p, *end;
  bool bad;
};

void json_scan_init(struct json_scan *s, struct str text);
/* What comes next, blanks skipped; '\0' at the end or when bad. */
char json_scan_peek(struct json_scan *s);
/* Is `c` next? Then pass it. */
bool json_scan_skip(struct json_scan *s, char c);
/* Marks the cursor bad; returns -1. */
int json_scan_fail(struct json_scan *s);

/* Walk: after `[` or `{` was passed, is there another item? Passes the comma
 * before it, and `close` when there is none. `first` starts as true. */
bool json_scan_more(struct json_scan *s, char close, bool *first);
/* A string, unescaped and appended to `out`. 0 or -1. */
int json_scan_string(struct json_scan *s, struct buf *out);
/* A string and the colon behind it. 0 or -1. */
int json_scan_key(struct json_scan *s, struct buf *out);
/* A whole number that fits. 0 or -1. */
int json_scan_u32(struct json_scan *s, uint32_t *out);
int json_scan_double(struct json_scan *s, double *out);
/* The text of any value, passed over; empty when bad. */
struct str json_scan_value(struct json_scan *s);

/* Line of the cursor, from 1. */
size_t json_scan_line(const struct json_scan *s);

#endif
