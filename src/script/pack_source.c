#include "script/pack.h"

/* A reader of Lua that knows comments, strings and names, and no more. */

struct lexer {
  struct str rest;
  bool required; /* the last word was `require`, perhaps with a bracket */
};

static char peek(const struct lexer *l, size_t i)
{
  return i < l->rest.len ? l->rest.p[i] : '\0';
}

static void skip(struct lexer *l, size_t n)
{
  n = n < l->rest.len ? n : l->rest.len;
  l->rest = (struct str){l->rest.p + n, l->rest.len - n};
}

/* [[ … ]] or [==[ … ]==]; false when there is none here. */
static bool skip_long(struct lexer *l)
{
  size_t level = 0, at;
  while (peek(l, 1 + level) == '=')
    level++;
  if (peek(l, 0) != '[' || peek(l, 1 + level) != '[')
    return false;
  for (at = level + 2; at < l->rest.len; at++) {
    size_t n = 0;
    if (peek(l, at) != ']')
      continue;
    while (n < level && peek(l, at + 1 + n) == '=')
      n++;
    if (n == level && peek(l, at + 1 + n) == ']')
      break;
  }
  skip(l, at + level + 2);
  return true;
}

static void skip_comment(struct lexer *l)
{
  skip(l, 2);
  if (skip_long(l))
    return;
  while (l->rest.len && peek(l, 0) != '\n')
    skip(l, 1);
}

static void read_string(struct lexer *l, pack_string_cb *each, void *ud)
{
  char quote = peek(l, 0);
  size_t n = 1;
  bool plain = true;
  while (n < l->rest.len && peek(l, n) != quote && peek(l, n) != '\n') {
    plain = plain && peek(l, n) != '\\';
    n += peek(l, n) == '\\' ? 2 : 1;
  }
  if (plain && n > 1 && peek(l, n) == quote)
    each((struct str){l->rest.p + 1, n - 1}, l->required, ud);
  skip(l, n + 1);
}

static bool is_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

static void read_word(struct lexer *l)
{
  size_t n = 1;
  while (is_word(peek(l, n)))
    n++;
  l->required = str_eq((struct str){l->rest.p, n}, STR("require"));
  skip(l, n);
}

void pack_strings(struct str source, pack_string_cb *each, void *ud)
{
  struct lexer l = {.rest = source};
  while (l.rest.len) {
    char c = peek(&l, 0);
    if (is_word(c)) {
      read_word(&l);
      continue;
    }
    if (c == '-' && peek(&l, 1) == '-') {
      skip_comment(&l);
    } else if (c == '"' || c == '\'') {
      read_string(&l, each, ud);
      l.required = false;
    } else if (c == '[' && skip_long(&l)) {
      l.required = false;
    } else {
      l.required = l.required && (c == '(' || strchr(" \t\r\n", c));
      skip(&l, 1);
    }
  }
}
