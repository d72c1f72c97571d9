#include "core/config.h"

#include "net/xfer.h"
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

struct net_config config_net(const struct config *c)
{
  return (struct net_config){
      .kernel_times = true,
      .insecure = c->insecure,
      .cacert = c->cacert,
      .proxy = c->proxy,
      .connect_timeout_ns = c->connect_timeout_ns,
  };
}

struct xfer_headers *config_headers(const struct config *c, struct err *e)
{
  struct xfer_headers *h = xfer_headers_new();
  struct str lines = buf_str(&c->headers);
  xfer_headers_set(h, STR("Content-Type"), STR("application/json"), e);
  xfer_headers_set(h, STR("User-Agent"), STR("stoke"), e);
  if (c->api_key && c->api_key[0]) {
    struct buf value = {0};
    buf_addf(&value, "Bearer %s", c->api_key);
    xfer_headers_set(h, STR("Authorization"), buf_str(&value), e);
    buf_free(&value);
  }
  while (lines.len) {
    struct str value = str_split(&lines, '\n');
    struct str name = str_split(&value, ':');
    xfer_headers_set(h, name, str_trim(value), e);
  }
  return h;
}
