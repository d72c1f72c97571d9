/* origin.h -- scheme, host and port of a URL, and which proxy leads there.
 * Pure but for the environment, which proxy_for reads. */
#ifndef STOKE_NET_ORIGIN_H
#define STOKE_NET_ORIGIN_H

#include "base/str.h"

struct origin {      /* borrowed from the URL */
  struct str scheme; /* "http" when the URL has none */
  struct str host;   /* without [ ] */
  unsigned port;     /* the scheme's own when the URL has none */
};

/* 0, or -1 when there is no host or the port is no number (*o is then
 * undefined). */
int origin_parse(struct str url, struct origin *o);
/* This machine: localhost, *.localhost, 127.0.0.0/8, ::1. */
bool origin_is_loopback(const struct origin *o);
/* An address and not a name. */
bool origin_is_address(const struct origin *o);

/* The proxy for an origin, or NULL. `setting` is the user's own word: "" for
 * none, a URL that then holds for every origin, or NULL for the environment:
 * http_proxy (never HTTP_PROXY, which a CGI client may set), https_proxy and
 * HTTPS_PROXY, all_proxy and ALL_PROXY, less what no_proxy or NO_PROXY names
 * and less loopback. Borrowed from `setting` or the environment. */
const char *proxy_for(const char *setting, const struct origin *o);
/* Is `o` in a list as no_proxy has it? As curl: "*", names with all below
 * them (a leading dot changes nothing), addresses, CIDR blocks, an optional
 * port; separated by commas and blanks. */
bool proxy_excluded(struct str list, const struct origin *o);
/* For people: credentials become "***". Returns out. */
const char *proxy_show(const char *proxy, char out[256]);

#endif
