#include "net/wire_int.h"

/* Events of a stream differ in their text and, as a rule, in nothing else:
 * id, model and time are the answer's own. If the bytes up to the text's
 * opening quote are those of an event that the walker has read, they mean the
 * same; if a whole JSON string follows and then, up to the end, the bytes
 * that followed there, so does the rest. That is no guess: it is the same
 * document but for the inside of one string, so the walker would report the
 * same places. Everything else goes to the walker. */

enum { SHAPE_MAX = 4096 }; /* longer events aren't worth the copy */

bool wire_shape_match(const struct wire_shape *s, const struct paths *paths,
                      struct str data, struct wire_payload *payload)
{
  const char *inside, *quote;
  if (s->prefix == 0 || paths != s->paths ||
      data.len <= s->prefix + s->suffix ||
      memcmp(data.p, s->bytes.p, s->prefix) != 0)
    return false;
  inside = data.p + s->prefix;
  quote = data.p + data.len - s->suffix;
  if (memcmp(quote, s->bytes.p + s->prefix, s->suffix) != 0 ||
      walk_string_end(inside, quote + 1) != quote)
    return false;
  *payload = s->payload;
  payload->text = (struct str){inside, (size_t)(quote - inside)};
  return true;
}

void wire_shape_learn(struct wire_shape *s, const struct paths *paths,
                      struct str data, const struct wire_payload *payload)
{
  struct str text = payload->text;
  if (data.len - text.len > SHAPE_MAX) {
    wire_shape_forget(s);
    return;
  }
  s->prefix = (size_t)(text.p - data.p);
  s->suffix = data.len - s->prefix - text.len;
  buf_reset(&s->bytes);
  buf_add(&s->bytes, data.p, s->prefix);
  buf_add(&s->bytes, text.p + text.len, s->suffix);
  s->paths = paths;
  s->payload = *payload;
}

void wire_shape_forget(struct wire_shape *s)
{
  s->prefix = s->suffix = 0;
}
