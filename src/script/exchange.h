/* exchange.h -- one request in flight: bytes, meaning, and its record.
 * It joins xfer (bytes and instants) with wire (what they mean) and fills a
 * record. The instants are taken before any Lua runs. */
#ifndef STOKE_SCRIPT_EXCHANGE_H
#define STOKE_SCRIPT_EXCHANGE_H

#include "net/wire.h"
#include "net/xfer.h"
#include "script/request.h"
#include "stats/record.h"

struct exchange;
struct exchange_pool;
struct vm;

/* Running totals for the live screen. */
struct exchange_live {
  uint64_t sent, tokens;
  const struct backend *backend; /* of the first; NULL: plain HTTP */
};

struct exchange_config {
  struct net *net;
  struct vm *vm;
  const char *base_url;         /* scheme://host[:port][/prefix], no /v1 */
  const char *query;            /* appended to every URL: "" or "?…" */
  struct xfer_headers *headers; /* of every request; a script's win */
  /* Instead, by the place of a request's backend; NULL, and NULL where a
   * backend has nothing of its own. */
  struct xfer_headers *const *backend_headers;
  const char *request_id_prefix; /* x-request-id: PREFIX + id; NULL: none */
  uint64_t timeout_ns, ttft_timeout_ns, idle_timeout_ns; /* 0: none */
  size_t max_answer; /* bytes kept of one; 0: 64 MiB */
  bool keep_text;    /* text, tool calls and headers are read at the end */
  /* The scenario has these hooks; without them a stream never enters Lua. */
  bool on_first_token, on_chunk;
};

/* What is known of a request before it is sent. */
struct exchange_plan {
  uint64_t id, session, due_ns;
  uint32_t turn, branch;
  enum phase phase;
  uint16_t stage;
  bool capped;
};

/* The exchange is over: record and result are complete, but for a verdict
 * that the caller may still write into the record. Both are valid until the
 * callback returns; the exchange is then reused. */
typedef void exchange_done_cb(struct exchange *x, void *ud);

struct exchange_pool *exchange_pool_new(const struct exchange_config *c);
void exchange_pool_free(struct exchange_pool *p);
const struct exchange_live *exchange_live(const struct exchange_pool *p);

/* An exchange to be filled: exchange_slot(x) is the request to write, its
 * memory reused. Then either exchange_start or exchange_drop. */
struct exchange *exchange_take(struct exchange_pool *p);
struct request *exchange_slot(struct exchange *x);
void exchange_drop(struct exchange *x);
/* Neither callback runs from within this call. `first` (may be NULL): the
 * first token has arrived. */
void exchange_start(struct exchange *x, const struct exchange_plan *plan,
                    void (*first)(void *ud), exchange_done_cb *done, void *ud);
void exchange_cancel(struct exchange *x, enum outcome o, const char *why);
void exchange_cancel_all(struct exchange_pool *p, const char *why);

struct record *exchange_record(struct exchange *x);
const struct wire_result *exchange_result(const struct exchange *x);
struct str exchange_header_lines(const struct exchange *x);

#endif
