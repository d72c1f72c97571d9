#include "data/data_store.h"

#include <pthread.h>
#include <sys/stat.h>

#include "base/mem.h"

struct stored {
  struct stored *next;
  struct stat st;
  struct data_options options; /* `require` is owned */
  struct data_file *file;
};

/* Each keeps a descriptor and an index for the whole run. */
enum { FILES_MAX = 256 };

struct data_store {
  pthread_mutex_t lock;
  struct stored *first;
  unsigned n_files;
};

struct data_store *data_store_new(void)
{
  struct data_store *s = mem_new(struct data_store);
  pthread_mutex_init(&s->lock, NULL);
  return s;
}

void data_store_free(struct data_store *s)
{
  if (!s)
    return;
  while (s->first) {
    struct stored *f = s->first;
    s->first = f->next;
    data_close(f->file);
    mem_free((char *)f->options.require);
    mem_free(f);
  }
  pthread_mutex_destroy(&s->lock);
  mem_free(s);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
         a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool same_options(const struct data_options *a,
                         const struct data_options *b)
{
  return a->format == b->format && a->skip_bad_rows == b->skip_bad_rows &&
         a->separator == b->separator && a->block == b->block &&
         a->join == b->join && !a->require == !b->require &&
         str_eq(str_of(a->require), str_of(b->require));
}

static struct stored *find(struct data_store *s, const struct stat *st,
                           const struct data_options *o)
{
  for (struct stored *f = s->first; f; f = f->next)
    if (same_file(&f->st, st) && same_options(&f->options, o))
      return f;
  return NULL;
}

static struct stored *add(struct data_store *s, const char *path,
                          const char *shown, const struct stat *st,
                          const struct data_options *o, struct err *e)
{
  struct data_file *file;
  struct stored *f;
  if (s->n_files == FILES_MAX) {
    err_add(e, "%s: %d data files are open, and there may be no more", shown,
            FILES_MAX);
    return NULL;
  }
  file = data_open(path, shown, o, e);
  if (!file)
    return NULL;
  s->n_files++;
  f = mem_new(struct stored);
  *f = (struct stored){s->first, *st, *o, file};
  f->options.require = o->require ? mem_strdup(o->require) : NULL;
  s->first = f;
  return f;
}

const struct data_file *data_store_open(struct data_store *s, const char *path,
                                        const char *shown,
                                        const struct data_options *o,
                                        bool *fresh, struct err *e)
{
  struct stat st = {0};
  struct stored *f;
  stat(path, &st);
  pthread_mutex_lock(&s->lock);
  f = find(s, &st, o);
  *fresh = !f;
  if (!f)
    f = add(s, path, shown, &st, o, e);
  pthread_mutex_unlock(&s->lock);
  return f ? f->file : NULL;
}
