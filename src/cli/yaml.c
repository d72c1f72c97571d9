#include "cli/yaml.h"

#include <yaml.h>

#include "base/json.h"

enum { DEEPEST = 64 };

struct reader {
  yaml_parser_t parser;
  yaml_event_t event;
  struct json_writer w;
  const char *place;
  struct err *e;
};

static int complain(struct reader *r, size_t line, const char *what)
{
  return err_add(r->e, "%s:%zu: %s", r->place, line + 1, what);
}

static int next(struct reader *r)
{
  yaml_event_delete(&r->event);
  if (yaml_parser_parse(&r->parser, &r->event))
    return 0;
  return complain(r, r->parser.problem_mark.line,
                  r->parser.problem ? r->parser.problem : "not YAML");
}

static struct str scalar_text(const yaml_event_t *v)
{
  return (struct str){(const char *)v->data.scalar.value,
                      v->data.scalar.length};
}

/* Exactly what JSON calls a number. */
static bool is_number(struct str s)
{
  json_value *v;
  bool is;
  if (!s.len || (s.p[0] != '-' && (s.p[0] < '0' || s.p[0] > '9')) ||
      (s.len > 1 && s.p[0] == '0' && s.p[1] >= '0' && s.p[1] <= '9'))
    return false;
  v = json_parse(s, NULL);
  is = json_is_number(v);
  json_free(v);
  return is;
}

/* The value of an option stays as it is written: a model may be called 1.0. */
static int write_scalar(struct reader *r, int depth)
{
  struct str s = scalar_text(&r->event);
  bool plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  if (r->event.data.scalar.anchor)
    return complain(r, r->event.start_mark.line, "anchors are not understood");
  if (plain && (!s.len || str_eq(s, STR("~")) || str_eq(s, STR("null"))))
    json_null(&r->w);
  else if (plain && (str_eq(s, STR("true")) || str_eq(s, STR("false"))))
    json_boolean(&r->w, s.p[0] == 't');
  else if (plain && depth > 1 && is_number(s))
    json_raw(&r->w, s);
  else
    json_string(&r->w, s);
  return 0;
}

static int write_node(struct reader *r, int depth);

static int write_sequence(struct reader *r, int depth)
{
  json_begin_array(&r->w);
  for (;;) {
    if (next(r) < 0)
      return -1;
    if (r->event.type == YAML_SEQUENCE_END_EVENT)
      break;
    if (write_node(r, depth + 1) < 0)
      return -1;
  }
  json_end_array(&r->w);
  return 0;
}

static int write_mapping(struct reader *r, int depth)
{
  json_begin_object(&r->w);
  for (;;) {
    if (next(r) < 0)
      return -1;
    if (r->event.type == YAML_MAPPING_END_EVENT)
      break;
    if (r->event.type != YAML_SCALAR_EVENT)
      return complain(r, r->event.start_mark.line, "a key must be a word");
    json_key_str(&r->w, scalar_text(&r->event));
    if (next(r) < 0 || write_node(r, depth + 1) < 0)
      return -1;
  }
  json_end_object(&r->w);
  return 0;
}

/* The event at hand, and all that belongs to it. */
static int write_node(struct reader *r, int depth)
{
  size_t line = r->event.start_mark.line;
  if (depth > DEEPEST)
    return complain(r, line, "nested too deep");
  switch (r->event.type) {
  case YAML_SCALAR_EVENT: return write_scalar(r, depth);
  case YAML_SEQUENCE_START_EVENT:
    if (r->event.data.sequence_start.anchor)
      break;
    return write_sequence(r, depth);
  case YAML_MAPPING_START_EVENT:
    if (r->event.data.mapping_start.anchor)
      break;
    return write_mapping(r, depth);
  default: break;
  }
  return complain(r, line, "anchors and aliases are not understood");
}

static int write_stream(struct reader *r)
{
  if (next(r) < 0 || next(r) < 0)
    return -1;
  if (r->event.type == YAML_STREAM_END_EVENT) { /* nothing but comments */
    json_begin_object(&r->w);
    json_end_object(&r->w);
    return 0;
  }
  if (next(r) < 0 || write_node(r, 0) < 0 || next(r) < 0 || next(r) < 0)
    return -1;
  if (r->event.type != YAML_STREAM_END_EVENT)
    return complain(r, r->event.start_mark.line, "one document is enough");
  return 0;
}

int yaml_to_json(struct str text, const char *place, struct buf *out,
                 struct err *e)
{
  struct reader r = {.w = {.out = out}, .place = place, .e = e};
  int status;
  if (!yaml_parser_initialize(&r.parser))
    return err_add(e, "%s: no memory to read it", place);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.p,
                               text.len);
  status = write_stream(&r);
  yaml_event_delete(&r.event);
  yaml_parser_delete(&r.parser);
  return status;
}
