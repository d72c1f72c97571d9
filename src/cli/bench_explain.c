#include "cli/bench_explain.h"

#include "base/log.h"
#include "cli/bench_flags.h"
#include "cli/diagnose.h"
#include "cli/mask.h"
#include "cli/models.h"
#include "cli/preflight.h"

/* ---- mistakes ---- */

static size_t name_length(struct str line)
{
  size_t n = 0;
  while (n < line.len &&
         ((line.p[n] >= 'a' && line.p[n] <= 'z') || line.p[n] == '_'))
    n++;
  return n;
}

static void reword_line(struct buf *out, struct str line)
{
  struct str rest = line;
  size_t n;
  if (str_starts(rest, STR("-P ")))
    rest = str_from(rest, 3);
  n = name_length(rest);
  if (!n || n == rest.len || !strchr(":= ", rest.p[n]) ||
      !options_find(&bench_options_spec, (struct str){rest.p, n})) {
    buf_addstr(out, line);
    return;
  }
  buf_adds(out, "--");
  for (size_t i = 0; i < n; i++)
    buf_addc(out, rest.p[i] == '_' ? '-' : rest.p[i]);
  if (rest.p[n] == '=') {
    buf_addc(out, ' ');
    n++;
  }
  buf_addstr(out, str_from(rest, n));
}

void bench_reword(struct err *e)
{
  struct buf out = {0};
  struct str all = buf_str(&e->text);
  while (all.len) {
    reword_line(&out, str_split(&all, '\n'));
    buf_addc(&out, '\n');
  }
  buf_free(&e->text);
  e->text = out;
}

/* ---- failures ---- */

/* What `stoke run` calls by other names. */
static const struct {
  const char *run, *bench;
} names[] = {
    {"--max-tokens", "--output-len"},
    {"--endpoint chat", "--backend openai-chat"},
    {"--endpoint completions", "--backend openai"},
    {"see --endpoint", "see --backend"},
    {"--no-stream", "--extra-body.stream false"},
    {"the scenario and --extra-body", "--extra-body"},
    {"-k ", "--insecure "},
};

static size_t rename_here(struct buf *out, struct str rest)
{
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (str_starts(rest, str_of(names[i].run))) {
      buf_adds(out, names[i].bench);
      return strlen(names[i].run);
    }
  buf_addc(out, rest.p[0]);
  return 1;
}

static void rename_flags(struct buf *lines)
{
  struct buf out = {0};
  struct str rest = buf_str(lines);
  while (rest.len) {
    size_t n = rename_here(&out, rest);
    rest = str_from(rest, n);
  }
  buf_free(lines);
  *lines = out;
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
  rename_flags(&lines);
  diagnosis_say("", &lines, &o->secrets);
  option_list_free(&models);
  buf_free(&url);
  buf_free(&shown);
  buf_free(&lines);
}
