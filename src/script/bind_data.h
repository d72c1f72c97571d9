/* bind_data.h -- an open data file in Lua, for the files that bind it:
 * bind_data.c (its methods), bind_data_open.c and bind_data_row.c. */
#ifndef STOKE_SCRIPT_BIND_DATA_H
#define STOKE_SCRIPT_BIND_DATA_H

#include "script/bindings.h"
#include "stats/record.h"

/* The userdata: a VM's own, the file is everybody's. */
struct data {
  struct data_view view;
  struct buf row, text; /* a row on its way */
  uint64_t last_id;     /* of the request that called next */
  enum phase last_phase;
  uint64_t n; /* rows that next gives, 0: it was not called */
};

/* stoke.data.open: [-0, +1, e] */
int data_open_l(struct lua_State *L);
/* d:media(path), bind_image.c: [-0, +(1|2), v] */
int data_media_l(struct lua_State *L);
/* d:media_type(path), the same file: [-0, +(1|2), v] */
int data_media_type_l(struct lua_State *L);
/* d:audio(path), the same file: [-0, +(2|3), v] */
int data_audio_l(struct lua_State *L);
/* Row `i` of the file, 0-based, its text alone: into d->row. [-0, +0, e] */
void data_read_row(struct lua_State *L, struct data *d, uint64_t i);
/* The same as a table. [-0, +1, e] */
int data_push_row(struct lua_State *L, struct data *d, uint64_t i);
/* Raise, with the file and the row's line in front. */
int data_row_error(struct lua_State *L, const struct data *d, uint64_t i,
                   const char *why);

#endif
