#include "cli/bench_server.h"

#include <stdlib.h>

#include "base/clock.h"
#include "net/fetch.h"

/* What takes longer is not worth waiting for beside a measurement. */
#define PATIENCE_NS (10 * NS_PER_SEC)
/* A profiler writes its trace when it stops. */
#define PROFILE_NS (600 * NS_PER_SEC)

/* ---- counters ---- */

#define PREFIX "vllm:spec_decode_"

/* `vllm:spec_decode_num_drafts_total{engine="0"} 12.0` */
struct sample {
  struct str name, labels;
  double value;
};

static bool read_sample(struct str line, struct sample *s)
{
  size_t name = 0, space = line.len;
  char number[64];
  if (!str_starts(line, STR(PREFIX)))
    return false;
  while (name < line.len && line.p[name] != '{' && line.p[name] != ' ')
    name++;
  while (space > 0 && line.p[space - 1] != ' ')
    space--;
  if (space < name || line.len - space >= sizeof number)
    return false;
  memcpy(number, line.p + space, line.len - space);
  number[line.len - space] = '\0';
  s->name = (struct str){line.p + sizeof PREFIX - 1, name - sizeof PREFIX + 1};
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

bool bench_spec_decode_read(struct str text, struct spec_decode *out)
{
  bool found = false;
  *out = (struct spec_decode){0};
  while (text.p) {
    struct str line = str_trim(str_split(&text, '\n'));
    struct sample s;
    if (!read_sample(line, &s))
      continue;
    found = true;
    if (str_eq(s.name, STR("num_drafts_total")))
      out->drafts += s.value;
    else if (str_eq(s.name, STR("num_draft_tokens_total")))
      out->draft_tokens += s.value;
    else if (str_eq(s.name, STR("num_accepted_tokens_total")))
      out->accepted_tokens += s.value;
    else if (str_eq(s.name, STR("num_accepted_tokens_per_pos_total")))
      add_position(out, &s);
  }
  return found;
}

bool bench_spec_decode_since(const struct spec_decode *before,
                             struct spec_decode *now)
{
  now->drafts -= before->drafts;
  now->draft_tokens -= before->draft_tokens;
  now->accepted_tokens -= before->accepted_tokens;
  for (size_t i = 0; i < now->n_positions; i++)
    now->per_position[i] -= before->per_position[i];
  return now->drafts > 0 && now->draft_tokens > 0;
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

bool bench_spec_decode_ask(const struct config *c, struct spec_decode *out)
{
  struct fetch f;
  bool found;
  ask(c, "GET", "/metrics", PATIENCE_NS, &f);
  found =
      f.outcome == OUTCOME_OK && bench_spec_decode_read(f.result->body, out);
  fetch_free(&f);
  return found;
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
