#include "base/log.h"

#include <pthread.h>
#include <unistd.h>

#include "base/buf.h"

/* The only state here that outlives a call: stderr itself is process-wide, so
 * what guards it is too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*screen_hook)(bool before, void *ud);
static void *screen_ud;

static void write_line(struct buf *b)
{
  size_t done = 0;
  buf_addc(b, '\n');
  pthread_mutex_lock(&lock);
  if (screen_hook)
    screen_hook(true, screen_ud);
  while (done < b->len) {
    ssize_t n = write(STDERR_FILENO, b->p + done, b->len - done);
    if (n <= 0)
      break;
    done += (size_t)n;
  }
  if (screen_hook)
    screen_hook(false, screen_ud);
  pthread_mutex_unlock(&lock);
  buf_free(b);
}

void log_line(const char *fmt, ...)
{
  struct buf b = {0};
  va_list ap;
  buf_adds(&b, "stoke: ");
  va_start(ap, fmt);
  buf_vaddf(&b, fmt, ap);
  va_end(ap);
  buf_disarm(&b);
  write_line(&b);
}

void log_lines(struct str text)
{
  text = str_trim(text);
  while (text.p) {
    struct str line = str_split(&text, '\n');
    log_line("%.*s", STR_ARG(line));
  }
}

void log_plain(const char *fmt, ...)
{
  struct buf b = {0};
  va_list ap;
  va_start(ap, fmt);
  buf_vaddf(&b, fmt, ap);
  va_end(ap);
  write_line(&b);
}

void log_set_screen(void (*hook)(bool before, void *ud), void *ud)
{
  pthread_mutex_lock(&lock);
  screen_hook = hook;
  screen_ud = ud;
  pthread_mutex_unlock(&lock);
}

void log_exclusive(void (*fn)(void *ud), void *ud)
{
  pthread_mutex_lock(&lock);
  fn(ud);
  pthread_mutex_unlock(&lock);
}
