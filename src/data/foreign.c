#include "data/foreign.h"

/* Every other byte of the first four is 0: Latin letters in UTF-16 without its
 * mark. `zero` is the first of these bytes. */
static bool every_other(struct str head, size_t zero)
{
  if (head.len < 4)
    return false;
  for (size_t i = 0; i < 4; i++)
    if ((head.p[i] == '\0') != (i % 2 == zero))
      return false;
  return true;
}

const char *foreign_file(struct str head)
{
  static const struct {
    struct str magic;
    const char *what;
  } kinds[] = {
      {{"\xff\xfe\0\0", 4}, "is UTF-32 (little endian): save it as UTF-8"},
      {{"\0\0\xfe\xff", 4}, "is UTF-32 (big endian): save it as UTF-8"},
      {{"\xff\xfe", 2}, "is UTF-16 (little endian): save it as UTF-8"},
      {{"\xfe\xff", 2}, "is UTF-16 (big endian): save it as UTF-8"},
      {{"\x1f\x8b", 2}, "is compressed (gzip): unpack it first"},
      {{"\x28\xb5\x2f\xfd", 4}, "is compressed (zstd): unpack it first"},
      {{"BZh9", 4}, "is compressed (bzip2): unpack it first"},
      {{"\xfd"
        "7zXZ",
        5},
       "is compressed (xz): unpack it first"},
      {{"PK\x03\x04", 4}, "is a zip archive: unpack it first"},
      {{"PAR1", 4},
       "is a Parquet file: convert it to JSON Lines "
       "(contrib/parquet_to_jsonl.py)"},
      {{"ARROW1", 6}, "is an Arrow file: convert it to JSON Lines"},
      {{"%PDF-", 5}, "is a PDF: save it as text"},
      {{"version https://git-lfs", 23},
       "is a Git LFS pointer, not the file itself: git lfs pull"},
      {{"<!DOCTYPE html", 14},
       "is a web page, not the file itself: download it again"},
      {{"<!doctype html", 14},
       "is a web page, not the file itself: download it again"},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (str_starts(head, kinds[i].magic))
      return kinds[i].what;
  if (every_other(head, 1))
    return "is UTF-16 (little endian, without its mark): save it as UTF-8";
  if (every_other(head, 0))
    return "is UTF-16 (big endian, without its mark): save it as UTF-8";
  return NULL;
}

const char *foreign_lines(struct str head)
{
  struct str text = str_trim(head);
  if (!text.len || !memchr(text.p, '\r', text.len) ||
      memchr(head.p, '\n', head.len))
    return NULL;
  return "its lines end in CR alone: turn them into LF (tr '\\r' '\\n')";
}
