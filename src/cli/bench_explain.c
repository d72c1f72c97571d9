#include "cli/bench_explain.h"

#include "base/log.h"
#include "cli/diagnose.h"
#include "cli/mask.h"
#include "cli/models.h"
#include "cli/preflight.h"

static void say(struct buf *lines, const struct option_list *secrets)
{
  struct str all;
  mask_known(lines, secrets);
  all = str_trim(buf_str(lines));
  while (all.p) {
    struct str line = str_split(&all, '\n');
    if (line.len)
      log_line("%.*s", STR_ARG(line));
  }
}

void bench_explain(const struct run_options *o, const struct request *sample,
                   const struct summary *s)
{
  const struct config *c = &o->config;
  const struct backend *b = sample ? sample->backend : NULL;
  const struct error_group *g = s->errors.len ? &s->errors.groups[0] : NULL;
  struct buf url = {0}, shown = {0}, lines = {0};
  struct option_list models = {0};
  struct trial t;
  if (s->completed || !g || !b)
    return;
  buf_addf(&url, "%s%.*s%s", c->base_url, STR_ARG(buf_str(&sample->path)),
           c->query);
  mask_url(&shown, buf_str(&url));
  t = (struct trial){
      .url = buf_cstr(&shown),
      .api = b->name,
      .pooling = b->dialect && !wire_dialect_has_payload(b->dialect),
      .model = c->model,
      .key_from = run_options_key_source(o),
      .proxy = c->proxy ? NULL : preflight_proxy(c->base_url),
      .stream_asked = sample->stream,
      .outcome = g->outcome,
      .status = g->status,
      .message = g->message,
      .content_type = "",
      .location = "",
      .usage = -1,
  };
  if (diagnose_wants_models(&t) && models_list(c, &models, NULL) == 0)
    t.models = &models;
  diagnose(&t, &lines);
  say(&lines, &o->secrets);
  option_list_free(&models);
  buf_free(&url);
  buf_free(&shown);
  buf_free(&lines);
}
