#include "data/tokenizer_store.h"

#include <pthread.h>

#include "base/mem.h"

struct stored_tokenizer {
  struct stored_tokenizer *next;
  pthread_mutex_t *lock; /* the store's */
  char *path;
  struct tokenizer *t;
  struct token_text text;
  bool has_text;
};

struct tokenizer_store {
  pthread_mutex_t lock;
  struct stored_tokenizer *first;
};

struct tokenizer_store *tokenizer_store_new(void)
{
  struct tokenizer_store *s = mem_new(struct tokenizer_store);
  pthread_mutex_init(&s->lock, NULL);
  return s;
}

void tokenizer_store_free(struct tokenizer_store *s)
{
  if (!s)
    return;
  while (s->first) {
    struct stored_tokenizer *k = s->first;
    s->first = k->next;
    token_text_deinit(&k->text);
    tokenizer_free(k->t);
    mem_free(k->path);
    mem_free(k);
  }
  pthread_mutex_destroy(&s->lock);
  mem_free(s);
}

static struct stored_tokenizer *find(struct tokenizer_store *s,
                                     const char *path)
{
  for (struct stored_tokenizer *k = s->first; k; k = k->next)
    if (strcmp(k->path, path) == 0)
      return k;
  return NULL;
}

static struct stored_tokenizer *add(struct tokenizer_store *s, const char *path,
                                    struct err *e)
{
  struct tokenizer *t = tokenizer_open(path, e);
  struct stored_tokenizer *k;
  if (!t)
    return NULL;
  k = mem_new(struct stored_tokenizer);
  k->next = s->first;
  k->lock = &s->lock;
  k->path = mem_strdup(path);
  k->t = t;
  s->first = k;
  return k;
}

struct stored_tokenizer *tokenizer_store_open(struct tokenizer_store *s,
                                              const char *path, struct err *e)
{
  struct stored_tokenizer *k;
  pthread_mutex_lock(&s->lock);
  k = find(s, path);
  if (!k)
    k = add(s, path, e);
  pthread_mutex_unlock(&s->lock);
  return k;
}

const struct tokenizer *stored_tokenizer(const struct stored_tokenizer *k)
{
  return k->t;
}

const char *stored_tokenizer_path(const struct stored_tokenizer *k)
{
  return k->path;
}

const struct token_text *stored_tokenizer_text(struct stored_tokenizer *k,
                                               struct tokenizer_scratch *s)
{
  pthread_mutex_lock(k->lock);
  if (!k->has_text)
    token_text_init(&k->text, k->t, s);
  k->has_text = true;
  pthread_mutex_unlock(k->lock);
  return &k->text;
}
