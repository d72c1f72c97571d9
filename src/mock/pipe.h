/* pipe.h -- from the text of a body to bytes on the wire.
 * Event framing and line ends, then compression, then the cutting into pieces
 * that some faults ask for, then HTTP's chunks. */
#ifndef STOKE_MOCK_PIPE_H
#define STOKE_MOCK_PIPE_H

#include "mock/plan.h"

struct z_stream_s;

struct mock_pipe {
  const struct mock_plan *plan;
  bool chunked;
  bool started;          /* something went in */
  struct z_stream_s *gz; /* NULL: not compressed */
  struct buf packed;     /* compressed bytes on their way */
  struct buf held;       /* bytes that wait to be cut into pieces */
  size_t held_at;
  uint64_t passed; /* bytes of the body that went out, framing not counted */
  uint64_t due;    /* when the next piece may go */
};

/* A pipe may be begun again without end; deinit frees it (zeroed is fine). */
void mock_pipe_begin(struct mock_pipe *p, const struct mock_plan *plan,
                     bool chunked);
void mock_pipe_deinit(struct mock_pipe *p);
/* Drop what is held. */
void mock_pipe_reset(struct mock_pipe *p);

/* Append to `text` one event with this data (none: no data line) and this
 * name if any; with the line ends, comments and data lines of the plan. */
void mock_pipe_event(struct mock_pipe *p, const char *name, struct str data,
                     struct buf *text);
/* Append a comment line, and the blank line behind it. */
void mock_pipe_comment(struct mock_pipe *p, const char *words,
                       struct buf *text);
/* Send body bytes: to `out`, or into the pieces held back. */
void mock_pipe_put(struct mock_pipe *p, struct str body, struct buf *out);
/* What compression still holds back; before the last piece. */
void mock_pipe_flush(struct mock_pipe *p, struct buf *out);
/* The last chunk. */
void mock_pipe_end(struct mock_pipe *p, struct buf *out);

static inline bool mock_pipe_holds(const struct mock_pipe *p)
{
  return p->held_at < p->held.len;
}

/* Send the next held piece (mock_pipe_holds) to `out` and note in p->due when
 * another may follow. Returns false when the plan cuts the connection here. */
bool mock_pipe_piece(struct mock_pipe *p, uint64_t now, struct buf *out);

#endif
