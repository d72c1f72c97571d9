/* request_fields.h -- one field of a request's table at a time: what its value
 * may be, and what it does to the body and the request. For
 * request_table.c, which knows which fields there are. */
#ifndef STOKE_SCRIPT_REQUEST_FIELDS_H
#define STOKE_SCRIPT_REQUEST_FIELDS_H

#include "script/vm_impl.h"

struct reader {
  lua_State *L;
  struct vm *vm;
  struct request *out;
  const char *what; /* "request" */
  const char *api;  /* "chat" or "completions": the builder in C; NULL: the
                     * backend's own function makes the body */
  bool strange;     /* there are keys that `fields` does not have */
  uint64_t present; /* 1 << place in `fields` */
  unsigned choices; /* n of `extra` or of a ready body; 0: not said */
};

struct field;

/* The value is on top of the stack, and stays there. A wrong one raises. */
typedef void read_field(struct reader *r, const struct field *f);

struct field {
  const char *name;
  read_field *read;
  bool of_body; /* has no place beside a ready body */
};

/* The value on top, or an error that names the field. */
struct str check_string(struct reader *r, const struct field *f);
void check_table(struct reader *r, const struct field *f);
/* A path or URL is sent as it stands: none with a blank in it. */
void check_address(struct reader *r, const char *name, struct str s);

/* request_fields.c */
read_field read_integer;
read_field read_number;
read_field read_boolean;
read_field read_string;
read_field read_json;
read_field read_array;
read_field read_stop;
read_field read_max_tokens;
read_field read_max_completion_tokens;
read_field read_n;
read_field read_prompt;
read_field read_messages;
read_field read_body;
read_field read_extra;
read_field read_model;
read_field read_stream;
read_field read_timeout;
read_field read_ttft_timeout;
read_field read_idle_timeout;
read_field read_slo;
read_field read_cancel_after;
read_field read_prompt_tokens;
read_field read_audio_seconds;
read_field read_keep_body;

/* request_pairs.c */
/* The table of tags on top, as "a=b,c=d" behind what is in *out. */
void read_tag_list(struct reader *r, const struct field *f, struct buf *out);
read_field read_headers;
read_field read_tags;

#endif
