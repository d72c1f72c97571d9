#include "cli/headers.h"

#include "base/mem.h"

/* RFC 9110's tchar. */
static bool is_token(struct str s)
{
  for (size_t i = 0; i < s.len; i++) {
    char c = s.p[i];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
          (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c))))
      return false;
  }
  return s.len > 0;
}

/* Where the first control character stands, or -1. Tabs are fine. */
static ptrdiff_t find_control(struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 127)
      return (ptrdiff_t)i;
  return -1;
}

/* Their values follow from the body and the connection. */
static bool is_ours(struct str name)
{
  return str_ieq(name, STR("Content-Length")) ||
         str_ieq(name, STR("Transfer-Encoding")) ||
         str_ieq(name, STR("Connection"));
}

int headers_add(struct buf *lines, const char *line, struct err *e)
{
  size_t sign = strcspn(line, ":=");
  struct str name = str_trim((struct str){line, sign}), value;
  if (!line[sign])
    return err_add(e, "--header: must be \"Name: value\" or Name=value");
  value = str_trim(str_of(line + sign + 1));
  if (!is_token(name))
    return err_add(e,
                   "--header: what stands before the \"%c\" is no name of "
                   "a header",
                   line[sign]);
  if (find_control(value) >= 0)
    return err_add(e,
                   "--header %.*s: its value holds a control character (a "
                   "line break?)",
                   STR_ARG(name));
  if (is_ours(name))
    return err_add(e, "--header %.*s: is set by the request itself",
                   STR_ARG(name));
  buf_addf(lines, "%.*s: %.*s\n", STR_ARG(name), STR_ARG(value));
  return 0;
}

bool headers_have(const struct buf *lines, struct str name)
{
  struct str all = buf_str(lines);
  while (all.p) {
    struct str line = str_split(&all, '\n');
    if (line.len > name.len && line.p[name.len] == ':' &&
        str_istarts(line, name))
      return true;
  }
  return false;
}

static bool is_ascii(struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.p[i] > 127)
      return false;
  return true;
}

char *headers_key(const char *text, const char *place, struct buf *notices,
                  struct err *e)
{
  struct str all = str_of(text), s;
  char quote;
  ptrdiff_t at;
  if (str_starts(all, STR("\xef\xbb\xbf"))) { /* of a file on Windows */
    buf_addf(notices, "%s: a byte order mark before the key dropped\n", place);
    all = str_from(all, 3);
  }
  s = str_trim(all);
  if (s.len < all.len)
    buf_addf(notices, "%s: blanks or line breaks around the key dropped\n",
             place);
  if (str_istarts(s, STR("Bearer "))) {
    buf_addf(notices, "%s: \"Bearer\" in front of the key dropped\n", place);
    s = str_trim(str_from(s, 7));
  }
  quote = s.len >= 2 ? s.p[0] : '\0';
  if ((quote == '"' || quote == '\'') && s.p[s.len - 1] == quote) {
    buf_addf(notices, "%s: quotes around the key dropped\n", place);
    s = str_trim((struct str){s.p + 1, s.len - 2});
  }
  if ((at = str_find(s, STR("\t"))) >= 0 || (at = find_control(s)) >= 0) {
    err_add(e,
            "%s: a control character inside the key, after %td characters "
            "(a line break?)",
            place, at);
    return NULL;
  }
  if (s.len == 0)
    return NULL;
  if (memchr(s.p, ' ', s.len))
    buf_addf(notices, "%s: there is a blank inside the key\n", place);
  if (!is_ascii(s))
    buf_addf(notices,
             "%s: there are characters inside the key that no key has (a blank "
             "of another kind?)\n",
             place);
  return mem_strndup(s.p, s.len);
}
