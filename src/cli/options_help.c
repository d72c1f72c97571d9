/* The --help half of options.h: text made from the table. */
#include "cli/options.h"

enum { WIDTH = 79, COLUMN = 30 };

/* Words of `text` from column `at` on, each further line indented to
 * `indent`. Ends with a newline. */
static void wrap(struct buf *out, struct str text, size_t at, size_t indent)
{
  bool first = true;
  while (text.p) {
    struct str word = str_split(&text, ' ');
    if (!word.len)
      continue;
    if (!first && at + 1 + word.len > WIDTH) {
      buf_addf(out, "\n%*s", (int)indent, "");
      at = indent;
      first = true;
    }
    buf_addf(out, "%s%.*s", first ? "" : " ", STR_ARG(word));
    at += word.len + !first;
    first = false;
  }
  buf_addc(out, '\n');
}

static void add_long(struct buf *out, const struct option *row, struct str name)
{
  buf_addf(out, "--%s%.*s", row->on ? "no-" : "", STR_ARG(name));
}

/* "-u, --url URL" */
static void left_column(struct buf *out, const struct option *row)
{
  struct str names = str_of(row->names), key = option_key(row);
  buf_adds(out, "  ");
  if (names.len == 1 || (names.len > 1 && names.p[1] == ' ')) {
    buf_addf(out, "-%c", names.p[0]);
    buf_adds(out, key.len > 1 ? ", " : "");
  } else {
    buf_adds(out, "    ");
  }
  if (key.len > 1)
    add_long(out, row, key);
  if (row->metavar)
    buf_addf(out, " %s", row->metavar);
}

/* The other long spellings, the default and the environment variable. */
static void add_remarks(struct buf *out, const struct option *row)
{
  struct str names = str_of(row->names), key = option_key(row);
  const char *sep = " (";
  while (names.p) {
    struct str name = str_split(&names, ' ');
    if (name.len > 1 && name.p != key.p) {
      buf_adds(out, sep[1] == '(' ? " (also " : ", ");
      add_long(out, row, name);
      sep = "; ";
    }
  }
  if (row->shown_default) {
    buf_addf(out, "%sdefault %s", sep, row->shown_default);
    sep = "; ";
  }
  if (row->env) {
    buf_addf(out, "%senvironment %s", sep, row->env);
    sep = "; ";
  }
  if (sep[0] == ';')
    buf_addc(out, ')');
}

static void add_row(struct buf *out, const struct option *row)
{
  struct buf right = {0};
  size_t start = out->len, width;
  left_column(out, row);
  width = out->len - start;
  buf_adds(&right, row->help);
  add_remarks(&right, row);
  if (width + 2 > COLUMN)
    buf_addf(out, "\n%*s", COLUMN, "");
  else
    buf_addf(out, "%*s", COLUMN - (int)width, "");
  wrap(out, buf_str(&right), COLUMN, COLUMN);
  buf_free(&right);
}

/* Does `text` hold `word`, without regard to case or to '-' and '_'? */
static bool mentions(const char *text, const char *word)
{
  struct str t = str_of(text), w = str_of(word);
  for (size_t i = 0; i + w.len <= t.len; i++) {
    size_t j = 0;
    while (j < w.len &&
           (((t.p[i + j] == '-' || t.p[i + j] == '_') &&
             (w.p[j] == '-' || w.p[j] == '_')) ||
            str_ieq((struct str){t.p + i + j, 1}, (struct str){w.p + j, 1})))
      j++;
    if (j == w.len)
      return true;
  }
  return false;
}

static bool wanted(const struct option *row, const char *group,
                   const char *word)
{
  if (!word)
    return !row->hidden;
  return strcmp(word, "all") == 0 || mentions(row->names, word) ||
         mentions(row->help, word) || (group && mentions(group, word));
}

/* Every row that is wanted under its group's heading. Returns how many. */
static size_t add_rows(const struct options_spec *spec, const char *word,
                       struct buf *out)
{
  const char *group = NULL, *heading = NULL;
  size_t shown = 0;
  for (size_t i = 0; i < spec->n; i++) {
    const struct option *row = &spec->rows[i];
    group = row->group ? row->group : group;
    if (!wanted(row, group, word))
      continue;
    if (group != heading)
      buf_addf(out, "\n%s:\n", group);
    heading = group;
    add_row(out, row);
    shown++;
  }
  return shown;
}

static void add_examples(const char *examples, struct buf *out)
{
  struct str all = str_trim(str_of(examples));
  buf_adds(out, "\nExamples:\n");
  while (all.p) {
    struct str comment = str_split(&all, '\n');
    struct str command = str_split(&comment, '\t');
    if (comment.len)
      buf_addf(out, "  # %.*s\n", STR_ARG(comment));
    buf_addf(out, "  %.*s\n", STR_ARG(command));
  }
}

void options_help(const struct options_spec *spec, const char *word,
                  struct buf *out)
{
  bool search = word && strcmp(word, "all") != 0;
  if (!search) {
    buf_addf(out, "Usage: %s %s\n", spec->program, spec->usage);
    if (spec->intro) {
      buf_addc(out, '\n');
      wrap(out, str_of(spec->intro), 0, 0);
    }
  }
  if (add_rows(spec, word, out) == 0 && search)
    buf_addf(out, "Nothing in `%s --help` mentions \"%s\".\n", spec->program,
             word);
  if (search)
    return;
  buf_addf(out, "\n  -h, --help[=WORD]           %s\n\n",
           "this text, or only what mentions WORD");
  wrap(out,
       STR("Also understood: --opt=value, opt=value, _ for - in names, any "
           "unique beginning of a name, --no- before a switch."),
       0, 0);
  if (spec->examples)
    add_examples(spec->examples, out);
  if (spec->footer) {
    buf_addc(out, '\n');
    wrap(out, str_of(spec->footer), 0, 0);
  }
}
