#include "base/outcome.h"

#include <assert.h>

static const struct {
  const char *name, *text;
} outcomes[] = {
#define X(ENUM, name, text) {name, text},
    OUTCOME_LIST(X)
#undef X
};

const char *outcome_name(enum outcome o)
{
  assert(o < OUTCOME_COUNT);
  return outcomes[o].name;
}

const char *outcome_text(enum outcome o)
{
  assert(o < OUTCOME_COUNT);
  return outcomes[o].text;
}
