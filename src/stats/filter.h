/* filter.h -- which requests are meant: "{class=long,stage=spike}". Pure.
 * A term is NAME=VALUE. `stage` is the label of the stage, `turn` the number
 * of the turn, `tag` any tag with that value, and every other name the tag of
 * that name. All terms must hold. */
#ifndef STOKE_STATS_FILTER_H
#define STOKE_STATS_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

#define FILTER_TERMS 4
#define FILTER_TEXT  96

/* Turns beyond are one: "65+". */
#define TURNS_MAX 64
#define TURN_MORE (TURNS_MAX + 1)

struct filter {
  struct filter_term {
    char name[FILTER_TEXT], value[FILTER_TEXT];
  } terms[FILTER_TERMS];
  size_t n; /* 0: every request */
};

/* Labels of the run's stages by number; an unnamed one is NULL. Borrowed. */
struct stage_names {
  const char *const *names;
  size_t n;
};

/* What a request is filed under. */
struct filing {
  unsigned turn; /* as turn_filed() */
  unsigned stage;
  const char *tags; /* "a=b,c=d"; NULL or "": none */
};

static inline unsigned turn_filed(unsigned turn)
{
  return turn > TURNS_MAX ? TURN_MORE : turn;
}

/* "3", "65+". */
const char *turn_name(unsigned filed, char out[16]);

bool filter_matches(const struct filter *f, const struct filing *x,
                    const struct stage_names *stages);

/* Does a condition have this name? */
bool filter_has(const struct filter *f, const char *name);

/* Calls `tag` for every "name=value" of the list. */
typedef void filter_tag_cb(struct str pair, void *ud);
void filter_each_tag(const char *tags, filter_tag_cb *tag, void *ud);

#endif
