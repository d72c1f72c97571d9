/* log.h -- lines on stderr that never tear.
 * A line is written with one write(2). While a live screen is up it registers
 * a hook that clears itself before a line and redraws after it. Thread-safe. */
#ifndef STOKE_BASE_LOG_H
#define STOKE_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/str.h"

/* "stoke: …\n" */
void log_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Each line of a text, without the blanks around it, as a line. */
void log_lines(struct str text);
/* Without the prefix (script output); the newline is added. */
void log_plain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Called with true before and false after each line, under the log's lock.
 * NULL removes it. */
void log_set_screen(void (*hook)(bool before, void *ud), void *ud);
/* Runs fn while no line can be written: how a screen redraws itself. fn must
 * not log. */
void log_exclusive(void (*fn)(void *ud), void *ud);

#endif
