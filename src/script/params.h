/* params.h -- what a scenario lets its user choose, and what was chosen.
 * Declared in the scenario's `params` table, set with -P name=value. */
#ifndef STOKE_SCRIPT_PARAMS_H
#define STOKE_SCRIPT_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/dist.h"
#include "base/err.h"
#include "base/json.h"

enum param_type {
  PARAM_STRING,
  PARAM_NUMBER,
  PARAM_INTEGER,
  PARAM_BOOLEAN,
  PARAM_DURATION, /* number: seconds */
  PARAM_PATH,     /* text: absolute and real, or NULL */
  PARAM_PLACE,    /* text: the same where such a file is, else as typed */
  PARAM_DIST,     /* dist; text is how it was spelled */
  PARAM_LIST,     /* items; numbers when all of the default's are */
};

const char *param_type_name(enum param_type t);

struct param {
  char *name, *help; /* help: NULL when there is none */
  enum param_type type;
  bool required;
  bool set;   /* there is a value, by -P or by default */
  bool given; /* by -P: a path then may lie outside the scenario's folder */
  bool has_min, has_max;
  double min, max;
  char **choices;
  size_t n_choices;
  /* The value, by type. */
  double number; /* NUMBER, INTEGER, DURATION */
  bool boolean;
  char *text; /* STRING, PATH, PLACE, DIST */
  struct dist dist;
  char **items; /* LIST */
  size_t n_items;
  bool numeric; /* the items are numbers */
};

struct params {
  struct param *list; /* sorted by name */
  size_t len;
};

/* Does it hold the path of a file that the user has set? Such a file may lie
 * outside the scenario's folder. */
bool params_is_file(const struct param *p);
/* Apply "name=value" settings of the user's, a later one wins. `folder` is the
 * scenario's (NULL: built in). Returns 0, or -1 with a message per mistake. */
int params_set(struct params *p, const char *const *settings, size_t n,
               const char *folder, struct err *e);
/* Apply one setting of the scenario's own side: a path stays in its folder.
 * `where` starts the messages. */
int params_preset(struct params *p, struct str name, struct str value,
                  const char *folder, const char *where, struct err *e);
/* Is what is required there? `where` starts each message. */
int params_required(const struct params *p, const char *where, struct err *e);
/* An object with every value that is set, sorted by name. */
void params_write(const struct params *p, struct json_writer *w);
void params_free(struct params *p);

/* For params_lua.c: one parameter at a time. */
int param_type_find(struct str name, enum param_type *out);
/* From text, as -P has it. 0 with p->set, or -1. */
int param_set(struct param *p, struct str s, const char *folder,
              const char *where, struct err *e);
void param_clear_value(struct param *p);
void param_add_item(struct param *p, struct str item);

#endif
