/* units.h -- what people type for times, sizes and counts.
 * Every parser takes the whole string or fails with -1 and leaves *out. */
#ifndef STOKE_BASE_UNITS_H
#define STOKE_BASE_UNITS_H

#include <stdint.h>

#include "base/str.h"

/* "30s", "1.5m", "250ms", "2h", "100us"; a bare number is seconds. >= 0. */
int units_duration(struct str s, uint64_t *out_ns);
/* "512M", "4k", "1GiB"; powers of 1024; a bare number is bytes. */
int units_size(struct str s, uint64_t *out_bytes);
/* A finite decimal number, C locale; "inf" is +Infinity. */
int units_number(struct str s, double *out);
/* A decimal integer with optional k, M, G (powers of 1000) behind it. */
int units_integer(struct str s, int64_t *out);
/* true/false, yes/no, on/off, 1/0. */
int units_boolean(struct str s, bool *out);

/* For people: "1.5 s", "250 ms", "2m 10s". Returns buf. */
const char *units_show_duration(uint64_t ns, char buf[32]);
/* "1.2M", "34.5k", "980". */
const char *units_show_count(double n, char buf[32]);

#endif
