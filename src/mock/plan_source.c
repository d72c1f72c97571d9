/* Where a request's plan comes from. */
#include "mock/server.h"

/* "x-mock-fault: SPECS", or "x-mock-KIND: ARGS". */
void mock_plan_of_headers(struct mock_exchange *x, struct err *e)
{
  const struct mock_http *h = &x->conn->http;
  for (unsigned i = 0; i < h->headers; i++) {
    struct str name = mock_http_name(h, i), value = mock_http_value(h, i);
    if (!str_istarts(name, STR("x-mock-")))
      continue;
    x->custom = true;
    name.p += 7;
    name.len -= 7;
    if (str_ieq(name, STR("fault")))
      mock_plan_apply(&x->plan, value, "x-mock-fault", e);
    else if (mock_plan_set(&x->plan, name, str_trim(value), NULL) < 0)
      err_add(e, "x-mock-%.*s: %.*s: no such fault or argument", STR_ARG(name),
              STR_ARG(value));
  }
}

void mock_plan_of_rules(struct mock_exchange *x, struct err *e)
{
  const struct mock_config *c = &x->conn->m->config;
  for (size_t i = 0; i < c->rules_count; i++) {
    if (!mock_rule_matches(&c->rules[i], x->record.number, c->seed))
      continue;
    x->custom = true;
    mock_plan_apply(&x->plan, c->rules[i].specs, "--fault", e);
  }
}

void mock_plan_of_body(struct mock_exchange *x, struct err *e)
{
  const char *specs = json_text(json_get(x->ask.mock, "fault"));
  x->custom |= x->ask.mock != NULL;
  if (specs)
    mock_plan_apply(&x->plan, str_of(specs), "mock.fault", e);
  x->script = json_first(x->ask.events);
}
