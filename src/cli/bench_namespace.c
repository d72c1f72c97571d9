/* vLLM's first line: Namespace(…), as Python prints it. */
#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/bench_flags.h"
#include "cli/mask.h"

/* n: of the UTF-8 sequence; 0: it is none, and then Python has a surrogate. */
static void add_escaped(struct buf *out, const char *s, size_t n)
{
  const unsigned char *c = (const unsigned char *)s;
  switch (n) {
  case 0: buf_addf(out, "\\udc%02x", c[0]); break;
  case 1:
    if (*s == '\r' || *s == '\t')
      buf_adds(out, *s == '\r' ? "\\r" : "\\t");
    else
      buf_addf(out, "\\x%02x", c[0]);
    break;
  case 2: buf_addf(out, "\\x%02x", c[1]); break; /* U+0080 to U+009F */
  default:
    buf_addf(out, "\\u%04x", 0x2000u | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu));
  }
}

/* As Python's repr(). */
static void add_repr(struct buf *out, const char *s)
{
  char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
  buf_addc(out, quote);
  while (*s) {
    size_t n = utf8_length((const unsigned char *)s, strlen(s));
    if (n == 0 || (*s != '\n' && utf8_disturbs((const unsigned char *)s, n)))
      add_escaped(out, s, n);
    else if (*s == '\n')
      buf_adds(out, "\\n");
    else if (*s == quote || *s == '\\')
      buf_addf(out, "\\%c", *s);
    else
      buf_addstr(out, (struct str){s, n});
    s += n ? n : 1;
  }
  buf_addc(out, quote);
}

static bool is_number(const char *s)
{
  double x;
  return units_number(str_of(s), &x) == 0;
}

static void add_text(struct buf *out, const struct option *row, const char *s)
{
  struct buf shown = {0};
  mask_value(&shown, row, s);
  if (bench_is_data(row) && is_number(s))
    buf_addstr(out, buf_str(&shown));
  else
    add_repr(out, buf_cstr(&shown));
  buf_free(&shown);
}

/* "Authorization=***": what is secret about a header is not its name. */
static void add_list(struct buf *out, const struct option *row,
                     const struct option_list *l)
{
  bool headers = str_eq(option_key(row), STR("header"));
  buf_addc(out, '[');
  for (size_t i = 0; i < l->n; i++) {
    struct buf item = {0};
    if (headers)
      buf_addf(&item, "%.*s=%s", (int)strcspn(l->items[i], ":="), l->items[i],
               MASK);
    else
      buf_adds(&item, l->items[i]);
    buf_adds(out, i ? ", " : "");
    add_repr(out, buf_cstr(&item));
    buf_free(&item);
  }
  buf_addc(out, ']');
}

void bench_show_float(struct buf *out, double x)
{
  struct json_writer w = {.out = out};
  size_t at = out->len;
  if (isinf(x)) {
    buf_adds(out, "inf");
    return;
  }
  json_number(&w, x);
  if (!memchr(out->p + at, '.', out->len - at))
    buf_adds(out, ".0");
}

/* A default in one word is the value itself, others are about it. */
static void add_unset(struct buf *out, const struct option *row)
{
  const char *s = row->shown_default;
  if (!s || (strchr(s, ' ') && !bench_is_data(row)))
    buf_adds(out, "None");
  else if (bench_is_data(row) && is_number(s))
    buf_adds(out, s);
  else
    add_repr(out, s);
}

static void add_choice(struct buf *out, const struct option *row, int n)
{
  struct str rest = str_of(row->choices), word = {0};
  for (int i = 0; i <= n; i++)
    word = str_split(&rest, ' ');
  if (str_eq(word, STR("none")))
    buf_adds(out, "None");
  else
    buf_addf(out, "'%.*s'", STR_ARG(word));
}

static void add_value(struct buf *out, const struct bench_flags *f,
                      const struct option *row, bool given)
{
  const void *at = (const char *)f + row->at;
  const char *text;
  switch (row->kind) {
  case OPTION_BOOLEAN:
    buf_adds(out, *(const bool *)at ? "True" : "False");
    return;
  case OPTION_NUMBER:
    if (given || row->shown_default)
      bench_show_float(out, *(const double *)at);
    else
      buf_adds(out, "None");
    return;
  case OPTION_INTEGER:
    buf_addf(out, "%lld", (long long)*(const int64_t *)at);
    return;
  case OPTION_COUNT:
    if (given || (row->shown_default && is_number(row->shown_default)))
      buf_addf(out, "%llu", (unsigned long long)*(const uint64_t *)at);
    else
      buf_adds(out, "None");
    return;
  case OPTION_UNSIGNED: buf_addf(out, "%u", *(const unsigned *)at); return;
  case OPTION_DURATION:
    buf_addf(out, "%g", ns_to_sec(*(const uint64_t *)at));
    return;
  case OPTION_LIST:
  case OPTION_PAIRS:
    if (given)
      add_list(out, row, at);
    else
      buf_adds(out, "None");
    return;
  case OPTION_CHOICE: add_choice(out, row, *(const int *)at); return;
  default:
    text = *(char *const *)at;
    if (text)
      add_text(out, row, text);
    else
      add_unset(out, row);
  }
}

void bench_flags_show(const struct bench_flags *f, struct buf *out)
{
  buf_adds(out, "Namespace(subparser='bench', bench_type='serve'");
  for (size_t i = 0; i < bench_options_spec.n; i++) {
    const struct option *row = &bench_options_spec.rows[i];
    struct str key = option_key(row);
    bool given = f->options.source[i] != OPTION_DEFAULT;
    if (row->hidden && !given)
      continue;
    buf_adds(out, ", ");
    for (size_t k = 0; k < key.len; k++)
      buf_addc(out, key.p[k] == '-' ? '_' : key.p[k]);
    buf_addc(out, '=');
    add_value(out, f, row, given);
  }
  buf_adds(out, ")\n");
}
