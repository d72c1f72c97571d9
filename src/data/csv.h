/* csv.h -- records of a CSV file (RFC 4180): quoted fields may hold
 * separators, doubled quotes and line ends; lines end in LF or CRLF. A quote
 * inside of a field that does not begin with one is a character. */
#ifndef STOKE_DATA_CSV_H
#define STOKE_DATA_CSV_H

#include "base/buf.h"

/* Behind the record that begins at p and its line end, or NULL when it does
 * not end before `end`. `last`: the file does. *record is without line end. */
const char *csv_record(const char *p, const char *end, char separator,
                       bool last, struct str *record);
/* Take a field off the front of *rest, appended to `out`; rest->p is NULL
 * after the last one. -1 when something follows a closing quote. */
int csv_field(struct str *rest, char separator, struct buf *out);

#endif
