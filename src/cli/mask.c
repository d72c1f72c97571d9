#include "cli/mask.h"

#include "base/mem.h"

static bool contains(struct str s, const char *word)
{
  struct str w = str_of(word);
  for (size_t i = 0; i + w.len <= s.len; i++)
    if (str_istarts((struct str){s.p + i, s.len - i}, w))
      return true;
  return false;
}

static bool contains_any(struct str s, const char *const *words)
{
  for (; *words; words++)
    if (contains(s, *words))
      return true;
  return false;
}

bool mask_is_secret_header(struct str name)
{
  static const char *const words[] = {"auth",     "cookie", "key",  "token",
                                      "password", "secret", "sign", NULL};
  return contains_any(name, words);
}

/* "a=1&api_key=xyz": the values of fields that sound secret. */
static void mask_query(struct buf *out, struct str query)
{
  static const char *const words[] = {"key",      "token",  "auth",
                                      "password", "secret", "sig",
                                      "passwd",   "code",   NULL};
  bool first = true;
  while (query.p) {
    struct str value = str_split(&query, '&');
    struct str name = str_split(&value, '=');
    buf_addf(out, "%s%.*s", first ? "" : "&", STR_ARG(name));
    first = false;
    if (!value.p)
      continue;
    buf_addc(out, '=');
    buf_addstr(out, contains_any(name, words) ? STR(MASK) : value);
  }
}

void mask_url(struct buf *out, struct str url)
{
  ptrdiff_t scheme = str_find(url, STR("://"));
  size_t start = scheme >= 0 ? (size_t)scheme + 3 : 0, end = start, query;
  struct str rest;
  while (end < url.len && !strchr("/?#", url.p[end]))
    end++;
  buf_add(out, url.p, start);
  /* The last '@' before the path ends the user's part. */
  for (size_t i = end; i > start; i--) {
    if (url.p[i - 1] == '@') {
      buf_adds(out, MASK "@");
      start = i;
      break;
    }
  }
  for (query = end; query < url.len && url.p[query] != '?';)
    query++;
  buf_add(out, url.p + start, query - start);
  if (query == url.len)
    return;
  buf_addc(out, '?');
  rest = (struct str){url.p + query + 1, url.len - query - 1};
  mask_query(out, rest);
}

/* "Authorization: Bearer x" or "Authorization=Bearer x" */
static void mask_header(struct buf *out, struct str line)
{
  size_t i = 0;
  while (i < line.len && line.p[i] != ':' && line.p[i] != '=')
    i++;
  if (i < line.len && mask_is_secret_header((struct str){line.p, i}))
    buf_addf(out, "%.*s%s", (int)i, line.p,
             line.p[i] == ':' ? ": " MASK : "=" MASK);
  else
    buf_addstr(out, line);
}

void mask_value(struct buf *out, const struct option *row, const char *value)
{
  struct str s = str_of(value), key = row ? option_key(row) : STR("");
  if (row && row->secret)
    buf_adds(out, MASK);
  else if (str_eq(key, STR("header")))
    mask_header(out, s);
  else if (str_eq(key, STR("url")) || str_find(s, STR("://")) >= 0)
    mask_url(out, s);
  else
    buf_addstr(out, s);
}

static void replace(struct buf *text, struct str secret)
{
  struct buf out = {0};
  struct str rest = buf_str(text);
  ptrdiff_t at;
  if (secret.len < 6 || str_find(rest, secret) < 0)
    return;
  while ((at = str_find(rest, secret)) >= 0) {
    buf_add(&out, rest.p, (size_t)at);
    buf_adds(&out, MASK);
    rest = (struct str){rest.p + at + secret.len,
                        rest.len - (size_t)at - secret.len};
  }
  buf_addstr(&out, rest);
  buf_free(text);
  *text = out;
}

void mask_known(struct buf *text, const struct option_list *secrets)
{
  for (size_t i = 0; i < secrets->n; i++)
    replace(text, str_of(secrets->items[i]));
}

/* As a shell would need it. */
static void quote(struct buf *out, struct str s)
{
  bool plain = s.len > 0;
  for (size_t i = 0; i < s.len; i++) {
    char c = s.p[i];
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9') || strchr("-_=./:,@%+", c));
  }
  if (plain) {
    buf_addstr(out, s);
    return;
  }
  buf_addc(out, '\'');
  for (size_t i = 0; i < s.len; i++)
    if (s.p[i] == '\'')
      buf_adds(out, "'\\''");
    else
      buf_addc(out, s.p[i]);
  buf_addc(out, '\'');
}

char *mask_command(const struct options_spec *spec, int argc,
                   char *const argv[], const struct option_list *secrets)
{
  struct buf out = {0};
  const struct option *pending = NULL; /* the next argument is its value */
  buf_adds(&out, spec->program);
  for (int i = 0; i < argc; i++) {
    struct buf word = {0};
    const char *value = NULL;
    const struct option *row;
    /* A list may have several values; the next option ends it. */
    if (pending && pending->many && argv[i][0] == '-')
      pending = NULL;
    row = pending ? NULL : options_match(spec, argv[i], &value);
    if (!pending && row && value)
      buf_add(&word, argv[i], (size_t)(value - argv[i]));
    if (pending || value || !row)
      mask_value(&word, pending ? pending : row, value ? value : argv[i]);
    else
      buf_adds(&word, argv[i]);
    if (!pending || !pending->many)
      pending = row && (row->many || (!value && row->kind != OPTION_BOOLEAN))
                    ? row
                    : NULL;
    mask_known(&word, secrets);
    buf_addc(&out, ' ');
    quote(&out, buf_str(&word));
    buf_free(&word);
  }
  return buf_take(&out);
}
