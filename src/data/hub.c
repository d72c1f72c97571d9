#include "data/hub.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

bool hub_is_name(const char *name)
{
  const char *slash = strchr(name, '/');
  for (const char *p = name; *p; p++)
    if (!isalnum((unsigned char)*p) && !strchr("-_./", *p))
      return false;
  return slash && slash != name && slash[1] && !strchr(slash + 1, '/') &&
         name[0] != '.' && !strstr(name, "..");
}

static bool add_variable(struct buf *out, const char *name, const char *behind)
{
  const char *value = getenv(name);
  if (value && *value)
    buf_addf(out, "%s%s", value, behind);
  return value && *value;
}

void hub_folder(struct buf *out)
{
  if (!add_variable(out, "HF_HUB_CACHE", "") &&
      !add_variable(out, "HF_HOME", "/hub") &&
      !add_variable(out, "XDG_CACHE_HOME", "/huggingface/hub") &&
      !add_variable(out, "HOME", "/.cache/huggingface/hub"))
    buf_adds(out, ".");
}

static char *in_snapshot(const char *model, const char *commit,
                         const char *file)
{
  struct buf path = {0};
  buf_addf(&path, "%s/snapshots/%s/%s", model, commit, file);
  if (access(buf_cstr(&path), R_OK) == 0)
    return buf_take(&path);
  buf_free(&path);
  return NULL;
}

/* The commit that a branch stands for. */
static bool read_main(const char *model, char commit[64])
{
  struct buf path = {0};
  bool found;
  FILE *f;
  buf_addf(&path, "%s/refs/main", model);
  f = fopen(buf_cstr(&path), "r");
  found = f && fscanf(f, "%63[0-9a-zA-Z]", commit) == 1;
  if (f)
    fclose(f);
  buf_free(&path);
  return found;
}

static char *in_any_snapshot(const char *model, const char *file)
{
  struct buf path = {0};
  struct dirent *entry;
  char *found = NULL;
  DIR *d;
  buf_addf(&path, "%s/snapshots", model);
  d = opendir(buf_cstr(&path));
  while (d && !found && (entry = readdir(d)))
    if (entry->d_name[0] != '.')
      found = in_snapshot(model, entry->d_name, file);
  if (d)
    closedir(d);
  buf_free(&path);
  return found;
}

char *hub_find(const char *name, const char *file)
{
  struct buf model = {0};
  char commit[64], *found = NULL;
  if (!hub_is_name(name))
    return NULL;
  hub_folder(&model);
  buf_adds(&model, "/models--");
  for (const char *p = name; *p; p++)
    if (*p == '/')
      buf_adds(&model, "--");
    else
      buf_addc(&model, *p);
  if (read_main(buf_cstr(&model), commit))
    found = in_snapshot(buf_cstr(&model), commit, file);
  if (!found)
    found = in_any_snapshot(buf_cstr(&model), file);
  buf_free(&model);
  return found;
}
