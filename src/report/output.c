#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/* What a results file needs at least: a disk with less is full. */
#define PROBE_BYTES 65536

static bool to_stdout(const char *path)
{
  return strcmp(path, "-") == 0;
}

static int write_all(int fd, struct str text)
{
  while (text.len) {
    ssize_t n = write(fd, text.p, text.len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    text.p += n;
    text.len -= (size_t)n;
  }
  return 0;
}

/* The folder that `path` is in. */
static char *folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (!slash)
    return mem_strdup(".");
  return slash == path ? mem_strdup("/")
                       : mem_strndup(path, (size_t)(slash - path));
}

/* A new file beside `path`. Its name in *name, to be freed in any case. */
static int open_beside(const char *path, char **name)
{
  struct buf b = {0};
  buf_addf(&b, "%s.tmp-%ld", path, (long)getpid());
  *name = buf_take(&b);
  return open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

/* Nothing stands in the way at `path`: 0, or -1 and a message. *special: it
 * is there and no regular file. */
static int look_at(const char *path, bool force, bool *special, struct err *e)
{
  struct stat st;
  *special = false;
  if (stat(path, &st) < 0)
    return errno == ENOENT ? 0 : err_add(e, "%s: %s", path, strerror(errno));
  if (S_ISDIR(st.st_mode))
    return err_add(e, "%s: is a folder; name a file in it", path);
  *special = !S_ISREG(st.st_mode);
  if (!*special && !force)
    return err_add(e,
                   "%s: exists already; choose another name, or --force to "
                   "replace it",
                   path);
  return 0;
}

static int probe(const char *path)
{
  char *name, *zeros = mem_zalloc(PROBE_BYTES, 1);
  int fd = open_beside(path, &name), rc = -1, saved;
  if (fd >= 0) {
    rc = write_all(fd, (struct str){zeros, PROBE_BYTES});
    if (rc == 0)
      rc = fsync(fd);
    saved = errno;
    close(fd);
    unlink(name);
    errno = saved;
  }
  mem_free(name);
  mem_free(zeros);
  return rc;
}

int output_check(const char *path, bool force, struct err *e)
{
  bool special;
  if (!*path)
    return err_add(e, "the name of an output file is empty");
  if (to_stdout(path))
    return 0;
  if (look_at(path, force, &special, e) < 0)
    return -1;
  if (special)
    return access(path, W_OK) == 0
               ? 0
               : err_add(e, "%s: %s", path, strerror(errno));
  if (probe(path) < 0)
    return err_add(e, "%s: cannot be written: %s", path, strerror(errno));
  return 0;
}

/* The rename is safe only once the folder is on disk too. Some file systems
 * cannot sync folders; the file is there all the same. */
static void sync_folder(const char *path)
{
  char *folder = folder_of(path);
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
  mem_free(folder);
}

static int move_into_place(const char *from, const char *to, bool force)
{
  if (force)
    return rename(from, to);
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return -1;
  /* A file system without that flag: a link never replaces anything. */
  if (link(from, to) < 0)
    return -1;
  unlink(from);
  return 0;
}

static int save_regular(const char *path, bool force, struct str text)
{
  char *name;
  int fd = open_beside(path, &name), rc = -1, saved;
  if (fd >= 0) {
    rc = write_all(fd, text) < 0 || fsync(fd) < 0 ? -1 : 0;
    saved = errno;
    if (close(fd) < 0 && rc == 0)
      rc = -1, saved = errno;
    if (rc == 0 && (rc = move_into_place(name, path, force)) < 0)
      saved = errno;
    if (rc < 0)
      unlink(name);
    else
      sync_folder(path);
    errno = saved;
  }
  mem_free(name);
  return rc;
}

static int save_special(const char *path, struct str text)
{
  int fd = open(path, O_WRONLY | O_CLOEXEC), rc, saved;
  if (fd < 0)
    return -1;
  rc = write_all(fd, text);
  saved = errno;
  close(fd);
  errno = saved;
  return rc;
}

int output_save(const char *path, bool force, struct str text, struct err *e)
{
  bool special;
  int rc;
  if (to_stdout(path)) {
    rc = write_all(STDOUT_FILENO, text);
  } else {
    if (look_at(path, force, &special, e) < 0)
      return -1;
    rc = special ? save_special(path, text) : save_regular(path, force, text);
  }
  return rc == 0
             ? 0
             : err_add(e, "%s: cannot be written: %s", path, strerror(errno));
}

int output_save_or_print(const char *path, bool force, struct str text,
                         struct err *e)
{
  if (output_save(path, force, text, e) == 0)
    return 0;
  if (!to_stdout(path) && write_all(STDOUT_FILENO, text) == 0)
    err_add(e, "%s: its text went to the standard output instead", path);
  return -1;
}

/* Does the file end in the middle of a line? */
static bool cut_off(int fd)
{
  off_t end = lseek(fd, 0, SEEK_END);
  char last = '\n';
  return end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n';
}

int output_append(const char *path, struct str line, struct err *e)
{
  struct buf text = {0};
  int fd, rc = -1;
  if (to_stdout(path)) {
    fd = dup(STDOUT_FILENO);
  } else {
    fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    /* /dev/stdout and the like cannot be read. */
    if (fd < 0 && errno == EACCES)
      fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  }
  if (fd >= 0) {
    if (!to_stdout(path) && cut_off(fd))
      buf_addc(&text, '\n');
    buf_addstr(&text, line);
    if (!str_ends(line, STR("\n")))
      buf_addc(&text, '\n');
    rc = write_all(fd, buf_str(&text));
    if (rc == 0 && fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
      rc = -1;
  }
  if (rc < 0)
    err_add(e, "%s: cannot be appended to: %s", path, strerror(errno));
  if (fd >= 0)
    close(fd);
  buf_free(&text);
  return rc;
}

/* Python's str() of a float rate: "5.0", "0.5", "inf". */
static void add_rate(struct buf *b, double rate)
{
  char text[32];
  if (isinf(rate)) {
    buf_adds(b, "inf");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, rate);
    if (strtod(text, NULL) == rate)
      break;
  }
  buf_adds(b, text);
  if (!text[strcspn(text, ".e")])
    buf_adds(b, ".0");
}

/* A part of a file name: no slash, no control character, not hidden. */
static void add_part(struct buf *b, const char *s)
{
  const char *slash = strrchr(s, '/');
  s = slash ? slash + 1 : s;
  while (*s == '.')
    s++;
  if (!*s)
    buf_adds(b, "model");
  for (; *s; s++)
    buf_addc(b,
             (unsigned char)*s < ' ' || *s == 0x7f || strchr("\\:*?\"<>|", *s)
                 ? '_'
                 : *s);
}

/* "concurrency8-model-20261130-144851.json" */
static char *end_name(struct buf *b, unsigned long long cap, const char *model,
                      unsigned long long wall_ns)
{
  char stamp[16];
  if (cap)
    buf_addf(b, "concurrency%llu-", cap);
  add_part(b, model);
  clock_compact(wall_ns, stamp);
  buf_addf(b, "-%s.json", stamp);
  return buf_take(b);
}

char *output_name(const char *prefix, double rate, unsigned long long cap,
                  const char *model, unsigned long long wall_ns)
{
  struct buf b = {0};
  add_part(&b, prefix);
  buf_addc(&b, '-');
  add_rate(&b, rate);
  buf_adds(&b, "qps-");
  return end_name(&b, cap, model, wall_ns);
}

char *output_name_ramp(const char *label, const char *shape, double from,
                       double to, unsigned long long cap, const char *model,
                       unsigned long long wall_ns)
{
  struct buf b = {0};
  add_part(&b, label);
  buf_addf(&b, "-ramp-up-%s-%gqps-%gqps-", shape, from, to);
  return end_name(&b, cap, model, wall_ns);
}
