#include "script/trace_text.h"

#include "base/rng.h"
#include "script/words.h"

void trace_text(struct buf *out, uint64_t seed, uint64_t id, uint64_t n)
{
  struct rng r;
  rng_init(&r, seed, RNG_DATA, id);
  for (uint64_t i = 0; i < n && !out->toobig; i++) {
    if (out->len)
      buf_addc(out, ' ');
    buf_adds(out, words[rng_below(&r, words_count)]);
  }
}
