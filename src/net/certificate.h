/* certificate.h -- a look at a server's certificate, trusted or not.
 * One handshake on a connection of its own, over which no byte of HTTP goes:
 * whether a certificate is good is for the exchange itself to say, this tells
 * what stands in it. It blocks; for the time before the load. */
#ifndef STOKE_NET_CERTIFICATE_H
#define STOKE_NET_CERTIFICATE_H

#include "net/xfer.h"

struct certificate {
  /* Of the server's own: "Subject: CN = x\n", and so on: "Issuer", "Start
   * date", "Expire date", "X509v3 Subject Alternative Name". */
  struct buf lines;
  unsigned chain;  /* certificates that came */
  char error[256]; /* why there is none, or "" */
};

/* `url` as https, whatever its scheme. 0, or -1 and an error. Free it in both
 * cases. */
int certificate_look(struct certificate *c, const struct net_config *net,
                     const char *url, uint64_t limit_ns);
void certificate_free(struct certificate *c);

#endif
