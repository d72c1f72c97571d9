#include "net/verdict.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool out_of_something(int e)
{
  return e == EMFILE || e == ENFILE || e == EADDRNOTAVAIL || e == ENOBUFS ||
         e == ENOMEM;
}

static bool says(const struct verdict_facts *f, const char *words)
{
  return strstr(f->error, words) != NULL;
}

static bool is_reset(const struct verdict_facts *f)
{
  return f->os_errno == ECONNRESET || f->os_errno == EPIPE ||
         f->os_errno == ETIMEDOUT || f->os_errno == ECONNABORTED ||
         f->os_errno == EHOSTUNREACH || f->os_errno == ENETUNREACH;
}

/* The connection ended too early: by which kind of end? */
static enum outcome cut(const struct verdict_facts *f)
{
  return is_reset(f) ? OUTCOME_RESET : OUTCOME_TRUNCATED;
}

static enum outcome connecting(const struct verdict_facts *f)
{
  if (out_of_something(f->os_errno))
    return OUTCOME_CLIENT_RESOURCE;
  return f->proxied ? OUTCOME_PROXY : OUTCOME_CONNECT;
}

static enum outcome receiving(const struct verdict_facts *f)
{
  if (!f->wired)
    return connecting(f); /* a proxy's refusal to CONNECT comes this way */
  if (says(f, "chunked-encoding") || says(f, "headers"))
    return OUTCOME_MALFORMED;
  if (says(f, "unexpected eof"))
    return OUTCOME_TRUNCATED; /* TLS without a close_notify */
  return OUTCOME_RESET;
}

/* All headers together, or a single line (100 KiB): for that curl says that
 * memory is out. */
static bool too_large_head(const struct verdict_facts *f)
{
  return f->code == CURLE_OUT_OF_MEMORY && f->wired && !f->head_complete;
}

static enum outcome judge(const struct verdict_facts *f)
{
  switch ((CURLcode)f->code) {
  case CURLE_OK:
    /* curl accepts an end within the headers, and an RST as the end of a
     * body that only the connection's end delimits. */
    return f->head_complete && !is_reset(f) ? OUTCOME_OK : cut(f);
  case CURLE_COULDNT_RESOLVE_HOST: return OUTCOME_DNS;
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_PROXY: return OUTCOME_PROXY;
  case CURLE_OPERATION_TIMEDOUT:
    return f->wired ? OUTCOME_TIMEOUT_TOTAL : OUTCOME_TIMEOUT_CONNECT;
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CIPHER:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_ISSUER_ERROR:
  case CURLE_SSL_CRL_BADFILE:
  case CURLE_SSL_ENGINE_INITFAILED:
  case CURLE_SSL_ENGINE_NOTFOUND:
  case CURLE_SSL_ENGINE_SETFAILED:
  case CURLE_SSL_INVALIDCERTSTATUS:
  case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
  case CURLE_USE_SSL_FAILED: return OUTCOME_TLS;
  case CURLE_GOT_NOTHING:
  case CURLE_PARTIAL_FILE: return cut(f);
  case CURLE_RECV_ERROR: return receiving(f);
  case CURLE_SEND_ERROR: return f->wired ? OUTCOME_RESET : connecting(f);
  case CURLE_UNSUPPORTED_PROTOCOL: /* HTTP/0.9, or a scheme we don't speak */
    return f->wired ? OUTCOME_MALFORMED : OUTCOME_CONNECT;
  case CURLE_WEIRD_SERVER_REPLY:
  case CURLE_BAD_CONTENT_ENCODING:
  case CURLE_HTTP2:
  case CURLE_FILESIZE_EXCEEDED: return OUTCOME_MALFORMED;
  case CURLE_WRITE_ERROR: /* who refuses bytes has ended the exchange before:
                           * it is curl that cannot decode them */
    return OUTCOME_MALFORMED;
  case CURLE_ABORTED_BY_CALLBACK: return OUTCOME_CANCELLED;
  case CURLE_OUT_OF_MEMORY:
    return too_large_head(f) ? OUTCOME_MALFORMED : OUTCOME_CLIENT_RESOURCE;
  default: return connecting(f);
  }
}

static const char *own_words(const struct verdict_facts *f, enum outcome o)
{
  if (too_large_head(f))
    return "the answer's headers are too large";
  switch (o) {
  case OUTCOME_RESET: return "the server reset the connection";
  case OUTCOME_TRUNCATED:
    if (f->code == CURLE_OK || f->code == CURLE_GOT_NOTHING)
      return f->head_complete
                 ? "the server closed the connection within the answer"
                 : "the server closed the connection without an answer";
    return f->error;
  default: return f->error;
  }
}

enum outcome verdict(const struct verdict_facts *f, char message[256])
{
  enum outcome o = judge(f);
  const char *words = own_words(f, o);
  message[0] = '\0';
  if (o == OUTCOME_OK)
    return o;
  if (f->code == CURLE_BAD_CONTENT_ENCODING && says(f, "Unrecognized"))
    snprintf(message, 256, "unsupported content-encoding: %s", f->encoding);
  else if (o == OUTCOME_MALFORMED && f->head_complete && f->encoding[0])
    snprintf(message, 256, "broken content-encoding %s: %.180s", f->encoding,
             words);
  else if (o == OUTCOME_CLIENT_RESOURCE && f->os_errno)
    snprintf(message, 256, "this machine: %s", strerror(f->os_errno));
  else if (o == OUTCOME_CONNECT && f->os_errno && words[0])
    /* curl says that it failed; the system says why. */
    snprintf(message, 256, "%.180s (%s)", words, strerror(f->os_errno));
  else
    snprintf(message, 256, "%s",
             words[0] ? words : curl_easy_strerror((CURLcode)f->code));
  return o;
}
