/* tokenizer_open.c -- a tokenizer from its file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "data/foreign.h"
#include "data/hub.h"
#include "data/token_cache.h"
#include "data/tokenizer_file.h"
#include "data/tokenizer_parts.h"
#include "data/window.h"

/* Smaller files are read faster than their index. */
#define CACHE_FROM (256 * 1024)

/* Several times the largest of the models there are. */
enum { FILE_MAX_MIB = 256 };

/* What there is to do about a file that is not there. */
static int say_missing(const char *path, struct err *e)
{
  struct buf folder = {0};
  hub_folder(&folder);
  if (hub_is_name(path))
    err_add(e,
            "%s: there is no such file, and no tokenizer.json of a model of "
            "that name in %s; put it there once with `huggingface-cli "
            "download %s tokenizer.json`, or say the path of one",
            path, buf_cstr(&folder), path);
  else
    err_add(e,
            "%s: %s; it takes the path of a tokenizer.json, of the folder it "
            "is in, or the name of a model in %s",
            path, strerror(ENOENT), buf_cstr(&folder));
  buf_free(&folder);
  return -1;
}

/* What is wrong with the file before it is read, or NULL. */
static const char *trouble_of(const struct stat *st, char why[80])
{
  if (!S_ISREG(st->st_mode))
    return "not a file";
  if (st->st_size == 0)
    return "the file is empty";
  if (st->st_size <= (off_t)FILE_MAX_MIB << 20)
    return NULL;
  snprintf(why, 80, "larger than %d MiB, which no tokenizer is", FILE_MAX_MIB);
  return why;
}

/* Read, not mapped: a file that shrinks meanwhile would kill the process.
 * -1 and a message when that cannot be done. */
static int read_file(const char *path, bool in_folder, struct buf *text,
                     struct err *e)
{
  struct stat st;
  char room[80];
  const char *why;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &st) < 0) {
    if (errno == ENOENT && in_folder)
      err_add(e, "%s: there is no such file in that folder", path);
    else if (errno == ENOENT)
      say_missing(path, e);
    else
      err_add(e, "%s: %s", path, strerror(errno));
    if (fd >= 0)
      close(fd);
    return -1;
  }
  why = trouble_of(&st, room);
  if (!why) {
    char *to = buf_reserve(text, (size_t)st.st_size);
    if (window_read_at(fd, to, (size_t)st.st_size, 0) < 0)
      why = errno ? strerror(errno) : "the file became shorter as it was read";
  }
  close(fd);
  text->len = why ? 0 : (size_t)st.st_size;
  return why ? err_add(e, "%s: %s", path, why) : 0;
}

/* The index of a text that is not in the cache. */
static int build_index(struct tokenizer *t, const char *name, struct str text,
                       const struct token_source *source, struct err *e)
{
  size_t size;
  t->block = tokenizer_file_read(name, text, source, &size, e);
  if (!t->block)
    return -1;
  return token_index_open(&t->index, t->block, size, source) == 0
             ? 0
             : err_add(e, "%s: the vocabulary is damaged", name);
}

static void init_model(struct tokenizer *t, const json_value *model,
                       const char *path, struct err *e)
{
  switch (t->index.kind) {
  case TOKEN_BPE:
  case TOKEN_BPE_BYTES: bpe_init(&t->bpe, &t->index, model, path, e); break;
  case TOKEN_UNIGRAM:
    unigram_init(&t->unigram, &t->index, model, path, e);
    break;
  case TOKEN_WORDPIECE:
    wordpiece_init(&t->wordpiece, &t->index, model, path, e);
    break;
  case TOKEN_KINDS: break;
  }
}

/* Every part says what it cannot do, so that one look tells all. */
static int init_parts(struct tokenizer *t, const char *path, struct err *e)
{
  json_value *config = json_parse(t->index.config, NULL);
  if (!config)
    return err_add(e, "%s: its configuration is not valid JSON", path);
  init_model(t, json_get(config, "model"), path, e);
  normalizer_init(&t->normalizer, json_get(config, "normalizer"), &t->unicode,
                  path, e);
  pretokenizer_init(&t->pretokenizer, json_get(config, "pre_tokenizer"),
                    &t->unicode, path, e);
  post_processor_init(&t->post, json_get(config, "post_processor"), path, e);
  token_decoder_init(&t->decoder, json_get(config, "decoder"), path, e);
  if (!e->count)
    added_tokens_init(&t->added, json_get(config, "added_tokens"), &t->index,
                      &t->normalizer, json_get(config, "encoding") != NULL,
                      path, e);
  json_free(config);
  return e->count ? -1 : 0;
}

/* What takes the finished parts to work out: merging at scale. Words that are
 * tokens need none where merges are ignored. */
static void finish_index(struct tokenizer *t)
{
  bool bytes = t->index.kind == TOKEN_BPE_BYTES;
  if (!bytes && t->index.kind != TOKEN_BPE)
    return;
  if (bytes && t->bpe.ignore_merges)
    return;
  bpe_mark_whole(&t->bpe);
  token_index_seal(&t->index);
}

static int open_index(struct tokenizer *t, const char *name, struct str text,
                      bool cache, struct err *e)
{
  struct token_source source = {.size = text.len};
  bool kept;
  token_file_hash(text.p, text.len, source.hash);
  cache = cache && text.len >= CACHE_FROM;
  t->block = cache ? token_cache_load(&t->index, &source) : NULL;
  kept = t->block;
  if (!kept && build_index(t, name, text, &source, e) < 0)
    return -1;
  if (init_parts(t, name, e) < 0)
    return -1;
  if (!kept)
    finish_index(t);
  if (!kept && cache)
    token_cache_save(t->index.block, t->index.size, &source);
  return 0;
}

static struct tokenizer *open_text(const char *name, struct str text,
                                   bool cache, struct err *e)
{
  struct tokenizer *t = mem_new(struct tokenizer);
  struct err own = {0};
  unicode_init(&t->unicode);
  t->added.raw.only = t->added.normalized.only = -1;
  if (open_index(t, name, text, cache, &own) < 0) {
    buf_addstr(&e->text, buf_str(&own.text));
    e->count += own.count;
    tokenizer_free(t);
    t = NULL;
  }
  err_free(&own);
  return t;
}

struct tokenizer *tokenizer_read(const char *name, struct str text,
                                 struct err *e)
{
  return open_text(name, text, false, e);
}

struct tokenizer *tokenizer_open(const char *path, struct err *e)
{
  struct tokenizer *t = NULL;
  struct buf file = {0}, text = {0};
  const char *why;
  struct stat st;
  bool there = stat(path, &st) == 0;
  bool in_folder = there && S_ISDIR(st.st_mode);
  char *in_hub = there ? NULL : hub_find(path, "tokenizer.json");
  buf_adds(&file, in_hub ? in_hub : path);
  if (in_folder)
    buf_adds(&file, "/tokenizer.json");
  mem_free(in_hub);
  if (read_file(buf_cstr(&file), in_folder, &text, e) == 0) {
    why = foreign_file(buf_str(&text));
    if (why)
      err_add(e, "%s: %s", buf_cstr(&file), why);
    else
      t = open_text(buf_cstr(&file), buf_str(&text), true, e);
  }
  buf_free(&text);
  buf_free(&file);
  return t;
}

void tokenizer_free(struct tokenizer *t)
{
  if (!t)
    return;
  added_tokens_deinit(&t->added);
  normalizer_deinit(&t->normalizer);
  pretokenizer_deinit(&t->pretokenizer);
  post_processor_deinit(&t->post);
  token_decoder_deinit(&t->decoder);
  bpe_deinit(&t->bpe);
  wordpiece_deinit(&t->wordpiece);
  mem_free(t->block);
  unicode_deinit(&t->unicode);
  mem_free(t);
}
