#include "report/latency_out.h"

#include <stdio.h>

#include "report/blocks.h"
#include "report/field.h"

static void write_percentiles(struct json_writer *w, const struct summary *s,
                              const struct latency *l)
{
  char key[40], name[32];
  for (int i = 0; i < LATENCY_PERCENTILES; i++)
    field_number(w, latency_names[i], l->p[i]);
  for (size_t i = 0; i < s->n_percentiles; i++) {
    bool standard = false;
    for (int k = 0; k < LATENCY_PERCENTILES; k++)
      standard = standard || latency_percentiles[k] == s->percentiles[i];
    for (size_t k = 0; k < i; k++)
      standard = standard || s->percentiles[k] == s->percentiles[i];
    if (standard)
      continue;
    snprintf(key, sizeof key, "p%s", percentile_name(s->percentiles[i], name));
    field_number(w, key, l->user[i]);
  }
}

void latency_write(struct json_writer *w, const struct summary *s,
                   const char *key, const struct latency *l)
{
  field_object(w, key);
  field_count(w, "count", l->count);
  field_number(w, "mean", l->mean);
  field_number(w, "std", l->std);
  field_number(w, "min", l->min);
  write_percentiles(w, s, l);
  field_number(w, "max", l->max);
  json_end_object(w);
}
