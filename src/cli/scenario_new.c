/* `stoke scenario new NAME` */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/scenario_commands.h"
#include "script/embed.h"

struct new_flags {
  bool session;
};

static const struct option rows[] = {
    {"session", NULL, OPTION_BOOLEAN, offsetof(struct new_flags, session),
     "Options", .help = "one of many turns, instead of single requests"},
};

static const struct options_spec spec = {
    .program = "stoke scenario new",
    .usage = "NAME [--session]",
    .intro = "Writes NAME.lua: a scenario that works as it is, with a remark "
             "at every line that will want to be changed. A file that exists "
             "is left alone.",
    .examples = "stoke scenario new haikus\tthen change haikus.lua\n"
                "stoke scenario new talk --session\ta user of many turns\n",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
    .max_args = 1,
};

/* What stands in scripts' names as "NAME" is the name that was asked for. */
static void fill_in(struct buf *out, struct str text, struct str name)
{
  ptrdiff_t at;
  while ((at = str_find(text, STR("@NAME@"))) >= 0) {
    buf_add(out, text.p, (size_t)at);
    buf_addstr(out, name);
    text = (struct str){text.p + at + 6, text.len - (size_t)at - 6};
  }
  buf_addstr(out, text);
}

static struct str base_name(struct str path)
{
  if (str_ends(path, STR(".lua")))
    path.len -= strlen(".lua");
  for (size_t i = path.len; i > 0; i--)
    if (path.p[i - 1] == '/')
      return (struct str){path.p + i, path.len - i};
  return path;
}

static int write_new(const char *path, struct str text)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  bool good = fd >= 0 && write(fd, text.p, text.len) == (ssize_t)text.len;
  if (fd >= 0 && close(fd) < 0)
    good = false;
  if (good)
    return 0;
  if (fd < 0 && errno == EEXIST)
    log_line("%s: exists already, and is left as it is", path);
  else
    log_line("%s: %s", path, strerror(errno));
  return fd < 0 && errno == EEXIST ? 2 : 1;
}

static int create(const struct options *o)
{
  const struct new_flags *f = o->dest;
  const char *name = o->args.items[0];
  const struct embedded *form =
      embed_find(f->session ? "lua/stoke/starter/session.lua"
                            : "lua/stoke/starter/request.lua");
  struct str text = {form->source, form->len};
  struct buf path = {0}, filled = {0};
  int status;
  buf_adds(&path, name);
  if (!str_ends(str_of(name), STR(".lua")))
    buf_adds(&path, ".lua");
  fill_in(&filled, text, base_name(buf_str(&path)));
  status = write_new(buf_cstr(&path), buf_str(&filled));
  if (status == 0)
    printf("%s is written. Try it with\n  stoke scenario check %s\n",
           buf_cstr(&path), buf_cstr(&path));
  buf_free(&path);
  buf_free(&filled);
  return status;
}

int scenario_new_main(int argc, char *const argv[])
{
  struct new_flags flags = {0};
  return scenario_part(&spec, &flags,
                       "a name is needed: `stoke scenario new mine`", create,
                       argc, argv);
}
