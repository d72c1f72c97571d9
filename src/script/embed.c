#include "script/embed.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *path, const void *file)
{
  return strcmp(path, ((const struct embedded *)file)->path);
}

const struct embedded *embed_find(const char *path)
{
  return bsearch(path, embedded_files, embedded_count, sizeof *embedded_files,
                 compare);
}
