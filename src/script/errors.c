#include "script/errors.h"

#include <pthread.h>

#include "base/mem.h"

/* A script can make up any number of them by raising errors with words of its
 * own. */
enum { PLACES_MAX = 64 };

struct script_errors {
  pthread_mutex_t lock;
  char *places[PLACES_MAX];
  size_t n;
  uint64_t total;
  bool gave_up;
};

struct script_errors *script_errors_new(void)
{
  struct script_errors *t = mem_new(struct script_errors);
  pthread_mutex_init(&t->lock, NULL);
  return t;
}

void script_errors_free(struct script_errors *t)
{
  if (!t)
    return;
  for (size_t i = 0; i < t->n; i++)
    mem_free(t->places[i]);
  pthread_mutex_destroy(&t->lock);
  mem_free(t);
}

/* "my.lua:12" of "my.lua:12: went wrong". Paths may hold colons, so the
 * first ":digits:" counts. */
struct str script_error_place(struct str message)
{
  struct str line = message;
  line = str_split(&message, '\n');
  for (size_t i = 0; i + 1 < line.len; i++) {
    size_t end = i + 1;
    if (line.p[i] != ':')
      continue;
    while (end < line.len && line.p[end] >= '0' && line.p[end] <= '9')
      end++;
    if (end > i + 1 && end < line.len && line.p[end] == ':')
      return (struct str){line.p, end};
  }
  return (struct str){NULL, 0};
}

/* Places beyond the last are as if they were known. */
static bool is_known(const struct script_errors *t, struct str place)
{
  for (size_t i = 0; i < t->n; i++)
    if (str_eq(str_of(t->places[i]), place))
      return true;
  return t->n == PLACES_MAX;
}

bool script_errors_add(struct script_errors *t, const char *hook,
                       const char *message)
{
  struct str place = script_error_place(str_of(message));
  bool fresh;
  if (!place.p)
    place = str_of(hook);
  pthread_mutex_lock(&t->lock);
  fresh = !is_known(t, place);
  if (fresh)
    t->places[t->n++] = mem_strndup(place.p, place.len);
  t->total++;
  pthread_mutex_unlock(&t->lock);
  return fresh;
}

void script_errors_give_up(struct script_errors *t)
{
  pthread_mutex_lock(&t->lock);
  t->gave_up = true;
  pthread_mutex_unlock(&t->lock);
}

bool script_errors_gave_up(struct script_errors *t)
{
  bool gave_up;
  pthread_mutex_lock(&t->lock);
  gave_up = t->gave_up;
  pthread_mutex_unlock(&t->lock);
  return gave_up;
}

uint64_t script_errors_total(struct script_errors *t)
{
  uint64_t total;
  pthread_mutex_lock(&t->lock);
  total = t->total;
  pthread_mutex_unlock(&t->lock);
  return total;
}
