#include "report/requests_out.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/field.h"

#define FLUSH_BYTES 65536
#define FLUSH_NS    NS_PER_SEC

/* ---- the descriptor ---- */

/* A pipe, /dev/null and the like: -1 and EEXIST for a regular file. */
static int open_special(const char *path)
{
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
    return open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  errno = EEXIST;
  return -1;
}

int requests_out_open(const char *path, bool force, struct err *e)
{
  int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, fd;
  if (strcmp(path, "-") == 0)
    fd = dup(STDOUT_FILENO);
  else
    fd = open(path, flags | (force ? O_TRUNC : O_EXCL), 0666);
  if (fd < 0 && errno == EEXIST)
    fd = open_special(path);
  if (fd < 0 && errno == EEXIST)
    return err_add(e,
                   "%s: exists already; choose another name, or --force to "
                   "replace it",
                   path);
  if (fd < 0)
    return err_add(e, "%s: cannot be written: %s", path, strerror(errno));
  return fd;
}

/* ---- one writer ---- */

void requests_out_init(struct requests_out *o, int fd, uint64_t epoch_ns)
{
  *o = (struct requests_out){.fd = fd, .epoch_ns = epoch_ns};
}

/* Lines of other threads go between our writes, never into one: only a disk
 * that is full can cut a write short, and then no more lines come. */
static void flush(struct requests_out *o, uint64_t now_ns)
{
  struct str rest = buf_str(&o->lines);
  while (rest.len && !o->error) {
    ssize_t n = write(o->fd, rest.p, rest.len);
    if (n < 0 && errno != EINTR)
      o->error = errno;
    if (n > 0)
      rest = (struct str){rest.p + n, rest.len - (size_t)n};
  }
  for (size_t i = 0; i < rest.len; i++)
    o->dropped += rest.p[i] == '\n';
  buf_reset(&o->lines);
  o->flushed_ns = now_ns;
}

void requests_out_add(struct requests_out *o, const struct record *r,
                      uint64_t now_ns)
{
  if (o->error) {
    o->dropped++;
    return;
  }
  if (o->lines.len == 0)
    o->flushed_ns = now_ns;
  requests_out_line(&o->lines, r, o->epoch_ns);
  if (o->lines.len >= FLUSH_BYTES)
    flush(o, now_ns);
}

void requests_out_tick(struct requests_out *o, uint64_t now_ns)
{
  if (o->lines.len && ns_since(o->flushed_ns, now_ns) >= FLUSH_NS)
    flush(o, now_ns);
}

void requests_out_deinit(struct requests_out *o)
{
  flush(o, o->flushed_ns);
  buf_free(&o->lines);
}

/* ---- numbers ---- */

/* ns as a decimal number with the point `places` digits from the right, no
 * zeros behind; exact, and without printf: a line may hold thousands. */
static struct str decimal(char text[32], uint64_t ns, int places)
{
  char *p = text + 32;
  int digits = 0;
  bool some = false;
  for (; digits < places; digits++, ns /= 10) {
    if (some || ns % 10) {
      *--p = (char)('0' + ns % 10);
      some = true;
    }
  }
  if (some)
    *--p = '.';
  do
    *--p = (char)('0' + ns % 10);
  while (ns /= 10);
  return (struct str){p, (size_t)(text + 32 - p)};
}

static void ms(struct json_writer *w, const char *key, bool known, uint64_t ns)
{
  char text[32];
  json_key(w, key);
  json_raw(w, known ? decimal(text, ns, 6) : STR("null"));
}

/* Seconds since time zero; before it they are negative. */
static void instant(struct json_writer *w, const char *key, uint64_t at_ns,
                    uint64_t epoch_ns)
{
  char text[32];
  json_key(w, key);
  if (!at_ns) {
    json_null(w);
  } else if (at_ns >= epoch_ns) {
    json_raw(w, decimal(text, at_ns - epoch_ns, 9));
  } else {
    json_raw(w, STR("-"));
    buf_addstr(w->out, decimal(text, epoch_ns - at_ns, 9));
  }
}

/* ---- the line ---- */

static void write_instants(struct json_writer *w, const struct record *r,
                           uint64_t epoch)
{
  instant(w, "due_s", r->due_ns, epoch);
  instant(w, "sent_s", r->sent_ns, epoch);
  instant(w, "connected_s", r->connected_ns, epoch);
  instant(w, "written_s", r->written_ns, epoch);
  instant(w, "headers_s", r->headers_ns, epoch);
  instant(w, "first_byte_s", r->first_byte_ns, epoch);
  instant(w, "first_token_s", r->first_token_ns, epoch);
  instant(w, "first_answer_s", r->first_answer_ns, epoch);
  instant(w, "last_token_s", r->last_token_ns, epoch);
  instant(w, "done_s", r->done_ns, epoch);
}

static void figure(struct json_writer *w, const char *key,
                   bool (*of)(const struct record *, uint64_t *),
                   const struct record *r)
{
  uint64_t ns = 0;
  bool known = of(r, &ns);
  ms(w, key, known, ns);
}

static void write_gap(uint64_t gap_ns, void *ud)
{
  char text[32];
  json_raw(ud, decimal(text, gap_ns, 6));
}

static void write_figures(struct json_writer *w, const struct record *r)
{
  double tpot;
  bool has_tpot = record_tpot(r, &tpot);
  figure(w, "queue_ms", record_queue, r);
  figure(w, "connect_ms", record_connect, r);
  figure(w, "ttfb_ms", record_ttfb, r);
  figure(w, "ttft_ms", record_ttft, r);
  figure(w, "ttfat_ms", record_ttfat, r);
  field_number(w, "tpot_ms", has_tpot ? tpot / 1e6 : NAN);
  figure(w, "e2el_ms", record_e2el, r);
  figure(w, "ttft_due_ms", record_ttft_due, r);
  figure(w, "e2el_due_ms", record_e2el_due, r);
  field_array(w, "itl_ms");
  record_gaps(r, write_gap, w);
  json_end_array(w);
}

static void write_tokens(struct json_writer *w, const struct record *r)
{
  field_known(w, "tokens", r->tokens);
  field_text(w, "token_source", token_source_name(r->token_source));
  field_known(w, "prompt_tokens", r->prompt_tokens);
  field_text(w, "prompt_token_source",
             token_source_name(r->prompt_token_source));
  field_known(w, "planned_prompt_tokens", r->planned_prompt_tokens);
  field_known(w, "cached_tokens", r->cached_tokens);
  field_known(w, "reasoning_tokens", r->reasoning_tokens);
  field_count(w, "chunks", r->chunks);
}

/* "a=b,c=d" as an object. */
static void write_tags(struct json_writer *w, const char *tags)
{
  struct str rest = str_of(tags);
  field_object(w, "tags");
  while (rest.len) {
    struct str value = str_split(&rest, ','), name = str_split(&value, '=');
    char key[128];
    if (name.len >= sizeof key)
      name.len = sizeof key - 1;
    memcpy(key, name.p, name.len);
    key[name.len] = '\0';
    json_key(w, key);
    json_string(w, value);
  }
  json_end_object(w);
}

static void write_identity(struct json_writer *w, const struct record *r)
{
  field_count(w, "id", r->id);
  field_count(w, "session", r->session);
  field_count(w, "turn", r->turn);
  field_count(w, "branch", r->branch);
  if (r->http) {
    field_text(w, "kind", "http");
    field_text(w, "name", r->http);
  }
  field_text(w, "phase", r->phase == PHASE_WARMUP ? "warmup" : "measure");
  field_count(w, "stage", r->stage);
  field_text(w, "outcome", outcome_name(r->outcome));
  field_some(w, "status", (uint64_t)r->status);
  field_text(w, "error", r->message && r->message[0] ? r->message : NULL);
}

static void write_answer(struct json_writer *w, const struct record *r)
{
  field_text(w, "finish_reason", r->finish_reason[0] ? r->finish_reason : NULL);
  field_boolean(w, "streamed", r->streamed);
  field_boolean(w, "reused", r->reused);
  field_boolean(w, "capped", r->capped);
  field_count(w, "attempts", r->attempts);
  field_count(w, "refusals", r->refusals);
  field_count(w, "bytes_in", r->bytes_in);
  field_count(w, "bytes_out", r->bytes_out);
  field_number(w, "retry_after_s",
               r->retry_after_s >= 0 ? r->retry_after_s : NAN);
}

void requests_out_line(struct buf *out, const struct record *r,
                       uint64_t epoch_ns)
{
  struct json_writer w = {.out = out};
  json_begin_object(&w);
  write_identity(&w, r);
  write_instants(&w, r, epoch_ns);
  write_figures(&w, r);
  write_tokens(&w, r);
  write_answer(&w, r);
  write_tags(&w, r->tags);
  json_end_object(&w);
  buf_addc(out, '\n');
}
