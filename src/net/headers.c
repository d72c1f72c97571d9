/* libcurl is seen here for its list type alone. */
#include "net/headers.h"

#include <assert.h>
#include <curl/curl.h>

#include "base/mem.h"

/* Lines for what is not set. curl reads "Name:" as "leave this header out";
 * of its own Accept-Encoding it would make two copies for every request. */
static const char *const defaults[] = {
    "Expect:", "Content-Type:", "Accept-Encoding: identity"};
#define N_DEFAULTS (sizeof defaults / sizeof *defaults)

struct xfer_headers {
  unsigned refs;
  size_t n, cap;           /* lines of our own */
  struct curl_slist *list; /* n lines, then room for defaults */
  bool linked;             /* `list` is ready for curl */
};

struct xfer_headers *xfer_headers_new(void)
{
  struct xfer_headers *h = mem_new(struct xfer_headers);
  h->refs = 1;
  return h;
}

struct xfer_headers *xfer_headers_ref(struct xfer_headers *h)
{
  h->refs++;
  return h;
}

void xfer_headers_unref(struct xfer_headers *h)
{
  if (!h || --h->refs > 0)
    return;
  for (size_t i = 0; i < h->n; i++)
    mem_free(h->list[i].data);
  mem_free(h->list);
  mem_free(h);
}

static struct curl_slist *find(const struct xfer_headers *h, struct str name)
{
  for (size_t i = 0; i < h->n; i++) {
    const char *line = h->list[i].data;
    if (str_ieq((struct str){line, strcspn(line, ":;")}, name))
      return &h->list[i];
  }
  return NULL;
}

bool xfer_headers_has(const struct xfer_headers *h, struct str name)
{
  return find(h, name) != NULL;
}

static void grow(struct xfer_headers *h)
{
  if (h->n < h->cap)
    return;
  h->cap = h->cap ? 2 * h->cap : 6;
  h->list = mem_resize(h->list, h->cap + N_DEFAULTS, sizeof *h->list);
}

static void add(struct xfer_headers *h, char *line)
{
  grow(h);
  h->list[h->n++] = (struct curl_slist){.data = line};
}

struct xfer_headers *xfer_headers_copy(const struct xfer_headers *h)
{
  struct xfer_headers *c = xfer_headers_new();
  for (size_t i = 0; i < h->n; i++)
    add(c, mem_strdup(h->list[i].data));
  return c;
}

static bool is_token(struct str s)
{
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if (c <= ' ' || c >= 127 || strchr("()<>@,;:\\\"/[]?={}", c))
      return false;
  }
  return s.len > 0;
}

static bool has_control(struct str s)
{
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if ((c < ' ' && c != '\t') || c == 127)
      return true;
  }
  return false;
}

static int check(struct str name, struct str value, struct err *e)
{
  if (!is_token(name))
    return err_add(e, "a header's name is empty or has a character that HTTP "
                      "forbids there; say for example X-Team: blue");
  if (has_control(value))
    return err_add(e,
                   "header %.*s: its value holds a control character (a line "
                   "end?); remove it",
                   STR_ARG(name));
  if (str_ieq(name, STR("Content-Length")) ||
      str_ieq(name, STR("Transfer-Encoding")))
    return err_add(e, "header %.*s: follows from the body; leave it out",
                   STR_ARG(name));
  return 0;
}

int xfer_headers_set(struct xfer_headers *h, struct str name, struct str value,
                     struct err *e)
{
  struct curl_slist *old;
  struct buf line = {0};
  assert(h->refs == 1); /* else an exchange may be reading the list */
  if (check(name, value, e) != 0)
    return -1;
  value = str_trim(value);
  if (value.len)
    buf_addf(&line, "%.*s: %.*s", STR_ARG(name), STR_ARG(value));
  else
    buf_addf(&line, "%.*s;", STR_ARG(name)); /* curl's "send it empty" */
  h->linked = false;
  old = find(h, name);
  if (old) {
    mem_free(old->data);
    old->data = buf_take(&line);
  } else
    add(h, buf_take(&line));
  return 0;
}

static void link_list(struct xfer_headers *h)
{
  size_t n = h->n;
  if (!h->list)
    grow(h);
  for (size_t i = 0; i < N_DEFAULTS; i++) {
    const char *line = defaults[i];
    if (!find(h, (struct str){line, strcspn(line, ":")}))
      h->list[n++].data = (char *)line;
  }
  for (size_t i = 0; i < n; i++)
    h->list[i].next = i + 1 < n ? &h->list[i + 1] : NULL;
  h->linked = true;
}

struct curl_slist *xfer_headers_list(struct xfer_headers *h)
{
  if (!h->linked)
    link_list(h);
  return h->list;
}
