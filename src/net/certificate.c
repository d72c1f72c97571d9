#include "net/certificate.h"

#include <curl/curl.h>
#include <stdio.h>

#include "base/clock.h"
#include "net/origin.h"

/* "Subject:CN = x"; the certificate itself is left out, it is long. */
static void add_line(struct buf *out, const char *text)
{
  struct str value = str_of(text), name = str_split(&value, ':');
  if (value.p && !str_eq(name, STR("Cert")) &&
      !memchr(value.p, '\n', value.len))
    buf_addf(out, "%.*s: %.*s\n", STR_ARG(name), STR_ARG(value));
}

static void take(struct certificate *c, CURL *easy)
{
  struct curl_certinfo *all = NULL;
  curl_easy_getinfo(easy, CURLINFO_CERTINFO, &all);
  if (!all || all->num_of_certs < 1)
    return;
  c->chain = (unsigned)all->num_of_certs;
  for (const struct curl_slist *l = all->certinfo[0]; l; l = l->next)
    add_line(&c->lines, l->data);
}

static void set_up(CURL *easy, const char *proxy, uint64_t limit_ns)
{
  long ms = (long)(limit_ns / NS_PER_MS);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, proxy ? proxy : "");
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
  curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, ms);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ms);
}

int certificate_look(struct certificate *c, const struct net_config *net,
                     const char *url, uint64_t limit_ns)
{
  CURL *easy = curl_easy_init();
  struct origin o;
  struct buf https = {0};
  CURLcode code = CURLE_URL_MALFORMAT;
  *c = (struct certificate){0};
  if (origin_parse(str_of(url), &o) == 0) {
    bool v6 = memchr(o.host.p, ':', o.host.len) != NULL;
    buf_addf(&https, v6 ? "https://[%.*s]:%u/" : "https://%.*s:%u/",
             STR_ARG(o.host), o.port);
    set_up(easy, proxy_for(net->proxy, &o), limit_ns);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, c->error);
    curl_easy_setopt(easy, CURLOPT_URL, buf_cstr(&https));
    code = curl_easy_perform(easy);
  }
  if (code == CURLE_OK)
    take(c, easy);
  if (code != CURLE_OK && !c->error[0])
    snprintf(c->error, sizeof c->error, "%s", curl_easy_strerror(code));
  if (code == CURLE_OK)
    c->error[0] = '\0';
  buf_free(&https);
  curl_easy_cleanup(easy);
  return code == CURLE_OK ? 0 : -1;
}

void certificate_free(struct certificate *c)
{
  buf_free(&c->lines);
}
