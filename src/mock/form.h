/* form.h -- forms (multipart/form-data, RFC 7578) read as the JSON that says
 * the same, so that all else knows one kind of body. */
#ifndef STOKE_MOCK_FORM_H
#define STOKE_MOCK_FORM_H

#include "base/buf.h"

/* Appends one object: numbers, objects, true and false (Python's too) as such,
 * other texts as strings, and a file as {"name", "type", "bytes": how many}.
 * 0, or -1 when it is no form (`out` is then of no use). */
int mock_form_json(struct str content_type, struct str body, struct buf *out);

#endif
