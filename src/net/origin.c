#include "net/origin.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

static struct str until(struct str s, const char *stop)
{
  size_t i = 0;
  while (i < s.len && !strchr(stop, s.p[i]))
    i++;
  return (struct str){s.p, i};
}

static int parse_port(struct str s, unsigned *port)
{
  unsigned value = 0;
  if (s.len == 0)
    return 0; /* "host:" keeps the scheme's port */
  if (s.len > 5)
    return -1;
  for (size_t i = 0; i < s.len; i++) {
    if (s.p[i] < '0' || s.p[i] > '9')
      return -1;
    value = value * 10 + (unsigned)(s.p[i] - '0');
  }
  if (value > 65535)
    return -1;
  *port = value;
  return 0;
}

/* "host", "host:80", "[::1]:80" */
static int split_host(struct str s, struct str *host, unsigned *port)
{
  size_t end;
  if (s.len && s.p[0] == '[') {
    end = until(s, "]").len;
    if (end == s.len)
      return -1;
    *host = (struct str){s.p + 1, end - 1};
    end++;
  } else {
    *host = until(s, ":");
    end = host->len;
  }
  if (host->len == 0)
    return -1;
  if (end == s.len)
    return 0;
  return s.p[end] == ':' ? parse_port(str_from(s, end + 1), port) : -1;
}

int origin_parse(struct str url, struct origin *o)
{
  ptrdiff_t scheme = str_find(url, STR("://"));
  struct str rest = url, authority;
  o->scheme = STR("http");
  if (scheme >= 0) {
    o->scheme = (struct str){url.p, (size_t)scheme};
    rest = str_from(url, (size_t)scheme + 3);
  }
  o->port = str_ieq(o->scheme, STR("https")) ? 443 : 80;
  authority = until(rest, "/?#");
  for (size_t i = authority.len; i > 0; i--)
    if (authority.p[i - 1] == '@') {
      authority = str_from(authority, i);
      break;
    }
  return split_host(authority, &o->host, &o->port);
}

/* The address in network order; returns its length, 0 for a name. */
static size_t address_of(struct str host, unsigned char out[16])
{
  char text[INET6_ADDRSTRLEN + 1];
  if (memchr(host.p, ':', host.len))
    host = until(host, "%"); /* the zone: fe80::1%25eth0 */
  if (host.len > INET6_ADDRSTRLEN)
    return 0;
  snprintf(text, sizeof text, "%.*s", STR_ARG(host));
  if (inet_pton(AF_INET, text, out) == 1)
    return 4;
  return inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

bool origin_is_address(const struct origin *o)
{
  unsigned char a[16];
  return address_of(o->host, a) > 0;
}

bool origin_is_loopback(const struct origin *o)
{
  static const unsigned char mapped[12] = {[10] = 255, [11] = 255};
  unsigned char a[16];
  size_t len = address_of(o->host, a);
  if (len == 4)
    return a[0] == 127;
  if (len == 16)
    return memcmp(a, &in6addr_loopback, 16) == 0 ||
           (memcmp(a, mapped, 12) == 0 && a[12] == 127);
  return str_ieq(o->host, STR("localhost")) ||
         (o->host.len > 10 &&
          str_ieq(str_from(o->host, o->host.len - 10), STR(".localhost")));
}

static bool same_bits(const unsigned char *a, const unsigned char *b,
                      unsigned bits)
{
  unsigned char mask = (unsigned char)(0xff00u >> bits % 8);
  if (memcmp(a, b, bits / 8) != 0)
    return false;
  return bits % 8 == 0 || ((a[bits / 8] ^ b[bits / 8]) & mask) == 0;
}

/* "10.0.0.0/8" and "10.1.2.3" against an address. */
static bool address_matches(struct str rule, const unsigned char *a, size_t len)
{
  unsigned char b[16];
  unsigned bits = (unsigned)len * 8, asked = bits;
  struct str net = until(rule, "/");
  if (address_of(net, b) != len)
    return false;
  if (net.len < rule.len &&
      (parse_port(str_from(rule, net.len + 1), &asked) != 0 || asked > bits))
    return false;
  return same_bits(a, b, asked);
}

static bool name_matches(struct str rule, struct str host)
{
  if (rule.len && rule.p[0] == '.')
    rule = str_from(rule, 1);
  if (rule.len == 0 || host.len < rule.len)
    return false;
  if (!str_ieq(str_from(host, host.len - rule.len), rule))
    return false;
  return host.len == rule.len || host.p[host.len - rule.len - 1] == '.';
}

static struct str without_dot(struct str host)
{
  if (host.len > 1 && host.p[host.len - 1] == '.')
    host.len--;
  return host;
}

static bool rule_matches(struct str rule, const struct origin *o)
{
  unsigned char a[16];
  unsigned port = o->port;
  struct str host;
  size_t len = address_of(o->host, a);
  if (str_eq(rule, STR("*")))
    return true;
  if (len && address_matches(rule, a, len))
    return true; /* before the port is split off: it may be IPv6 */
  if (split_host(rule, &host, &port) != 0 || port != o->port)
    return false;
  if (len)
    return address_matches(host, a, len);
  return name_matches(without_dot(host), without_dot(o->host));
}

bool proxy_excluded(struct str list, const struct origin *o)
{
  while (list.len) {
    struct str rule = until(list, ", \t");
    if (rule.len && rule_matches(rule, o))
      return true;
    list = str_from(list, rule.len < list.len ? rule.len + 1 : rule.len);
  }
  return false;
}

static const char *environment(const char *lower, const char *upper)
{
  const char *value = getenv(lower);
  if ((!value || !*value) && upper)
    value = getenv(upper);
  return value && *value ? value : NULL;
}

const char *proxy_for(const char *setting, const struct origin *o)
{
  const char *proxy, *except;
  if (setting)
    return *setting ? setting : NULL;
  if (origin_is_loopback(o))
    return NULL;
  proxy = str_ieq(o->scheme, STR("https"))
              ? environment("https_proxy", "HTTPS_PROXY")
              : environment("http_proxy", NULL);
  if (!proxy)
    proxy = environment("all_proxy", "ALL_PROXY");
  except = environment("no_proxy", "NO_PROXY");
  return proxy && except && proxy_excluded(str_of(except), o) ? NULL : proxy;
}

const char *proxy_show(const char *proxy, char out[256])
{
  const char *scheme = strstr(proxy, "://");
  const char *host = strrchr(proxy, '@');
  size_t head = scheme ? (size_t)(scheme + 3 - proxy) : 0;
  if (host)
    snprintf(out, 256, "%.*s***%s", (int)head, proxy, host);
  else
    snprintf(out, 256, "%s", proxy);
  return out;
}
