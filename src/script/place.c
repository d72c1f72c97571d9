#include "script/place.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "script/vm_impl.h"

void place_key(struct place *p, const char *key)
{
  p->steps[p->depth++].key = key;
}

void place_index(struct place *p, double index)
{
  p->steps[p->depth].key = NULL;
  p->steps[p->depth++].index = index;
}

void place_leave(struct place *p)
{
  p->depth--;
}

int place_error(struct place *p, const char *fmt, ...)
{
  enum { SIZE = 256 };
  size_t n = (size_t)snprintf(p->why, SIZE, "%s", p->name);
  va_list ap;
  for (size_t i = 0; i < p->depth && n < SIZE; i++) {
    if (p->steps[i].key)
      n += (size_t)snprintf(p->why + n, SIZE - n, ".%.40s", p->steps[i].key);
    else
      n += (size_t)snprintf(p->why + n, SIZE - n, "[%.14g]", p->steps[i].index);
    /* A nest that holds itself would repeat its key to the end. */
    if (i == 5 && p->depth > 8) {
      i = p->depth - 2;
      if (n < SIZE)
        n += (size_t)snprintf(p->why + n, SIZE - n, "…");
    }
  }
  if (n + 2 < SIZE) {
    p->why[n++] = ' ';
    va_start(ap, fmt);
    vsnprintf(p->why + n, SIZE - n, fmt, ap);
    va_end(ap);
  }
  return -1;
}

bool place_overflows(struct place *p, const struct vm *vm,
                     const struct buf *out)
{
  if (out->len <= vm->memory_max)
    return false;
  place_error(p,
              "makes it larger than the memory of a script (%zu MiB; see "
              "--lua-memory)",
              vm->memory_max >> 20);
  return true;
}
