#include "data/token_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

/* The folder; false when the user has none. */
static bool folder(struct buf *path)
{
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (cache && *cache == '/')
    buf_adds(path, cache);
  else if (home && *home == '/')
    buf_addf(path, "%s/.cache", home);
  else
    return false;
  return true;
}

static bool file(struct buf *path, const struct token_source *source)
{
  if (!folder(path))
    return false;
  buf_addf(path, "/stoke/tokenizer-%016" PRIx64 ".index", source->hash[0]);
  return true;
}

int token_cache_load(struct token_index *x, const struct token_source *source)
{
  struct buf path = {0};
  struct stat st;
  void *block = MAP_FAILED;
  int fd =
      file(&path, source) ? open(buf_cstr(&path), O_RDONLY | O_CLOEXEC) : -1;
  buf_free(&path);
  if (fd < 0)
    return -1;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    block = mmap(NULL, (size_t)st.st_size, PROT_READ,
                 MAP_PRIVATE | MAP_POPULATE, fd, 0);
  close(fd);
  if (block == MAP_FAILED)
    return -1;
  if (token_index_open(x, block, (size_t)st.st_size, source) == 0)
    return 0;
  munmap(block, (size_t)st.st_size);
  return -1;
}

void token_cache_close(struct token_index *x)
{
  munmap((void *)(uintptr_t)x->block, x->size);
}

static bool write_all(int fd, const char *p, size_t size)
{
  while (size) {
    ssize_t n = write(fd, p, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    p += n, size -= (size_t)n;
  }
  return true;
}

static void make_folder(void)
{
  struct buf path = {0};
  if (folder(&path)) {
    mkdir(buf_cstr(&path), 0700);
    buf_adds(&path, "/stoke");
    mkdir(buf_cstr(&path), 0700);
  }
  buf_free(&path);
}

/* Under another name first, so that nobody ever sees half of it. */
void token_cache_save(const void *block, size_t size,
                      const struct token_source *source)
{
  struct buf path = {0}, part = {0};
  int fd;
  if (!file(&path, source))
    goto out;
  make_folder();
  buf_addf(&part, "%s.XXXXXX", buf_cstr(&path));
  fd = mkostemp((char *)(uintptr_t)buf_cstr(&part), O_CLOEXEC);
  if (fd >= 0) {
    bool good = write_all(fd, block, size);
    good = close(fd) == 0 && good;
    if (!good || rename(buf_cstr(&part), buf_cstr(&path)) != 0)
      unlink(buf_cstr(&part));
  }
out:
  buf_free(&path);
  buf_free(&part);
}
