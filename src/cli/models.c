#include "cli/models.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/mask.h"
#include "net/fetch.h"

/* A list that takes longer is no help any more. */
#define PATIENCE_NS (20 * NS_PER_SEC)

/* Of /v1/chat/completions, or of another root's /chat/completions. */
void models_url(const struct config *c, struct buf *out)
{
  struct str path = str_of(c->endpoint);
  static const struct str tails[] = {{"/chat/completions", 17},
                                     {"/completions", 12},
                                     {"/responses", 10},
                                     {"/messages", 9},
                                     {"/embeddings", 11},
                                     {"/rerank", 7},
                                     {"/audio/transcriptions", 21},
                                     {"/audio/translations", 19}};
  buf_adds(out, c->base_url);
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
    if (path.len && path.p[0] == '/' && str_ends(path, tails[i])) {
      buf_addf(out, "%.*s/models%s", (int)(path.len - tails[i].len), path.p,
               c->query);
      return;
    }
  }
  buf_addf(out, "/v1/models%s", c->query);
}

/* Some list one twice, under each of its aliases. */
static void add_once(struct option_list *out, const char *id)
{
  for (size_t i = 0; id && i < out->n; i++)
    if (strcmp(out->items[i], id) == 0)
      return;
  if (id)
    option_list_add(out, str_of(id));
}

int models_read(struct str body, struct option_list *out)
{
  json_value *v = json_parse(body, NULL);
  const json_value *data = json_is_array(v) ? v : json_get(v, "data");
  int rc = json_is_array(data) ? 0 : -1;
  for (const json_value *m = rc ? NULL : json_first(data); m; m = json_next(m))
    add_once(out, json_text(json_get(m, "id")));
  json_free(v);
  return rc;
}

static void keep(const struct fetch *f, const char *url,
                 struct models_answer *what)
{
  if (!what)
    return;
  *what =
      (struct models_answer){.outcome = f->outcome, .status = f->info.status};
  mask_url(&what->url, str_of(url));
  snprintf(what->message, sizeof what->message, "%s", f->message);
  snprintf(what->content_type, sizeof what->content_type, "%s",
           f->info.content_type);
  snprintf(what->location, sizeof what->location, "%s", f->info.location);
}

int models_list(const struct config *c, struct option_list *out,
                struct models_answer *what)
{
  struct buf url = {0};
  struct err e = {0};
  struct fetch f;
  struct fetch_request r = {
      .net = config_net(c),
      .http = {.method = "GET", .total_ns = PATIENCE_NS},
      .wire = {.raw = true, .keep_body = true},
  };
  int rc = -1;
  models_url(c, &url);
  r.http.url = buf_cstr(&url);
  r.http.headers = config_headers(c, NULL, &e);
  fetch_run(&f, &r);
  if (f.outcome == OUTCOME_OK)
    rc = models_read(f.result->body, out);
  if (rc < 0)
    keep(&f, r.http.url, what);
  fetch_free(&f);
  xfer_headers_unref(r.http.headers);
  buf_free(&url);
  err_free(&e);
  return rc;
}
