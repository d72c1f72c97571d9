/* stoke run: from a command line to a table. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cmd_run.h"
#include "cli/config_file.h"
#include "cli/default_scenario.h"
#include "cli/find_options.h"
#include "cli/limits.h"
#include "cli/mask.h"
#include "cli/preflight.h"
#include "cli/run_command.h"
#include "cli/run_report.h"
#include "cli/run_thresholds.h"
#include "cli/run_watch.h"
#include "cli/version.h"
#include "core/timetable.h"
#include "script/vm.h"

/* Everything that one invocation owns. */
struct job {
  struct run_options options;
  const struct run_front *front;
  struct buf driver_options;
  struct scenario *scenario;
  struct run_result result;
  struct request sample; /* a request as the scenario makes them */
  char *command;         /* masked */
  uint64_t files_allowed;
  struct err e;
};

enum { GO_ON = -1, DONE = 0, FAILED = 1, MISUSED = 2 };

/* ---- what is asked ---- */

/* What stands alone is a scenario, but may have been meant otherwise. */
static int check_name(const char *name, struct err *e)
{
  if (strstr(name, "://")) {
    struct buf shown = {0};
    mask_url(&shown, str_of(name));
    err_add(e,
            "%s: a server is named with --url; what stands alone is a "
            "scenario",
            buf_cstr(&shown));
    buf_free(&shown);
    return -1;
  }
  if (strchr(name, '=') && access(name, F_OK) < 0)
    return err_add(e, "%s: neither an option nor a scenario", name);
  return 0;
}

static struct scenario *open_scenario(struct job *j)
{
  const struct run_options *o = &j->options;
  struct err *e = &j->e;
  const struct options *p = &o->options;
  struct scenario_options so = {
      .name =
          p->args.n ? p->args.items[0] : default_scenario(o->config.endpoint),
      .params = (const char *const *)o->params.items,
      .n_params = o->params.n,
      .args = (const char *const *)p->rest.items,
      .n_args = p->rest.n,
      .seed = o->config.seed,
      .memory = o->config.lua_memory,
      .unsafe = o->unsafe,
      .sha256 = o->sha256,
      .wrk_url = o->wrk_url,
      .wrk_headers = buf_cstr(&j->options.config.headers),
  };
  if (j->front->spec == &find_options_spec) {
    find_options_write(o, &j->driver_options);
    so.driver = "stoke.search";
    so.driver_options = buf_cstr(&j->driver_options);
  }
  if (!so.name) {
    err_add(e,
            "--endpoint %s: the questions that are sent when no scenario is "
            "named are nothing for it; say %s %s",
            o->config.endpoint, j->front->spec->program,
            default_scenario_words(o->config.endpoint));
    return NULL;
  }
  return check_name(so.name, e) == 0 ? scenario_open(&so, e) : NULL;
}

/* Which names there are is known with the scenario. */
static void check_endpoint(const char *endpoint, const struct backends *all,
                           struct err *e)
{
  struct buf text = {0};
  if (!endpoint || endpoint[0] == '/' || backends_find(all, str_of(endpoint)))
    return;
  backends_explain(all, str_of(endpoint), &text);
  err_add(e, "--endpoint %s: choose %s", endpoint, buf_cstr(&text));
  buf_free(&text);
}

static void check_limits(struct job *j)
{
  const struct load *load = &j->options.config.load;
  uint64_t most = load_max_concurrency(load);
  const char *place = "--max-concurrency";
  if (!most && j->options.until_exhausted)
    return;
  /* All at once is as many as there are. */
  if (!most && load->request_rate > 1e300) {
    most = load->num_requests;
    place = "--request-rate inf";
  }
  if (load->num_requests && most > load->num_requests)
    most = load->num_requests;
  limits_check_files(most, j->options.config.threads, j->files_allowed, place,
                     &j->e);
}

static void show_notices(const struct run_options *o)
{
  for (size_t i = 0; !o->quiet && i < o->options.notices.n; i++)
    log_line("%s", o->options.notices.items[i]);
}

static void note_threads(const struct run_options *o)
{
  const struct config *c = &o->config;
  unsigned n = load_workers(&c->load, c->threads);
  if (n < c->threads && !o->quiet)
    log_line("--threads %u: %u run, because no more could have a slot of their "
             "own in each stage, or a request",
             c->threads, n);
}

static unsigned nature_of(const struct scenario *s)
{
  return (scenario_has(s, HOOK_SESSION) ? LOAD_SESSIONS : 0u) |
         (scenario_has(s, HOOK_CONTROL) ? LOAD_DRIVEN : 0u) |
         (scenario_has(s, HOOK_RATE) ? LOAD_RATE : 0u) |
         (scenario_has(s, HOOK_ARRIVALS) ? LOAD_ARRIVALS : 0u);
}

static int print_config(const struct run_options *o)
{
  struct buf text = {0};
  config_file_print(&o->options, &text);
  mask_known(&text, &o->secrets);
  fputs(buf_cstr(&text), stdout);
  buf_free(&text);
  return DONE;
}

/* Every mistake of command line and scenario, told together. */
static int understand(struct job *j, int argc, char *const argv[])
{
  struct run_options *o = &j->options;
  struct buf help = {0};
  switch (j->front->read(o, argc, argv, &j->e, j->front->ud)) {
  case OPTIONS_HELP:
    options_help(j->front->spec, o->options.help_word, &help);
    fputs(buf_cstr(&help), stdout);
    buf_free(&help);
    return DONE;
  case OPTIONS_OK:
    if (o->version)
      return version_main();
    break;
  case OPTIONS_ERROR: break;
  }
  j->scenario = open_scenario(j);
  if (j->scenario)
    check_endpoint(o->config.endpoint, &j->scenario->backends, &j->e);
  run_options_settle(o, j->scenario ? j->scenario->load : NULL,
                     j->scenario ? nature_of(j->scenario) : 0,
                     j->scenario ? j->scenario->path : "", &j->e);
  if (j->front->spec == &find_options_spec)
    find_options_check(o, &j->e);
  run_thresholds_read(o, j->scenario, &j->e);
  check_limits(j);
  if (j->e.count) {
    if (j->front->reword)
      j->front->reword(&j->e);
    options_complain(j->front->spec, &j->e);
    return MISUSED;
  }
  if (o->print_config)
    return print_config(o);
  j->command = mask_command(j->front->spec, argc, argv, &o->secrets);
  show_notices(o);
  note_threads(o);
  if (j->front->settled)
    j->front->settled(o, j->front->ud);
  return GO_ON;
}

/* ---- before the load ---- */

static int complain(struct job *j, int status)
{
  if (j->front->reword)
    j->front->reword(&j->e);
  log_lines(str_of(err_text(&j->e)));
  return status;
}

/* An option that does nothing says so. */
static void note_endpoint(struct job *j)
{
  const struct run_options *o = &j->options;
  const struct backends *all = &j->scenario->backends;
  struct request *q = &j->sample;
  if (!o->endpoint || o->quiet ||
      q->backend == backends_of_endpoint(all, o->config.endpoint) ||
      str_eq(buf_str(&q->path), str_of(o->config.endpoint)))
    return;
  log_line("--endpoint %s is for requests that name none; the scenario's name "
           "their own, %s",
           o->endpoint, buf_cstr(&q->path));
}

/* A script that fails here says so itself, and gets its chance in the run. */
static bool make_sample(struct job *j)
{
  bool made;
  if (!scenario_has(j->scenario, HOOK_REQUEST))
    return false;
  vm_mute(j->result.vm, true);
  made = vm_sample(j->result.vm, load_stage(&j->options.config.load, 0).label,
                   &j->sample) == VM_OK;
  vm_mute(j->result.vm, false);
  return made;
}

/* A ready scenario that asks chats, for an API that is nothing like one: its
 * requests could not be made, each in the script's own words. Sessions all
 * talk; of the others the first request tells. */
static bool is_chat_for_other(struct job *j)
{
  const struct run_options *o = &j->options;
  const char *fits = default_scenario(o->config.endpoint);
  struct vm *vm = j->result.vm;
  bool made;
  if (!o->options.args.n || j->scenario->folder ||
      (fits && strcmp(fits, "chat") == 0))
    return false;
  if (scenario_has(j->scenario, HOOK_SESSION))
    return true;
  vm_set_errors(vm, NULL);
  made = make_sample(j);
  vm_set_errors(vm, j->result.errors);
  return !made && *vm_error(vm);
}

static int refuse_chat(struct job *j)
{
  const struct run_options *o = &j->options;
  const char *words = default_scenario_words(o->config.endpoint);
  const char *program = j->front->spec->program;
  err_add(&j->e,
          "--endpoint %s: what %s sends is nothing for it; say %s %s "
          "--endpoint %s",
          o->config.endpoint, o->options.args.items[0], program,
          words ? words : default_scenario(o->config.endpoint),
          o->config.endpoint);
  return complain(j, MISUSED);
}

static int begin(struct job *j, bool sampled)
{
  const struct run_stand stand = {.options = &j->options,
                                  .sample = sampled ? &j->sample : NULL};
  return j->front->begin ? j->front->begin(&stand, j->front->ud) : GO_ON;
}

static int try_first(struct job *j)
{
  struct run_options *o = &j->options;
  struct preflight p = {
      .config = &o->config,
      .request = &j->sample,
      .secrets = &o->secrets,
      .key_from = run_options_key_source(o),
      .default_url = options_source(&o->options, "url") == OPTION_DEFAULT,
      .quiet = o->quiet,
      .first_model = j->front->first_model,
  };
  bool hopeless, sampled;
  if (!o->config.model) {
    o->config.model = preflight_model(&p, &hopeless, &j->e);
    if (!o->config.model)
      return complain(j, hopeless ? FAILED : MISUSED);
    if (!o->quiet)
      log_line("the model is %s, the %s there", o->config.model,
               j->front->first_model ? "first" : "only one");
  }
  if (run_prepare(&o->config, j->scenario, &j->result, &j->e) < 0 ||
      timetable_make(&o->config.load, o->config.seed, j->scenario, j->result.vm,
                     &j->e) < 0)
    return complain(j, MISUSED);
  if (is_chat_for_other(j))
    return refuse_chat(j);
  sampled = (o->preflight || j->front->begin) && make_sample(j);
  if (sampled)
    note_endpoint(j);
  if (o->preflight && sampled && preflight_run(&p) < 0)
    return FAILED;
  return begin(j, sampled);
}

/* ---- the load ---- */

static int execute(struct job *j)
{
  struct run_options *o = &j->options;
  struct run_watch watch;
  struct run_callbacks cb;
  struct run_report report = {
      .front = j->front,
      .options = o,
      .scenario = j->scenario,
      .result = &j->result,
      .command = j->command,
      .open_files_limit = j->files_allowed,
  };
  const struct run_stand stand = {.options = o};
  int status = run_watch_open(&watch, o, &j->result, j->front, &j->e);
  if (status == 0) {
    cb = run_watch_callbacks(&watch);
    status = run_execute(&o->config, j->scenario, &cb, &j->result, &j->e);
  }
  if (status == 0 && j->front->end)
    j->front->end(&stand, j->front->ud);
  report.open_files = watch.open_files;
  if (j->result.preconnect_error && !o->quiet)
    log_line("some connections could not be opened beforehand: %s",
             j->result.preconnect_error);
  if (run_watch_close(&watch, &j->e) < 0 || status < 0)
    complain(j, 0);
  if (!j->result.metrics)
    return FAILED;
  status = run_report(&report);
  return status == DONE && j->e.count ? FAILED : status;
}

static void announce(const struct job *j)
{
  struct buf load = {0};
  struct buf url = {0};
  if (j->options.quiet)
    return;
  if (scenario_has(j->scenario, HOOK_CONTROL))
    buf_adds(&load, "its control function drives the load");
  else
    run_options_describe(&j->options, scenario_has(j->scenario, HOOK_SESSION),
                         &load);
  mask_url(&url, str_of(j->options.config.base_url));
  log_line("%s to %s (%s): %s", j->scenario->name, buf_cstr(&url),
           j->options.config.model, buf_cstr(&load));
  buf_free(&load);
  buf_free(&url);
}

static void free_job(struct job *j)
{
  run_result_free(&j->result);
  request_free(&j->sample);
  if (j->scenario)
    scenario_free(j->scenario);
  mem_free(j->command);
  buf_free(&j->driver_options);
  run_options_free(&j->options);
  err_free(&j->e);
}

int run_command(const struct run_front *f, int argc, char *const argv[])
{
  struct job j = {.front = f, .files_allowed = limits_raise_files()};
  int status = understand(&j, argc, argv);
  if (status == GO_ON)
    status = try_first(&j);
  if (status == GO_ON) {
    announce(&j);
    status = execute(&j);
  }
  free_job(&j);
  return status;
}

static enum options_result read_plain(struct run_options *r, int argc,
                                      char *const argv[], struct err *e,
                                      void *ud)
{
  return run_options_read(r, ud, argc, argv, e);
}

int cmd_run(int argc, char *const argv[])
{
  const struct run_front front = {.spec = &run_options_spec,
                                  .read = read_plain,
                                  .ud = (void *)&run_options_spec};
  return run_command(&front, argc, argv);
}

int cmd_find(int argc, char *const argv[])
{
  const struct run_front front = {.spec = &find_options_spec,
                                  .read = read_plain,
                                  .ud = (void *)&find_options_spec};
  return run_command(&front, argc, argv);
}
