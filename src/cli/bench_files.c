#include "cli/bench_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "report/field.h"
#include "report/output.h"
#include "report/timeline.h"

/* ---- names ---- */

bool bench_saves(const struct bench_flags *f)
{
  return f->save_result || f->append_result;
}

/* An empty value is a variable of a script that is not set. */
static bool is_said(const char *value)
{
  return value && *value;
}

static const char *label_of(const struct bench *b)
{
  const struct bench_flags *f = &b->flags;
  if (is_said(f->label))
    return f->label;
  return b->backend ? b->backend->name : "openai";
}

static char *default_name(const struct bench *b, const char *model)
{
  const struct bench_flags *f = &b->flags;
  unsigned long long now = clock_wall_ns();
  unsigned long long cap = f->max_concurrency;
  if (!f->ramp_up)
    return output_name(label_of(b), f->request_rate, cap, model, now);
  return output_name_ramp(label_of(b),
                          f->ramp_up == 1 ? "linear" : "exponential",
                          f->ramp_up_from, f->ramp_up_to, cap, model, now);
}

char *bench_file_name(const struct bench *b, const char *model)
{
  const struct bench_flags *f = &b->flags;
  struct buf path = {0};
  char *name = is_said(f->result_filename) ? mem_strdup(f->result_filename)
                                           : default_name(b, model);
  if (f->result_dir && name[0] != '/') {
    buf_adds(&path, f->result_dir);
    if (path.len && path.p[path.len - 1] != '/')
      buf_addc(&path, '/');
  }
  buf_adds(&path, name);
  mem_free(name);
  return buf_take(&path);
}

static bool wants_pytorch(const struct bench_flags *f)
{
  const char *value = getenv("SAVE_TO_PYTORCH_BENCHMARK_FORMAT");
  return bench_saves(f) && is_said(value);
}

static bool wants_plot(const struct bench_flags *f)
{
  return f->plot_timeline || f->plot_dataset_stats;
}

bool bench_files_wanted(const struct bench_flags *f)
{
  return bench_saves(f) || wants_plot(f);
}

/* vLLM makes one folder; a path of several here is made as well. */
void bench_files_make_folder(const struct bench_flags *f, struct err *e)
{
  struct buf path = {0};
  struct str rest = str_of(f->result_dir);
  if (!f->result_dir || !bench_files_wanted(f))
    return;
  while (rest.p) {
    struct str part = str_split(&rest, '/');
    buf_addstr(&path, part);
    if (path.len && mkdir(buf_cstr(&path), 0777) < 0 && errno != EEXIST) {
      err_add(e, "--result-dir %s: %s", f->result_dir, strerror(errno));
      break;
    }
    buf_addc(&path, '/');
  }
  buf_free(&path);
}

/* "results/x.json" -> "results/x.timeline.html", whatever its last ending */
static void beside(const char *path, const char *end, struct buf *out)
{
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  buf_add(out, path, dot && dot > name ? (size_t)(dot - path) : strlen(path));
  buf_adds(out, end);
}

static const char *plot_end(const struct bench_flags *f)
{
  return f->plot_timeline ? ".timeline.html" : ".dataset_stats.html";
}

int bench_files_check(const struct bench *b, struct err *e)
{
  const struct bench_flags *f = &b->flags;
  unsigned before = e->count;
  if (bench_saves(f))
    output_check(b->path, true, e);
  if (wants_plot(f)) {
    struct buf name = {0};
    beside(b->path, plot_end(f), &name);
    output_check(buf_cstr(&name), true, e);
    buf_free(&name);
  }
  return e->count > before ? -1 : 0;
}

/* ---- PyTorch's ---- */

static void write_record(struct json_writer *w, const char *metric,
                         const char *figure, double value,
                         const struct run_info *info)
{
  char name[64];
  snprintf(name, sizeof name, "%s_%s_ms", metric, figure);
  json_begin_object(w);
  field_object(w, "benchmark");
  field_text(w, "name", "vLLM benchmark");
  field_object(w, "extra_info");
  field_text(w, "command", info->command);
  json_end_object(w);
  json_end_object(w);
  field_object(w, "model");
  field_text(w, "name", info->model_id);
  json_end_object(w);
  field_object(w, "metric");
  field_text(w, "name", name);
  field_array(w, "benchmark_values");
  json_number(w, value);
  json_end_array(w);
  field_object(w, "extra_info");
  field_text(w, "backend", info->backend);
  field_count(w, "num_prompts", info->num_prompts);
  json_end_object(w);
  json_end_object(w);
  json_end_object(w);
}

void bench_files_describe(struct bench_files *f, const struct summary *s,
                          const struct run_info *info)
{
  static const enum figure figures[] = {FIGURE_TTFT, FIGURE_TPOT, FIGURE_ITL};
  struct json_writer w = {.out = &f->pytorch, .spaced = true};
  f->described = true;
  json_begin_array(&w);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    const struct latency *l = &s->latency[figures[i]];
    const char *name = figure_name(figures[i]);
    write_record(&w, "mean", name, l->mean, info);
    write_record(&w, "median", name, l->p[LATENCY_P50], info);
    write_record(&w, "std", name, l->std, info);
    write_record(&w, "p99", name, l->p[LATENCY_P99], info);
  }
  json_end_array(&w);
  buf_addc(&f->pytorch, '\n');
}

/* ---- all of them ---- */

static int save(const char *path, const char *end, struct str text)
{
  struct buf name = {0};
  struct err e = {0};
  int rc;
  beside(path, end, &name);
  rc = output_save(buf_cstr(&name), true, text, &e);
  if (rc < 0)
    log_plain("%s", err_text(&e));
  else
    log_line("also written: %s", buf_cstr(&name));
  buf_free(&name);
  err_free(&e);
  return rc;
}

static int save_plot(const struct bench *b, const struct details *d)
{
  const struct bench_flags *f = &b->flags;
  struct buf page = {0};
  const struct timeline t = {
      .requests = f->plot_timeline,
      .lengths = f->plot_dataset_stats,
      .slow_ms = b->thresholds_ms[0],
      .stall_ms = b->thresholds_ms[1],
      .title = b->path,
  };
  int rc;
  timeline_write(&page, &t, d);
  rc = save(b->path, plot_end(f), buf_str(&page));
  buf_free(&page);
  return rc;
}

int bench_files_write(const struct bench *b, const struct details *d,
                      const struct bench_files *f)
{
  int rc = 0;
  if (wants_pytorch(&b->flags))
    rc = save(b->path, ".pytorch.json", buf_str(&f->pytorch));
  if (wants_plot(&b->flags) && save_plot(b, d) < 0)
    rc = -1;
  return rc;
}

void bench_files_free(struct bench_files *f)
{
  buf_free(&f->pytorch);
}
