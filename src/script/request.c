#include "script/request.h"

#include <assert.h>

/* Memory of larger bodies is given back. */
enum { BODY_KEPT = 1 << 20 };

void request_reset(struct request *r)
{
  struct request clean = {.path = r->path,
                          .url = r->url,
                          .http = r->http,
                          .body = r->body,
                          .headers = r->headers,
                          .model = r->model,
                          .tags = r->tags,
                          .choices = 1,
                          .max_tokens = -1,
                          .planned_prompt_tokens = -1};
  *r = clean;
  buf_reset(&r->path);
  buf_reset(&r->url);
  buf_reset(&r->http);
  buf_recycle(&r->body, BODY_KEPT);
  buf_reset(&r->headers);
  buf_reset(&r->model);
  buf_reset(&r->tags);
}

void request_free(struct request *r)
{
  buf_free(&r->path);
  buf_free(&r->url);
  buf_free(&r->http);
  buf_free(&r->body);
  buf_free(&r->headers);
  buf_free(&r->model);
  buf_free(&r->tags);
}

void request_url(const struct request *r, const char *base_url,
                 const char *query, struct buf *out)
{
  if (r->url.len) {
    buf_addstr(out, buf_str(&r->url));
    return;
  }
  buf_adds(out, base_url);
  buf_addstr(out, buf_str(&r->path));
  if (*query && r->path.len && memchr(r->path.p, '?', r->path.len))
    buf_addf(out, "&%s", query + 1);
  else
    buf_adds(out, query);
}

static bool is_ours(const struct request *r, const char *base_url)
{
  struct str url = buf_str(&r->url), origin = str_of(base_url);
  const char *host = strstr(base_url, "://");
  const char *path = host ? strchr(host + 3, '/') : NULL;
  if (path)
    origin.len = (size_t)(path - base_url);
  return !url.len ||
         (str_istarts(url, origin) &&
          (url.len == origin.len || strchr("/?#", url.p[origin.len])));
}

/* Names and values were checked where they came in. */
struct xfer_headers *request_headers(const struct request *r,
                                     const char *base_url,
                                     struct xfer_headers *common)
{
  struct str lines = buf_str(&r->headers);
  bool ours = is_ours(r, base_url);
  struct xfer_headers *h;
  if (!lines.len && ours)
    return NULL;
  h = ours ? xfer_headers_copy(common) : xfer_headers_new();
  while (lines.len) {
    struct str value = str_split(&lines, '\n');
    struct str name = str_split(&value, ':');
    struct err e = {0};
    xfer_headers_set(h, name, str_trim(value), &e);
    assert(!e.count);
    err_free(&e);
  }
  return h;
}
