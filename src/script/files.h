/* files.h -- which files a script may see, and their text. */
#ifndef STOKE_SCRIPT_FILES_H
#define STOKE_SCRIPT_FILES_H

#include "base/buf.h"

enum { FILES_MAX_BYTES = 64 << 20 };

/* The absolute path without links, owned by the caller; NULL when there is no
 * such file. */
char *files_real(const char *path);
/* "folder/name", owned by the caller. */
char *files_join(const char *folder, const char *name);
/* `real` is `folder`, or in it however deep; both are real paths. */
bool files_inside(const char *real, const char *folder);
bool files_is_folder(const char *path);
bool files_is_file(const char *path);
/* Open a regular file to be read. Its descriptor, or -1 and the reason in
 * `why` (without the path). */
int files_open(const char *path, char why[128]);
/* Append the text of a regular file of at most FILES_MAX_BYTES. 0, or -1 and
 * the reason in `why` (without the path). */
int files_read(const char *path, struct buf *out, char why[128]);
/* Its first bytes, `most` or fewer, of a file that files_read would take. */
int files_peek(const char *path, size_t most, struct buf *out, char why[128]);

#endif
