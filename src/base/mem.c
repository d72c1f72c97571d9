#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(size_t size)
{
  fprintf(stderr, "stoke: out of memory (%zu bytes asked)\n", size);
  exit(1);
}

void *mem_alloc(size_t size)
{
  void *p = malloc(size ? size : 1);
  if (!p)
    out_of_memory(size);
  return p;
}

void *mem_zalloc(size_t count, size_t size)
{
  void *p = calloc(count ? count : 1, size ? size : 1);
  if (!p)
    out_of_memory(count * size);
  return p;
}

void *mem_resize(void *p, size_t count, size_t size)
{
  size_t bytes = count * size;
  void *q;
  if (size && count > (size_t)-1 / size)
    out_of_memory((size_t)-1);
  q = realloc(p, bytes > 0 ? bytes : 1);
  if (!q)
    out_of_memory(bytes);
  return q;
}

char *mem_strndup(const char *s, size_t len)
{
  char *p = mem_alloc(len + 1);
  memcpy(p, s, len);
  p[len] = '\0';
  return p;
}

char *mem_strdup(const char *s)
{
  return mem_strndup(s, strlen(s));
}

void mem_free(void *p)
{
  free(p);
}
