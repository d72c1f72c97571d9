/* models.h -- which models a server has, asked with the run's key and
 * headers. Blocks; for the time before the load. */
#ifndef STOKE_CLI_MODELS_H
#define STOKE_CLI_MODELS_H

#include "cli/options.h"
#include "base/outcome.h"
#include "core/config.h"

/* What came instead of a list. */
struct models_answer {
  struct buf url;       /* as asked, secrets masked */
  enum outcome outcome; /* OK: an answer, but no list */
  int status;
  char message[320], content_type[96], location[256];
};

/* GET …/v1/models. 0 and the ids (perhaps none) in *out. Else -1, and *what
 * (if given) is the exchange, for a diagnosis. */
int models_list(const struct config *c, struct option_list *out,
                struct models_answer *what);
/* Append its URL: the list is a neighbour of the endpoints. */
void models_url(const struct config *c, struct buf *out);
/* {"data": [{"id": …}, …]}, or the bare array: the ids. 0, or -1: no list. */
int models_read(struct str body, struct option_list *out);

#endif
