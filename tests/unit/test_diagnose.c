/* What a trial request's failure is called, and what people are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/diagnose.h"

static char *served[] = {"llama-8b", "qwen"};
static const struct option_list models = {served, 2};

#define URL "http://h:8000/v1/chat/completions"

struct row {
  struct trial t;
  enum diagnosis d;
  const char *said; /* behind the line that begins with POST */
};

/* Fields of a trial that nothing happened to; a row overrides them. */
static struct trial complete(struct trial t)
{
  t.url = t.url ? t.url : URL;
  t.api = t.api ? t.api : "chat";
  t.model = t.model ? t.model : "m";
  t.message = t.message ? t.message : "";
  t.content_type = t.content_type ? t.content_type : "";
  t.location = t.location ? t.location : "";
  return t;
}

static const struct row rows[] = {
    {{.outcome = OUTCOME_NOT_FOUND,
      .status = 404,
      .model = "llama",
      .message = "The model `llama` does not exist.",
      .models = &models},
     DIAGNOSIS_HOPELESS,
     "HTTP status 404: The model `llama` does not exist.\n"
     "the server does not have the model \"llama\"; it has llama-8b, qwen; did "
     "you mean llama-8b?\n"},
    {{.outcome = OUTCOME_NOT_FOUND,
      .status = 404,
      .model = "/data/llama",
      .message = "model not found"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 404: model not found\n"
     "the server does not know the model \"/data/llama\": say --model NAME as "
     "the server calls it, not a local path\n"},
    {{.outcome = OUTCOME_NOT_FOUND, .status = 404, .message = "Not Found"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 404: Not Found\n"
     "the server has no such path: is it behind a prefix, or is this not the "
     "API's port? --url takes the whole URL of a request too\n"},
    {{.outcome = OUTCOME_NOT_FOUND,
      .status = 404,
      .message = "Not Found",
      .model = "qwen",
      .models = &models},
     DIAGNOSIS_HOPELESS,
     "HTTP status 404: Not Found\n"
     "the server lists its models, so the URL is right, but it has no chat "
     "endpoint: try --endpoint completions\n"},
    {{.outcome = OUTCOME_NOT_FOUND,
      .status = 404,
      .url = "http://h/v1/v1/chat/completions"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 404\n"
     "the path has /v1 twice: leave one out of --url or --endpoint\n"},
    {{.outcome = OUTCOME_AUTH, .status = 401, .message = "No key."},
     DIAGNOSIS_HOPELESS,
     "HTTP status 401: No key.\n"
     "no key was sent: put it into OPENAI_API_KEY, or name another variable "
     "with --api-key-env\n"},
    {{.outcome = OUTCOME_AUTH, .status = 401, .key_from = "OPENAI_API_KEY"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 401\n"
     "the key from OPENAI_API_KEY was refused: stale, cut, or for another "
     "server?\n"},
    {{.outcome = OUTCOME_AUTH, .status = 403, .key_from = "--api-key"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 403\n"
     "the key from --api-key was refused: stale, cut, or for another server? "
     "It may also lack access to this model\n"},
    {{.outcome = OUTCOME_UNPROCESSABLE,
      .status = 400,
      .message = "field required: prompt"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 400: field required: prompt\n"
     "body and path are of different kinds: this path does not take messages; "
     "see --endpoint\n"},
    {{.outcome = OUTCOME_UNPROCESSABLE,
      .status = 422,
      .api = "completions",
      .message = "messages: Field required"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 422: messages: Field required\n"
     "body and path are of different kinds: this path does not take a prompt; "
     "see --endpoint\n"},
    {{.outcome = OUTCOME_UNPROCESSABLE,
      .status = 400,
      .message = "The plain HTTP request was sent to HTTPS port"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 400: The plain HTTP request was sent to HTTPS port\n"
     "this port speaks TLS: the URL must begin with https://\n"},
    {{.outcome = OUTCOME_UNPROCESSABLE, .status = 400, .message = "top_z"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 400: top_z\n"
     "the server understood the path, but not the body: compare its words "
     "with the scenario and --extra-body\n"},
    {{.outcome = OUTCOME_CONNECT, .message = "Connection refused"},
     DIAGNOSIS_HOPELESS,
     "no connection (refused or unreachable): Connection refused\n"
     "nothing listens there: is the server up, and is this its port?\n"},
    {{.outcome = OUTCOME_CONNECT,
      .message = "refused",
      .url = "http://h/v1/chat/completions"},
     DIAGNOSIS_HOPELESS,
     "no connection (refused or unreachable): refused\n"
     "the URL names no port, so 80 was tried; vLLM, for example, listens on "
     "8000\n"},
    {{.outcome = OUTCOME_CONNECT, .message = "refused", .default_url = true},
     DIAGNOSIS_HOPELESS,
     "no connection (refused or unreachable): refused\n"
     "nobody said --url, so this is the default; where is the server?\n"},
    {{.outcome = OUTCOME_TIMEOUT_CONNECT, .url = "https://h:8000/x"},
     DIAGNOSIS_HOPELESS,
     "no connection in time\n"
     "is the address right, does a firewall stand between, or does this port "
     "speak plain http://?\n"},
    {{.outcome = OUTCOME_TIMEOUT_CONNECT},
     DIAGNOSIS_HOPELESS,
     "no connection in time\n"
     "is the address right, and does a firewall stand between?\n"},
    {{.outcome = OUTCOME_DNS, .message = "Could not resolve host: h"},
     DIAGNOSIS_HOPELESS,
     "the host name could not be resolved: Could not resolve host: h\n"
     "is the host spelled right?\n"},
    {{.outcome = OUTCOME_TLS,
      .url = "https://h:1/x",
      .message = "SSL certificate problem: self-signed certificate"},
     DIAGNOSIS_HOPELESS,
     "the TLS handshake or certificate check failed: SSL certificate problem: "
     "self-signed certificate\n"
     "the certificate is not trusted here: --cacert FILE names one that is, "
     "-k goes on unchecked\n"},
    {{.outcome = OUTCOME_TLS,
      .url = "https://h:1/x",
      .message = "SSL: no alternative certificate subject name matches"},
     DIAGNOSIS_HOPELESS,
     "the TLS handshake or certificate check failed: SSL: no alternative "
     "certificate subject name matches\n"
     "the certificate is for another host name: use that name in the URL, or "
     "-k to go on unchecked\n"},
    {{.outcome = OUTCOME_TLS,
      .url = "https://h:1/x",
      .message = "SSL routines::wrong version number"},
     DIAGNOSIS_HOPELESS,
     "the TLS handshake or certificate check failed: SSL routines::wrong "
     "version number\n"
     "this port does not speak TLS: the URL must begin with http://\n"},
    {{.outcome = OUTCOME_MALFORMED,
      .message = "Received HTTP/0.9 when not allowed"},
     DIAGNOSIS_HOPELESS,
     "what came is no HTTP, no JSON, or too large: Received HTTP/0.9 when not "
     "allowed\n"
     "this port speaks TLS: the URL must begin with https://\n"},
    {{.outcome = OUTCOME_REDIRECT, .status = 301, .location = "https://h/x"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 301: https://h/x\n"
     "redirects are not followed, because a POST may not survive them: use "
     "https://h/x in --url\n"},
    {{.outcome = OUTCOME_NOT_JSON,
      .status = 200,
      .content_type = "text/html",
      .message = "<html>"},
     DIAGNOSIS_HOPELESS,
     "HTTP status 200, but a 2xx answer that is no API answer: <html>\n"
     "an answer of type text/html comes from a web page or a gateway, not "
     "from the API: are port and path right?\n"},
    {{.outcome = OUTCOME_HTTP_4XX, .status = 405},
     DIAGNOSIS_HOPELESS,
     "HTTP status 405\n"
     "the path exists, but takes no POST: is it the API's?\n"},
    {{.outcome = OUTCOME_PROXY,
      .message = "CONNECT tunnel failed",
      .proxy = "https_proxy"},
     DIAGNOSIS_HOPELESS,
     "the proxy refused or failed: CONNECT tunnel failed\n"
     "the proxy did not let the request through\n"
     "the variable https_proxy sends this through a proxy: unset it, or add "
     "the host to no_proxy\n"},
    /* These may pass. */
    {{.outcome = OUTCOME_HTTP_5XX, .status = 503, .message = "Loading"},
     DIAGNOSIS_DOUBTFUL,
     "HTTP status 503: Loading\n"
     "the gateway does not reach the model's server, or that is still "
     "loading\n"},
    {{.outcome = OUTCOME_HTTP_5XX, .status = 500, .message = "a\033[31mb"},
     DIAGNOSIS_DOUBTFUL,
     "HTTP status 500: a [31mb\n"
     "the server's own log tells more\n"},
    {{.outcome = OUTCOME_RATE_LIMITED, .status = 429},
     DIAGNOSIS_DOUBTFUL,
     "HTTP status 429\n"
     "the server throttles already one request: expect many like this, and "
     "see --request-rate\n"},
    {{.outcome = OUTCOME_API_ERROR, .status = 200, .message = "overloaded"},
     DIAGNOSIS_DOUBTFUL,
     "HTTP status 200, but an error inside a 200 answer: overloaded\n"
     "an error came with status 200, which many tools count as success\n"},
    {{.outcome = OUTCOME_EMPTY, .status = 200},
     DIAGNOSIS_DOUBTFUL,
     "HTTP status 200, but ended properly without any token\n"
     "the answer ended properly without any token: is max_tokens too small "
     "for a model that thinks first?\n"},
    {{.outcome = OUTCOME_RESET, .message = "Connection reset by peer"},
     DIAGNOSIS_DOUBTFUL,
     "connection reset: Connection reset by peer\n"
     "the server hung up at once: does this port speak TLS (https://)?\n"},
    {{.outcome = OUTCOME_MALFORMED, .status = 200, .message = "not JSON"},
     DIAGNOSIS_DOUBTFUL,
     "HTTP status 200, but what came is no HTTP, no JSON, or too large: not "
     "JSON\n"},
};

static void failures(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct trial t = complete(rows[i].t);
    struct buf want = {0}, got = {0};
    buf_addf(&want, "POST %s\n%s", t.url, rows[i].said);
    t.usage = -1;
    assert_int_equal(diagnose(&t, &got), rows[i].d);
    assert_string_equal(buf_cstr(&got), buf_cstr(&want));
    buf_free(&want);
    buf_free(&got);
  }
}

static void b027_not_streamed_is_said(void **state)
{
  struct trial t = complete((struct trial){.stream_asked = true,
                                           .content_type = "application/json",
                                           .status = 200,
                                           .usage = 5});
  struct buf got = {0};
  (void)state;
  assert_int_equal(diagnose(&t, &got), DIAGNOSIS_FINE);
  assert_string_equal(buf_cstr(&got),
                      "the answer was not streamed (content-type "
                      "application/json): no TTFT, TPOT or ITL will be "
                      "known\n");
  buf_free(&got);
}

static void missing_usage_is_said(void **state)
{
  struct trial t = complete((struct trial){
      .stream_asked = true, .streamed = true, .status = 200, .usage = -1});
  struct buf got = {0};
  (void)state;
  diagnose(&t, &got);
  assert_string_equal(buf_cstr(&got),
                      "the answer tells no usage: tokens will be counted by "
                      "stream events, which is approximate\n");
  buf_reset(&got);
  t.hung_up = true;
  diagnose(&t, &got);
  assert_string_equal(buf_cstr(&got), "");
  buf_free(&got);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(failures),
      cmocka_unit_test(b027_not_streamed_is_said),
      cmocka_unit_test(missing_usage_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
