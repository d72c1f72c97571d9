/* fetch.h -- one exchange from start to end, for what happens beside the
 * load: the pre-flight request, the list of models. It blocks and has a loop
 * of its own; the load's exchanges never go through here. */
#ifndef STOKE_NET_FETCH_H
#define STOKE_NET_FETCH_H

#include "net/wire.h"
#include "net/xfer.h"

struct fetch_request {
  struct net_config net;
  struct xfer_request http; /* its strings live until fetch_run returns */
  struct wire_config wire;  /* how to read the answer */
  /* Hang up this long after the first payload: by then a stream has shown
   * that it works. 0: read to the end. */
  uint64_t enough_ns;
  /* After this time without an end `slow` is called, once. */
  uint64_t patience_ns;
  void (*slow)(void *ud);
  /* Every payload of a stream, with the instant of its bytes. */
  void (*payload)(uint64_t at_ns, void *ud);
  void *ud;
};

/* What came of it; owned by the caller's struct, see fetch_free. */
struct fetch {
  struct xfer_info info;
  const struct wire_result *result;
  enum outcome outcome; /* of both together; OK also when hung up on purpose */
  const char *message;  /* the server's words or the transport's, or "" */
  struct buf header_lines;  /* of the answer, when http.keep_headers asked */
  struct net_counts counts; /* of its connection: how long each part took */
  unsigned pieces;          /* how often bytes of the body came */
  bool hung_up;             /* enough_ns was over before the end */
  struct wire *wire;        /* holds the result */
};

/* Fills *f, always; free it with fetch_free. */
void fetch_run(struct fetch *f, const struct fetch_request *r);
void fetch_free(struct fetch *f);
/* A host's addresses, a line each. 0, or -1 and why. */
int fetch_name(struct str host, uint64_t limit_ns, struct buf *addresses,
               char error[128]);
/* "libev 4.33" for --version. */
const char *fetch_loop_version(char out[32]);

#endif
