/* backend.h -- the APIs that requests can speak: where they go, how bodies
 * are made, what the answers mean. Each is a Lua table (lua/stoke/backend.lua
 * says which fields it has): stoke's own, then those of the scenario's field
 * `backends` and of the folder backends/ beside it. A scenario holds what of
 * them is data; every VM keeps the functions that make bodies. */
#ifndef STOKE_SCRIPT_BACKEND_H
#define STOKE_SCRIPT_BACKEND_H

#include "base/err.h"
#include "net/wire.h"

/* Immutable once the scenario is open. Strings are owned. */
struct backend {
  size_t place;      /* in its list */
  char *name, *path; /* "anthropic", "/v1/messages" */
  char *headers;     /* "Name: value\n" lines, checked; "": none */
  char *key_header;  /* carries the bare API key; NULL: Authorization does */
  char *builder;     /* the body.h API that makes bodies; NULL: Lua */
  bool streams;      /* false: answers never come as a stream */
  const struct wire_dialect *dialect; /* NULL: any 2xx answer is fine */
  struct wire_dialect *own;           /* the same, when it is not built in */
};

struct backends {
  struct backend *items;
  size_t n;
};

void backends_free(struct backends *b);

/* By its name, or NULL. */
const struct backend *backends_find(const struct backends *b, struct str name);
/* By a path that ends as one's own does, "/v1" aside; NULL: none. Of several
 * the one with the longest end. */
const struct backend *backends_of_path(const struct backends *b,
                                       struct str path);
/* What --endpoint says: a name, a /path, or NULL for a chat. NULL as above. */
const struct backend *backends_of_endpoint(const struct backends *b,
                                           const char *endpoint);
/* "; did you mean …?" and the names there are. */
void backends_explain(const struct backends *b, struct str name,
                      struct buf *out);

struct lua_State;
struct scenario;

/* Read all that the scenario on REF_SCENARIO and its folder have into
 * s->backends; mistakes go to *e. [-0, +0, e] */
void backends_read(struct lua_State *L, struct scenario *s, struct err *e);
/* Keep the functions of the same list in REF_BACKENDS: by place + 1 a table
 * with `body` and `takes`, or false. [-0, +0, e] */
void backends_keep(struct lua_State *L);

#endif
