/* pack.h -- a scenario in one file that can be handed on.
 * A pack is a .tar.gz: manifest.json first, then the script, the modules that
 * it requires and its data. The manifest names every file with its SHA-256;
 * data that is too large to travel is in it with its sum alone, and must lie
 * beside the pack when that is run. The same content makes the same bytes.
 *
 * What is read is not trusted: names that climb, links, devices, too many or
 * too large files, and content that the manifest does not know are refused
 * before anything of it runs. */
#ifndef STOKE_SCRIPT_PACK_H
#define STOKE_SCRIPT_PACK_H

#include "base/err.h"
#include "script/scenario.h"

/* Data beyond this stays outside, unless with_data. */
#define PACK_DATA_MAX (UINT64_C(8) << 20)

/* One file of a pack. */
struct pack_file {
  char *name;   /* in the pack: "init.lua", "data/prompts.txt" */
  char *source; /* where it is read from; NULL: `text` */
  const char *text;
  uint64_t bytes;
  char sha256[65];
  bool data, included;
  char *parameter; /* whose value it is; NULL: none's */
};

struct pack_files {
  struct pack_file *list; /* sorted by name */
  size_t n;
};

struct pack_options {
  const char *const *settings; /* "name=value" to travel along */
  size_t n_settings;
  bool with_data;     /* however large it is */
  const char *secret; /* must not be in any file; NULL: nothing known */
};

/* ---- making one ---- */

/* All that belongs to a scenario: of a folder with init.lua (or of a pack)
 * every file but hidden ones and packs; of a single script what it has loaded,
 * what it requires and the files in its folder that its text names. Files that
 * path settings point to come along as data. 0, or -1 with messages; free in
 * both cases. */
int pack_collect(const struct scenario *s, const struct pack_options *o,
                 struct pack_files *out, struct err *e);
void pack_files_free(struct pack_files *f);
/* Write them to `path`, which must not exist unless `force`. `sha256` gets the
 * sum of the file. 0, or -1 and a message; nothing is left behind then. */
int pack_write(const struct scenario *s, const struct pack_options *o,
               const struct pack_files *f, const char *path, bool force,
               char sha256[65], struct err *e);

/* ---- running one ---- */

struct pack {
  char *path;      /* of the pack */
  char *folder;    /* where it was unpacked; removed by pack_close */
  char *name;      /* the scenario's */
  char *entry;     /* "init.lua" */
  char sha256[65]; /* of the pack itself */
  json_value *manifest;
};

/* Is this the name of a pack? (NAME.tar.gz, NAME.tgz) */
bool pack_is_name(struct str path);
/* May this be the name of a file in a pack? Relative, downwards, printable, no
 * longer than 512 bytes: "a/b.txt". */
bool pack_is_good_name(const char *name);
/* Unpack into a private folder and check every sum; `sha256` (or NULL) is what
 * the pack itself must hash to. NULL and messages when it is not good. */
struct pack *pack_open(const char *path, const char *sha256, struct err *e);
/* Apply the settings that travelled along, but for those which the user's own
 * `settings` replace, and complain of data that is not there. */
void pack_preset(const struct pack *p, struct scenario *s,
                 const char *const *settings, size_t n, struct err *e);
/* NULL is fine. */
void pack_close(struct pack *p);

/* ---- pack_source.c: what a script's text names ---- */

/* Every string of one line without escapes in Lua source, in order;
 * `required`: it is what `require` is called with. */
typedef void pack_string_cb(struct str text, bool required, void *ud);
void pack_strings(struct str source, pack_string_cb *each, void *ud);

#endif
