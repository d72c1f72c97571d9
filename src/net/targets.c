#include "net/targets.h"

#include <curl/curl.h>

#include "base/mem.h"
#include "net/origin.h"

/* Entries that nobody uses are kept up to so many. */
#define KEEP 64

void targets_init(struct targets *t, struct names *names, const char *proxy)
{
  *t = (struct targets){.names = names, .proxy = proxy};
  list_init(&t->all);
}

static void drop(struct targets *t, struct target *g)
{
  list_remove(&g->node);
  t->n--;
  curl_url_cleanup(g->parsed);
  mem_free(g->proxy);
  mem_free(g->url);
  mem_free(g);
}

void targets_deinit(struct targets *t)
{
  while (!list_empty(&t->all))
    drop(t, LIST_ENTRY(t->all.next, struct target, node));
}

static bool is_ascii(struct str s)
{
  for (size_t i = 0; i < s.len; i++)
    if ((unsigned char)s.p[i] >= 128)
      return false;
  return true;
}

/* Proxies resolve names themselves, or curl resolves theirs; localhost it
 * knows; a name in another script it translates first. */
static bool needs_name(const struct target *g, const struct origin *o)
{
  return !g->proxy[0] && !origin_is_address(o) && !origin_is_loopback(o) &&
         is_ascii(o->host);
}

static void look_at(struct targets *t, struct target *g)
{
  struct origin o;
  const char *proxy;
  CURLUcode code =
      curl_url_set(g->parsed, CURLUPART_URL, g->url, CURLU_GUESS_SCHEME);
  if (code)
    g->error = curl_url_strerror(code);
  if (code || origin_parse(str_of(g->url), &o) != 0)
    return;
  g->secure = !str_ieq(o.scheme, STR("http"));
  proxy = proxy_for(t->proxy, &o);
  if (proxy) {
    mem_free(g->proxy);
    g->proxy = mem_strdup(proxy);
  }
  if (needs_name(g, &o))
    g->name = names_get(t->names, o.host, o.port);
}

static struct target *make(struct targets *t, const char *url)
{
  struct target *g = mem_new(struct target);
  g->url = mem_strdup(url);
  g->proxy = mem_strdup("");
  g->parsed = curl_url();
  t->n++;
  look_at(t, g);
  return g;
}

static struct target *find(struct targets *t, const char *url)
{
  for (struct list *i = t->all.next; i != &t->all; i = i->next) {
    struct target *g = LIST_ENTRY(i, struct target, node);
    if (strcmp(g->url, url) == 0)
      return g;
  }
  return NULL;
}

/* From the one used longest ago on. */
static void prune(struct targets *t)
{
  struct list *i = t->all.prev, *before;
  for (; i != &t->all && t->n > KEEP; i = before) {
    struct target *g = LIST_ENTRY(i, struct target, node);
    before = i->prev;
    if (g->users == 0)
      drop(t, g);
  }
}

struct target *targets_get(struct targets *t, const char *url)
{
  struct target *g = find(t, url);
  if (!g) {
    prune(t);
    g = make(t, url);
  }
  list_remove(&g->node);
  list_append(t->all.next, &g->node); /* before the first */
  g->users++;
  return g;
}

void target_unref(struct target *g)
{
  if (g)
    g->users--;
}
