#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "script/digest.h"
#include "script/embed.h"
#include "script/files.h"
#include "script/pack.h"

/* Which files make up a scenario. */

#define FILES_MOST 10000
#define DEEPEST    16

struct collection {
  const struct scenario *s;
  const struct pack_options *o;
  struct pack_files *files;
  int folders; /* looked into: links may lead in circles */
  struct err *e;
};

static bool known(const struct pack_files *f, const char *name)
{
  for (size_t i = 0; i < f->n; i++)
    if (strcmp(f->list[i].name, name) == 0)
      return true;
  return false;
}

static bool is_lua(const char *name)
{
  return str_ends(str_of(name), STR(".lua"));
}

static struct pack_file *add(struct collection *c, const char *name)
{
  struct pack_files *f = c->files;
  struct pack_file *file;
  if (f->n == FILES_MOST)
    return NULL;
  f->list = mem_resize(f->list, f->n + 1, sizeof *f->list);
  file = &f->list[f->n++];
  *file = (struct pack_file){.name = mem_strdup(name), .included = true};
  return file;
}

static void add_text(struct collection *c, const char *name, struct str text)
{
  struct pack_file *f = add(c, name);
  f->text = text.p;
  f->bytes = text.len;
  digest_sha256(text, f->sha256);
}

static void follow(struct collection *c, struct str source);

static void follow_file(struct collection *c, const char *path)
{
  struct buf text = {0};
  char why[128];
  if (files_read(path, &text, why) == 0)
    follow(c, buf_str(&text));
  buf_free(&text);
}

/* One file that is `name` in the pack. */
static struct pack_file *add_file(struct collection *c, const char *name,
                                  const char *path)
{
  struct pack_file *f;
  char why[128];
  if (known(c->files, name))
    return NULL;
  if (!pack_is_good_name(name)) {
    err_add(c->e, "%s: has a name that no pack may have", path);
    return NULL;
  }
  f = add(c, name);
  if (!f) {
    err_add(c->e, "%s: more than %d files", c->s->path, FILES_MOST);
    return NULL;
  }
  f->source = mem_strdup(path);
  f->data = !is_lua(name);
  if (digest_file(path, f->sha256, &f->bytes, why) < 0)
    err_add(c->e, "%s: %s", path, why);
  f->included = !f->data || c->o->with_data || f->bytes <= PACK_DATA_MAX;
  return f;
}

/* ---- of a single script ---- */

/* `name` in `folder`, when it is a file that really lies there. */
static bool add_from(struct collection *c, const char *folder, const char *name)
{
  char *path = files_join(folder, name), *real = files_real(path);
  char *root = files_real(folder);
  bool there = real && root && files_inside(real, root) && files_is_file(real);
  if (there && !known(c->files, name)) {
    add_file(c, name, real);
    if (is_lua(name))
      follow_file(c, real);
  }
  mem_free(path);
  mem_free(real);
  mem_free(root);
  return there;
}

static bool add_found(struct collection *c, const char *name)
{
  struct str rest = str_of(getenv("STOKE_PATH"));
  bool found = add_from(c, c->s->folder, name);
  while (!found && rest.p) {
    struct str folder = str_split(&rest, ':');
    char *copy = mem_strndup(folder.p, folder.len);
    found = folder.len && add_from(c, copy, name);
    mem_free(copy);
  }
  return found;
}

/* "a.b": a/b.lua or a/b/init.lua */
static void add_module(struct collection *c, struct str module)
{
  static const char *const endings[] = {".lua", "/init.lua"};
  bool found =
      str_starts(module, STR("stoke.")) || memchr(module.p, '/', module.len);
  for (int i = 0; i < 2 && !found; i++) {
    struct buf name = {0};
    for (size_t k = 0; k < module.len; k++)
      buf_addc(&name, module.p[k] == '.' ? '/' : module.p[k]);
    buf_adds(&name, endings[i]);
    found = add_found(c, buf_cstr(&name));
    buf_free(&name);
  }
}

static void add_backend(struct collection *c, const char *name)
{
  struct buf file = {0};
  buf_addf(&file, "backends/%s.lua", name);
  add_from(c, c->s->folder, buf_cstr(&file));
  buf_free(&file);
}

static bool may_be_file(struct str text)
{
  return text.len < 200 && text.p[0] != '/' && text.p[0] != '.' &&
         str_find(text, STR("..")) < 0 && str_find(text, STR("/.")) < 0 &&
         !memchr(text.p, '\0', text.len);
}

static void on_string(struct str text, bool required, void *ud)
{
  struct collection *c = ud;
  char *name;
  if (required) {
    add_module(c, text);
  } else if (may_be_file(text)) {
    name = mem_strndup(text.p, text.len);
    add_from(c, c->s->folder, name);
    mem_free(name);
  }
}

static void follow(struct collection *c, struct str source)
{
  pack_strings(source, on_string, c);
}

/* ---- of a folder ---- */

static void add_folder(struct collection *c, const char *prefix, int depth);

static void add_entry(struct collection *c, const char *name, int depth)
{
  char *path = files_join(c->s->folder, name), *real = files_real(path);
  if (real && !files_inside(real, c->s->folder))
    err_add(c->e, "%s: leads out of the scenario's folder", path);
  else if (real && files_is_folder(real))
    add_folder(c, name, depth + 1);
  else if (real && files_is_file(real))
    add_file(c, name, real);
  mem_free(real);
  mem_free(path);
}

static void add_folder(struct collection *c, const char *prefix, int depth)
{
  char *path = files_join(c->s->folder, prefix);
  bool fine = depth < DEEPEST && c->folders++ < FILES_MOST;
  DIR *dir = fine ? opendir(path) : NULL;
  struct dirent *d;
  if (!dir)
    err_add(c->e, "%s: cannot be listed, or is too deep", path);
  while (dir && !c->e->count && (d = readdir(dir))) {
    struct buf name = {0};
    if (d->d_name[0] == '.' || pack_is_name(str_of(d->d_name)))
      continue;
    buf_addf(&name, "%s%s%s", prefix, *prefix ? "/" : "", d->d_name);
    add_entry(c, buf_cstr(&name), depth);
    buf_free(&name);
  }
  if (dir)
    closedir(dir);
  mem_free(path);
}

/* Of a built-in one: what is embedded in its folder, if it has one. */
static void add_embedded(struct collection *c)
{
  struct buf prefix = {0};
  buf_addf(&prefix, "%s/", c->s->shown_folder);
  for (size_t i = 0; i < embedded_count; i++) {
    const struct embedded *x = &embedded_files[i];
    if (str_starts(str_of(x->path), buf_str(&prefix)) &&
        strcmp(x->path, c->s->path) != 0)
      add_text(c, x->path + prefix.len, (struct str){x->source, x->len});
  }
  buf_free(&prefix);
}

/* ---- all of it ---- */

/* Where a parameter of the user's points: inside the folder under its own
 * name, else as data of ours. */
static void add_parameter(struct collection *c, const struct param *p)
{
  size_t root = c->s->folder ? strlen(c->s->folder) : 0;
  bool inside = root && files_inside(p->text, c->s->folder);
  const char *slash = strrchr(p->text, '/');
  struct buf name = {0};
  if (files_is_folder(p->text)) {
    err_add(c->e, "-P %s=%s: a folder cannot be packed, only a file", p->name,
            p->text);
    return;
  }
  if (inside)
    buf_adds(&name, p->text + root + 1);
  else
    buf_addf(&name, "data/%s", slash + 1);
  if (!known(c->files, buf_cstr(&name)))
    add_file(c, buf_cstr(&name), p->text);
  for (size_t i = 0; i < c->files->n; i++) {
    struct pack_file *f = &c->files->list[i];
    if (strcmp(f->name, buf_cstr(&name)) == 0 && !f->parameter)
      f->parameter = mem_strdup(p->name);
  }
  buf_free(&name);
}

static const char *entry_name(const struct scenario *s)
{
  return s->files[0].name;
}

static bool holds(const struct pack_file *f, const char *secret)
{
  struct buf text = {0};
  struct str all = {f->text, f->bytes};
  char why[128];
  bool found = false;
  if (f->source && files_read(f->source, &text, why) == 0)
    all = buf_str(&text);
  found = all.p && str_find(all, str_of(secret)) >= 0;
  buf_free(&text);
  return found;
}

static void check_secret(struct collection *c)
{
  if (!c->o->secret || strlen(c->o->secret) < 6)
    return;
  for (size_t i = 0; i < c->files->n; i++)
    if (c->files->list[i].included && holds(&c->files->list[i], c->o->secret))
      err_add(c->e, "%s: holds your API key; it must not be handed on",
              c->files->list[i].name);
}

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct pack_file *)a)->name,
                ((const struct pack_file *)b)->name);
}

int pack_collect(const struct scenario *s, const struct pack_options *o,
                 struct pack_files *out, struct err *e)
{
  struct collection c = {.s = s, .o = o, .files = out, .e = e};
  struct str source = {s->source, s->source_len};
  bool folder = s->pack || strcmp(entry_name(s), "init.lua") == 0;
  unsigned before = e->count;
  *out = (struct pack_files){0};
  add_text(&c, entry_name(s), source);
  if (s->folder && folder) {
    add_folder(&c, "", 0);
  } else if (s->folder) {
    for (size_t i = 1; i < s->n_files; i++)
      add_found(&c, s->files[i].name);
    for (size_t i = 0; i < s->n_backend_files; i++)
      add_backend(&c, s->backend_files[i]);
    follow(&c, source);
  } else if (folder) {
    add_embedded(&c);
  }
  for (size_t i = 0; i < s->params.len; i++) {
    const struct param *p = &s->params.list[i];
    if (params_is_file(p))
      add_parameter(&c, p);
  }
  check_secret(&c);
  if (out->n)
    qsort(out->list, out->n, sizeof *out->list, by_name);
  return e->count == before ? 0 : -1;
}

void pack_files_free(struct pack_files *f)
{
  for (size_t i = 0; i < f->n; i++) {
    mem_free(f->list[i].name);
    mem_free(f->list[i].source);
    mem_free(f->list[i].parameter);
  }
  mem_free(f->list);
  *f = (struct pack_files){0};
}
