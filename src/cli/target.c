#include "cli/target.h"

#include <arpa/inet.h>

#include "base/mem.h"
#include "base/units.h"
#include "cli/mask.h"

/* The pieces of a URL, borrowed from its text. */
struct parts {
  struct str scheme, userinfo, host, port, path, query;
  bool bare_v6; /* the host is an IPv6 address without brackets */
};

/* What a path may end in, and what that says. The longest come first. */
static const struct {
  struct str tail;
  const char *endpoint;
} tails[] = {
    {{"/audio/transcriptions", 21}, "transcriptions"},
    {{"/audio/translations", 19}, "translations"},
    {{"/chat/completions", 17}, "chat"},
    {{"/completions", 12}, "completions"},
    {{"/responses", 10}, "responses"},
    {{"/embeddings", 11}, "embeddings"},
    {{"/rerank", 7}, "rerank"},
    {{"/messages", 9}, "anthropic"},
    {{"/api/chat", 9}, "ollama"},
    {{"/api/generate", 13}, "ollama_generate"},
    {{"/models", 7}, ""},
};

static void drop_tail(struct str *s, size_t len)
{
  s->len -= len;
}

static void drop_slashes(struct str *s)
{
  while (s->len && s->p[s->len - 1] == '/')
    drop_tail(s, 1);
}

/* ---- reading ---- */

static bool is_bare_v6(struct str host)
{
  unsigned char address[16];
  char text[64];
  if (host.len >= sizeof text)
    return false;
  memcpy(text, host.p, host.len);
  text[host.len] = '\0';
  return inet_pton(AF_INET6, text, address) == 1;
}

/* "user:pw@host:port" */
static void split_authority(struct parts *p, struct str s)
{
  for (size_t i = s.len; i > 0 && !p->userinfo.p; i--) {
    if (s.p[i - 1] == '@') {
      p->userinfo = (struct str){s.p, i - 1};
      s = str_from(s, i);
      break;
    }
  }
  p->host = s;
  p->bare_v6 = is_bare_v6(s);
  if (p->bare_v6)
    return;
  for (size_t i = s.len; i > 0 && s.p[i - 1] != ']'; i--) {
    if (s.p[i - 1] == ':') {
      p->host.len = i - 1;
      p->port = str_from(s, i);
      break;
    }
  }
}

static void split_url(struct parts *p, struct str s)
{
  ptrdiff_t at = str_find(s, STR("://"));
  size_t end;
  if (at >= 0 && !memchr(s.p, '/', (size_t)at)) {
    p->scheme = (struct str){s.p, (size_t)at};
    s = str_from(s, (size_t)at + 3);
  }
  for (end = 0; end < s.len && !strchr("/?#", s.p[end]);)
    end++;
  split_authority(p, (struct str){s.p, end});
  p->path = str_from(s, end);
  p->path = str_split(&p->path, '#');
  for (end = 0; end < p->path.len && p->path.p[end] != '?';)
    end++;
  p->query = str_from(p->path, end);
  p->path.len = end;
}

static bool has_control_or_blank(struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 127)
      return true;
  return false;
}

static bool good_host(struct str host)
{
  bool v6 = host.len && host.p[0] == '[';
  if (host.len == 0 || (v6 && (host.len < 4 || host.p[host.len - 1] != ']')))
    return false;
  for (size_t i = 0; i < host.len; i++)
    if (strchr("\\\"<>^`{|}@", host.p[i]) || (!v6 && strchr("[]:", host.p[i])))
      return false;
  return true;
}

static int check_port(struct str port, const char *place, struct err *e)
{
  int64_t n = 0;
  for (size_t i = 0; i < port.len; i++)
    if (port.p[i] < '0' || port.p[i] > '9')
      n = -1;
  if (n == 0 && port.len && units_integer(port, &n) == 0 && n > 0 && n < 65536)
    return 0;
  return err_add(e, "%s: \"%.*s\" is not a port (1 to 65535)", place,
                 STR_ARG(port));
}

static int check_parts(const struct parts *p, const char *place, struct err *e)
{
  if (p->userinfo.p)
    return err_add(e,
                   "%s: take user and password out of the URL, where they end "
                   "up in logs; say -H \"Authorization: Basic $(printf %%s "
                   "USER:PASSWORD | base64)\"",
                   place);
  if (p->scheme.p && !str_ieq(p->scheme, STR("http")) &&
      !str_ieq(p->scheme, STR("https")))
    return err_add(e, "%s: only http:// and https:// are spoken here", place);
  if (str_ieq(p->host, STR("http")) || str_ieq(p->host, STR("https")))
    return err_add(e, "%s: a URL begins with http:// or https://", place);
  if (!p->bare_v6 && !good_host(p->host))
    return err_add(e, "%s: no host in it; say for example %s", place,
                   "http://127.0.0.1:8000 or http://[::1]:8000");
  if (p->port.p && check_port(p->port, place, e) < 0)
    return -1;
  return 0;
}

/* ---- putting in order ---- */

static void print_origin(struct buf *out, const struct parts *p)
{
  bool tls = p->scheme.p ? str_ieq(p->scheme, STR("https"))
                         : str_eq(p->port, STR("443"));
  buf_addf(out, tls ? "https://" : "http://");
  buf_addf(out, p->bare_v6 ? "[%.*s]" : "%.*s", STR_ARG(p->host));
  if (p->port.len)
    buf_addf(out, ":%.*s", STR_ARG(p->port));
}

/* "/v4", "/v1beta/openai", "/v1/account/openai": a version that is not a v1 at
 * the end stands for an API root of its own. */
static bool has_version(struct str path)
{
  while (path.len) {
    struct str part = str_split(&path, '/');
    if (part.len >= 2 && part.p[0] == 'v' && part.p[1] >= '0' &&
        part.p[1] <= '9')
      return true;
  }
  return false;
}

/* Takes what is no prefix off the end of the path: an endpoint, then /v1.
 * What is left is the prefix. */
static void read_path(struct target *t, struct str *path)
{
  const char *endpoint = "";
  bool tail = false;
  drop_slashes(path);
  for (size_t i = 0; i < sizeof tails / sizeof tails[0] && !tail; i++) {
    if (str_ends(*path, tails[i].tail)) {
      tail = true;
      endpoint = tails[i].endpoint;
      drop_tail(path, tails[i].tail.len);
      drop_slashes(path);
    }
  }
  while (str_ends(*path, STR("/v1"))) {
    if (t->v1 && t->notices.len == 0)
      buf_adds(&t->notices, "/v1/v1 in the URL taken for one /v1\n");
    t->v1 = true;
    drop_tail(path, 3);
    drop_slashes(path);
  }
  /* A whole request URL without /v1, or another version: as it is written. */
  t->other_root = !t->v1 && (tail || has_version(*path));
  t->endpoint = mem_strdup(endpoint);
}

int target_parse(struct target *t, const char *url, const char *place,
                 struct err *e)
{
  struct str s = str_trim(str_of(url));
  struct parts p = {0};
  struct buf base = {0};
  *t = (struct target){0};
  if (s.len == 0)
    return err_add(e, "%s: empty; say for example http://127.0.0.1:8000",
                   place);
  if (has_control_or_blank(s))
    return err_add(e, "%s: blanks or control characters in a URL", place);
  split_url(&p, s);
  if (check_parts(&p, place, e) < 0)
    return -1;
  read_path(t, &p.path);
  print_origin(&base, &p);
  buf_addstr(&base, p.path);
  if (!p.scheme.p)
    buf_addf(&t->notices, "no scheme in the URL: taking it for %s\n",
             buf_cstr(&base));
  t->base = buf_take(&base);
  t->query =
      p.query.len > 1 ? mem_strndup(p.query.p, p.query.len) : mem_strdup("");
  return 0;
}

/* ---- the endpoint ---- */

/* The name of an API. Which there are is known with the scenario, that may
 * have some of its own. */
static bool is_kind(struct str s)
{
  if (!s.len || (s.p[0] >= '0' && s.p[0] <= '9'))
    return false;
  for (size_t i = 0; i < s.len; i++)
    if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                "0123456789_-",
                s.p[i]))
      return false;
  return true;
}

/* Under an API root that is not /v1 a named endpoint is a path. */
static char *named(const struct target *t, struct str kind)
{
  for (size_t i = 0; t->other_root && i < sizeof tails / sizeof tails[0]; i++)
    if (str_eq(kind, str_of(tails[i].endpoint)))
      return mem_strndup(tails[i].tail.p, tails[i].tail.len);
  return mem_strndup(kind.p, kind.len);
}

/* A path of --endpoint goes behind the URL as it was written: when that had
 * a /v1, the path gets it back, unless it brings its own. */
static char *own_path(const struct target *t, struct str path)
{
  struct buf out = {0};
  struct str kind;
  path = str_split(&path, '#');
  while (path.len && path.p[0] == '/')
    path = str_from(path, 1);
  if (t->v1 && !str_starts(path, STR("v1/")))
    buf_adds(&out, "/v1");
  buf_addf(&out, "/%.*s", STR_ARG(path));
  kind = str_eq(buf_str(&out), STR("/v1/chat/completions")) ? STR("chat")
         : str_eq(buf_str(&out), STR("/v1/completions"))    ? STR("completions")
                                                            : STR("");
  if (!kind.len)
    return buf_take(&out);
  buf_free(&out);
  return mem_strndup(kind.p, kind.len);
}

char *target_endpoint(const struct target *t, const char *option,
                      const char *place, struct err *e)
{
  struct str kind = str_of(option);
  if (!option)
    return named(t, t->endpoint[0] ? str_of(t->endpoint) : STR("chat"));
  if (is_kind(kind) && (!t->endpoint[0] || str_eq(kind, str_of(t->endpoint))))
    return named(t, kind);
  if (is_kind(kind)) {
    err_add(e, "%s: the URL already ends in the path of %s", place,
            t->endpoint);
    return NULL;
  }
  if (str_find(kind, STR("://")) >= 0) {
    err_add(e, "%s: takes a path; the server goes into --url", place);
    return NULL;
  }
  if (memchr(kind.p, '/', kind.len) && !has_control_or_blank(kind))
    return own_path(t, kind);
  err_add(e, "%s: must be a name such as chat, or a /path", place);
  return NULL;
}

void target_free(struct target *t)
{
  mem_free(t->base);
  mem_free(t->endpoint);
  mem_free(t->query);
  buf_free(&t->notices);
  *t = (struct target){0};
}
