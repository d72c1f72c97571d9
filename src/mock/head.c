#include "mock/head.h"

#include <time.h>

#include "base/clock.h"
#include "base/units.h"
#include "mock/reply.h"

static const struct {
  int status;
  const char *text;
} reasons[] = {
    {100, "Continue"},
    {103, "Early Hints"},
    {200, "OK"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {413, "Payload Too Large"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Entity"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {529, "Site Is Overloaded"},
};

const char *mock_head_reason(int status)
{
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (reasons[i].status == status)
      return reasons[i].text;
  return "Status";
}

/* Seconds are sent as they are; "date+2" as the HTTP-date two seconds from
 * now. */
static void add_retry_after(struct str retry, uint64_t wall_ns, struct buf *out)
{
  int64_t seconds = 0;
  buf_adds(out, "retry-after: ");
  if (str_starts(retry, STR("date"))) {
    time_t when;
    struct tm tm;
    char date[48];
    units_integer((struct str){retry.p + 4, retry.len - 4}, &seconds);
    when = (time_t)(wall_ns / NS_PER_SEC) + seconds;
    gmtime_r(&when, &tm);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    buf_adds(out, date);
  } else {
    buf_addstr(out, retry);
  }
  buf_adds(out, "\r\n");
}

static void add_field(struct buf *out, const char *name, struct str value)
{
  if (!value.len)
    return;
  buf_adds(out, name);
  buf_addstr(out, value);
  buf_adds(out, "\r\n");
}

void mock_head_write(const struct mock_head *h, uint64_t wall_ns,
                     struct buf *out)
{
  buf_adds(out, "HTTP/1.1 ");
  mock_reply_integer(out, (uint64_t)h->status);
  buf_addc(out, ' ');
  buf_adds(out, mock_head_reason(h->status));
  buf_adds(out, "\r\nserver: stoke-mock\r\n");
  add_field(out, "content-type: ", h->content_type);
  add_field(out, "content-encoding: ", str_of(h->encoding));
  add_field(out, "location: ", h->location);
  if (h->retry_after.len)
    add_retry_after(h->retry_after, wall_ns, out);
  if (h->framing == MOCK_CHUNKED) {
    buf_adds(out, "transfer-encoding: chunked\r\n");
  } else if (h->framing == MOCK_LENGTH) {
    buf_adds(out, "content-length: ");
    mock_reply_integer(out, h->length);
    buf_adds(out, "\r\n");
  }
  if (h->close)
    buf_adds(out, "connection: close\r\n");
  buf_adds(out, "\r\n");
}
