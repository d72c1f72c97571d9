#include "report/thresholds_out.h"

#include <math.h>

#include "report/field.h"
#include "report/marks.h"

void thresholds_write(struct json_writer *w, const struct threshold_result *r,
                      size_t n)
{
  json_begin_array(w);
  for (size_t i = 0; i < n; i++) {
    const struct threshold *t = r[i].threshold;
    json_begin_object(w);
    field_text(w, "expr", t->text);
    field_number(w, "value", r[i].value);
    field_number(w, "limit", threshold_in_unit(t, t->limit));
    field_text(w, "unit", t->unit[0] ? t->unit : NULL);
    field_boolean(w, "ok", r[i].ok);
    field_boolean(w, "no_data", isnan(r[i].value));
    field_boolean(w, "ended_run", r[i].ended_run);
    json_end_object(w);
  }
  json_end_array(w);
}

void thresholds_show(struct buf *out, const struct threshold_result *r,
                     size_t n, bool marks)
{
  if (n)
    buf_adds(out, "Thresholds:\n");
  for (size_t i = 0; i < n; i++) {
    const struct threshold *t = r[i].threshold;
    buf_addf(out, "  %s %-30s ", mark(r[i].ok, marks), t->text);
    if (isnan(r[i].value))
      buf_adds(out, "no data: no request and no record has this figure");
    else
      buf_addf(out, "%.6g%s%s", r[i].value, t->unit[0] ? " " : "", t->unit);
    if (r[i].ended_run)
      buf_adds(out, ", which ended the run");
    buf_addc(out, '\n');
  }
}
