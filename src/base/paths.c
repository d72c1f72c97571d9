#include "base/paths.h"

#include "base/json.h"
#include "base/mem.h"

/* The next step of a path: "[]", or a member's name. */
static struct str step(struct str *path)
{
  struct str s = *path;
  if (str_starts(s, STR("[]"))) {
    s.len = 2;
    *path = (struct str){path->p + 2, path->len - 2};
    return s;
  }
  s.len = 0;
  while (s.len < path->len && s.p[s.len] != '.' && s.p[s.len] != '[')
    s.len++;
  *path = (struct str){path->p + s.len, path->len - s.len};
  return s;
}

static bool is_element(struct str s)
{
  return str_eq(s, STR("[]"));
}

/* The dot between two steps. Before [] stands none. */
static bool skip_dot(struct str *path)
{
  if (path->len == 0 || path->p[0] == '[')
    return true;
  if (path->p[0] != '.' || path->len == 1 || path->p[1] == '[')
    return false;
  *path = (struct str){path->p + 1, path->len - 1};
  return true;
}

static bool readable(struct str path)
{
  if (path.len == 0)
    return false;
  while (path.len)
    if (step(&path).len == 0 || !skip_dot(&path))
      return false;
  return true;
}

static struct paths *element(struct paths *at)
{
  if (!at->element)
    at->element = mem_new(struct paths);
  return at->element;
}

static struct paths *member(struct paths *at, struct str name)
{
  struct paths *m;
  for (size_t i = 0; i < at->n_members; i++)
    if (str_eq(at->members[i].name, name))
      return &at->members[i];
  at->members = mem_resize(at->members, at->n_members + 1, sizeof *at->members);
  m = &at->members[at->n_members++];
  at->lengths |= UINT64_C(1) << name.len % 64;
  *m = (struct paths){.name = {mem_strndup(name.p, name.len), name.len},
                      .head = paths_head(name)};
  return m;
}

int paths_add(struct paths *root, const char *path, uint32_t tags,
              struct err *e)
{
  struct str rest = str_of(path);
  if (!readable(rest))
    return err_add(e,
                   "path \"%s\": cannot be read; write names with dots, and "
                   "[] for every element, as in \"choices[].delta.content\"",
                   path);
  while (rest.len) {
    struct str s = step(&rest);
    root = is_element(s) ? element(root) : member(root, s);
    skip_dot(&rest);
  }
  root->tags |= tags;
  return 0;
}

void paths_clear(struct paths *root)
{
  for (size_t i = 0; i < root->n_members; i++) {
    mem_free((char *)(uintptr_t)root->members[i].name.p);
    paths_clear(&root->members[i]);
  }
  mem_free(root->members);
  if (root->element)
    paths_clear(root->element);
  mem_free(root->element);
  *root = (struct paths){0};
}

const struct paths *paths_escaped_member(const struct paths *at, struct str key)
{
  struct buf plain = {0};
  const struct paths *m = NULL;
  if (json_unescape(&plain, key) == 0 && plain.len)
    m = paths_member(at, buf_str(&plain));
  buf_free(&plain);
  return m;
}
