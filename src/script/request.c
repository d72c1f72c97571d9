#include "script/request.h"

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
  buf_reset(&r->body);
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
