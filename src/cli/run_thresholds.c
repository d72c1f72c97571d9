#include "cli/run_thresholds.h"

#include "script/files.h"

static void from_scenario(struct thresholds *all, const struct scenario *s,
                          const struct custom *declared, struct err *e)
{
  unsigned number = 0;
  const json_value *v = json_first(s->thresholds);
  for (; v; v = json_next(v)) {
    struct buf place = {0};
    buf_addf(&place, "%s: thresholds[%u]", s->path, ++number);
    thresholds_add(all, str_of(json_text(v)), declared, buf_cstr(&place), e);
    buf_free(&place);
  }
}

static void from_file(struct thresholds *all, const char *path,
                      const struct custom *declared, struct err *e)
{
  struct buf text = {0};
  char why[128];
  if (files_read(path, &text, why) < 0)
    err_add(e, "--thresholds %s: %s", path, why);
  else
    thresholds_add_lines(all, buf_str(&text), declared, path, e);
  buf_free(&text);
}

int run_thresholds_read(struct run_options *o, const struct scenario *s,
                        struct err *e)
{
  struct thresholds *all = &o->config.thresholds;
  struct custom declared = {0};
  unsigned before = e->count;
  if (!s)
    return 0;
  custom_declare(&declared, s->metrics, s->path, e);
  from_scenario(all, s, &declared, e);
  if (o->thresholds_file)
    from_file(all, o->thresholds_file, &declared, e);
  for (size_t i = 0; i < o->thresholds.n; i++)
    thresholds_add(all, str_of(o->thresholds.items[i]), &declared,
                   "--threshold", e);
  custom_deinit(&declared);
  return e->count > before ? -1 : 0;
}
