/* wire_error.h -- the server's words in an error body.
 * Understands OpenAI's {"error":{message,type,code}}, FastAPI's "detail",
 * {"message":…}, problem+json, lists of errors, an SSE event around any of
 * these, HTML pages and plain text. */
#ifndef STOKE_NET_WIRE_ERROR_H
#define STOKE_NET_WIRE_ERROR_H

#include "base/str.h"

struct wire_error {
  char message[320]; /* one line, <= 300 bytes, valid UTF-8; may be "" */
  char type[64];
  int code; /* 400 to 599, or 0 */
};

void wire_error_read(struct wire_error *out, struct str body);
/* Do the words say that the prompt didn't fit the model? */
bool wire_error_is_context_length(const struct wire_error *e);
/* `text` as one line of at most 300 bytes of valid UTF-8. */
void wire_error_line(char out[320], struct str text);

#endif
