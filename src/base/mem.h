/* mem.h -- allocation that never fails.
 * Out of memory prints one line and ends the process with status 1: no caller
 * has to check. Everything returned is freed with mem_free (plain free). */
#ifndef STOKE_BASE_MEM_H
#define STOKE_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);
/* Zeroed; `count * size` is checked for overflow. */
void *mem_zalloc(size_t count, size_t size);
/* As realloc, with the same check; mem_resize(NULL, …) allocates. */
void *mem_resize(void *p, size_t count, size_t size);
char *mem_strdup(const char *s);
/* A NUL-terminated copy of `len` bytes. */
char *mem_strndup(const char *s, size_t len);
void mem_free(void *p);

#define mem_new(type) ((type *)mem_zalloc(1, sizeof(type)))

#endif
