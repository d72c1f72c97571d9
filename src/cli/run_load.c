/* The load of `stoke run`: what flags, the scenario's `load` and defaults
 * come to. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/run_options.h"
#include "cli/stage_text.h"
#include "core/stage.h"

struct settling {
  struct run_options *o;
  const json_value *load; /* the scenario's, or NULL */
  unsigned nature;
  const char *place;
  struct err *e;
};

static bool is_given(const struct run_options *r, const char *key)
{
  return options_source(&r->options, key) != OPTION_DEFAULT;
}

/* By somebody stronger than the scenario. */
static bool is_imposed(const struct run_options *r, const char *key)
{
  enum option_source from = options_source(&r->options, key);
  return from != OPTION_DEFAULT && from != OPTION_SCRIPT;
}

/* ---- the scenario's fields that are options too ---- */

static const struct {
  const char *field, *option;
} plain_fields[] = {
    {"request_rate", "request-rate"},
    {"session_rate", "request-rate"},
    {"arrival", "arrival"},
    {"burstiness", "burstiness"},
    {"max_concurrency", "max-concurrency"},
    {"max_prefill", "max-prefill"},
    {"pacing", "pacing"},
    {"overflow", "overflow"},
    {"num_requests", "num-requests"},
    {"num_sessions", "num-sessions"},
    {"duration", "duration"},
    {"warmup", "warmup"},
    {"warmup_requests", "warmup"},
    {"drain", "drain"},
};

/* In the words of the command line. */
static void option_text(struct buf *out, const json_value *v)
{
  if (json_text(v))
    buf_adds(out, json_text(v));
  else
    json_print(out, v);
  /* The scenario's times are plain seconds by now; a bare number would mean
   * requests here. */
  if (strcmp(json_name(v), "warmup") == 0 && json_is_number(v))
    buf_addc(out, 's');
}

static void apply_field(struct settling *s, const json_value *v,
                        const char *option)
{
  struct buf text = {0}, where = {0};
  buf_addf(&where, "%s: load.%s", s->place, json_name(v));
  option_text(&text, v);
  options_set(&s->o->options, option, buf_cstr(&text), OPTION_SCRIPT,
              buf_cstr(&where), s->e);
  buf_free(&text);
  buf_free(&where);
}

static void apply_fields(struct settling *s)
{
  for (const json_value *v = json_first(s->load); v; v = json_next(v)) {
    if (json_is_array(v))
      continue; /* a ramp, or the stages */
    for (size_t i = 0; i < sizeof plain_fields / sizeof *plain_fields; i++)
      if (strcmp(plain_fields[i].field, json_name(v)) == 0)
        apply_field(s, v, plain_fields[i].option);
  }
}

/* ---- stages ---- */

/* The rule that every stage starts from; no end of its own. */
static struct stage base_stage(const struct run_options *r)
{
  struct load flat = r->config.load;
  struct stage s;
  flat.n_stages = 0;
  s = load_stage(&flat, 0);
  s.duration_ns = s.num_requests = 0;
  return s;
}

static void add_stage(struct run_options *r, const struct stage *s)
{
  struct load *l = &r->config.load;
  struct stage *last;
  l->stages = mem_resize(l->stages, l->n_stages + 1, sizeof *l->stages);
  last = &l->stages[l->n_stages++];
  *last = *s;
  if (!last->label) {
    struct buf label = {0};
    buf_addf(&label, "%zu", l->n_stages);
    last->label = buf_take(&label);
  }
}

/* What flags say holds in the scenario's stages as well. */
static void impose(const struct run_options *r, struct stage *s)
{
  const struct load *l = &r->config.load;
  if (is_imposed(r, "max-concurrency"))
    s->concurrency = (struct ramp){.from = (double)l->max_concurrency,
                                   .to = (double)l->max_concurrency};
  if (is_imposed(r, "arrival"))
    s->arrival = l->arrival;
  if (is_imposed(r, "burstiness"))
    s->burstiness = l->burstiness;
  if (is_imposed(r, "overflow"))
    s->drop = l->drop;
}

static void read_stage(struct settling *s, const json_value *v,
                       const char *place)
{
  struct stage stage = base_stage(s->o);
  if (stage_read(v, &stage, place, s->e) < 0) {
    mem_free(stage.label);
    return;
  }
  impose(s->o, &stage);
  add_stage(s->o, &stage);
}

static void read_stage_flag(struct settling *s, const char *text)
{
  json_value *v = stage_text_read(text);
  struct buf place = {0};
  buf_addf(&place, "--stage \"%s\"", text);
  read_stage(s, v, buf_cstr(&place));
  json_free(v);
  buf_free(&place);
}

static bool has_ramp(const json_value *load)
{
  return json_is_array(json_get(load, "request_rate")) ||
         json_is_array(json_get(load, "session_rate")) ||
         json_is_array(json_get(load, "max_concurrency"));
}

/* The load itself is a stage, when a value of it ramps. */
static void read_ramped_load(struct settling *s)
{
  struct stage stage = base_stage(s->o);
  struct buf place = {0};
  stage.duration_ns = s->o->config.load.duration_ns;
  stage.num_requests = s->o->config.load.num_requests;
  for (const json_value *v = json_first(s->load); v; v = json_next(v)) {
    struct buf one = {0};
    json_value *o;
    if (!json_is_array(v) && strcmp(json_name(v), "shape") != 0 &&
        strcmp(json_name(v), "steps") != 0)
      continue;
    buf_addf(&one, "{\"%s\":", json_name(v));
    json_print(&one, v);
    buf_addc(&one, '}');
    o = json_parse(buf_str(&one), NULL);
    buf_reset(&place);
    buf_addf(&place, "%s: load", s->place);
    stage_read(o, &stage, buf_cstr(&place), s->e);
    json_free(o);
    buf_free(&one);
  }
  buf_free(&place);
  impose(s->o, &stage);
  add_stage(s->o, &stage);
}

static void read_scenario_stages(struct settling *s)
{
  const json_value *stages = json_get(s->load, "stages");
  size_t i = 0;
  for (const json_value *v = json_first(stages); v; v = json_next(v)) {
    struct buf place = {0};
    buf_addf(&place, "%s: load.stages[%zu]", s->place, ++i);
    read_stage(s, v, buf_cstr(&place));
    buf_free(&place);
  }
}

/* vLLM's flags: from one rate to the other while -n requests leave (or over
 * -d); in time, not by the request's number. */
static void read_ramp_up(struct settling *s)
{
  struct run_options *r = s->o;
  struct stage stage = base_stage(r);
  double a = r->ramp_up_from, b = r->ramp_up_to, mean;
  if (!is_given(r, "ramp-up-start-rps") || !is_given(r, "ramp-up-end-rps")) {
    err_add(s->e, "--ramp-up-strategy: also say --ramp-up-start-rps and "
                  "--ramp-up-end-rps");
    return;
  }
  if (r->ramp_up == 2 && (a <= 0 || b <= 0)) {
    err_add(s->e, "--ramp-up-strategy exponential: cannot begin or end at 0");
    return;
  }
  mean = r->ramp_up == 1 || a == b ? (a + b) / 2 : (b - a) / log(b / a);
  stage.rate =
      (struct ramp){.from = a,
                    .to = b,
                    .shape = r->ramp_up == 1 ? RAMP_LINEAR : RAMP_EXPONENTIAL};
  stage.duration_ns = r->config.load.duration_ns;
  if (!stage.duration_ns && r->config.load.num_requests)
    stage.duration_ns =
        (uint64_t)((double)r->config.load.num_requests / mean * 1e9);
  if (!stage.duration_ns)
    stage.duration_ns = 10 * NS_PER_SEC;
  add_stage(r, &stage);
}

static void read_stages(struct settling *s)
{
  struct run_options *r = s->o;
  if (r->ramp_up) {
    if (is_given(r, "request-rate"))
      err_add(s->e, "--ramp-up-strategy: leave --request-rate out");
    if (r->stages.n)
      err_add(s->e, "--ramp-up-strategy: leave --stage out");
    read_ramp_up(s);
    return;
  }
  for (size_t i = 0; i < r->stages.n; i++)
    read_stage_flag(s, r->stages.items[i]);
  if (r->stages.n || is_imposed(r, "request-rate"))
    return;
  if (has_ramp(s->load))
    read_ramped_load(s);
  else
    read_scenario_stages(s);
}

/* ---- defaults and checks ---- */

static bool bounded(const struct load *l)
{
  return l->num_requests || l->duration_ns || l->n_stages;
}

static void fill_defaults(struct settling *s)
{
  struct load *l = &s->o->config.load;
  bool says_when = l->n_stages || s->nature & (LOAD_RATE | LOAD_ARRIVALS);
  if (s->nature & LOAD_DRIVEN)
    return;
  if (!says_when && !is_given(s->o, "request-rate") &&
      !is_given(s->o, "max-concurrency"))
    l->max_concurrency = 1;
  /* load.arrivals may end by itself; the timetable has a ceiling. */
  if (!bounded(l) && !s->o->config.max_requests && !(s->nature & LOAD_ARRIVALS))
    l->duration_ns = 10 * NS_PER_SEC;
}

static void check_stages(struct settling *s)
{
  const struct load *l = &s->o->config.load;
  for (size_t i = 0; i < l->n_stages; i++) {
    struct buf place = {0};
    bool last = i + 1 == l->n_stages;
    buf_addf(&place, "stage %s", l->stages[i].label);
    stage_check(&l->stages[i], last, buf_cstr(&place), s->e);
    if (last && !l->stages[i].duration_ns && !l->stages[i].num_requests &&
        !l->duration_ns && !l->num_requests)
      err_add(s->e, "%s: needs an end: a duration, or -n or -d for the run",
              buf_cstr(&place));
    if (s->nature & LOAD_SESSIONS && l->stages[i].max_prefill)
      err_add(s->e,
              "%s: max_prefill is about requests, this scenario has "
              "sessions",
              buf_cstr(&place));
    buf_free(&place);
  }
}

static void check_flat(struct settling *s)
{
  struct run_options *r = s->o;
  struct load *l = &r->config.load;
  bool open = l->request_rate > 0 || s->nature & (LOAD_RATE | LOAD_ARRIVALS);
  if (isinf(l->request_rate) && !l->num_requests && !l->max_concurrency)
    err_add(s->e, "--request-rate inf: sends without end; add --num-requests "
                  "or --max-concurrency");
  if (isfinite(l->request_rate) && l->request_rate > RATE_MAX)
    err_add(s->e,
            "--request-rate %g: at most %d a second; inf sends all at "
            "once",
            l->request_rate, RATE_MAX);
  /* All at once, at most N in flight, until the time is up: a closed loop. */
  if (isinf(l->request_rate) && !l->num_requests)
    l->request_rate = 0;
  if (is_given(r, "arrival") && (!open || isinf(l->request_rate)) &&
      !(s->nature & LOAD_DRIVEN))
    err_add(s->e,
            "--arrival: shapes the gaps of a --request-rate, and there is "
            "%s",
            open ? "no gap at inf" : "none");
  if (l->num_requests && l->max_concurrency > l->num_requests)
    option_list_add(
        &r->options.notices,
        STR("--max-concurrency is larger than the number of requests: it "
            "holds none back"));
}

static void check_functions(struct settling *s)
{
  const struct load *l = &s->o->config.load;
  if (s->nature & LOAD_RATE && !l->duration_ns)
    err_add(s->e, "%s: load.rate is a curve over time: it needs a duration",
            s->place);
  if (s->nature & (LOAD_RATE | LOAD_ARRIVALS) &&
      (is_imposed(s->o, "request-rate") || s->o->stages.n))
    err_add(s->e,
            "%s: the scenario's load has a function that says when requests "
            "leave; --request-rate and --stage cannot be added to it",
            s->place);
  if (s->nature & LOAD_DRIVEN && l->n_stages)
    err_add(s->e, "%s: control(run) drives the load, so there can be no stages",
            s->place);
}

static void settle_sessions(struct settling *s)
{
  struct run_options *r = s->o;
  if (s->nature & LOAD_SESSIONS) {
    r->config.max_requests = r->config.load.num_requests;
    r->config.load.num_requests = r->num_sessions;
  } else if (*s->place && is_imposed(r, "num-sessions")) {
    /* Of a scenario that could not be read nobody knows. */
    err_add(s->e, "--num-sessions: this scenario has no sessions; use "
                  "--num-requests");
  } else if (r->num_sessions) {
    r->config.load.num_requests = r->num_sessions;
  }
}

int run_options_settle(struct run_options *r, const json_value *load,
                       unsigned nature, const char *place, struct err *e)
{
  struct settling s = {r, load, nature, place, e};
  struct load *l = &r->config.load;
  unsigned before = e->count;
  apply_fields(&s);
  settle_sessions(&s);
  l->arrival = (enum arrival_kind)r->arrival;
  l->drop = r->overflow == 1;
  if (!is_given(r, "burstiness"))
    l->burstiness = 1;
  else if (l->burstiness != 1 && !is_given(r, "arrival"))
    l->arrival = ARRIVAL_GAMMA;
  read_stages(&s);
  check_functions(&s);
  fill_defaults(&s);
  if (l->n_stages)
    check_stages(&s);
  else
    check_flat(&s);
  return e->count > before ? -1 : 0;
}

/* ---- in words ---- */

static const char *arrival_name(enum arrival_kind k)
{
  static const char *const names[] = {"poisson", "constant", "gamma"};
  return names[k];
}

static void describe_ramp(struct buf *out, const struct ramp *r)
{
  buf_addf(out, "%.6g", r->from);
  if (r->from != r->to)
    buf_addf(out, " to %.6g", r->to);
}

static void describe_stage(struct buf *out, const struct stage *s,
                           const char *what)
{
  bool slots = s->concurrency.from > 0 || s->concurrency.to > 0;
  char text[32];
  if (s->n_offsets) {
    buf_addf(out, "%zu arrivals", s->n_offsets);
  } else if (isinf(s->rate.from)) {
    buf_addf(out, "all %ss at once", what);
  } else if (s->rate.from > 0 || s->rate.to > 0) {
    describe_ramp(out, &s->rate);
    buf_addf(out, " %ss/s (%s)", what, arrival_name(s->arrival));
  } else if (slots) {
    describe_ramp(out, &s->concurrency);
    buf_addf(out, " %s%s at a time", what,
             s->concurrency.to == 1 && s->concurrency.from == 1 ? "" : "s");
    slots = false;
  } else {
    buf_adds(out, "silence");
  }
  if (slots) {
    buf_adds(out, ", at most ");
    describe_ramp(out, &s->concurrency);
    buf_adds(out, " in flight");
  }
  if (s->num_requests)
    buf_addf(out, ", %" PRIu64 " %s%s", s->num_requests, what,
             s->num_requests == 1 ? "" : "s");
  if (s->duration_ns)
    buf_addf(out, s->num_requests ? " or %s" : " for %s",
             units_show_duration(s->duration_ns, text));
}

void run_options_describe(const struct run_options *r, bool sessions,
                          struct buf *out)
{
  const struct load *l = &r->config.load;
  char text[32];
  for (size_t i = 0; i < load_stages(l); i++) {
    struct stage s = load_stage(l, i);
    if (i)
      buf_adds(out, "; then ");
    describe_stage(out, &s, sessions ? "session" : "request");
  }
  if (r->config.max_requests)
    buf_addf(out, ", at most %" PRIu64 " request%s", r->config.max_requests,
             r->config.max_requests == 1 ? "" : "s");
  if (l->warmup_requests)
    buf_addf(out, ", after %" PRIu64 " to warm up", l->warmup_requests);
  if (l->warmup_ns)
    buf_addf(out, ", after %s to warm up",
             units_show_duration(l->warmup_ns, text));
}
