/* head.h -- status lines and headers of answers. */
#ifndef STOKE_MOCK_HEAD_H
#define STOKE_MOCK_HEAD_H

#include <stdint.h>

#include "base/buf.h"

struct mock_head {
  int status;
  struct str content_type; /* {NULL, 0}: none */
  enum { MOCK_LENGTH, MOCK_CHUNKED, MOCK_TO_CLOSE } framing;
  uint64_t length;        /* of MOCK_LENGTH */
  const char *encoding;   /* content-encoding, or NULL */
  struct str retry_after; /* seconds as a number, or "date+SECONDS" */
  struct str location;
  bool close; /* say so */
};

/* Append the head with its blank line. `wall_ns` (CLOCK_REALTIME) dates a
 * Retry-After that is a date. */
void mock_head_write(const struct mock_head *h, uint64_t wall_ns,
                     struct buf *out);
/* "Not Found" for 404; "Status" for what has no name. */
const char *mock_head_reason(int status);

#endif
