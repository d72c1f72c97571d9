/* field.h -- a key and its value in one call, for the writers of report. */
#ifndef STOKE_REPORT_FIELD_H
#define STOKE_REPORT_FIELD_H

#include <math.h>

#include "base/json.h"

/* NULL: null. */
void field_text(struct json_writer *w, const char *key, const char *value);
/* NaN and the infinities: null. */
void field_number(struct json_writer *w, const char *key, double x);
/* null for 0, where 0 means "none". */
void field_some(struct json_writer *w, const char *key, uint64_t n);
void field_positive(struct json_writer *w, const char *key, double x);
void field_count(struct json_writer *w, const char *key, uint64_t n);
/* Below 0: null. */
void field_known(struct json_writer *w, const char *key, int64_t n);
void field_boolean(struct json_writer *w, const char *key, bool x);
/* Text that is JSON already; `otherwise` when it is NULL. */
void field_raw(struct json_writer *w, const char *key, const char *json,
               const char *otherwise);
void field_object(struct json_writer *w, const char *key);
void field_array(struct json_writer *w, const char *key);

#endif
