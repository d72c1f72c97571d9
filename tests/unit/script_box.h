/* script_box.h -- scenarios written in C strings, and VMs that run them. */
#ifndef STOKE_TESTS_SCRIPT_BOX_H
#define STOKE_TESTS_SCRIPT_BOX_H

#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "files.h"
#include "script/scenario.h"
#include "script/vm.h"
#include "script/watchdog.h"

/* A folder of its own for each test program, removed at its end. */
static char box_folder[64];

static int box_setup(void **state)
{
  (void)state;
  snprintf(box_folder, sizeof box_folder, "/tmp/stoke-script-XXXXXX");
  return mkdtemp(box_folder) ? 0 : -1;
}

static int box_remove(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
  (void)st;
  (void)flag;
  (void)ftw;
  return remove(path);
}

static int box_teardown(void **state)
{
  (void)state;
  return nftw(box_folder, box_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline const char *box_write(const char *name, const char *text)
{
  return file_make(box_folder, name, text);
}

/* One scenario and one VM of it. */
struct box {
  struct scenario *scenario;
  struct vm *vm;
  struct script_errors *errors;
  struct request request;
  struct err err;
};

static inline struct vm *box_vm(struct box *b, struct vm_config c)
{
  c.scenario = b->scenario;
  c.errors = b->errors;
  c.body.stream = !c.body.endpoint || c.body.endpoint[0] != '-';
  if (!c.body.model)
    c.body.model = "m";
  c.body.max_tokens = -1;
  return vm_new(&c, &b->err);
}

/* Open a scenario of the given text; fails the test when it cannot be. */
static inline struct box box_open(const char *text)
{
  struct box b = {.errors = script_errors_new()};
  struct scenario_options o = {.name = box_write("test.lua", text), .seed = 1};
  b.scenario = scenario_open(&o, &b.err);
  if (b.err.count)
    fail_msg("%s", err_text(&b.err));
  b.vm = box_vm(&b, (struct vm_config){.workers = 1});
  if (b.err.count)
    fail_msg("%s", err_text(&b.err));
  return b;
}

static inline void box_close(struct box *b)
{
  vm_free(b->vm);
  scenario_free(b->scenario);
  script_errors_free(b->errors);
  request_free(&b->request);
  err_free(&b->err);
}

static inline enum vm_result box_request(struct box *b, uint64_t id)
{
  struct vm_item item = {.id = id, .phase = PHASE_MEASURE};
  return vm_request(b->vm, &item, &b->request);
}

/* The body of request `id`; valid until the next. */
static inline const char *box_body(struct box *b, uint64_t id)
{
  if (box_request(b, id) != VM_OK)
    fail_msg("%s", vm_error(b->vm));
  return buf_cstr(&b->request.body);
}

/* The messages of a scenario that cannot be opened; freed by the caller. */
static inline char *box_refused(const char *text)
{
  struct scenario_options o = {.name = box_write("test.lua", text)};
  struct err e = {0};
  char *words;
  struct scenario *s = scenario_open(&o, &e);
  assert_null(s);
  assert_true(e.count > 0);
  words = mem_strdup(err_text(&e));
  err_free(&e);
  return words;
}

#define assert_has(text, part)                                                 \
  do {                                                                         \
    const char *text_ = (text);                                                \
    if (!strstr(text_, part))                                                  \
      fail_msg("'%s' is not in '%s'", part, text_);                            \
  } while (0)

#endif
