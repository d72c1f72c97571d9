#include "report/live.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"

#define LINE_EVERY_S 5.0
#define BAR_CELLS    20

/* ---- the texts ---- */

/* Writes a line of at most `left` columns; colours take none. All text is
 * ASCII, so bytes are columns. */
struct pen {
  struct buf *out;
  int left;
  bool colour;
};

enum style { PLAIN, BOLD, DIM, RED };

static void pen_vput(struct pen *p, enum style style, const char *fmt,
                     va_list ap)
{
  static const char *const codes[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[31m"};
  char text[128];
  int n = vsnprintf(text, sizeof text, fmt, ap);
  n = n < (int)sizeof text ? n : (int)sizeof text - 1;
  n = n < p->left ? n : p->left;
  if (n <= 0)
    return;
  if (p->colour && style)
    buf_adds(p->out, codes[style]);
  buf_add(p->out, text, (size_t)n);
  if (p->colour && style)
    buf_adds(p->out, "\x1b[0m");
  p->left -= n;
}

static void put(struct pen *p, enum style style, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void put(struct pen *p, enum style style, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  pen_vput(p, style, fmt, ap);
  va_end(ap);
}

/* Whole seconds: a digit that changes at every redraw is no news. */
static const char *show_seconds(double s, char buf[32])
{
  if (s >= 60)
    return units_show_duration((uint64_t)(floor(s) * 1e9), buf);
  snprintf(buf, 32, "%.0f s", floor(fmax(s, 0)));
  return buf;
}

/* "12.3", "1.2k", "n/a" */
static const char *show_number(double x, char buf[32])
{
  if (isnan(x))
    return "n/a";
  if (x >= 1000)
    return units_show_count(x, buf);
  snprintf(buf, 32, x < 10 ? "%.2f" : "%.1f", x);
  return buf;
}

static const char *show_ms(double ms, char buf[32])
{
  if (!(ms >= 1000))
    return show_number(ms, buf);
  snprintf(buf, 32, "%.0f", ms);
  return buf;
}

static void put_bar(struct pen *p, double share)
{
  int full = (int)(share * BAR_CELLS);
  char cells[BAR_CELLS + 1];
  for (int i = 0; i < BAR_CELLS; i++)
    cells[i] = i < full ? '#' : '.';
  cells[BAR_CELLS] = '\0';
  put(p, PLAIN, "  [%s] %3.0f %%", cells, share * 100);
}

static void put_time(struct pen *p, const struct snapshot *s)
{
  char a[32], b[32];
  put(p, BOLD, "%s", s->phase);
  put(p, PLAIN, "  %s", show_seconds(s->elapsed_s, a));
  if (!isnan(s->share))
    put_bar(p, fmin(fmax(s->share, 0), 1));
  if (!isnan(s->eta_s))
    put(p, DIM, "  %s left", show_seconds(s->eta_s, b));
}

static void put_counts(struct pen *p, const struct snapshot *s)
{
  put(p, PLAIN, "sent %llu  in flight %llu  done %llu  ",
      (unsigned long long)s->sent, (unsigned long long)s->in_flight,
      (unsigned long long)s->done);
  put(p, s->failed ? RED : PLAIN, "failed %llu", (unsigned long long)s->failed);
}

static void put_rates(struct pen *p, const struct snapshot *s)
{
  char a[32], b[32], c[32], d[32];
  put(p, PLAIN, "%s req/s  %s tok/s  ", show_number(s->request_rate, a),
      show_number(s->token_rate, b));
  put(p, PLAIN, "TTFT p50 %s ms  p99 %s ms", show_ms(s->ttft_p50_ms, c),
      show_ms(s->ttft_p99_ms, d));
}

void live_panel(struct buf *out, const struct snapshot *s, int columns,
                bool colour)
{
  void (*const rows[])(struct pen *, const struct snapshot *) = {
      put_time, put_counts, put_rates};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct pen p = {.out = out, .left = columns, .colour = colour};
    rows[i](&p, s);
    buf_addc(out, '\n');
  }
}

void live_line(struct buf *out, const struct snapshot *s)
{
  struct pen p = {.out = out, .left = 1000};
  char a[32], b[32];
  put(&p, PLAIN, "%s %s", s->phase, show_seconds(s->elapsed_s, a));
  if (!isnan(s->eta_s))
    put(&p, PLAIN, " (%s left)", show_seconds(s->eta_s, b));
  put(&p, PLAIN, ": ");
  put_counts(&p, s);
  put(&p, PLAIN, "  ");
  put_rates(&p, s);
}

/* ---- the screen ---- */

enum live_mode live_mode(int fd, bool quiet)
{
  const char *term = getenv("TERM");
  if (quiet)
    return LIVE_OFF;
  if (!isatty(fd) || !term || !*term || strcmp(term, "dumb") == 0)
    return LIVE_LINES;
  return LIVE_PANEL;
}

/* All of it is only touched under the log's lock once the hook is set. */
struct live {
  int fd;
  enum live_mode mode;
  bool colour;
  double next_line_s;
  int rows;        /* on the screen now */
  struct buf text; /* the panel as it should stand */
  struct buf out;  /* what is written in one go */
  struct snapshot shot;
};

static int columns_of(int fd)
{
  const char *set = getenv("COLUMNS");
  int64_t n = 0;
  struct winsize size;
  if (set && units_integer(str_of(set), &n) < 0)
    n = 0;
  if (n <= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
    n = size.ws_col;
  return n > 0 && n < 10000 ? (int)n : 80;
}

static void flush(struct live *l)
{
  struct str rest = buf_str(&l->out);
  while (rest.len) {
    ssize_t n = write(l->fd, rest.p, rest.len);
    /* A terminal that is gone is no reason to stop a run. */
    if (n < 0 && errno != EINTR)
      break;
    if (n > 0)
      rest = (struct str){rest.p + n, rest.len - (size_t)n};
  }
  buf_reset(&l->out);
}

/* Up to the panel's first row, and all below it gone. */
static void erase(struct live *l)
{
  if (l->rows)
    buf_addf(&l->out, "\r\x1b[%dA\x1b[J", l->rows);
  l->rows = 0;
}

static void draw(struct live *l)
{
  buf_addstr(&l->out, buf_str(&l->text));
  for (size_t i = 0; i < l->text.len; i++)
    l->rows += l->text.p[i] == '\n';
}

static void on_log_line(bool before, void *ud)
{
  struct live *l = ud;
  if (before)
    erase(l);
  else
    draw(l);
  flush(l);
}

static void redraw(void *ud)
{
  struct live *l = ud;
  buf_reset(&l->text);
  /* One column stays free: a full row makes some terminals wrap. */
  live_panel(&l->text, &l->shot, columns_of(l->fd) - 1, l->colour);
  erase(l);
  draw(l);
  flush(l);
}

static void remove_panel(void *ud)
{
  struct live *l = ud;
  erase(l);
  flush(l);
  buf_reset(&l->text);
}

struct live *live_new(int fd, enum live_mode mode)
{
  struct live *l = mem_new(struct live);
  const char *no_colour = getenv("NO_COLOR");
  l->fd = fd;
  l->mode = mode;
  l->colour = !no_colour || !*no_colour;
  l->next_line_s = LINE_EVERY_S;
  if (mode == LIVE_PANEL)
    log_set_screen(on_log_line, l);
  return l;
}

static void print_line(struct live *l, const struct snapshot *s)
{
  if (s->elapsed_s < l->next_line_s)
    return;
  l->next_line_s = (floor(s->elapsed_s / LINE_EVERY_S) + 1) * LINE_EVERY_S;
  live_line(&l->out, s);
  buf_addc(&l->out, '\n');
  flush(l);
}

void live_update(struct live *l, const struct snapshot *s)
{
  if (l->mode == LIVE_LINES)
    print_line(l, s);
  if (l->mode == LIVE_PANEL) {
    l->shot = *s;
    log_exclusive(redraw, l);
  }
}

void live_free(struct live *l)
{
  if (!l)
    return;
  if (l->mode == LIVE_PANEL) {
    log_exclusive(remove_panel, l);
    log_set_screen(NULL, NULL);
  }
  buf_free(&l->text);
  buf_free(&l->out);
  mem_free(l);
}
