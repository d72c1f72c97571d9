/* json.h -- JSON in and out.
 * Out: a writer that appends to a buf and can only produce RFC 8259 (NaN and
 * the infinities become null, invalid UTF-8 becomes U+FFFD).
 * In: whole documents, over cJSON. Stream events are not read here but by
 * base/walk.h, which builds nothing. */
#ifndef STOKE_BASE_JSON_H
#define STOKE_BASE_JSON_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* ---- writing ---- */

/* Commas are the writer's business: call key/value/begin/end in order. The
 * bytes in `out` are complete once every begin has its end. */
struct json_writer {
  struct buf *out;
  bool spaced; /* ", " and ": " as Python's json.dump, else nothing */
  bool comma;  /* the next item needs one */
};

void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
void json_key(struct json_writer *w, const char *key);
void json_key_str(struct json_writer *w, struct str key);
void json_string(struct json_writer *w, struct str s);
/* The shortest form that reads back as the same double; NaN, Inf -> null. */
void json_number(struct json_writer *w, double x);
void json_integer(struct json_writer *w, int64_t x);
void json_boolean(struct json_writer *w, bool x);
void json_null(struct json_writer *w);
/* Text that already is JSON. */
void json_raw(struct json_writer *w, struct str text);

/* `s` with JSON's escapes, no quotes around it; always valid UTF-8. Returns
 * the number of bytes that had to be replaced by U+FFFD. */
size_t json_escape(struct buf *out, struct str s);
/* The inverse, on the inside of a JSON string. A lone surrogate becomes
 * U+FFFD. Returns 0, or -1 at a bad escape (what came before is kept). */
int json_unescape(struct buf *out, struct str s);

/* ---- reading ---- */

struct cJSON; /* json.c alone looks inside */
typedef struct cJSON json_value;

/* Parse a whole document (a BOM in front is dropped). NULL on failure, *at
 * (if given) then holds the offset of the trouble. Nesting is capped at 1,000
 * by cJSON. A NUL in a string is beyond cJSON: written as \u0000 it becomes
 * U+FFFD, as a byte it is an error. Free with json_free. */
json_value *json_parse(struct str text, size_t *at);
void json_free(json_value *v);

/* All of these accept NULL and values of another type. */
json_value *json_get(const json_value *object, const char *key);
json_value *json_first(const json_value *v); /* first child */
json_value *json_next(const json_value *v);
const char *json_name(const json_value *v); /* its key, or NULL */
bool json_is_object(const json_value *v);
bool json_is_array(const json_value *v);
bool json_is_string(const json_value *v);
bool json_is_number(const json_value *v);
bool json_is_boolean(const json_value *v);
bool json_is_null(const json_value *v);
/* NULL when not a string. */
const char *json_text(const json_value *v);
double json_double(const json_value *v, double otherwise);
bool json_true(const json_value *v);
/* Put `v` (taken over, whatever the result) at "a.b.c" inside an object; what
 * stands on the way and is no object is replaced by one. A last name that
 * ends in '+' appends to an array there instead. -1 when a name is empty. */
int json_put(json_value *object, struct str path, json_value *v);
/* Append `v` as compact JSON. */
void json_print(struct buf *out, const json_value *v);
/* "cJSON 1.7.15": the library that is loaded. Returns out. */
const char *json_version(char out[32]);

#endif
