#include "mock/form.h"

#include "base/json.h"

struct part {
  struct str name, file, type, content;
  bool is_file;
};

/* What stands before `mark`, which is taken off as well; false without one. */
static bool take(struct str *s, struct str mark, struct str *before)
{
  ptrdiff_t at = str_find(*s, mark);
  if (at < 0)
    return false;
  *before = (struct str){s->p, (size_t)at};
  *s = str_from(*s, (size_t)at + mark.len);
  return true;
}

/* A parameter of a header, with or without quotes; empty without one. */
static struct str parameter(struct str line, struct str name, bool *there)
{
  struct str key, value = {NULL, 0};
  *there = false;
  str_split(&line, ';');
  while (line.len) {
    struct str item = str_trim(str_split(&line, ';'));
    key = str_trim(str_split(&item, '='));
    if (!str_ieq(key, name))
      continue;
    *there = true;
    value = str_trim(item);
    if (value.len >= 2 && value.p[0] == '"')
      value = (struct str){value.p + 1, value.len - 2};
  }
  return value;
}

static void read_header(struct part *p, struct str line)
{
  struct str name = str_trim(str_split(&line, ':'));
  bool there;
  if (str_ieq(name, STR("content-type")))
    p->type = str_trim(line);
  if (!str_ieq(name, STR("content-disposition")))
    return;
  p->name = parameter(line, STR("name"), &there);
  p->file = parameter(line, STR("filename"), &p->is_file);
}

static bool read_part(struct part *p, struct str text)
{
  struct str head, line;
  *p = (struct part){.is_file = false};
  if (!take(&text, STR("\r\n\r\n"), &head))
    return false;
  p->content = text;
  while (take(&head, STR("\r\n"), &line))
    read_header(p, line);
  read_header(p, head);
  return p->name.len > 0;
}

/* ---- as JSON ---- */

static bool is_python(struct str s)
{
  return str_eq(s, STR("True")) || str_eq(s, STR("False"));
}

static void write_text(struct json_writer *w, struct str s)
{
  json_value *v = json_parse(s, NULL);
  if (is_python(s))
    json_boolean(w, str_eq(s, STR("True")));
  else if (json_is_number(v) || json_is_boolean(v) || json_is_object(v))
    json_raw(w, s);
  else
    json_string(w, s);
  json_free(v);
}

static void write_file(struct json_writer *w, const struct part *p)
{
  json_begin_object(w);
  json_key(w, "name");
  json_string(w, p->file);
  json_key(w, "type");
  json_string(w, p->type);
  json_key(w, "bytes");
  json_integer(w, (int64_t)p->content.len);
  json_end_object(w);
}

static bool write_parts(struct json_writer *w, struct str body, struct str line)
{
  struct str text;
  struct part p;
  while (take(&body, line, &text)) {
    if (!read_part(&p, text))
      return false;
    json_key_str(w, p.name);
    if (p.is_file)
      write_file(w, &p);
    else
      write_text(w, p.content);
    if (str_starts(body, STR("--")))
      return true;
    if (!str_starts(body, STR("\r\n")))
      return false;
    body = str_from(body, 2);
  }
  return false;
}

int mock_form_json(struct str content_type, struct str body, struct buf *out)
{
  struct buf line = {0};
  struct json_writer w = {.out = out};
  struct str first;
  bool fine = false, there;
  struct str boundary = parameter(content_type, STR("boundary"), &there);
  buf_adds(&line, "\r\n--");
  buf_addstr(&line, boundary);
  first = str_from(buf_str(&line), 2); /* the first has no line before it */
  if (boundary.len && str_starts(body, first) &&
      str_starts(str_from(body, first.len), STR("\r\n"))) {
    json_begin_object(&w);
    fine = write_parts(&w, str_from(body, first.len + 2), buf_str(&line));
    json_end_object(&w);
  }
  buf_free(&line);
  return fine ? 0 : -1;
}
