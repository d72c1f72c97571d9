#include "mock/http.h"

#define BODY_KEPT (64 << 10)

static struct mock_http *self(llhttp_t *p)
{
  return p->data;
}

static int add(struct mock_http *h, struct mock_http_span *span, const char *p,
               size_t len)
{
  if (!span->len)
    span->at = (uint32_t)h->text.len;
  buf_add(&h->text, p, len);
  span->len += (uint32_t)len;
  h->too_large = h->text.toobig;
  return h->too_large ? -1 : 0;
}

static int on_url(llhttp_t *p, const char *at, size_t len)
{
  return add(self(p), &self(p)->target, at, len);
}

static int on_name(llhttp_t *p, const char *at, size_t len)
{
  struct mock_http *h = self(p);
  if (h->headers >= MOCK_HTTP_HEADERS) {
    h->too_large = true;
    return -1;
  }
  return add(h, &h->names[h->headers], at, len);
}

static int on_value(llhttp_t *p, const char *at, size_t len)
{
  return add(self(p), &self(p)->values[self(p)->headers], at, len);
}

static int on_value_complete(llhttp_t *p)
{
  self(p)->headers++;
  return 0;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
  struct mock_http *h = self(p);
  buf_add(&h->body, at, len);
  h->too_large = h->body.toobig;
  return h->too_large ? -1 : 0;
}

static int on_complete(llhttp_t *p)
{
  self(p)->complete = true;
  self(p)->keep_alive = llhttp_should_keep_alive(p);
  return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

void mock_http_init(struct mock_http *h, size_t max_head, size_t max_body)
{
  *h = (struct mock_http){.text.max = max_head, .body.max = max_body};
  llhttp_init(&h->parser, HTTP_REQUEST, &settings);
  h->parser.data = h;
}

void mock_http_deinit(struct mock_http *h)
{
  buf_free(&h->text);
  buf_free(&h->body);
}

void mock_http_next(struct mock_http *h)
{
  for (unsigned i = 0; i <= h->headers && i < MOCK_HTTP_HEADERS; i++)
    h->names[i].len = h->values[i].len = 0;
  h->headers = 0;
  h->target.len = 0;
  buf_reset(&h->text);
  if (h->body.cap > BODY_KEPT)
    buf_free(&h->body);
  else
    buf_reset(&h->body);
  h->complete = false;
  llhttp_resume(&h->parser);
}

ptrdiff_t mock_http_feed(struct mock_http *h, const char *p, size_t len)
{
  llhttp_errno_t status = llhttp_execute(&h->parser, p, len);
  if (status == HPE_OK)
    return (ptrdiff_t)len;
  if (status == HPE_PAUSED && h->complete)
    return llhttp_get_error_pos(&h->parser) - p;
  return -1;
}

struct str mock_http_method(const struct mock_http *h)
{
  return str_of(llhttp_method_name((llhttp_method_t)h->parser.method));
}

static struct str text_of(const struct mock_http *h, struct mock_http_span s)
{
  return (struct str){h->text.p + s.at, s.len};
}

struct str mock_http_path(const struct mock_http *h)
{
  struct str target = text_of(h, h->target);
  return str_split(&target, '?');
}

struct str mock_http_name(const struct mock_http *h, unsigned i)
{
  return text_of(h, h->names[i]);
}

struct str mock_http_value(const struct mock_http *h, unsigned i)
{
  return text_of(h, h->values[i]);
}

struct str mock_http_header(const struct mock_http *h, struct str name)
{
  for (unsigned i = 0; i < h->headers; i++)
    if (str_ieq(mock_http_name(h, i), name))
      return mock_http_value(h, i);
  return (struct str){NULL, 0};
}
