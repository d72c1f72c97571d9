#include "cli/stage_text.h"

#include <stdio.h>

/* Whose value a word without "=" is. */
static const char *key_of_value(struct str word)
{
  static const char *const words[][2] = {
      {"poisson", "arrival"}, {"constant", "arrival"},  {"gamma", "arrival"},
      {"linear", "shape"},    {"exponential", "shape"}, {"step", "shape"},
      {"drop", "overflow"},   {"queue", "overflow"},
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (str_eq(word, str_of(words[i][0])))
      return words[i][1];
  return "duration";
}

/* "max-concurrency", "c" -> "max_concurrency". */
static void key_of_name(struct str name, char key[40])
{
  static const char *const names[][2] = {
      {"rate", "request_rate"},
      {"c", "max_concurrency"},
      {"concurrency", "max_concurrency"},
      {"n", "num_requests"},
  };
  snprintf(key, 40, "%.*s", STR_ARG(name));
  for (char *c = key; *c; c++)
    *c = *c == '-' ? '_' : *c;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i][0], key) == 0)
      snprintf(key, 40, "%s", names[i][1]);
}

static void word(struct json_writer *w, struct str word)
{
  struct str value = word, name = str_split(&value, '=');
  ptrdiff_t dots;
  char key[40];
  if (!value.p) {
    json_key(w, key_of_value(word));
    json_string(w, word);
    return;
  }
  key_of_name(name, key);
  json_key(w, key);
  dots = str_find(value, STR(".."));
  if (dots < 0 || strcmp(key, "label") == 0) {
    json_string(w, value);
    return;
  }
  json_begin_array(w);
  json_string(w, (struct str){value.p, (size_t)dots});
  json_string(w,
              (struct str){value.p + dots + 2, value.len - (size_t)dots - 2});
  json_end_array(w);
}

json_value *stage_text_read(const char *text)
{
  struct buf json = {0};
  struct json_writer w = {.out = &json};
  struct str rest = str_trim(str_of(text));
  json_value *v;
  json_begin_object(&w);
  while (rest.p) {
    struct str one = str_trim(str_split(&rest, ' '));
    if (one.len)
      word(&w, one);
  }
  json_end_object(&w);
  v = json_parse(buf_str(&json), NULL);
  buf_free(&json);
  return v;
}
