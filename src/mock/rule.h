/* rule.h -- a plan for some of the requests: each n-th, or a random share. */
#ifndef STOKE_MOCK_RULE_H
#define STOKE_MOCK_RULE_H

#include "mock/plan.h"

struct mock_rule {
  struct str specs;            /* borrowed from the text that was parsed */
  uint64_t first, last, every; /* 1-based numbers; every 0: each of them */
  double share;                /* of those, drawn by (seed, number) */
};

/* "SPECS[@WHEN]", WHEN one of `3` (the third only), `2-5`, `3+`, `/4` (every
 * fourth), `5%`. Returns 0, or -1 and a message. */
int mock_rule_parse(struct str text, struct mock_rule *out, struct err *e);
bool mock_rule_matches(const struct mock_rule *r, uint64_t number,
                       uint64_t seed);

#endif
