#include "core/stage.h"

#include <math.h>

#include "base/mem.h"
#include "base/units.h"

/* More connections than any machine has. */
#define CONCURRENCY_MAX 1e9

struct reader {
  struct stage *out;
  const char *place;
  struct err *e;
};

static int wrong(struct reader *r, const json_value *v, const char *wanted)
{
  return err_add(r->e, "%s.%s: must be %s", r->place, json_name(v), wanted);
}

static int read_number(const json_value *v, double *out)
{
  if (json_is_number(v)) {
    *out = json_double(v, 0);
    return 0;
  }
  return json_text(v) ? units_number(str_of(json_text(v)), out) : -1;
}

static int read_time(struct reader *r, const json_value *v, uint64_t *out)
{
  double s = json_double(v, -1);
  if (json_is_number(v) && s >= 0 && s < 1e9) {
    *out = (uint64_t)(s * 1e9);
    return 0;
  }
  if (json_text(v) && units_duration(str_of(json_text(v)), out) == 0)
    return 0;
  return wrong(r, v, "a time such as \"30s\" or 30");
}

static int read_count(struct reader *r, const json_value *v, uint64_t *out)
{
  double x;
  if (read_number(v, &x) < 0 || x < 0 || x != floor(x) || x > 1e15)
    return wrong(r, v, "a whole number");
  *out = (uint64_t)x;
  return 0;
}

static int read_ramp(struct reader *r, const json_value *v, struct ramp *out)
{
  const json_value *from = v, *to = v;
  double a, b;
  if (json_is_array(v)) {
    from = json_first(v);
    to = json_next(from);
    if (!to || json_next(to))
      return wrong(r, v, "a number, or a list of two: from, to");
  }
  if (read_number(from, &a) < 0 || read_number(to, &b) < 0 || a < 0 || b < 0)
    return wrong(r, v, "a number of 0 or more, or a list of two");
  out->from = a;
  out->to = b;
  return 0;
}

static int read_choice(struct reader *r, const json_value *v,
                       const char *const *names, const char *wanted)
{
  for (int i = 0; json_text(v) && names[i]; i++)
    if (strcmp(names[i], json_text(v)) == 0)
      return i;
  return wrong(r, v, wanted);
}

/* ---- fields ---- */

static void read_rate(struct reader *r, const json_value *v)
{
  read_ramp(r, v, &r->out->rate);
}

/* What a ramp passes through is rounded down, what is typed is not. */
static void read_concurrency(struct reader *r, const json_value *v)
{
  struct ramp *c = &r->out->concurrency;
  if (read_ramp(r, v, c) < 0)
    return;
  if (c->from != floor(c->from) || c->to != floor(c->to) ||
      fmax(c->from, c->to) > CONCURRENCY_MAX)
    wrong(r, v, "a whole number, or a list of two");
}

static void read_shape(struct reader *r, const json_value *v)
{
  static const char *const names[] = {"linear", "exponential", "step", NULL};
  int i = read_choice(r, v, names, "linear, exponential or step");
  if (i >= 0)
    r->out->rate.shape = r->out->concurrency.shape = (enum ramp_shape)i;
}

static void read_steps(struct reader *r, const json_value *v)
{
  uint64_t n = 0;
  if (read_count(r, v, &n) < 0)
    return;
  if (n >= 1 && n <= 10000)
    r->out->rate.steps = r->out->concurrency.steps = (unsigned)n;
  else
    wrong(r, v, "from 1 to 10000");
}

static void read_arrival(struct reader *r, const json_value *v)
{
  static const char *const names[] = {"poisson", "constant", "gamma", NULL};
  int i = read_choice(r, v, names, "poisson, constant or gamma");
  if (i >= 0)
    r->out->arrival = (enum arrival_kind)i;
}

static void read_burstiness(struct reader *r, const json_value *v)
{
  double x;
  if (read_number(v, &x) < 0 || !(x > 0)) {
    wrong(r, v, "above 0: 1 is Poisson, below 1 is burstier");
    return;
  }
  r->out->burstiness = x;
  if (r->out->arrival == ARRIVAL_POISSON && x != 1)
    r->out->arrival = ARRIVAL_GAMMA;
}

static void read_duration(struct reader *r, const json_value *v)
{
  read_time(r, v, &r->out->duration_ns);
}

static void read_requests(struct reader *r, const json_value *v)
{
  read_count(r, v, &r->out->num_requests);
}

static void read_prefill(struct reader *r, const json_value *v)
{
  read_count(r, v, &r->out->max_prefill);
}

static void read_pacing(struct reader *r, const json_value *v)
{
  read_time(r, v, &r->out->pacing_ns);
}

static void read_overflow(struct reader *r, const json_value *v)
{
  static const char *const names[] = {"queue", "drop", NULL};
  int i = read_choice(r, v, names, "queue or drop");
  if (i >= 0)
    r->out->drop = i == 1;
}

static void read_label(struct reader *r, const json_value *v)
{
  if (json_text(v))
    r->out->label = mem_strdup(json_text(v));
  else
    wrong(r, v, "a string");
}

static const struct {
  const char *name;
  void (*read)(struct reader *r, const json_value *v);
} fields[] = {
    {"request_rate", read_rate},
    {"session_rate", read_rate},
    {"shape", read_shape},
    {"steps", read_steps},
    {"arrival", read_arrival},
    {"burstiness", read_burstiness},
    {"max_concurrency", read_concurrency},
    {"max_prefill", read_prefill},
    {"num_requests", read_requests},
    {"num_sessions", read_requests},
    {"duration", read_duration},
    {"pacing", read_pacing},
    {"overflow", read_overflow},
    {"label", read_label},
};

static void read_field(struct reader *r, const json_value *v)
{
  struct buf names = {0};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (strcmp(fields[i].name, json_name(v)) == 0) {
      fields[i].read(r, v);
      return;
    }
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    buf_addf(&names, "%s%s", i ? ", " : "", fields[i].name);
  err_add(r->e, "%s has the field '%s'; a stage takes %s", r->place,
          json_name(v), buf_cstr(&names));
  buf_free(&names);
}

int stage_read(const json_value *o, struct stage *s, const char *place,
               struct err *e)
{
  struct reader r = {s, place, e};
  unsigned before = e->count;
  if (!json_is_object(o))
    return err_add(e,
                   "%s: must be a table such as { duration = \"30s\", "
                   "request_rate = 4 }",
                   place);
  for (const json_value *v = json_first(o); v; v = json_next(v))
    read_field(&r, v);
  return e->count > before ? -1 : 0;
}

static bool moves(const struct ramp *r)
{
  return r->from != r->to;
}

int stage_check(const struct stage *s, bool last, const char *place,
                struct err *e)
{
  unsigned before = e->count;
  bool endless = isinf(s->rate.from) || isinf(s->rate.to);
  if ((moves(&s->rate) || moves(&s->concurrency)) && !s->duration_ns)
    err_add(e, "%s: a ramp needs a duration", place);
  if (!endless && fmax(s->rate.from, s->rate.to) > RATE_MAX)
    err_add(e, "%s: a rate is at most %d a second; inf is all at once", place,
            RATE_MAX);
  if (endless && moves(&s->rate))
    err_add(e, "%s: a ramp cannot begin or end at inf", place);
  if (moves(&s->rate) && s->rate.shape == RAMP_EXPONENTIAL &&
      (s->rate.from <= 0 || s->rate.to <= 0))
    err_add(e, "%s: an exponential ramp cannot begin or end at 0", place);
  if (moves(&s->concurrency) && s->concurrency.shape == RAMP_EXPONENTIAL &&
      (s->concurrency.from <= 0 || s->concurrency.to <= 0))
    err_add(e, "%s: an exponential ramp cannot begin or end at 0", place);
  if (endless && !s->num_requests && s->concurrency.from < 1)
    err_add(e, "%s: all at once needs an end: num_requests or max_concurrency",
            place);
  if (!last && !s->duration_ns && !s->num_requests)
    err_add(e,
            "%s: another stage follows, so it needs a duration or "
            "num_requests",
            place);
  return e->count > before ? -1 : 0;
}
