#include "script/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

char *files_real(const char *path)
{
  char real[PATH_MAX];
  return realpath(path, real) ? mem_strdup(real) : NULL;
}

char *files_join(const char *folder, const char *name)
{
  struct buf b = {0};
  buf_addf(&b, "%s/%s", folder, name);
  return buf_take(&b);
}

bool files_inside(const char *real, const char *folder)
{
  size_t n = strlen(folder);
  if (n == 1) /* "/" */
    return true;
  return strncmp(real, folder, n) == 0 && (real[n] == '/' || !real[n]);
}

bool files_is_folder(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool files_is_file(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Devices and pipes could block or never end. */
int files_open(const char *path, char why[128])
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &st) < 0) {
    snprintf(why, 128, "%s", strerror(errno));
  } else if (!S_ISREG(st.st_mode)) {
    snprintf(why, 128, "%s",
             S_ISDIR(st.st_mode) ? "is a folder" : "is not a regular file");
  } else {
    return fd;
  }
  if (fd >= 0)
    close(fd);
  return -1;
}

static void too_large(char why[128])
{
  snprintf(why, 128, "is larger than %d MiB", FILES_MAX_BYTES >> 20);
}

int files_peek(const char *path, size_t most, struct buf *out, char why[128])
{
  struct stat st = {0};
  char *to = buf_reserve(out, most);
  int fd = files_open(path, why);
  ssize_t n;
  if (fd < 0)
    return -1;
  n = to && fstat(fd, &st) == 0 ? read(fd, to, most) : -1;
  if (n < 0)
    snprintf(why, 128, "%s", strerror(errno));
  else if (st.st_size > FILES_MAX_BYTES)
    too_large(why);
  else
    out->len += (size_t)n;
  close(fd);
  return n < 0 || st.st_size > FILES_MAX_BYTES ? -1 : 0;
}

int files_read(const char *path, struct buf *out, char why[128])
{
  size_t start = out->len;
  ssize_t n = 1;
  int fd = files_open(path, why);
  if (fd < 0)
    return -1;
  while (n > 0 && out->len - start <= FILES_MAX_BYTES) {
    char *to = buf_reserve(out, 65536);
    n = to ? read(fd, to, 65536) : -1;
    if (n > 0)
      out->len += (size_t)n;
  }
  if (n < 0)
    snprintf(why, 128, "%s", strerror(errno));
  else if (n > 0)
    too_large(why);
  close(fd);
  return n == 0 ? 0 : -1;
}
