/* recording.h -- a recorded answer of tests/data/streams: its status, its
 * content type and its body, out of the chunks if it came in some. */
#ifndef STOKE_TESTS_RECORDING_H
#define STOKE_TESTS_RECORDING_H

#include <stdlib.h>

#include "files.h"

struct recording {
  struct buf file, body;
  int status; /* 200 when the file has no head */
  char content_type[96];
};

/* The value of a header in `head`, or "". */
static inline struct str recording_header(struct str head, const char *name)
{
  while (head.len) {
    struct str value = str_split(&head, '\n'), key = str_split(&value, ':');
    if (str_ieq(key, str_of(name)))
      return str_trim(value);
  }
  return STR("");
}

static inline void recording_unchunk(struct buf *out, struct str body)
{
  for (;;) {
    char *end;
    struct str line = str_split(&body, '\n');
    size_t n = strtoul(line.p, &end, 16);
    if (n == 0)
      return;
    assert(n + 2 <= body.len);
    buf_add(out, body.p, n);
    body = (struct str){body.p + n + 2, body.len - n - 2};
  }
}

static inline bool recording_is_chunked(struct str head, struct str body)
{
  struct str line = str_trim(str_split(&body, '\n'));
  return str_eq(recording_header(head, "transfer-encoding"), STR("chunked")) &&
         line.len && line.len < 6 &&
         strspn(line.p, "0123456789abcdef") == line.len;
}

static inline struct recording recording_read(const char *name)
{
  struct recording r = {.status = 200, .content_type = "text/event-stream"};
  struct str head, body, type;
  char path[256];
  ptrdiff_t at;
  snprintf(path, sizeof path, "tests/data/streams/%s", name);
  r.file = file_read(path);
  body = buf_str(&r.file);
  if (str_starts(body, STR("HTTP/1.1 "))) {
    at = str_find(body, STR("\r\n\r\n"));
    assert(at > 0);
    head = (struct str){body.p, (size_t)at};
    body = (struct str){body.p + at + 4, body.len - (size_t)at - 4};
    r.status = (int)strtol(head.p + 9, NULL, 10);
    type = recording_header(head, "content-type");
    snprintf(r.content_type, sizeof r.content_type, "%.*s", STR_ARG(type));
    if (recording_is_chunked(head, body)) {
      recording_unchunk(&r.body, body);
      return r;
    }
  }
  buf_addstr(&r.body, body);
  return r;
}

static inline void recording_free(struct recording *r)
{
  buf_free(&r->file);
  buf_free(&r->body);
}

#endif
