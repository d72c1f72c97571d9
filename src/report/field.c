#include "report/field.h"

#include <stdio.h>

void field_text(struct json_writer *w, const char *key, const char *value)
{
  json_key(w, key);
  if (value)
    json_string(w, str_of(value));
  else
    json_null(w);
}

void field_number(struct json_writer *w, const char *key, double x)
{
  json_key(w, key);
  json_number(w, x);
}

void field_positive(struct json_writer *w, const char *key, double x)
{
  field_number(w, key, x > 0 ? x : NAN);
}

void field_count(struct json_writer *w, const char *key, uint64_t n)
{
  char text[24];
  int len = snprintf(text, sizeof text, "%llu", (unsigned long long)n);
  json_key(w, key);
  json_raw(w, (struct str){text, (size_t)len});
}

void field_some(struct json_writer *w, const char *key, uint64_t n)
{
  if (n)
    field_count(w, key, n);
  else
    field_text(w, key, NULL);
}

void field_known(struct json_writer *w, const char *key, int64_t n)
{
  json_key(w, key);
  if (n < 0)
    json_null(w);
  else
    json_integer(w, n);
}

void field_boolean(struct json_writer *w, const char *key, bool x)
{
  json_key(w, key);
  json_boolean(w, x);
}

void field_raw(struct json_writer *w, const char *key, const char *json,
               const char *otherwise)
{
  json_key(w, key);
  json_raw(w, str_of(json ? json : otherwise));
}

void field_object(struct json_writer *w, const char *key)
{
  json_key(w, key);
  json_begin_object(w);
}

void field_array(struct json_writer *w, const char *key)
{
  json_key(w, key);
  json_begin_array(w);
}
