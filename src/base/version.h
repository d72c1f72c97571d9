/* version.h -- which stoke this is: what `git describe` said at build time.
 * The Makefile writes its .c, so that a new commit recompiles one file. */
#ifndef STOKE_BASE_VERSION_H
#define STOKE_BASE_VERSION_H

extern const char stoke_version[];

#endif
