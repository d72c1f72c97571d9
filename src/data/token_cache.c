#include "data/token_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/window.h"

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

/* More than the largest index there can be. */
#define SIZE_MAX_READ (INT64_C(1) << 30)

/* Read, not mapped: a file that shrinks would kill the run. */
void *token_cache_load(struct token_index *x, const struct token_source *source)
{
  struct buf path = {0};
  struct stat st;
  void *block = NULL;
  int fd = file(&path, source)
               ? open(buf_cstr(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
               : -1;
  buf_free(&path);
  if (fd < 0)
    return NULL;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
      st.st_size < SIZE_MAX_READ) {
    block = mem_alloc((size_t)st.st_size);
    if (window_read_at(fd, block, (size_t)st.st_size, 0) < 0 ||
        token_index_open(x, block, (size_t)st.st_size, source) < 0) {
      mem_free(block);
      block = NULL;
    }
  }
  close(fd);
  return block;
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
