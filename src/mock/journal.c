#include "mock/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/list.h"
#include "base/mem.h"
#include "mock/ask.h"
#include "mock/form.h"

#define FLUSH_NS    (50 * NS_PER_MS)
#define FLUSH_BYTES (256 << 10)

static void write_out(struct mock_journal *j)
{
  size_t done = 0;
  while (done < j->out.len) {
    ssize_t n = write(j->fd, j->out.p + done, j->out.len - done);
    if (n < 0 && errno != EINTR)
      break; /* a full disk must not stop the server */
    done += n > 0 ? (size_t)n : 0;
  }
  buf_reset(&j->out);
}

static void on_flush(struct mock_deadline *d)
{
  write_out(LIST_ENTRY(d, struct mock_journal, flush));
}

int mock_journal_open(struct mock_journal *j, const char *path,
                      struct mock_deadlines *deadlines, struct err *e)
{
  j->fd = -1;
  j->deadlines = deadlines;
  j->flush.fire = on_flush;
  if (!path)
    return 0;
  if (strcmp(path, "-") == 0)
    j->fd = dup(STDOUT_FILENO);
  else
    j->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (j->fd < 0)
    return err_add(e, "--log %s: %s", path, strerror(errno));
  return 0;
}

void mock_journal_close(struct mock_journal *j)
{
  if (j->fd >= 0) {
    write_out(j);
    mock_deadline_clear(j->deadlines, &j->flush);
    close(j->fd);
  }
  j->fd = -1;
  buf_free(&j->out);
}

static void add_ns(struct json_writer *w, const char *key, uint64_t ns)
{
  json_key(w, key);
  if (ns)
    json_integer(w, (int64_t)ns);
  else
    json_null(w);
}

static void add_count(struct json_writer *w, const char *key, uint64_t x)
{
  json_key(w, key);
  json_integer(w, (int64_t)x);
}

static void add_text(struct json_writer *w, const char *key, struct str s)
{
  json_key(w, key);
  if (s.p)
    json_string(w, s);
  else
    json_null(w);
}

static void add_headers(struct json_writer *w, const struct mock_http *h)
{
  json_key(w, "headers");
  json_begin_array(w);
  for (unsigned i = 0; i < h->headers; i++) {
    json_begin_array(w);
    json_string(w, mock_http_name(h, i));
    json_string(w, mock_http_value(h, i));
    json_end_array(w);
  }
  json_end_array(w);
}

static void add_times(struct json_writer *w, const struct mock_record *r)
{
  json_key(w, "events_ns");
  json_begin_array(w);
  for (uint64_t i = 0; i < r->events && i < r->times_cap; i++)
    json_integer(w, (int64_t)r->times[i]);
  json_end_array(w);
}

static void add_request(struct json_writer *w, const struct mock_record *r,
                        const struct mock_http *h)
{
  char hash[20];
  json_key(w, "number");
  if (r->number)
    json_integer(w, (int64_t)r->number);
  else
    json_null(w);
  add_text(w, "method", mock_http_method(h));
  add_text(w, "path", mock_http_path(h));
  add_text(w, "request_id", mock_http_header(h, STR("x-request-id")));
  add_count(w, "connection", r->connection);
  add_count(w, "nth", r->nth);
  snprintf(hash, sizeof hash, "%016llx",
           (unsigned long long)mock_hash(0, buf_str(&h->body)));
  add_text(w, "body_hash", str_of(hash));
}

/* A form as JSON: its recording is for nobody's eyes. */
static void add_body(struct json_writer *w, const struct mock_http *h)
{
  struct str type = mock_http_header(h, STR("content-type"));
  struct buf json = {0};
  bool form = mock_form_json(type, buf_str(&h->body), &json) == 0;
  add_text(w, "body", buf_str(form ? &json : &h->body));
  buf_free(&json);
}

void mock_journal_add(struct mock_journal *j, const struct mock_record *r,
                      const struct mock_http *h)
{
  struct json_writer writer = {.out = &j->out}, *w = &writer;
  if (j->fd < 0)
    return;
  json_begin_object(w);
  add_request(w, r, h);
  add_count(w, "status", (uint64_t)r->status);
  add_text(w, "end", str_of(r->end));
  json_key(w, "stream");
  json_boolean(w, r->stream);
  add_ns(w, "accept_ns", r->accept_ns);
  add_ns(w, "recv_ns", r->recv_ns);
  add_ns(w, "start_ns", r->start_ns);
  add_ns(w, "headers_ns", r->headers_ns);
  add_ns(w, "first_ns", r->first_ns);
  add_ns(w, "last_ns", r->last_ns);
  add_ns(w, "end_ns", r->end_ns);
  add_count(w, "prompt_tokens", r->prompt_tokens);
  add_count(w, "cached_tokens", r->cached_tokens);
  add_count(w, "planned_tokens", r->planned_tokens);
  add_count(w, "tokens", r->tokens);
  add_count(w, "events", r->events);
  add_count(w, "bytes_in", r->bytes_in);
  add_count(w, "bytes_out", r->bytes_out);
  add_count(w, "blocked", r->blocked);
  add_count(w, "late_ns", r->late_ns);
  add_count(w, "running", r->running);
  add_count(w, "waiting", r->waiting);
  add_count(w, "in_flight", r->in_flight);
  if (j->tokens)
    add_times(w, r);
  if (j->headers)
    add_headers(w, h);
  if (j->bodies)
    add_body(w, h);
  json_end_object(w);
  buf_addc(&j->out, '\n');
  if (j->out.len > FLUSH_BYTES)
    write_out(j);
  else if (!j->flush.pos)
    mock_deadline_set(j->deadlines, &j->flush, clock_ns() + FLUSH_NS);
}

void mock_record_time(struct mock_record *r, uint64_t at)
{
  if (r->events >= r->times_cap) {
    r->times_cap = r->times_cap ? r->times_cap * 2 : 64;
    r->times = mem_resize(r->times, r->times_cap, sizeof *r->times);
  }
  r->times[r->events] = at;
}

void mock_record_reset(struct mock_record *r)
{
  *r = (struct mock_record){.times = r->times, .times_cap = r->times_cap};
}

void mock_record_deinit(struct mock_record *r)
{
  mem_free(r->times);
  *r = (struct mock_record){0};
}
