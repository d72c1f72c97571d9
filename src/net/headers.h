/* headers.h -- xfer_headers from the inside: the list that curl is given. */
#ifndef STOKE_NET_HEADERS_H
#define STOKE_NET_HEADERS_H

#include "net/xfer.h"

struct curl_slist;

struct xfer_headers *xfer_headers_ref(struct xfer_headers *h);
/* The lines in curl's form, with what curl would add by itself (Expect, a
 * form's Content-Type) switched off. Valid while `h` is referenced. */
struct curl_slist *xfer_headers_list(struct xfer_headers *h);
bool xfer_headers_has(const struct xfer_headers *h, struct str name);

#endif
