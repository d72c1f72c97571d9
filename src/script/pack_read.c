#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "script/digest.h"
#include "script/files.h"
#include "script/pack.h"

#define MOST_FILES   10000
#define SLACK        (1 << 20)
#define MOST_BYTES   (UINT64_C(4) << 30)
#define MANIFEST_MAX (4 << 20)
#define MOST_SAID    10 /* mistakes of one pack */

bool pack_is_name(struct str path)
{
  return str_ends(path, STR(".tar.gz")) || str_ends(path, STR(".tgz"));
}

/* ---- the archive ---- */

bool pack_is_good_name(const char *name)
{
  struct str rest = str_of(name);
  if (!rest.len || rest.len > 512)
    return false;
  for (size_t i = 0; i < rest.len; i++)
    if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || name[i] == '\\')
      return false;
  while (rest.p) {
    struct str part = str_split(&rest, '/');
    if (!part.len || str_eq(part, STR(".")) || str_eq(part, STR("..")))
      return false;
  }
  return true;
}

/* Work in progress. */
struct unpacking {
  struct pack *pack;
  struct archive *archive;
  struct buf manifest, names; /* each with a NUL behind it */
  uint64_t room;
  struct err *e;
};

/* Why an entry is not taken, or NULL. */
static const char *objection(struct archive_entry *x)
{
  const char *name = archive_entry_pathname(x);
  if (!name || !pack_is_good_name(name))
    return "has a name that could lead out of its folder";
  if (archive_entry_hardlink(x) || archive_entry_filetype(x) == AE_IFLNK)
    return "is a link";
  if (archive_entry_filetype(x) != AE_IFREG)
    return "is neither a file nor a folder";
  return NULL;
}

/* A new file below `folder`, and the folders on the way to it. */
static int create(const char *folder, const char *name)
{
  char *path = files_join(folder, name);
  char *p = path + strlen(folder) + 1;
  int fd;
  while ((p = strchr(p, '/'))) {
    *p = '\0';
    mkdir(path, 0700);
    *p++ = '/';
  }
  fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  mem_free(path);
  return fd;
}

static bool write_all(int fd, const char *p, size_t n)
{
  while (n) {
    ssize_t done = write(fd, p, n);
    if (done < 0)
      return false;
    p += done;
    n -= (size_t)done;
  }
  return true;
}

/* Into a file, or (fd < 0) into the manifest's text. What may still be unpacked
 * is *room. */
static int extract(struct unpacking *u, int fd, uint64_t *room,
                   const char *name)
{
  char piece[32768];
  la_ssize_t n;
  while ((n = archive_read_data(u->archive, piece, sizeof piece)) > 0) {
    if ((uint64_t)n > *room)
      return err_add(u->e, "%s: %s: unpacks to more than it may", u->pack->path,
                     name);
    *room -= (uint64_t)n;
    if (fd < 0)
      buf_add(&u->manifest, piece, (size_t)n);
    else if (!write_all(fd, piece, (size_t)n))
      return err_add(u->e, "%s: %s: %s", u->pack->path, name, strerror(errno));
  }
  if (n == 0)
    return 0;
  return err_add(u->e, "%s: %s: %s", u->pack->path, name,
                 archive_error_string(u->archive));
}

static int take_file(struct unpacking *u, const char *name)
{
  int fd = create(u->pack->folder, name), status;
  if (fd < 0)
    return err_add(u->e, "%s: %s: %s", u->pack->path, name,
                   errno == EEXIST ? "is in it twice" : strerror(errno));
  buf_add(&u->names, name, strlen(name) + 1);
  status = extract(u, fd, &u->room, name);
  close(fd);
  return status;
}

static int no_manifest(struct unpacking *u)
{
  return err_add(u->e,
                 "%s: has no manifest.json in front; `stoke scenario pack` "
                 "makes packs",
                 u->pack->path);
}

static json_value *files_of(const struct pack *p)
{
  return json_first(json_get(p->manifest, "files"));
}

/* From here on nothing is unpacked but what it lists; a little more than that,
 * so that what is not listed can be named. */
static int begin_manifest(struct unpacking *u)
{
  struct pack *p = u->pack;
  double sum = SLACK;
  int n = 0;
  p->manifest = json_parse(buf_str(&u->manifest), NULL);
  if (!p->manifest)
    return no_manifest(u);
  for (const json_value *f = files_of(p); f; f = json_next(f)) {
    double bytes = json_double(json_get(f, "bytes"), -1);
    if (!(bytes >= 0 && bytes <= 0x1p53 && bytes == floor(bytes)))
      return err_add(u->e, "%s: its manifest lists a file without a good size",
                     p->path);
    if (++n > MOST_FILES)
      return err_add(u->e, "%s: its manifest lists more than %d files", p->path,
                     MOST_FILES);
    sum += bytes;
  }
  u->room = sum < (double)MOST_BYTES ? (uint64_t)sum : MOST_BYTES;
  return 0;
}

static int take_entry(struct unpacking *u, struct archive_entry *x)
{
  const char *name = archive_entry_pathname(x), *why;
  uint64_t small = MANIFEST_MAX;
  if (archive_entry_filetype(x) == AE_IFDIR && !archive_entry_hardlink(x))
    return 0;
  why = objection(x);
  if (why)
    return err_add(u->e, "%s: entry '%.80s' %s", u->pack->path,
                   name ? name : "", why);
  if (strcmp(name, "manifest.json") != 0)
    return u->manifest.len ? take_file(u, name) : no_manifest(u);
  if (u->manifest.len)
    return err_add(u->e, "%s: has two manifests", u->pack->path);
  if (extract(u, -1, &small, name) < 0)
    return -1;
  return begin_manifest(u);
}

static int unpack(struct unpacking *u, int fd)
{
  const char *path = u->pack->path;
  struct archive_entry *x;
  int n = 0, got, status = 0;
  archive_read_support_filter_gzip(u->archive);
  archive_read_support_format_tar(u->archive);
  if (archive_read_open_fd(u->archive, fd, 65536) != ARCHIVE_OK)
    return err_add(u->e, "%s: is no pack: %s", path,
                   archive_error_string(u->archive));
  while (status == 0 &&
         (got = archive_read_next_header(u->archive, &x)) != ARCHIVE_EOF) {
    if (got < ARCHIVE_WARN)
      status = err_add(u->e, "%s: is no pack: %s", path,
                       archive_error_string(u->archive));
    else if (++n > MOST_FILES)
      status = err_add(u->e, "%s: has more than %d files", path, MOST_FILES);
    else
      status = take_entry(u, x);
  }
  return status;
}

/* ---- the manifest ---- */

static bool is_included(const json_value *file)
{
  return json_true(json_get(file, "included"));
}

/* What may lie beside the pack is copied in: a link would lead out. */
static void copy_in(const struct pack *p, const char *from, const char *name)
{
  char piece[32768], why[128];
  ssize_t n;
  int in = files_open(from, why), out = in < 0 ? -1 : create(p->folder, name);
  while (out >= 0 && (n = read(in, piece, sizeof piece)) > 0)
    if (!write_all(out, piece, (size_t)n))
      break;
  if (in >= 0)
    close(in);
  if (out >= 0)
    close(out);
}

/* beside/data/prompts.txt, or beside/prompts.txt */
static void look_beside(const struct pack *p, const char *name)
{
  const char *slash = strrchr(p->path, '/'), *last = strrchr(name, '/');
  char *folder = slash ? mem_strndup(p->path, (size_t)(slash - p->path) + 1)
                       : mem_strdup(".");
  const char *const names[] = {name, last ? last + 1 : name};
  for (int i = 0; i < 2; i++) {
    char *path = files_join(folder, names[i]);
    bool there = files_is_file(path);
    if (there)
      copy_in(p, path, name);
    mem_free(path);
    if (there)
      break;
  }
  mem_free(folder);
}

static void check_file(const struct pack *p, const json_value *file,
                       struct err *e)
{
  const char *name = json_text(json_get(file, "name"));
  const char *wanted = json_text(json_get(file, "sha256"));
  char sum[65] = "", why[128], *path;
  uint64_t bytes;
  if (!name || !wanted || !pack_is_good_name(name)) {
    err_add(e, "%s: its manifest lists a file without a good name and sum",
            p->path);
    return;
  }
  if (!is_included(file))
    look_beside(p, name);
  path = files_join(p->folder, name);
  if (digest_file(path, sum, &bytes, why) < 0) {
    if (is_included(file))
      err_add(e, "%s: %s is missing", p->path, name);
  } else if (strcmp(sum, wanted) != 0) {
    err_add(e, "%s: %s is not what the manifest says: its sum is %s", p->path,
            name, sum);
  }
  mem_free(path);
}

/* Does the pack say that it has this file? */
static bool has_file(const struct pack *p, const char *name)
{
  for (const json_value *f = files_of(p); f; f = json_next(f)) {
    const char *listed = json_text(json_get(f, "name"));
    if (listed && strcmp(listed, name) == 0)
      return is_included(f);
  }
  return false;
}

static int by_text(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names that the manifest lists, in order; the list is the caller's. */
static const char **listed_names(const struct pack *p, size_t *n)
{
  const char **names = NULL;
  *n = 0;
  for (const json_value *f = files_of(p); f; f = json_next(f)) {
    const char *name = json_text(json_get(f, "name"));
    if (!name)
      continue;
    names = mem_resize(names, *n + 1, sizeof *names);
    names[(*n)++] = name;
  }
  if (*n)
    qsort(names, *n, sizeof *names, by_text);
  return names;
}

/* Is every file of the archive in the manifest? */
static void check_listed(const struct unpacking *u, unsigned most,
                         struct err *e)
{
  struct str rest = buf_str(&u->names);
  size_t n;
  const char **names = listed_names(u->pack, &n);
  while (rest.len && e->count < most) {
    struct str name = str_split(&rest, '\0');
    if (!bsearch(&name.p, names, n, sizeof *names, by_text))
      err_add(e, "%s: %s is in it, but not in its manifest", u->pack->path,
              name.p);
  }
  mem_free(names);
}

/* It becomes the name of files. */
static int take_name(struct pack *p, struct err *e)
{
  const char *name = json_text(json_get(p->manifest, "name"));
  if (name && (!pack_is_good_name(name) || strchr(name, '/') || name[0] == '.'))
    return err_add(e, "%s: its manifest has a name that could lead out",
                   p->path);
  p->name = name ? mem_strdup(name) : NULL;
  return 0;
}

static int read_manifest(struct unpacking *u, struct err *e)
{
  struct pack *p = u->pack;
  const char *entry;
  unsigned before = e->count, most = before + MOST_SAID;
  double format = json_double(json_get(p->manifest, "stoke_pack"), 0);
  if (format == 0)
    return no_manifest(u);
  if (format != 1)
    return err_add(e, "%s: is of a later kind (%g); this stoke knows 1",
                   p->path, format);
  entry = json_text(json_get(p->manifest, "entry"));
  if (!entry || !has_file(p, entry))
    return err_add(e, "%s: its manifest names no entry of its own", p->path);
  p->entry = mem_strdup(entry);
  if (take_name(p, e) < 0)
    return -1;
  for (const json_value *f = files_of(p); f && e->count < most;
       f = json_next(f))
    check_file(p, f, e);
  check_listed(u, most, e);
  return e->count == before ? 0 : -1;
}

/* ---- life ---- */

static int make_folder(struct pack *p, struct err *e)
{
  const char *tmp = getenv("TMPDIR");
  struct buf folder = {0};
  buf_addf(&folder, "%s/stoke-pack-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  buf_cstr(&folder);
  if (!mkdtemp(folder.p)) {
    err_add(e, "%s: no folder to unpack it into: %s: %s", p->path, folder.p,
            strerror(errno));
    buf_free(&folder);
    return -1;
  }
  p->folder = files_real(folder.p);
  buf_free(&folder);
  return 0;
}

static int check_sum(struct pack *p, int fd, const char *sha256, struct err *e)
{
  char why[128];
  uint64_t bytes;
  if (digest_fd(fd, p->sha256, &bytes, why) < 0 || lseek(fd, 0, SEEK_SET) < 0)
    return err_add(e, "%s: %s", p->path, why);
  if (sha256 && strcmp(sha256, p->sha256) != 0)
    return err_add(e, "%s: is not what --sha256 says: its sum is %s", p->path,
                   p->sha256);
  return 0;
}

static int fill(struct pack *p, int fd, const char *sha256, struct err *e)
{
  struct unpacking u = {.pack = p, .room = MOST_BYTES, .e = e};
  int status;
  if (check_sum(p, fd, sha256, e) < 0 || make_folder(p, e) < 0)
    return -1;
  u.archive = archive_read_new();
  status = unpack(&u, fd);
  archive_read_free(u.archive);
  if (status == 0)
    status = read_manifest(&u, e);
  buf_free(&u.manifest);
  buf_free(&u.names);
  return status;
}

struct pack *pack_open(const char *path, const char *sha256, struct err *e)
{
  struct pack *p = mem_new(struct pack);
  char why[128];
  int fd = files_open(path, why), status;
  p->path = mem_strdup(path);
  status = fd < 0 ? err_add(e, "%s: %s", path, why) : fill(p, fd, sha256, e);
  if (fd >= 0)
    close(fd);
  if (status == 0)
    return p;
  pack_close(p);
  return NULL;
}

static bool is_set(const char *const *settings, size_t n, const char *name)
{
  for (size_t i = 0; i < n; i++) {
    struct str value = str_of(settings[i]);
    if (str_eq(str_trim(str_split(&value, '=')), str_of(name)))
      return true;
  }
  return false;
}

/* A file that is not in the pack, not beside it, and not replaced. */
static void check_absent(const struct pack *p, const json_value *file,
                         const char *const *settings, size_t n, struct err *e)
{
  const char *name = json_text(json_get(file, "name"));
  const char *parameter = json_text(json_get(file, "parameter"));
  char *path = files_join(p->folder, name);
  if (!files_is_file(path) && !(parameter && is_set(settings, n, parameter)))
    err_add(e,
            "%s: holds only the sum of %s (%.0f bytes); put that file beside "
            "the pack%s%s%s",
            p->path, name, json_double(json_get(file, "bytes"), 0),
            parameter ? ", or name another with -P " : "",
            parameter ? parameter : "", parameter ? "=FILE" : "");
  mem_free(path);
}

void pack_preset(const struct pack *p, struct scenario *s,
                 const char *const *settings, size_t n, struct err *e)
{
  const json_value *v = json_first(json_get(p->manifest, "parameters"));
  unsigned before = e->count;
  for (const json_value *f = files_of(p); f; f = json_next(f))
    check_absent(p, f, settings, n, e);
  if (e->count != before)
    return;
  for (; v; v = json_next(v))
    if (!is_set(settings, n, json_name(v)))
      params_preset(&s->params, str_of(json_name(v)), str_of(json_text(v)),
                    s->folder, p->path, e);
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
  (void)st, (void)flag, (void)ftw;
  return remove(path);
}

void pack_close(struct pack *p)
{
  if (!p)
    return;
  if (p->folder)
    nftw(p->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  mem_free(p->path);
  mem_free(p->folder);
  mem_free(p->name);
  mem_free(p->entry);
  json_free(p->manifest);
  mem_free(p);
}
