#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "script/digest.h"
#include "script/files.h"
#include "script/pack.h"

/* ---- the manifest ---- */

static void text_or_null(struct json_writer *w, const char *key,
                         const char *text)
{
  json_key(w, key);
  if (text)
    json_string(w, str_of(text));
  else
    json_null(w);
}

/* The file that a setting's value became, or NULL. */
static const struct pack_file *file_of(const struct pack_files *f,
                                       struct str parameter)
{
  for (size_t i = 0; i < f->n; i++)
    if (f->list[i].parameter && str_eq(str_of(f->list[i].parameter), parameter))
      return &f->list[i];
  return NULL;
}

/* Of settings with the same name the last one counts. */
static bool is_last(const struct pack_options *o, size_t i, struct str name)
{
  for (size_t k = i + 1; k < o->n_settings; k++) {
    struct str value = str_of(o->settings[k]);
    if (str_eq(str_trim(str_split(&value, '=')), name))
      return false;
  }
  return true;
}

static void write_settings(struct json_writer *w, const struct pack_options *o,
                           const struct pack_files *f)
{
  json_key(w, "parameters");
  json_begin_object(w);
  for (size_t i = 0; i < o->n_settings; i++) {
    struct str value = str_of(o->settings[i]);
    struct str name = str_trim(str_split(&value, '='));
    const struct pack_file *file = file_of(f, name);
    if (!is_last(o, i, name))
      continue;
    json_key_str(w, name);
    json_string(w, file ? str_of(file->name) : value);
  }
  json_end_object(w);
}

static void write_files(struct json_writer *w, const struct pack_files *f)
{
  json_key(w, "files");
  json_begin_array(w);
  for (size_t i = 0; i < f->n; i++) {
    const struct pack_file *x = &f->list[i];
    json_begin_object(w);
    text_or_null(w, "name", x->name);
    text_or_null(w, "sha256", x->sha256);
    json_key(w, "bytes");
    json_integer(w, (int64_t)x->bytes);
    json_key(w, "included");
    json_boolean(w, x->included);
    if (x->parameter)
      text_or_null(w, "parameter", x->parameter);
    json_end_object(w);
  }
  json_end_array(w);
}

static void write_manifest(struct buf *out, const struct scenario *s,
                           const struct pack_options *o,
                           const struct pack_files *f)
{
  struct json_writer w = {.out = out, .spaced = true};
  json_begin_object(&w);
  json_key(&w, "stoke_pack");
  json_integer(&w, 1);
  text_or_null(&w, "name", s->name);
  text_or_null(&w, "version", s->version);
  text_or_null(&w, "description", s->description);
  text_or_null(&w, "entry", s->files[0].name);
  text_or_null(&w, "sha256", s->sha256);
  text_or_null(&w, "stoke", stoke_version);
  write_settings(&w, o, f);
  write_files(&w, f);
  json_end_object(&w);
  buf_addc(out, '\n');
}

/* ---- the archive ---- */

/* Nothing of this machine or moment is in it. */
static int begin_entry(struct archive *a, const char *name, uint64_t bytes)
{
  struct archive_entry *x = archive_entry_new();
  int status;
  archive_entry_set_pathname(x, name);
  archive_entry_set_filetype(x, AE_IFREG);
  archive_entry_set_perm(x, 0644);
  archive_entry_set_size(x, (int64_t)bytes);
  archive_entry_set_mtime(x, 0, 0);
  status = archive_write_header(a, x);
  archive_entry_free(x);
  return status == ARCHIVE_OK ? 0 : -1;
}

static int put_text(struct archive *a, const char *name, struct str text)
{
  if (begin_entry(a, name, text.len) < 0)
    return -1;
  return archive_write_data(a, text.p, text.len) == (la_ssize_t)text.len ? 0
                                                                         : -1;
}

static int put_file(struct archive *a, const struct pack_file *f, char why[128])
{
  char piece[32768];
  ssize_t n = 0;
  int fd = files_open(f->source, why), status;
  if (fd < 0)
    return -1;
  status = begin_entry(a, f->name, f->bytes);
  while (status == 0 && (n = read(fd, piece, sizeof piece)) > 0)
    if (archive_write_data(a, piece, (size_t)n) != n)
      status = -1;
  close(fd);
  return n < 0 ? -1 : status;
}

static int put_all(struct archive *a, struct str manifest,
                   const struct pack_files *f, const char *path, struct err *e)
{
  char why[128] = "";
  int status = put_text(a, "manifest.json", manifest);
  for (size_t i = 0; i < f->n && status == 0; i++) {
    const struct pack_file *x = &f->list[i];
    if (!x->included)
      continue;
    status = x->source ? put_file(a, x, why)
                       : put_text(a, x->name, (struct str){x->text, x->bytes});
  }
  if (status == 0 && archive_write_close(a) == ARCHIVE_OK)
    return 0;
  return err_add(e, "%s: %s", path,
                 *why                      ? why
                 : archive_error_string(a) ? archive_error_string(a)
                                           : "cannot be written");
}

static struct archive *new_archive(void)
{
  struct archive *a = archive_write_new();
  archive_write_add_filter_gzip(a);
  archive_write_set_filter_option(a, "gzip", "timestamp", NULL);
  archive_write_set_filter_option(a, "gzip", "compression-level", "9");
  archive_write_set_format_gnutar(a); /* names as they are, of any length */
  return a;
}

int pack_write(const struct scenario *s, const struct pack_options *o,
               const struct pack_files *f, const char *path, bool force,
               char sha256[65], struct err *e)
{
  struct archive *a;
  struct buf manifest = {0}, part = {0};
  uint64_t bytes;
  char why[128];
  int status;
  if (!force && access(path, F_OK) == 0)
    return err_add(e, "%s: exists; remove it, or say --force", path);
  a = new_archive();
  buf_addf(&part, "%s.part", path);
  write_manifest(&manifest, s, o, f);
  if (archive_write_open_filename(a, buf_cstr(&part)) != ARCHIVE_OK)
    status = err_add(e, "%s: %s", path, archive_error_string(a));
  else
    status = put_all(a, buf_str(&manifest), f, path, e);
  archive_write_free(a);
  if (status == 0 && (digest_file(buf_cstr(&part), sha256, &bytes, why) < 0 ||
                      rename(buf_cstr(&part), path) < 0))
    status = err_add(e, "%s: %s", path, strerror(errno));
  if (status < 0)
    unlink(buf_cstr(&part));
  buf_free(&part);
  buf_free(&manifest);
  return status;
}
