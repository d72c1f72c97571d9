/* details.h -- every request of a run with its times, kept to be saved.
 * What `--save-detailed` of vLLM holds, and what its definitions of figures
 * need (vllm_figures.h). Workers add to a shard of their own; when they are
 * done, details_sort puts all in the order of ids, which is the data set's.
 * Memory: about 100 bytes a request, 8 an event, and the text. */
#ifndef STOKE_REPORT_DETAILS_H
#define STOKE_REPORT_DETAILS_H

#include "base/buf.h"
#include "base/json.h"
#include "stats/record.h"

struct detail {
  uint64_t id;
  uint64_t sent_ns, end_ns; /* monotonic; end: the last token, else the end */
  bool ok, cancelled;       /* or it failed */
  bool streamed;
  uint64_t queue_ns;
  uint64_t ttft_ns;      /* 0: no token came */
  uint64_t e2el_ns;      /* 0: it failed */
  int64_t input, output; /* tokens; 0 where unknown or failed */
  uint64_t *gaps;        /* between events, ns; owned */
  size_t n_gaps;
  char *text, *error; /* owned; NULL: none */
};

struct details {
  struct details_shard *shards;
  unsigned n_shards;
  bool texts;   /* keep texts too */
  bool hollows; /* events of choices without payload are events as well */
  struct detail *list; /* after details_sort */
  size_t n;
};

/* `texts` and `hollows` may be set afterwards. */
void details_init(struct details *d, unsigned workers);
void details_free(struct details *d);
/* On worker's thread. What is not of the measured phase, or no LLM request,
 * is left out. */
void details_add(struct details *d, unsigned worker, const struct record *r);
/* After the last details_add. */
void details_sort(struct details *d);

/* vLLM's keys, in the two places where it has them: around `latencies`. */
void details_write_lengths(struct json_writer *w, const struct details *d);
void details_write_starts(struct json_writer *w, const struct details *d);
void details_write_texts(struct json_writer *w, const struct details *d);
/* Of answers without text: parts of these. */
void details_write_inputs(struct json_writer *w, const struct details *d);
void details_write_errors(struct json_writer *w, const struct details *d);

#endif
