#include "cli/diagnose.h"

#include "base/log.h"
#include "base/suggest.h"
#include "cli/mask.h"

/* ---- looking at words ---- */

static bool says(const struct trial *t, const char *word)
{
  struct str s = str_of(t->message), w = str_of(word);
  for (size_t i = 0; i + w.len <= s.len; i++)
    if (str_istarts((struct str){s.p + i, s.len - i}, w))
      return true;
  return false;
}

static bool is_api(const struct trial *t, const char *name)
{
  return t->api && strcmp(t->api, name) == 0;
}

static bool https(const struct trial *t)
{
  return str_istarts(str_of(t->url), STR("https://"));
}

/* The host and port of the URL. */
static struct str authority(const struct trial *t)
{
  struct str s = str_of(t->url);
  ptrdiff_t at = str_find(s, STR("://"));
  if (at >= 0)
    s = (struct str){s.p + at + 3, s.len - (size_t)at - 3};
  return str_split(&s, '/');
}

static bool has_port(struct str host)
{
  for (size_t i = host.len; i > 0 && host.p[i - 1] != ']'; i--)
    if (host.p[i - 1] == ':')
      return true;
  return false;
}

static bool lists(const struct option_list *models, const char *name)
{
  for (size_t i = 0; models && i < models->n; i++)
    if (strcmp(models->items[i], name) == 0)
      return true;
  return false;
}

/* A server that was spoken to in the wrong scheme says one of these. */
static bool wants_tls(const struct trial *t)
{
  return !https(t) &&
         (says(t, "HTTP/0.9") || says(t, "to HTTPS port") ||
          says(t, "to an HTTPS server") || says(t, "requires TLS"));
}

static bool wants_plain(const struct trial *t)
{
  return https(t) &&
         (says(t, "wrong version number") ||
          says(t, "packet length too long") ||
          says(t, "record layer failure") || says(t, "unexpected eof"));
}

/* Is it the model, and not the path, that the server does not know? */
static bool is_about_model(const struct trial *t)
{
  if (!t->model || (t->models && lists(t->models, t->model)))
    return false;
  return t->models || says(t, "model");
}

/* ---- hints: one function per kind of trouble ---- */

static void hint_models(const struct trial *t, struct buf *out)
{
  struct suggest near = {.typed = str_of(t->model)};
  struct buf text = {0};
  if (!t->models) {
    buf_addf(out,
             "the server does not know the model \"%s\": say --model "
             "NAME as the server calls it, not a local path\n",
             t->model);
    return;
  }
  for (size_t i = 0; i < t->models->n && i < 10; i++) {
    suggest_consider(&near, str_of(t->models->items[i]));
    buf_addf(&text, "%s%s", i ? ", " : "", t->models->items[i]);
  }
  if (t->models->n > 10)
    buf_adds(&text, ", ...");
  suggest_print(&near, "", &text);
  buf_addf(out, "the server does not have the model \"%s\"; it has %s\n",
           t->model, t->models->n ? buf_cstr(&text) : "none");
  buf_free(&text);
}

static void hint_not_found(const struct trial *t, struct buf *out)
{
  struct str url = str_of(t->url);
  if (is_about_model(t)) {
    hint_models(t, out);
  } else if (str_find(url, STR("/v1/v1")) >= 0) {
    buf_adds(out, "the path has /v1 twice: leave one out of --url or "
                  "--endpoint\n");
  } else if (t->models && t->api) {
    buf_addf(out,
             "the server lists its models, so the URL is right, but it "
             "has no %s endpoint",
             t->api);
    if (is_api(t, "chat") || is_api(t, "completions"))
      buf_addf(out, ": try --endpoint %s",
               is_api(t, "chat") ? "completions" : "chat");
    buf_addc(out, '\n');
  } else {
    buf_adds(out, "the server has no such path: is it behind a prefix, or "
                  "is this not the API's port? --url takes the whole URL of "
                  "a request too\n");
  }
}

static void hint_auth(const struct trial *t, struct buf *out)
{
  if (!t->key_from)
    buf_adds(out, "no key was sent: put it into OPENAI_API_KEY, or name "
                  "another variable with --api-key-env\n");
  else
    buf_addf(out,
             "the key from %s was refused: stale, cut, or for another "
             "server?%s\n",
             t->key_from,
             t->status == 403 ? " It may also lack access to this model" : "");
}

static void hint_body(const struct trial *t, struct buf *out)
{
  bool chat = is_api(t, "chat");
  if (wants_tls(t))
    buf_adds(out, "this port speaks TLS: the URL must begin with https://\n");
  else if (is_about_model(t) && (!t->models || says(t, "model")))
    hint_models(t, out);
  else if (((chat && says(t, "prompt")) ||
            (is_api(t, "completions") && says(t, "messages"))))
    buf_addf(out,
             "body and path are of different kinds: this path does not "
             "take %s; see --endpoint\n",
             chat ? "messages" : "a prompt");
  else if (says(t, "max_tokens") || says(t, "max_completion_tokens"))
    buf_adds(out, "the length of the answer does not suit the server: see "
                  "--max-tokens\n");
  else if (says(t, "stream"))
    buf_adds(out, "the server may not stream here: try --no-stream\n");
  else
    buf_adds(out, "the server understood the path, but not the body: compare "
                  "its words with the scenario and --extra-body\n");
}

static void hint_connect(const struct trial *t, struct buf *out)
{
  struct str host = authority(t);
  if (t->default_url)
    buf_adds(out, "nobody said --url, so this is the default; where is the "
                  "server?\n");
  else if (!has_port(host))
    buf_addf(out,
             "the URL names no port, so %s was tried; vLLM, for "
             "example, listens on 8000\n",
             https(t) ? "443" : "80");
  else if (says(t, "refused"))
    buf_adds(out, "nothing listens there: is the server up, and is this its "
                  "port?\n");
  else if (t->outcome == OUTCOME_TIMEOUT_CONNECT && https(t))
    buf_adds(out, "is the address right, does a firewall stand between, or "
                  "does this port speak plain http://?\n");
  else
    buf_adds(out, "is the address right, and does a firewall stand between?\n");
}

static void hint_tls(const struct trial *t, struct buf *out)
{
  if (wants_plain(t))
    buf_adds(out, "this port does not speak TLS: the URL must begin with "
                  "http://\n");
  else if (says(t, "subject name") || says(t, "does not match"))
    buf_adds(out, "the certificate is for another host name: use that name in "
                  "the URL, or -k to go on unchecked\n");
  else if (says(t, "certificate") || says(t, "issuer"))
    buf_adds(out, "the certificate is not trusted here: --cacert FILE names "
                  "one that is, -k goes on unchecked\n");
  else
    buf_adds(out, "TLS failed before anything was said\n");
}

static void hint_redirect(const struct trial *t, struct buf *out)
{
  if (!t->location[0])
    buf_adds(out, "redirects are not followed, because a POST may not survive "
                  "them\n");
  else
    buf_addf(out,
             "redirects are not followed, because a POST may not survive "
             "them: use %s in --url\n",
             t->location);
}

static void hint_not_json(const struct trial *t, struct buf *out)
{
  buf_addf(out,
           "an answer of type %s comes from a web page or a gateway, not "
           "from the API: are port and path right?\n",
           t->content_type[0] ? t->content_type : "(none)");
}

static void hint_5xx(const struct trial *t, struct buf *out)
{
  if (t->status >= 502 && t->status <= 504)
    buf_adds(out, "the gateway does not reach the model's server, or that is "
                  "still loading\n");
  else
    buf_adds(out, "the server's own log tells more\n");
}

static void hint_other(const struct trial *t, struct buf *out)
{
  switch (t->outcome) {
  case OUTCOME_DNS: buf_adds(out, "is the host spelled right?\n"); break;
  case OUTCOME_PROXY:
    buf_adds(out, "the proxy did not let the request through\n");
    break;
  case OUTCOME_CONTEXT_LENGTH:
    buf_adds(out, "the prompt and the answer are too long for this model: "
                  "shorter prompts, or a smaller --max-tokens\n");
    break;
  case OUTCOME_RATE_LIMITED:
    buf_adds(out, "the server throttles already one request: expect many like "
                  "this, and see --request-rate\n");
    break;
  case OUTCOME_API_ERROR:
    buf_addf(out,
             "an error came with status %d, which many tools count as "
             "success\n",
             t->status);
    break;
  case OUTCOME_EMPTY:
    buf_adds(out, "the answer ended properly without any token: is max_tokens "
                  "too small for a model that thinks first?\n");
    break;
  case OUTCOME_HTTP_4XX:
    if (t->status == 405)
      buf_adds(out, "the path exists, but takes no POST: is it the API's?\n");
    else if (t->status == 413)
      buf_adds(out, "the body is too large for the server or its gateway\n");
    break;
  case OUTCOME_RESET:
  case OUTCOME_TRUNCATED:
    if (!t->status && !https(t))
      buf_adds(out, "the server hung up at once: does this port speak TLS "
                    "(https://)?\n");
    break;
  case OUTCOME_TIMEOUT_TTFT:
  case OUTCOME_TIMEOUT_TOTAL:
    buf_adds(out, "is the model still loading, or the queue full?\n");
    break;
  default: break;
  }
}

static void add_hint(const struct trial *t, struct buf *out)
{
  if (wants_tls(t) && t->outcome != OUTCOME_UNPROCESSABLE) {
    buf_adds(out, "this port speaks TLS: the URL must begin with https://\n");
    return;
  }
  switch (t->outcome) {
  case OUTCOME_NOT_FOUND: hint_not_found(t, out); break;
  case OUTCOME_AUTH: hint_auth(t, out); break;
  case OUTCOME_UNPROCESSABLE: hint_body(t, out); break;
  case OUTCOME_CONNECT:
  case OUTCOME_TIMEOUT_CONNECT: hint_connect(t, out); break;
  case OUTCOME_TLS: hint_tls(t, out); break;
  case OUTCOME_REDIRECT: hint_redirect(t, out); break;
  case OUTCOME_NOT_JSON: hint_not_json(t, out); break;
  case OUTCOME_HTTP_5XX: hint_5xx(t, out); break;
  default: hint_other(t, out); break;
  }
}

/* A proxy from the environment explains much of what cannot be explained. */
static void add_proxy(const struct trial *t, struct buf *out)
{
  if (t->proxy)
    buf_addf(out,
             "the variable %s sends this through a proxy: unset it, or "
             "add the host to no_proxy\n",
             t->proxy);
}

/* ---- the verdict ---- */

static enum diagnosis severity(const struct trial *t)
{
  switch (t->outcome) {
  case OUTCOME_OK: return DIAGNOSIS_FINE;
  case OUTCOME_DNS:
  case OUTCOME_CONNECT:
  case OUTCOME_TIMEOUT_CONNECT:
  case OUTCOME_TLS:
  case OUTCOME_PROXY:
  case OUTCOME_CLIENT_RESOURCE:
  case OUTCOME_AUTH:
  case OUTCOME_NOT_FOUND:
  case OUTCOME_UNPROCESSABLE:
  case OUTCOME_REDIRECT:
  case OUTCOME_NOT_JSON: return DIAGNOSIS_HOPELESS;
  case OUTCOME_HTTP_4XX:
    return t->status == 408 || t->status == 409 || t->status == 425
               ? DIAGNOSIS_DOUBTFUL
               : DIAGNOSIS_HOPELESS;
  default:
    /* What is not even HTTP will not become it. */
    return t->outcome == OUTCOME_MALFORMED && !t->status ? DIAGNOSIS_HOPELESS
                                                         : DIAGNOSIS_DOUBTFUL;
  }
}

/* Control characters of a server have no business on a terminal. */
static void add_words(struct buf *out, const char *words)
{
  for (; *words; words++)
    buf_addc(out, (unsigned char)*words < ' ' || *words == 127 ? ' ' : *words);
}

static void what_happened(const struct trial *t, struct buf *out)
{
  const char *words = t->outcome == OUTCOME_REDIRECT ? t->location : t->message;
  buf_addf(out, "%s %s\n", t->method ? t->method : "POST", t->url);
  if (t->status)
    buf_addf(out, "HTTP status %d", t->status);
  if (t->status < 300)
    buf_addf(out, "%s%s", t->status ? ", but " : "", outcome_text(t->outcome));
  buf_adds(out, words[0] ? ": " : "");
  add_words(out, words);
  buf_addc(out, '\n');
}

static void remarks(const struct trial *t, struct buf *out)
{
  if (t->stream_asked && !t->streamed)
    buf_addf(out,
             "the answer was not streamed (content-type %s): no TTFT, "
             "TPOT or ITL will be known\n",
             t->content_type[0] ? t->content_type : "(none)");
  if (t->usage < 0 && !t->hung_up && t->api && !t->pooling)
    buf_adds(out, "the answer tells no usage: tokens will be counted by "
                  "stream events, which is approximate\n");
}

bool diagnose_wants_models(const struct trial *t)
{
  return t->outcome == OUTCOME_NOT_FOUND ||
         (t->outcome == OUTCOME_UNPROCESSABLE && says(t, "model"));
}

enum diagnosis diagnose(const struct trial *t, struct buf *lines)
{
  enum diagnosis d = severity(t);
  if (d == DIAGNOSIS_FINE) {
    remarks(t, lines);
    return d;
  }
  what_happened(t, lines);
  add_hint(t, lines);
  add_proxy(t, lines);
  return d;
}

void diagnosis_say(const char *prefix, struct buf *lines,
                   const struct option_list *secrets)
{
  struct str all;
  mask_known(lines, secrets);
  all = str_trim(buf_str(lines));
  while (all.p) {
    struct str line = str_split(&all, '\n');
    if (line.len)
      log_line("%s%.*s", prefix, STR_ARG(line));
  }
}
