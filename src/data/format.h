/* format.h -- the kinds of data files. How the bytes are cut into rows
 * (container) and what a row means (format) are two questions: ShareGPT comes
 * as one JSON array and as JSON Lines. */
#ifndef STOKE_DATA_FORMAT_H
#define STOKE_DATA_FORMAT_H

#include <stdbool.h>

#include "base/str.h"

/* X(ENUM, "name") */
#define DATA_FORMAT_LIST(X)                                                    \
  X(LINES, "lines")                                                            \
  X(JSONL, "jsonl")                                                            \
  X(JSON, "json")                                                              \
  X(CSV, "csv")                                                                \
  X(SHAREGPT, "sharegpt")                                                      \
  X(MOONCAKE, "mooncake")                                                      \
  X(AZURE, "azure")                                                            \
  X(BURSTGPT, "burstgpt")                                                      \
  X(RUN, "requests-out")                                                       \
  X(BATCH, "openai-batch")

enum data_format {
  DATA_GUESS,
#define X(ENUM, name) DATA_##ENUM,
  DATA_FORMAT_LIST(X)
#undef X
};

enum data_container {
  CONTAINER_LINES, /* text, a row a line */
  CONTAINER_JSONL, /* a JSON value a line */
  CONTAINER_ARRAY, /* one JSON array; its elements are the rows */
  CONTAINER_CSV,
};

/* -1 for an unknown name. */
int data_format_find(struct str name, enum data_format *out);
const char *data_format_name(enum data_format f);
/* "lines, jsonl, …" */
const char *data_format_names(void);
/* Rows have a time, and lengths instead of text. */
bool data_format_is_trace(enum data_format f);
/* From what the user said, the file's name and its first bytes (without mark
 * of encoding). DATA_GUESS is decided where these tell, else it stays. */
enum data_container data_container(enum data_format *f, struct str path,
                                   struct str head);

#endif
