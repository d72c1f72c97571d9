/* files.h -- whole files, read and written by tests. */
#ifndef STOKE_TESTS_FILES_H
#define STOKE_TESTS_FILES_H

#include <assert.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"

/* What is in it, a NUL behind; to be freed. */
static inline struct buf file_read(const char *path)
{
  struct buf text = {0};
  FILE *f = fopen(path, "rb");
  char *to;
  size_t n;
  assert(f);
  while ((to = buf_reserve(&text, 65536)) && (n = fread(to, 1, 65536, f)))
    text.len += n;
  fclose(f);
  buf_cstr(&text);
  return text;
}

static inline void file_write(const char *path, struct str text)
{
  FILE *f = fopen(path, "wb");
  assert(f);
  fwrite(text.p, 1, text.len, f);
  fclose(f);
}

/* Write folder/name, making folders on the way. Returns its path, which is
 * good until the next one. */
static inline const char *file_make(const char *folder, const char *name,
                                    const char *text)
{
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')); p++) {
    *p = '\0';
    mkdir(path, 0755);
    *p = '/';
  }
  file_write(path, str_of(text));
  return path;
}

#endif
