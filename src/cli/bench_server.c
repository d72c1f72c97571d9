#include "cli/bench_server.h"

#include <stdlib.h>

#include "base/clock.h"
#include "net/fetch.h"

/* What takes longer is not worth waiting for beside a measurement. */
#define PATIENCE_NS (10 * NS_PER_SEC)
/* A profiler writes its trace when it stops. */
#define PROFILE_NS (600 * NS_PER_SEC)

/* ---- counters ---- */

/* `vllm:spec_decode_num_drafts_total{engine="0"} 12.0` */
struct sample {
  struct str name, labels; /* the name without "vllm:" */
  double value;
};

static bool read_sample(struct str line, struct sample *s)
{
  static const struct str prefix = {"vllm:", 5};
  size_t name = 0, space = line.len;
  char number[64];
  if (!str_starts(line, prefix))
    return false;
  while (name < line.len && line.p[name] != '{' && line.p[name] != ' ')
    name++;
  while (space > 0 && line.p[space - 1] != ' ')
    space--;
  if (space < name || line.len - space >= sizeof number)
    return false;
  memcpy(number, line.p + space, line.len - space);
  number[line.len - space] = '\0';
  s->name = (struct str){line.p + prefix.len, name - prefix.len};
  s->labels = (struct str){line.p + name, space - name};
  s->value = strtod(number, NULL);
  return true;
}

static void add_position(struct spec_decode *d, const struct sample *s)
{
  static const struct str key = {"position=\"", 10};
  ptrdiff_t at = str_find(s->labels, key);
  unsigned long i;
  if (at < 0)
    return;
  i = strtoul(s->labels.p + at + key.len, NULL, 10);
  if (i >= SPEC_POSITIONS_MAX)
    return;
  d->per_position[i] += s->value;
  if (i >= d->n_positions)
    d->n_positions = i + 1;
}

/* False: none of these. */
static bool add_spec_decode(struct spec_decode *d, const struct sample *s)
{
  if (!str_starts(s->name, STR("spec_decode_")))
    return false;
  if (str_eq(s->name, STR("spec_decode_num_drafts_total")))
    d->drafts += s->value;
  else if (str_eq(s->name, STR("spec_decode_num_draft_tokens_total")))
    d->draft_tokens += s->value;
  else if (str_eq(s->name, STR("spec_decode_num_accepted_tokens_total")))
    d->accepted_tokens += s->value;
  else if (str_eq(s->name,
                  STR("spec_decode_num_accepted_tokens_per_pos_total")))
    add_position(d, s);
  return true;
}

static bool add_diffusion(struct diffusion *d, const struct sample *s)
{
  if (!str_starts(s->name, STR("diffusion")) ||
      !str_ends(s->name, STR("_total")))
    return false;
  if (str_find(s->name, STR("num_denoising_steps")) >= 0)
    d->steps += s->value;
  else if (str_find(s->name, STR("num_canvas_positions")) >= 0)
    d->positions += s->value;
  else if (str_find(s->name, STR("num_committed_tokens")) >= 0)
    d->committed += s->value;
  return true;
}

void bench_counters_read(struct str text, struct bench_counters *out)
{
  *out = (struct bench_counters){0};
  while (text.p) {
    struct str line = str_trim(str_split(&text, '\n'));
    struct sample s;
    if (!read_sample(line, &s))
      continue;
    if (add_spec_decode(&out->spec_decode, &s))
      out->has_spec_decode = true;
    else if (add_diffusion(&out->diffusion, &s))
      out->has_diffusion = true;
  }
}

static bool drafted(const struct spec_decode *before, struct spec_decode *now)
{
  now->drafts -= before->drafts;
  now->draft_tokens -= before->draft_tokens;
  now->accepted_tokens -= before->accepted_tokens;
  for (size_t i = 0; i < now->n_positions; i++)
    now->per_position[i] -= before->per_position[i];
  return now->drafts > 0 && now->draft_tokens > 0;
}

static bool denoised(const struct diffusion *before, struct diffusion *now)
{
  now->steps -= before->steps;
  now->positions -= before->positions;
  now->committed -= before->committed;
  return now->steps > 0 && now->positions > 0 && now->committed > 0;
}

void bench_counters_since(const struct bench_counters *before,
                          struct bench_counters *now)
{
  now->has_spec_decode = before->has_spec_decode && now->has_spec_decode &&
                         drafted(&before->spec_decode, &now->spec_decode);
  now->has_diffusion = before->has_diffusion && now->has_diffusion &&
                       denoised(&before->diffusion, &now->diffusion);
}

/* ---- asking ---- */

static void ask(const struct config *c, const char *method, const char *path,
                uint64_t total_ns, struct fetch *f)
{
  struct buf url = {0};
  struct err e = {0};
  struct fetch_request r = {
      .net = config_net(c),
      .http = {.method = method, .total_ns = total_ns},
      .wire = {.raw = true, .keep_body = true},
  };
  buf_addf(&url, "%s%s", c->base_url, path);
  r.http.url = buf_cstr(&url);
  r.http.headers = config_headers(c, NULL, &e);
  fetch_run(f, &r);
  xfer_headers_unref(r.http.headers);
  buf_free(&url);
  err_free(&e);
}

void bench_counters_ask(const struct config *c, struct bench_counters *out)
{
  struct fetch f;
  ask(c, "GET", "/metrics", PATIENCE_NS, &f);
  bench_counters_read(f.outcome == OUTCOME_OK ? f.result->body : STR(""), out);
  fetch_free(&f);
}

int bench_profile(const struct config *c, bool start, struct err *e)
{
  const char *path = start ? "/start_profile" : "/stop_profile";
  struct fetch f;
  int rc = 0;
  ask(c, "POST", path, PROFILE_NS, &f);
  if (f.outcome != OUTCOME_OK && f.info.status)
    rc = err_add(e,
                 "--profile: POST %s: status %d; was the server started with "
                 "a profiler?",
                 path, f.info.status);
  else if (f.outcome != OUTCOME_OK)
    rc = err_add(e, "--profile: POST %s: %s", path, f.message);
  fetch_free(&f);
  return rc;
}
