/* shape.h -- whether a JSON row is what its format says.
 * A row is walked once, nothing is built: that is how a file of gigabytes is
 * checked before the first request. */
#ifndef STOKE_DATA_SHAPE_H
#define STOKE_DATA_SHAPE_H

#include "base/walk.h"
#include "data/format.h"

enum { SHAPE_REQUIRED_MAX = 8 };

/* One number of a row; `is` says whether there was one. */
struct shape_number {
  bool there, is;
  double value;
};

/* What the last row had. */
struct shape_seen {
  uint32_t tags;
  enum walk_type root;
  bool prompt_is_text;
  bool empty;      /* a prompt, or the row itself, that is an empty text */
  bool not_object; /* a body that is none */
  bool not_path;   /* a url that is no path, */
  bool not_post;   /* and a method that is not POST */
  const char *odd; /* a number of tokens that is none, or NULL */
  struct shape_number time, due, input, output;
  bool warmup;
  uint64_t hashes;
  bool odd_hash;       /* one that is no number */
  unsigned messages;   /* of `messages` or `conversations` */
  unsigned asked;      /* those of the user that say something */
  struct str list;     /* the text of that list, in the row that was read */
  const char *trouble; /* with message number `trouble_at`, or NULL */
  unsigned trouble_at;
  uint32_t message;     /* tags of the message being read */
  uint32_t message_bad; /* those of another type than wanted */
  bool message_empty;   /* its content is an empty text or list */
  unsigned parts;       /* of its content, where that is a list */
  unsigned role;
};

struct shape {
  struct paths paths;
  char *required[SHAPE_REQUIRED_MAX]; /* owned */
  unsigned n_required;
  unsigned block;    /* tokens of a hash id */
  bool text_prompts; /* rows have a text `prompt` */
  bool lax;          /* rows need nothing that could be sent */
  struct shape_seen seen;
};

void shape_init(struct shape *s, unsigned block);
void shape_free(struct shape *s);
/* Every row must have this member ("a.b" is one of a member). -1 with a
 * message when the name cannot be read or there are too many. */
int shape_require(struct shape *s, const char *name, struct err *e);
/* Walk the value in [p, end); behind it, or NULL: see walk_value. */
const char *shape_read(struct shape *s, const char *p, const char *end);
/* What the row's members say about the format of its file. */
enum data_format shape_guess(const struct shape *s);

enum shape_verdict {
  SHAPE_OK,
  SHAPE_BAD,
  SHAPE_LEFT_OUT, /* nothing wrong, and nothing to send in it */
};
/* Of the row that was read last; BAD with the reason, without place. */
enum shape_verdict shape_check(const struct shape *s, enum data_format f,
                               char why[160]);
/* Of a trace's row: its time, in the file's own seconds. */
double shape_seconds(const struct shape *s);
/* The text of the row's "body" as it stands; empty when there is none. */
struct str shape_body(const struct shape *s, struct str row);
/* After the first good row: members that the others must then have too. */
bool shape_has_prompt(const struct shape *s);
bool shape_has_messages(const struct shape *s);
/* Has the last row, an object, anything that a format knows how to send? */
bool shape_sends(const struct shape *s);

#endif
