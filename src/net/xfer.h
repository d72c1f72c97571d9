/* xfer.h -- one HTTP exchange, on libcurl's multi interface and libev.
 * A `net` belongs to one loop and one thread. It spreads its connections over
 * several curl multis (libcurl walks all connections of a multi for every
 * request), pins each easy handle to its multi, and opens connections ahead.
 * It stamps instants and moves bytes; what the bytes mean is not its
 * business, and it knows no Lua. libcurl is visible in net.c, multi.c,
 * easy.c, targets.c, headers.c, verdict.c and certificate.c alone.
 * Kept connections and idle exchanges leave watchers on the loop: end it with
 * ev_break, it does not run out of things to wait for. */
#ifndef STOKE_NET_XFER_H
#define STOKE_NET_XFER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/outcome.h"

struct ev_loop;
struct net;
struct xfer;
struct xfer_headers;

#define NET_CONNECT_NS UINT64_C(30000000000)

struct net_config {
  unsigned connections;        /* expected at once; sizes multis and caches */
  unsigned per_multi;          /* connections a multi; 0: 128 */
  bool kernel_times;           /* SO_TIMESTAMPNS where it can be had */
  bool insecure;               /* no certificate check */
  const char *cacert;          /* PEM file, or NULL for the system's */
  const char *proxy;           /* "" none, NULL: environment, loopback never */
  uint64_t connect_timeout_ns; /* 0: NET_CONNECT_NS */
  unsigned read_size;          /* bytes one read may take; 0: 16 KiB */
  uint64_t max_idle_ns; /* a connection idle for longer isn't used again; in
                         * whole seconds; 0: 118 s */
};

/* Where arrival instants come from. */
enum net_clock { NET_CLOCK_KERNEL, NET_CLOCK_READABLE };

struct net_counts {
  uint64_t opened;  /* connections */
  uint64_t reused;  /* exchanges that found one open */
  uint64_t retries; /* stale connections that curl replaced by itself */
  uint64_t dns_ns, connect_ns, tls_ns; /* sums over `opened` */
};

struct net *net_new(struct ev_loop *loop, const struct net_config *c);
/* Running exchanges are dropped without their done callback. */
void net_free(struct net *n);
enum net_clock net_clock(const struct net *n);
struct net_counts net_counts(const struct net *n);
/* "7.88.1 OpenSSL/3.0 …" for --version. */
const char *net_version(void);
/* The proxy that an exchange with `url` would use, for people to read:
 * credentials are shown as "***". NULL: none. `setting` as in net_config. */
const char *net_proxy_for(const char *setting, const char *url, char out[256]);

/* Open `count` more connections to the origin of `url`, spread like the
 * exchanges to come: name, TCP and TLS, but not a byte of HTTP. At most 64
 * handshakes run at once. `done(opened, first_error, ud)` runs once, from the
 * loop, when all succeeded or failed; first_error is "" when none did. */
typedef void net_preconnect_cb(unsigned opened, const char *first_error,
                               void *ud);
void net_preconnect(struct net *n, const char *url, unsigned count,
                    net_preconnect_cb *done, void *ud);
/* Open no more: `done` follows soon, first_error is not about these. */
void net_preconnect_end(struct net *n);

/* Header lines, made once and used by many exchanges. Names are unique
 * without regard to case: a later set replaces an earlier one. A name or
 * value with a control character is refused with -1 and a message that never
 * shows the value, and so are Content-Length and Transfer-Encoding, which
 * follow from the body. Reference-counted: an exchange holds its own, and
 * while one does nothing may be set (copy instead). Of one thread. Sent
 * besides: Host, Accept, Accept-Encoding: identity, Content-Length; no
 * Content-Type, User-Agent or Expect unless set here. */
struct xfer_headers *xfer_headers_new(void);
struct xfer_headers *xfer_headers_copy(const struct xfer_headers *h);
int xfer_headers_set(struct xfer_headers *h, struct str name, struct str value,
                     struct err *e);
void xfer_headers_unref(struct xfer_headers *h);

struct xfer_request {
  const char *method;           /* "POST", "GET"; borrowed for the call */
  const char *url;              /* copied */
  struct xfer_headers *headers; /* referenced until done; may be NULL */
  const char *request_id;       /* x-request-id, unless `headers` has one;
                                 * copied; NULL: none */
  struct str body;              /* borrowed until done has returned */
  bool keep_headers;            /* collect the response's header lines */
  bool own_connection; /* never reuse, never keep (for tests and checks) */
  /* Deadlines, ns after sent; 0: none. `first_ns` holds until
   * xfer_first_token was called, `idle_ns` between arrivals. */
  uint64_t first_ns, idle_ns, total_ns;
};

/* Called from the loop, never from within xfer_start. */
struct xfer_ops {
  /* The final status line and headers are in (1xx are skipped). */
  void (*headers)(struct xfer *x, void *ud);
  /* Decoded body bytes, as they arrive; `at_ns` is the arrival's instant.
   * Nonzero cancels the exchange: done follows with OUTCOME_CANCELLED. */
  int (*data)(struct xfer *x, const char *p, size_t len, uint64_t at_ns,
              void *ud);
  /* May be NULL. After one or more calls of `data`: that was all for now, the
   * socket is empty or has had its turn. */
  void (*read_over)(struct xfer *x, void *ud);
  /* The last call. The xfer is valid until it returns. New exchanges may be
   * started from here. */
  void (*done)(struct xfer *x, void *ud);
};

/* What an exchange shows; read-only outside xfer.c. Instants are monotonic
 * ns, 0 when not reached. */
struct xfer_info {
  uint64_t sent_ns;       /* just before it was handed to curl */
  uint64_t connected_ns;  /* connection usable; == sent_ns when reused */
  uint64_t written_ns;    /* the request body was sent */
  uint64_t headers_ns;    /* the status line and headers were complete */
  uint64_t first_byte_ns; /* first body byte */
  uint64_t last_byte_ns;
  uint64_t done_ns;
  uint64_t bytes_in, bytes_out; /* body bytes */
  int status;                   /* HTTP, 0 when there was none */
  unsigned retries;             /* requests put on the wire beyond the first */
  bool reused;
  /* The transport's verdict: OK means a complete HTTP message of any status;
   * DNS, CONNECT, TLS, PROXY, CLIENT_RESOURCE, RESET, TRUNCATED, MALFORMED
   * (not HTTP), TIMEOUT_*, CANCELLED otherwise. */
  enum outcome outcome;
  char message[256];     /* why, for people; never a key */
  char content_type[96]; /* lower case, as sent */
  double retry_after_s;  /* from Retry-After; < 0: none */
  char location[256];    /* of a 3xx */
  char peer[46];         /* the address it went to, "" when `reused` */
  bool http_1_0;         /* the answer's version; else it is 1.1 */
};

/* Never fails: what goes wrong is reported by `done`, from the loop. `ops`
 * and `ud` must live until then. */
struct xfer *xfer_start(struct net *n, const struct xfer_request *r,
                        const struct xfer_ops *ops, void *ud);
const struct xfer_info *xfer_info(const struct xfer *x);
/* Response header lines ("name: value\n"…), when keep_headers was set. */
struct str xfer_header_lines(const struct xfer *x);
/* The first payload is in: first_ns no longer applies. */
void xfer_first_token(struct xfer *x);
/* What its reader waits for is in, and the message's own end is all that is
 * to come: idle_ns is 2 s from here on, unless it is shorter. */
void xfer_answered(struct xfer *x);
/* Close now; done follows from the loop with this outcome and message. */
void xfer_cancel(struct xfer *x, enum outcome o, const char *why);

#endif
