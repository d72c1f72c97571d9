#include "script/errors.h"

#include <pthread.h>

#include "base/mem.h"

/* Places beyond this share the last entry: a script can make up any number
 * of them by raising errors with words of its own. */
enum { PLACES_MAX = 64 };

struct entry {
  char *place, *hook, *message, *traceback;
  uint64_t count;
};

struct script_errors {
  pthread_mutex_t lock;
  struct entry entries[PLACES_MAX];
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
  for (size_t i = 0; i < t->n; i++) {
    mem_free(t->entries[i].place);
    mem_free(t->entries[i].hook);
    mem_free(t->entries[i].message);
    mem_free(t->entries[i].traceback);
  }
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

static struct entry *find(struct script_errors *t, struct str place)
{
  for (size_t i = 0; i < t->n; i++)
    if (str_eq(str_of(t->entries[i].place), place))
      return &t->entries[i];
  return t->n == PLACES_MAX ? &t->entries[PLACES_MAX - 1] : NULL;
}

bool script_errors_add(struct script_errors *t, const char *hook,
                       const char *message, const char *traceback)
{
  struct str place = script_error_place(str_of(message));
  struct entry *e;
  bool fresh;
  if (!place.p)
    place = str_of(hook);
  pthread_mutex_lock(&t->lock);
  e = find(t, place);
  fresh = !e;
  if (fresh) {
    e = &t->entries[t->n++];
    *e = (struct entry){.place = mem_strndup(place.p, place.len),
                        .hook = mem_strdup(hook),
                        .message = mem_strdup(message),
                        .traceback = mem_strdup(traceback)};
  }
  e->count++;
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

bool script_errors_get(struct script_errors *t, size_t i,
                       struct script_error *out)
{
  bool found;
  pthread_mutex_lock(&t->lock);
  found = i < t->n;
  if (found) {
    const struct entry *e = &t->entries[i];
    *out = (struct script_error){.place = e->place,
                                 .hook = e->hook,
                                 .message = e->message,
                                 .traceback = e->traceback,
                                 .count = e->count};
  }
  pthread_mutex_unlock(&t->lock);
  return found;
}
