/* embed.h -- the Lua files that are part of the program.
 * src/script/embed.lua writes them into one C file when the program is built,
 * as source: bytecode would tie it to one LuaJIT and lose the lines. */
#ifndef STOKE_SCRIPT_EMBED_H
#define STOKE_SCRIPT_EMBED_H

#include <stddef.h>

struct embedded {
  const char *path; /* "lua/stoke/scenario.lua", "scenarios/chat.lua" */
  const char *source;
  size_t len;
};

/* Sorted by path; in the generated file. */
extern const struct embedded embedded_files[];
extern const size_t embedded_count;

/* NULL when there is none. */
const struct embedded *embed_find(const char *path);

#endif
