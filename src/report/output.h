/* output.h -- files that hold results: never half-written, never lost.
 * "-" is the standard output everywhere. */
#ifndef STOKE_REPORT_OUTPUT_H
#define STOKE_REPORT_OUTPUT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* Before the run: can `path` be written at its end? Checks the folder (which
 * must exist), that nothing is there already unless `force`, and that a file
 * can be made and filled beside it. Leaves nothing behind. 0, or -1 and a
 * message. */
int output_check(const char *path, bool force, struct err *e);
/* Write all of `text` to a temporary file beside `path`, sync, rename. An
 * existing file is kept, and -1 returned, unless `force`. What is not a
 * regular file (/dev/null, a pipe) is written to directly. On failure `path`
 * is as it was. */
int output_save(const char *path, bool force, struct str text, struct err *e);
/* output_save; when that fails, the text goes to the standard output, so that
 * nothing is lost. -1 and a message then: end with a status that is not 0. */
int output_save_or_print(const char *path, bool force, struct str text,
                         struct err *e);
/* Append one line (a newline is added when missing) to `path` in one write,
 * synced. When the file's last line was cut off by a killed run, a newline
 * goes first, so that only that line is lost. */
int output_append(const char *path, struct str line, struct err *e);

/* vLLM's default file name (no folder):
 *   {prefix}-{rate}qps[-concurrency{N}]-{model}-{YYYYmmdd-HHMMSS}.json
 * with only the model's last path part and nothing in it that could leave the
 * folder. Rate INFINITY: "infqps". Free with mem_free. */
char *output_name(const char *prefix, double rate, unsigned long long cap,
                  const char *model, unsigned long long wall_ns);

/* The same of a ramp:
 *   {label}-ramp-up-{shape}-{from}qps-{to}qps[-concurrency{N}]-… */
char *output_name_ramp(const char *label, const char *shape, double from,
                       double to, unsigned long long cap, const char *model,
                       unsigned long long wall_ns);

#endif
