#include "net/ndjson.h"

enum { KEEP_MAX = 256 << 10 }; /* memory that outlives a stream */

void ndjson_init(struct ndjson *n, size_t max_line, ndjson_line_cb *cb,
                 void *ud)
{
  *n = (struct ndjson){
      .cb = cb, .ud = ud, .max_line = max_line ? max_line : NDJSON_MAX_LINE};
}

void ndjson_deinit(struct ndjson *n)
{
  buf_free(&n->line);
}

void ndjson_reset(struct ndjson *n)
{
  buf_recycle(&n->line, KEEP_MAX);
}

static int take_line(struct ndjson *n, struct str line, bool unfinished)
{
  if (line.len > n->max_line)
    return -1;
  line = str_trim(line);
  return line.len ? n->cb(line, unfinished, n->ud) : 0;
}

static int take_cut_line(struct ndjson *n, struct str rest, bool unfinished)
{
  int rc;
  buf_addstr(&n->line, rest);
  rc = take_line(n, buf_str(&n->line), unfinished);
  buf_reset(&n->line);
  return rc;
}

int ndjson_feed(struct ndjson *n, const char *p, size_t len)
{
  const char *end = p + len, *stop;
  int rc = 0;
  while (p < end && rc == 0) {
    struct str line = {p, 0};
    stop = memchr(p, '\n', (size_t)(end - p));
    line.len = (size_t)((stop ? stop : end) - p);
    if (!stop) {
      if (n->line.len + line.len > n->max_line)
        return -1;
      buf_addstr(&n->line, line);
      break;
    }
    p = stop + 1;
    rc =
        n->line.len ? take_cut_line(n, line, false) : take_line(n, line, false);
  }
  return rc;
}

int ndjson_end(struct ndjson *n)
{
  return take_cut_line(n, (struct str){NULL, 0}, true);
}
