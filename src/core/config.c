#include "core/config.h"

#include "net/xfer.h"
#include "script/backend.h"
#include "script/body.h"

struct body_defaults config_body(const struct config *c)
{
  return (struct body_defaults){
      .endpoint = c->endpoint,
      .model = c->model,
      .stream = c->stream,
      .max_tokens = c->max_tokens,
      .extra_body = c->extra_body,
  };
}

/* Nobody waits for a connection longer than for an answer. */
static uint64_t connect_timeout(const struct config *c)
{
  uint64_t own = c->connect_timeout_ns, all = c->timeout_ns;
  return all && all < (own ? own : NET_CONNECT_NS) ? all : own;
}

struct net_config config_net(const struct config *c)
{
  return (struct net_config){
      .kernel_times = true,
      .insecure = c->insecure,
      .cacert = c->cacert,
      .proxy = c->proxy,
      .connect_timeout_ns = connect_timeout(c),
  };
}

static void set_lines(struct xfer_headers *h, struct str lines, struct err *e)
{
  while (lines.len) {
    struct str value = str_split(&lines, '\n');
    struct str name = str_split(&value, ':');
    xfer_headers_set(h, name, str_trim(value), e);
  }
}

static void set_key(struct xfer_headers *h, const char *key,
                    const char *key_header, struct err *e)
{
  struct buf value = {0};
  if (key_header) {
    xfer_headers_set(h, str_of(key_header), str_of(key), e);
    return;
  }
  buf_addf(&value, "Bearer %s", key);
  xfer_headers_set(h, STR("Authorization"), buf_str(&value), e);
  buf_free(&value);
}

struct xfer_headers *config_headers(const struct config *c,
                                    const struct backend *b, struct err *e)
{
  struct xfer_headers *h = xfer_headers_new();
  if (!c->plain) {
    xfer_headers_set(h, STR("Content-Type"), STR("application/json"), e);
    xfer_headers_set(h, STR("User-Agent"), STR("stoke"), e);
  }
  if (c->api_key && c->api_key[0])
    set_key(h, c->api_key, b ? b->key_header : NULL, e);
  if (b)
    set_lines(h, str_of(b->headers), e);
  set_lines(h, buf_str(&c->headers), e);
  return h;
}
