/* outcome.h -- what became of a request: exactly one of these.
 * The names are the JSON spelling; README.md explains them to people. It lives
 * in base because net decides most of them, stats counts them and report
 * prints them. */
#ifndef STOKE_BASE_OUTCOME_H
#define STOKE_BASE_OUTCOME_H

/* X(ENUM, "name", "said after the count on the terminal") */
#define OUTCOME_LIST(X)                                                        \
  X(OK, "ok", "succeeded")                                                     \
  X(DNS, "dns", "the host name could not be resolved")                         \
  X(CONNECT, "connect", "no connection (refused or unreachable)")              \
  X(TLS, "tls", "the TLS handshake or certificate check failed")               \
  X(PROXY, "proxy", "the proxy refused or failed")                             \
  X(CLIENT_RESOURCE, "client_resource",                                        \
    "this machine ran out of files or ports")                                  \
  X(AUTH, "auth", "not authorised (401, 403)")                                 \
  X(NOT_FOUND, "not_found", "no such path or model (404)")                     \
  X(UNPROCESSABLE, "unprocessable", "the server rejected the body (400, 422)") \
  X(CONTEXT_LENGTH, "context_length", "the prompt is too long for the model")  \
  X(RATE_LIMITED, "rate_limited", "rate limited (429)")                        \
  X(HTTP_4XX, "http_4xx", "another client error (4xx)")                        \
  X(HTTP_5XX, "http_5xx", "server error (5xx)")                                \
  X(REDIRECT, "redirect", "redirected (3xx), not followed")                    \
  X(NOT_JSON, "not_json", "a 2xx answer that is no API answer")                \
  X(API_ERROR, "api_error", "an error inside a 200 answer")                    \
  X(TRUNCATED, "truncated", "the answer was cut short")                        \
  X(MALFORMED, "malformed", "what came is no HTTP, no JSON, or too large")     \
  X(EMPTY, "empty", "ended properly without any token")                        \
  X(RESET, "reset", "connection reset")                                        \
  X(TIMEOUT_CONNECT, "timeout_connect", "no connection in time")               \
  X(TIMEOUT_TTFT, "timeout_ttft", "no first token in time")                    \
  X(TIMEOUT_IDLE, "timeout_idle", "the stream stalled")                        \
  X(TIMEOUT_TOTAL, "timeout_total", "not finished in time")                    \
  X(CANCELLED, "cancelled", "cancelled by this client")                        \
  X(CHECK, "check", "rejected by the scenario's check")                        \
  X(SCRIPT, "script", "the scenario script failed")

enum outcome {
#define X(ENUM, name, text) OUTCOME_##ENUM,
  OUTCOME_LIST(X)
#undef X
      OUTCOME_COUNT
};

/* "timeout_ttft" */
const char *outcome_name(enum outcome o);
/* "no first token in time" */
const char *outcome_text(enum outcome o);

#endif
