/* bindings.h -- what C provides to scripts, a file per subject.
 * Each bind_… registers metatables or pushes its table; see the file's top
 * for the Lua signatures, and lua/types/stoke.d.lua for people. */
#ifndef STOKE_SCRIPT_BINDINGS_H
#define STOKE_SCRIPT_BINDINGS_H

#include "base/dist.h"
#include "base/rng.h"
#include "data/data_file.h"
#include "script/request.h"

struct lua_State;

/* The global `stoke` and all metatables. [-0, +0, m] */
void bindings_open(struct lua_State *L);

/* bind_rng.c */
void bind_rng(struct lua_State *L); /* [-0, +0, m] */
/* Push a random stream; the pointer lives as long as the userdata. */
struct rng *rng_push(struct lua_State *L);         /* [-0, +1, m] */
struct rng *check_rng(struct lua_State *L, int i); /* [-0, +0, v] */

/* bind_dist.c */
void bind_dist(struct lua_State *L);                       /* [-0, +0, m] */
const struct dist *test_dist(struct lua_State *L, int i);  /* NULL: is none */
void dist_push(struct lua_State *L, const struct dist *d); /* [-0, +1, m] */

/* bind_response.c: a box that shows one response at a time. */
struct vm_events;
struct response_box {
  const struct response *response; /* NULL: gone */
  /* During vm_stream: called before the response is read, so that it (and
   * `text`) is as of the event in hand. */
  void (*look)(struct response_box *box, bool text);
  const struct vm_events *events;
  const int32_t *at; /* the number of that event, from 1; NULL: it is one */
  unsigned shown;    /* that it shows already */
};
void bind_response(struct lua_State *L);                 /* [-0, +0, m] */
struct response_box *response_push(struct lua_State *L); /* [-0, +1, m] */
/* The function that finds fields, (response, name) -> value; errors blame the
 * function `level` calls above. */
void response_push_index(struct lua_State *L, int level); /* [-0, +1, m] */
void response_set_index(struct lua_State *L);             /* [-1, +0, m] */
/* One that stays: a copy of *r, for as long as Lua holds it. */
void response_push_copy(struct lua_State *L,
                        const struct response *r); /* [-0, +1, m] */

/* bind_record.c: put `record` and `check` into the table on top, to be called
 * with a colon or plainly. [-0, +0, m] */
void record_set(struct lua_State *L, bool methods);

/* bind_session.c, bind_run.c, bind_measure.c */
void bind_session(struct lua_State *L); /* [-0, +0, m] */
void bind_run(struct lua_State *L);     /* [-0, +0, m] */
void bind_measure(struct lua_State *L); /* [-0, +0, m] */

/* bind_data.c: a data file as one script sees it. Plain, so that setup may
 * return one: the file itself belongs to the scenario's store. */
struct data_view {
  const struct data_file *file;
  enum { VIEW_STOP, VIEW_CYCLE, VIEW_RANDOM } when_exhausted;
  bool shuffle;
  uint64_t warmup_rows; /* at the end, kept for the warm-up */
};
void bind_data(struct lua_State *L); /* [-0, +1, m] */
/* The view at index i, or NULL when it is no data file. [-0, +0, -] */
const struct data_view *data_to_view(struct lua_State *L, int i);
void data_push(struct lua_State *L,
               const struct data_view *v); /* [-0, +1, m] */

/* bind_tokenizer.c: a tokenizer, open for all VMs; plain like a data file. */
struct stored_tokenizer;
void bind_tokenizer(struct lua_State *L); /* [-0, +1, m] */
/* The tokenizer at index i, or NULL when it is none. [-0, +0, -] */
struct stored_tokenizer *tokenizer_to_stored(struct lua_State *L, int i);
void tokenizer_push(struct lua_State *L,
                    struct stored_tokenizer *t); /* [-0, +1, m] */

/* bind_image.c: pushes stoke.noise_image. */
void bind_image(struct lua_State *L); /* [-0, +1, m] */

/* bind_run_http.c: run.http into the table on top. [-0, +0, m] */
void run_http_set(struct lua_State *L);

/* bind_stoke.c */
void bind_stoke(struct lua_State *L); /* [-0, +1, m] */

#endif
