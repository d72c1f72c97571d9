#include "script/luajit.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void *allocate(void *ud, void *p, size_t old_size, size_t size)
{
  (void)ud, (void)old_size;
  if (size)
    return mem_resize(p, size, 1);
  mem_free(p);
  return NULL;
}

/* On 64 bits only a GC64 build takes another allocator than its own: the
 * others keep their heap in the low 2 GB. */
static bool is_gc64(void)
{
  lua_State *L = lua_newstate(allocate, NULL);
  if (!L)
    return false;
  lua_close(L);
  return true;
}

const char *luajit_version(char out[64])
{
  lua_State *L = luaL_newstate();
  const char *version = "LuaJIT";
  if (L) {
    luaL_openlibs(L);
    lua_getglobal(L, "jit");
    if (lua_istable(L, -1))
      lua_getfield(L, -1, "version");
    version = lua_tostring(L, -1) ? lua_tostring(L, -1) : version;
  }
  snprintf(out, 64, "%s%s", version, is_gc64() ? " (GC64)" : "");
  if (L)
    lua_close(L);
  return out;
}

/* 2.0.x and the first betas of 2.1; the releases after them are "2.1.<date>".
 */
static bool is_old(const char *version)
{
  int major = 0, minor = 0, beta = 0;
  if (sscanf(version, "LuaJIT %d.%d.0-beta%d", &major, &minor, &beta) < 2)
    return false;
  return major < 2 || (major == 2 && minor < 1) ||
         (major == 2 && minor == 1 && beta > 0 && beta < 3);
}

const char *luajit_warning(const char *version)
{
  if (is_old(version))
    return "this LuaJIT is older than 2.1.0-beta3: it can crash on large "
           "heaps";
  if (!strstr(version, "GC64"))
    return "this LuaJIT has no GC64: all scripts together have 2 GB, and "
           "--lua-memory does not work";
  return NULL;
}
