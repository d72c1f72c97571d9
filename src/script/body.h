/* body.h -- request bodies, from fragments that need no second look.
 * A body is a JSON object made member by member in a fixed order: model,
 * prompt or messages, options, stream; then --extra-body and the request's
 * `extra` are merged into it (objects deep, everything else replaced; no key
 * ever appears twice). The same input gives the same bytes.
 * One builder belongs to one VM; it knows no Lua. */
#ifndef STOKE_SCRIPT_BODY_H
#define STOKE_SCRIPT_BODY_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* What the command line says about all bodies; strings are borrowed for the
 * builder's life. */
struct body_defaults {
  const char *endpoint;   /* a backend's name or a /path; NULL: chat */
  const char *model;      /* of a request that names none; NULL: none sent */
  bool stream;            /* false: --no-stream, whatever the script says */
  int64_t max_tokens;     /* >= 0: instead of the script's */
  const char *extra_body; /* a JSON object's text, or NULL; its
                             "stream": false is a --no-stream */
};

struct body;

/* NULL and a message when extra_body is not a JSON object. */
struct body *body_new(const struct body_defaults *d, struct err *e);
void body_free(struct body *b);

/* Between body_start and body_finish call these in any order; what is set
 * twice keeps the later. Keys must be string literals without escapes. */
/* `api`: "chat" or "completions". */
void body_start(struct body *b, const char *api);
void body_model(struct body *b, struct str model);
/* As the user's message or as `prompt`. Borrowed until body_finish. */
void body_prompt(struct body *b, struct str prompt);
void body_string(struct body *b, const char *key, struct str s);
void body_integer(struct body *b, const char *key, int64_t x);
void body_boolean(struct body *b, const char *key, bool x);
/* A value that is JSON already. */
void body_json(struct body *b, const char *key, struct str json);
/* A JSON object to merge in at the end; borrowed until body_finish. */
void body_extra(struct body *b, struct str object);
/* Has no effect when the command line says --no-stream. */
void body_stream(struct body *b, bool stream);
bool body_streams(const struct body *b);
/* Has body_extra been called since body_start? */
bool body_has_extra(const struct body *b);
/* Both the command line's extra_body and body_extra's laid over an object that
 * was made elsewhere. 0, or -1 when `out` would pass its ceiling. */
int body_merge_all(struct body *b, struct str whole, struct buf *out);
/* The same object merged into a body made elsewhere. 0, or -1 when that is
 * not an object. */
int body_merge_extra(const struct body *b, struct str whole, struct buf *out);
/* n in the command line's extra_body; 0 when it says none. */
#define BODY_CHOICES_MAX 1024
unsigned body_default_choices(const struct body *b);
/* The command line's model, or "". */
const char *body_default_model(const struct body *b);
/* Appends the body. Returns 0, or -1 when `out` would pass its ceiling. */
int body_finish(struct body *b, struct buf *out);

#endif
