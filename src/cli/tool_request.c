#include "cli/tool_request.h"

#include "base/clock.h"

/* "result-dir" is options.result_dir in Lua. */
static void write_key(struct json_writer *w, struct str name)
{
  struct buf key = {0};
  for (size_t i = 0; i < name.len; i++)
    buf_addc(&key, name.p[i] == '-' ? '_' : name.p[i]);
  json_key_str(w, buf_str(&key));
  buf_free(&key);
}

static void write_items(struct json_writer *w, const struct option_list *l)
{
  json_begin_array(w);
  for (size_t i = 0; i < l->n; i++)
    json_string(w, str_of(l->items[i]));
  json_end_array(w);
}

static void write_row(struct json_writer *w, const struct option *row,
                      const void *at)
{
  if (row->kind == OPTION_STRING && !*(char *const *)at)
    return;
  write_key(w, option_key(row));
  switch (row->kind) {
  case OPTION_BOOLEAN: json_boolean(w, *(const bool *)at); break;
  case OPTION_STRING: json_string(w, str_of(*(char *const *)at)); break;
  case OPTION_NUMBER: json_number(w, *(const double *)at); break;
  case OPTION_COUNT: json_integer(w, (int64_t) * (const uint64_t *)at); break;
  case OPTION_DURATION: json_number(w, ns_to_sec(*(const uint64_t *)at)); break;
  case OPTION_LIST:
  case OPTION_PAIRS: write_items(w, at); break;
  default: json_null(w); break;
  }
}

void tool_request_options(struct json_writer *w, const struct options *o)
{
  json_key(w, "options");
  json_begin_object(w);
  for (size_t i = 0; i < o->spec->n; i++)
    write_row(w, &o->spec->rows[i],
              (const char *)o->dest + o->spec->rows[i].at);
  json_end_object(w);
}

void tool_request_list(struct json_writer *w, const char *key,
                       const struct option_list *l)
{
  json_key(w, key);
  write_items(w, l);
}
