#include "cli/run_extras.h"

#include <stdlib.h>

#include "base/mem.h"
#include "report/calls_out.h"
#include "report/custom_out.h"
#include "report/groups_out.h"
#include "report/sessions_out.h"
#include "report/thresholds_out.h"

void run_extras_init(struct run_extras *x, const struct scenario *s,
                     struct run_result *result, const struct summary *summary,
                     const struct thresholds *thresholds)
{
  const struct figures figures = {
      .summary = summary,
      .metrics = result->metrics,
      .sessions = &result->sessions,
      .custom = &result->custom,
      .stages = result->stage_names,
      .duration_s = summary->duration_s,
  };
  *x = (struct run_extras){.scenario = s, .result = result, .summary = summary};
  custom_sort(&result->custom);
  x->n_thresholds = thresholds->n;
  x->thresholds =
      judge_all(thresholds, &figures, result->broken, result->broken_value);
}

void run_extras_deinit(struct run_extras *x)
{
  mem_free(x->thresholds);
  buf_free(&x->sessions);
  buf_free(&x->turns);
  buf_free(&x->http);
  buf_free(&x->tags);
  buf_free(&x->custom);
  buf_free(&x->checks);
  buf_free(&x->thresholds_json);
  *x = (struct run_extras){0};
}

static bool has_sessions(const struct run_extras *x)
{
  return scenario_has(x->scenario, HOOK_SESSION);
}

/* A writer that appends to a text which is empty so far. */
static struct json_writer fresh(struct buf *text)
{
  buf_reset(text);
  return (struct json_writer){.out = text, .spaced = true};
}

/* One request a session has no turns to compare. */
static void fill_sessions(struct run_extras *x, struct run_info *info)
{
  struct json_writer w;
  if (!has_sessions(x))
    return;
  w = fresh(&x->sessions);
  sessions_write(&w, &x->result->sessions, x->summary);
  info->sessions_json = buf_cstr(&x->sessions);
  w = fresh(&x->turns);
  turns_write(&w, x->result->metrics, x->summary);
  info->turns_json = buf_cstr(&x->turns);
  w = fresh(&x->http);
  calls_write(&w, &x->result->calls, x->summary);
  info->http_json = buf_cstr(&x->http);
}

void run_extras_fill(struct run_extras *x, struct str added,
                     struct run_info *info)
{
  struct json_writer w = fresh(&x->tags);
  fill_sessions(x, info);
  tags_write(&w, x->result->metrics, x->summary);
  info->tags_json = buf_cstr(&x->tags);
  w = fresh(&x->custom);
  custom_write(&w, &x->result->custom, x->summary->duration_s, added);
  info->custom_json = buf_cstr(&x->custom);
  w = fresh(&x->checks);
  checks_write(&w, &x->result->custom);
  info->checks_json = buf_cstr(&x->checks);
  w = fresh(&x->thresholds_json);
  thresholds_write(&w, x->thresholds, x->n_thresholds);
  info->thresholds_json = buf_cstr(&x->thresholds_json);
}

/* As the C library reads the environment, without asking it. */
static bool shows_unicode(void)
{
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct str value = str_of(getenv(names[i]));
    if (!value.len)
      continue;
    while (value.len && *value.p != '.')
      value = (struct str){value.p + 1, value.len - 1};
    return str_istarts(value, STR(".utf-8")) ||
           str_istarts(value, STR(".utf8"));
  }
  return false;
}

void run_extras_show(const struct run_extras *x, struct buf *out)
{
  bool marks = shows_unicode();
  const struct custom *c = &x->result->custom;
  if (has_sessions(x))
    sessions_show(out, &x->result->sessions);
  calls_show(out, &x->result->calls);
  tags_show(out, x->result->metrics, x->summary);
  custom_show(out, c, x->summary->duration_s);
  checks_show(out, c, marks);
  thresholds_show(out, x->thresholds, x->n_thresholds, marks);
}

bool run_extras_broken(const struct run_extras *x)
{
  for (size_t i = 0; i < x->n_thresholds; i++)
    if (!x->thresholds[i].ok)
      return true;
  return false;
}
