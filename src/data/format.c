#include "data/format.h"

static const char *const names[] = {NULL,
#define X(ENUM, name) name,
                                    DATA_FORMAT_LIST(X)
#undef X
};

int data_format_find(struct str name, enum data_format *out)
{
  for (size_t i = 1; i < sizeof names / sizeof *names; i++)
    if (str_eq(name, str_of(names[i]))) {
      *out = (enum data_format)i;
      return 0;
    }
  return -1;
}

const char *data_format_name(enum data_format f)
{
  return f == DATA_GUESS ? "unknown" : names[f];
}

const char *data_format_names(void)
{
#define X(ENUM, name) ", " name
  return &(DATA_FORMAT_LIST(X))[2];
#undef X
}

bool data_format_is_trace(enum data_format f)
{
  return f == DATA_MOONCAKE || f == DATA_AZURE || f == DATA_BURSTGPT ||
         f == DATA_RUN;
}

static bool named(struct str path, struct str extension)
{
  return path.len >= extension.len &&
         str_ieq((struct str){path.p + path.len - extension.len, extension.len},
                 extension);
}

static bool is_csv(struct str path, struct str head)
{
  struct str line = str_split(&head, '\n');
  return named(path, STR(".csv")) || named(path, STR(".tsv")) ||
         str_starts(line, STR("TIMESTAMP,ContextTokens,")) ||
         str_starts(line, STR("Timestamp,Model,Request tokens,"));
}

static enum data_container json_container(struct str head)
{
  head = str_trim(head);
  return head.len && head.p[0] == '[' ? CONTAINER_ARRAY : CONTAINER_JSONL;
}

enum data_container data_container(enum data_format *f, struct str path,
                                   struct str head)
{
  struct str first = str_trim(head);
  switch (*f) {
  case DATA_LINES: return CONTAINER_LINES;
  case DATA_JSONL: return CONTAINER_JSONL;
  case DATA_JSON: return CONTAINER_ARRAY;
  case DATA_CSV:
  case DATA_AZURE:
  case DATA_BURSTGPT: return CONTAINER_CSV;
  case DATA_SHAREGPT:
  case DATA_MOONCAKE:
  case DATA_RUN:
  case DATA_BATCH: return json_container(head);
  case DATA_GUESS: break;
  }
  if (is_csv(path, head))
    return CONTAINER_CSV;
  if (!named(path, STR(".txt")) && first.len &&
      (first.p[0] == '{' || first.p[0] == '[' || first.p[0] == '"' ||
       named(path, STR(".json")) || named(path, STR(".jsonl"))))
    return json_container(head);
  *f = DATA_LINES;
  return CONTAINER_LINES;
}
