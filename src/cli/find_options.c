#include "cli/find_options.h"

#include "base/clock.h"
#include "base/json.h"
#include "stats/judge.h"

static void check_slos(const struct run_options *o, struct err *e)
{
  struct summary nothing = {0};
  double value;
  for (size_t i = 0; i < o->slos.n; i++)
    judge_expression(str_of(o->slos.items[i]), &nothing, "--slo", &value, e);
}

/* The scenario's own load is simply not taken. */
static void refuse(const struct run_options *o, const char *option,
                   struct err *e)
{
  enum option_source from = options_source(&o->options, option);
  if (from != OPTION_DEFAULT && from != OPTION_SCRIPT)
    err_add(e,
            "--%s: is what is searched for; --from and --most say where, --of "
            "rate or concurrency what",
            option);
}

void find_options_check(const struct run_options *o, struct err *e)
{
  check_slos(o, e);
  refuse(o, "request-rate", e);
  refuse(o, "max-concurrency", e);
  if (o->find_most < o->find_from)
    err_add(e, "--most %g: is below --from, which is %g", o->find_most,
            o->find_from);
}

void find_options_write(const struct run_options *o, struct buf *out)
{
  struct json_writer w = {.out = out};
  json_begin_object(&w);
  json_key(&w, "of");
  json_string(&w, o->find_of ? STR("max_concurrency") : STR("request_rate"));
  json_key(&w, "arrival");
  json_string(&w, (enum arrival_kind)o->arrival == ARRIVAL_CONSTANT
                      ? STR("constant")
                      : STR("random"));
  json_key(&w, "burstiness");
  json_number(&w,
              o->config.load.burstiness > 0 ? o->config.load.burstiness : 1);
  json_key(&w, "slos");
  json_begin_array(&w);
  for (size_t i = 0; i < o->slos.n; i++)
    json_string(&w, str_of(o->slos.items[i]));
  json_end_array(&w);
  json_key(&w, "from");
  json_number(&w, o->find_from);
  json_key(&w, "most");
  json_number(&w, o->find_most);
  json_key(&w, "factor");
  json_number(&w, o->find_factor);
  json_key(&w, "precision");
  json_number(&w, o->find_precision);
  json_key(&w, "window");
  json_number(&w, ns_to_sec(o->find_window_ns));
  json_key(&w, "time_limit");
  json_number(&w, ns_to_sec(o->find_limit_ns));
  json_end_object(&w);
}
