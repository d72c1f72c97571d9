#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "script/bind_class.h"
#include "script/bindings.h"
#include "script/control_impl.h"
#include "script/vm_impl.h"
#include "stats/judge.h"

/* What run:measure returns: the figures of one stretch of the run.
 * m.label, .sent, .completed, .failed, .cancelled, .unsent, .duration,
 * .request_rate (sent a second), .request_throughput, .output_throughput,
 * .request_goodput, .good_share, .error_rate, .in_flight (at its end),
 * .in_flight_begin, .max_concurrent_requests, .client ("ok" or "limited")
 * m.ttft.p99, m.itl.mean, m.e2el.max … (seconds; every latency of the results)
 * A figure without samples is nil.                            [-0, +1, v]
 * m:merge(other) -> m, which now speaks of both              [-0, +1, v]
 * m:holds("ttft.p99 < 500ms") -> boolean, value (in the unit of the
 *                                expression; nil: no data)    [-0, +2, v] */

#define MEASURE_MT "stoke.measure"

struct measure {
  struct summary *summary; /* apart: it wants more alignment than Lua gives */
  uint64_t in_flight[2];
  char label[80];
};

void measure_push(lua_State *L, struct summary *s, const char *label,
                  const uint64_t in_flight[2])
{
  struct measure *m = lua_newuserdata(L, sizeof *m);
  vm_guard(vm_of(L));
  m->summary = mem_new(struct summary);
  *m->summary = *s;
  vm_unguard(vm_of(L));
  *s = (struct summary){0};
  m->in_flight[0] = in_flight[0];
  m->in_flight[1] = in_flight[1];
  snprintf(m->label, sizeof m->label, "%s", label);
  luaL_getmetatable(L, MEASURE_MT);
  lua_setmetatable(L, -2);
}

static void push_figure(lua_State *L, double x)
{
  if (isfinite(x))
    lua_pushnumber(L, x);
  else
    lua_pushnil(L);
}

static void set_ms(lua_State *L, const char *name, double ms)
{
  push_figure(L, ms / 1e3);
  lua_setfield(L, -2, name);
}

static void push_latency(lua_State *L, const struct latency *l)
{
  lua_newtable(L);
  lua_pushnumber(L, (lua_Number)l->count);
  lua_setfield(L, -2, "count");
  set_ms(L, "mean", l->mean);
  set_ms(L, "std", l->std);
  set_ms(L, "min", l->min);
  set_ms(L, "max", l->max);
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    set_ms(L, latency_names[i], l->p[i]);
}

static double error_rate(const struct summary *s)
{
  double rate = summary_success_rate(s);
  return isnan(rate) ? rate : 1 - rate;
}

/* False: no such figure. */
static bool push_number(lua_State *L, const struct measure *m, const char *name)
{
  const struct summary *s = m->summary;
  const struct {
    const char *name;
    double value;
  } numbers[] = {
      {"sent", (double)s->sent},
      {"completed", (double)s->completed},
      {"failed", (double)s->failed},
      {"cancelled", (double)s->cancelled},
      {"unsent", (double)s->unsent},
      {"duration", isfinite(s->window_s) ? s->window_s : 0},
      {"request_rate", s->achieved_rps},
      {"request_throughput", s->request_throughput},
      {"output_throughput", s->output_throughput},
      {"request_goodput", s->request_goodput},
      {"good_share", s->good_share},
      {"error_rate", error_rate(s)},
      {"in_flight_begin", (double)m->in_flight[0]},
      {"in_flight", (double)m->in_flight[1]},
      {"max_concurrent_requests", (double)s->max_concurrent_requests},
      {"cached_tokens", (double)s->cached_tokens},
      {"input_tokens", (double)s->input_tokens},
      {"output_tokens", (double)s->output_tokens},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(numbers[i].name, name) != 0)
      continue;
    push_figure(L, numbers[i].value);
    return true;
  }
  return false;
}

static bool push_named_latency(lua_State *L, const struct summary *s,
                               const char *name)
{
  for (int f = 0; f < FIGURE_COUNT; f++) {
    if (strcmp(figure_name((enum figure)f), name) != 0)
      continue;
    push_latency(L, &s->latency[f]);
    return true;
  }
  return false;
}

static int index_l(lua_State *L)
{
  const struct measure *m = bind_self(L, 1, MEASURE_MT);
  const char *name = luaL_checkstring(L, 2);
  if (bind_class_method(L))
    return 1;
  if (strcmp(name, "label") == 0)
    lua_pushstring(L, m->label);
  else if (strcmp(name, "client") == 0)
    lua_pushstring(L, m->summary->verdict.limited ? "limited" : "ok");
  else if (!push_number(L, m, name) && !push_named_latency(L, m->summary, name))
    return luaL_error(L, "a measurement has no figure '%s'", name);
  return 1;
}

/* `other` comes after m. */
static int merge_l(lua_State *L)
{
  struct measure *m = bind_self(L, 1, MEASURE_MT);
  const struct measure *other = luaL_checkudata(L, 2, MEASURE_MT);
  luaL_argcheck(L, m != other, 2, "a measurement cannot be added to itself");
  vm_guard(vm_of(L));
  summary_merge(m->summary, other->summary);
  m->in_flight[1] = other->in_flight[1];
  vm_unguard(vm_of(L));
  lua_settop(L, 1);
  return 1;
}

static int gc_l(lua_State *L)
{
  struct measure *m = bind_self(L, 1, MEASURE_MT);
  vm_guard(vm_of(L));
  summary_deinit(m->summary);
  mem_free(m->summary);
  vm_unguard(vm_of(L));
  return 0;
}

static int holds_l(lua_State *L)
{
  const struct measure *m = bind_self(L, 1, MEASURE_MT);
  struct err e = {0};
  struct str text;
  double value;
  char why[512];
  int holds;
  text.p = luaL_checklstring(L, 2, &text.len);
  vm_guard(vm_of(L));
  holds = judge_expression(text, m->summary, "m:holds", &value, &e);
  snprintf(why, sizeof why, "%.*s", STR_ARG(str_trim(str_of(err_text(&e)))));
  err_free(&e);
  vm_unguard(vm_of(L));
  if (holds < 0)
    return luaL_error(L, "%s", why);
  lua_pushboolean(L, holds);
  push_figure(L, value);
  return 2;
}

void bind_measure(lua_State *L)
{
  static const luaL_Reg methods[] = {
      {"holds", holds_l}, {"merge", merge_l}, {NULL, NULL}};
  bind_class(L, &(struct bind_class){.name = MEASURE_MT,
                                     .methods = methods,
                                     .index = index_l,
                                     .gc = gc_l});
}
