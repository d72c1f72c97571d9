/* diagnose.h -- what an answer to a trial request means, and what to do.
 * Pure: from what was asked and what came back to words and a verdict. The
 * words are for people who cannot see the server. */
#ifndef STOKE_CLI_DIAGNOSE_H
#define STOKE_CLI_DIAGNOSE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/outcome.h"
#include "cli/options.h"

enum diagnosis {
  DIAGNOSIS_FINE,     /* it works */
  DIAGNOSIS_DOUBTFUL, /* this one failed; others may not */
  DIAGNOSIS_HOPELESS, /* what failed here fails for every request */
};

/* What was asked, and what came back. Strings are borrowed, "" for none. */
struct trial {
  const char *method;   /* NULL: POST */
  const char *url;      /* as sent, secrets masked */
  const char *api;      /* "chat", …: a backend; NULL for anything else */
  bool pooling;         /* its answers have no text (embeddings) */
  const char *model;    /* NULL: none named */
  const char *key_from; /* where the key came from, or NULL: none was sent */
  const char *proxy;    /* name of a proxy variable that applies, or NULL */
  bool default_url;     /* nobody said --url */
  bool stream_asked;

  enum outcome outcome;
  int status; /* 0: no HTTP answer */
  const char *message, *content_type, *location;
  bool streamed, hung_up;
  int64_t usage; /* completion tokens, -1: not told */
  /* What GET /v1/models lists; NULL: not asked, or it does not. */
  const struct option_list *models;
};

/* Would a list of models help to explain this? */
bool diagnose_wants_models(const struct trial *t);
/* Lines about the trial, each ending in a newline: what happened, then what
 * to do about it. Nothing when all is well. */
enum diagnosis diagnose(const struct trial *t, struct buf *lines);
/* Write them on stderr, each behind `prefix`; `secrets` are masked first. */
void diagnosis_say(const char *prefix, struct buf *lines,
                   const struct option_list *secrets);

#endif
