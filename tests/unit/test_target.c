/* URLs as people paste them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "cli/target.h"

struct row {
  const char *url, *option; /* option: of --endpoint, or NULL */
  const char *base, *endpoint, *query;
  const char *notices;
};

static const struct row good[] = {
    {"http://h:8000", NULL, "http://h:8000", "chat", "", ""},
    {"http://h:8000/", NULL, "http://h:8000", "chat", "", ""},
    {"http://h:8000/v1", NULL, "http://h:8000", "chat", "", ""},
    {"http://h:8000/v1/", NULL, "http://h:8000", "chat", "", ""},
    {"http://h:8000/v1//", NULL, "http://h:8000", "chat", "", ""},
    {" https://h/v1\n", NULL, "https://h", "chat", "", ""},
    {"HTTPS://h/v1", NULL, "https://h", "chat", "", ""},
    {"https://h/api/v1", NULL, "https://h/api", "chat", "", ""},
    {"https://h/team/x/", NULL, "https://h/team/x", "chat", "", ""},
    /* whole request URLs */
    {"http://h/v1/chat/completions", NULL, "http://h", "chat", "", ""},
    {"http://h/v1/completions", NULL, "http://h", "completions", "", ""},
    {"http://h/v1/completions/", "completions", "http://h", "completions", "",
     ""},
    {"http://h/v1/models", NULL, "http://h", "chat", "", ""},
    {"http://h/p/chat/completions", NULL, "http://h/p", "/chat/completions", "",
     ""},
    {"https://x.azure.com/openai/deployments/g/chat/completions"
     "?api-version=2024-02-01",
     NULL, "https://x.azure.com/openai/deployments/g", "/chat/completions",
     "?api-version=2024-02-01", ""},
    {"http://h/v1?a=b&c=d#frag", NULL, "http://h", "chat", "?a=b&c=d", ""},
    {"http://h/?", NULL, "http://h", "chat", "", ""},
    /* another API root is kept */
    {"https://h/api/paas/v4", NULL, "https://h/api/paas/v4",
     "/chat/completions", "", ""},
    {"https://h/api/v3/", "completions", "https://h/api/v3", "/completions", "",
     ""},
    {"https://h/v1beta", NULL, "https://h/v1beta", "/chat/completions", "", ""},
    {"https://h/v1beta/openai/", NULL, "https://h/v1beta/openai",
     "/chat/completions", "", ""},
    {"https://h/v1/openai", "embeddings", "https://h/v1/openai", "/embeddings",
     "", ""},
    {"https://h/client/v4/accounts/7/ai/v1", NULL,
     "https://h/client/v4/accounts/7/ai", "chat", "", ""},
    {"https://h/vision", NULL, "https://h/vision", "chat", "", ""},
    /* no scheme */
    {"h:8000", NULL, "http://h:8000", "chat", "",
     "no scheme in the URL: taking it for http://h:8000\n"},
    {"127.0.0.1:8000/v1", NULL, "http://127.0.0.1:8000", "chat", "",
     "no scheme in the URL: taking it for http://127.0.0.1:8000\n"},
    {"h:443", NULL, "https://h:443", "chat", "",
     "no scheme in the URL: taking it for https://h:443\n"},
    {"http://h:443", NULL, "http://h:443", "chat", "", ""},
    /* IPv6 */
    {"http://[::1]:8000/v1", NULL, "http://[::1]:8000", "chat", "", ""},
    {"[::1]:8000", NULL, "http://[::1]:8000", "chat", "",
     "no scheme in the URL: taking it for http://[::1]:8000\n"},
    {"http://::1/v1", NULL, "http://[::1]", "chat", "", ""},
    {"http://[fe80::1%25eth0]:8000", NULL, "http://[fe80::1%25eth0]:8000",
     "chat", "", ""},
    /* --endpoint */
    {"http://h/v1", "chat", "http://h", "chat", "", ""},
    {"http://h", "completions", "http://h", "completions", "", ""},
    {"http://h", "/v1/completions", "http://h", "completions", "", ""},
    {"http://h/v1", "/v1/chat/completions", "http://h", "chat", "", ""},
    {"http://h/v1", "v1/chat/completions", "http://h", "chat", "", ""},
    {"http://h/v1", "/chat/completions", "http://h", "chat", "", ""},
    {"http://h/v1/audio/translations", NULL, "http://h", "translations", "",
     ""},
    {"http://h/v1", "/v1/rerank", "http://h", "/v1/rerank", "", ""},
    {"http://h/v1?a=b", "/rerank#top", "http://h", "/v1/rerank", "?a=b", ""},
    {"http://h/v1", "/rerank", "http://h", "/v1/rerank", "", ""},
    {"http://h", "/rerank", "http://h", "/rerank", "", ""},
    /* other APIs */
    {"http://h", "anthropic", "http://h", "anthropic", "", ""},
    {"http://h/v1/messages", NULL, "http://h", "anthropic", "", ""},
    {"http://h:11434/api/chat", NULL, "http://h:11434", "/api/chat", "", ""},
    {"http://h/v4", "responses", "http://h/v4", "/responses", "", ""},
    {"http://h/v1/embeddings", "embeddings", "http://h", "embeddings", "", ""},
    {"http://h", "their_own", "http://h", "their_own", "", ""},
    {"http://h", "/chat/completions", "http://h", "/chat/completions", "", ""},
    {"http://h", "/api/v1/completions", "http://h", "/api/v1/completions", "",
     ""},
};

static void in_order(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    const struct row *r = &good[i];
    struct err e = {0};
    struct target t;
    char *endpoint;
    assert_int_equal(target_parse(&t, r->url, "--url", &e), 0);
    endpoint = target_endpoint(&t, r->option, "--endpoint", &e);
    assert_string_equal(err_text(&e), "");
    assert_string_equal(t.base, r->base);
    assert_string_equal(endpoint, r->endpoint);
    assert_string_equal(t.query, r->query);
    assert_string_equal(buf_cstr(&t.notices), r->notices);
    mem_free(endpoint);
    target_free(&t);
    err_free(&e);
  }
}

static void x04_v1_v1_becomes_one(void **state)
{
  static const char *const urls[] = {"http://h/v1/v1", "http://h/v1/v1/",
                                     "http://h/v1/v1/chat/completions"};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    struct err e = {0};
    struct target t;
    char *endpoint;
    assert_int_equal(target_parse(&t, urls[i], "--url", &e), 0);
    endpoint = target_endpoint(&t, NULL, "--endpoint", &e);
    assert_string_equal(t.base, "http://h");
    assert_string_equal(endpoint, "chat");
    assert_string_equal(buf_cstr(&t.notices),
                        "/v1/v1 in the URL taken for one /v1\n");
    mem_free(endpoint);
    target_free(&t);
  }
}

struct bad {
  const char *url, *option, *said;
};

static const struct bad bad[] = {
    {"", NULL, "--url: empty; say for example http://127.0.0.1:8000\n"},
    {"  ", NULL, "--url: empty; say for example http://127.0.0.1:8000\n"},
    {"http://h /v1", NULL, "--url: blanks or control characters in a URL\n"},
    {"http://h\r\nX: y", NULL,
     "--url: blanks or control characters in a URL\n"},
    {"ws://h", NULL, "--url: only http:// and https:// are spoken here\n"},
    {"http:/h/v1", NULL, "--url: a URL begins with http:// or https://\n"},
    {"https//h", NULL, "--url: a URL begins with http:// or https://\n"},
    {"http://http://h", NULL, "--url: a URL begins with http:// or https://\n"},
    {"http://", NULL,
     "--url: no host in it; say for example http://127.0.0.1:8000 or "
     "http://[::1]:8000\n"},
    {"http://:8000", NULL,
     "--url: no host in it; say for example http://127.0.0.1:8000 or "
     "http://[::1]:8000\n"},
    {"http://[::1", NULL,
     "--url: no host in it; say for example http://127.0.0.1:8000 or "
     "http://[::1]:8000\n"},
    {"http://h:80a0", NULL, "--url: \"80a0\" is not a port (1 to 65535)\n"},
    {"http://h:0", NULL, "--url: \"0\" is not a port (1 to 65535)\n"},
    {"http://h:65536", NULL, "--url: \"65536\" is not a port (1 to 65535)\n"},
    {"http://h:/v1", NULL, "--url: \"\" is not a port (1 to 65535)\n"},
    {"http://u:pw@h/v1", NULL,
     "--url: take user and password out of the URL, where they end up in "
     "logs; say -H \"Authorization: Basic $(printf %s USER:PASSWORD | "
     "base64)\"\n"},
    {"http://h/v1/completions", "chat",
     "--endpoint: the URL already ends in the path of completions\n"},
    {"http://h/v1/messages", "chat",
     "--endpoint: the URL already ends in the path of anthropic\n"},
    {"http://h", "http://h/v1/chat/completions",
     "--endpoint: takes a path; the server goes into --url\n"},
    {"http://h", "", "--endpoint: must be a name such as chat, or a /path\n"},
    {"http://h", "a b",
     "--endpoint: must be a name such as chat, or a /path\n"},
    {"http://h", "/a b",
     "--endpoint: must be a name such as chat, or a /path\n"},
};

static void mistakes(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct err e = {0};
    struct target t;
    if (target_parse(&t, bad[i].url, "--url", &e) == 0)
      assert_null(target_endpoint(&t, bad[i].option, "--endpoint", &e));
    assert_string_equal(err_text(&e), bad[i].said);
    target_free(&t);
    err_free(&e);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_order),
      cmocka_unit_test(x04_v1_v1_becomes_one),
      cmocka_unit_test(mistakes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
