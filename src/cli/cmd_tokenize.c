/* `stoke tokenize`: texts to ids and back, singly or a line each. */
#include "cli/cmd_tokenize.h"

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/walk.h"
#include "cli/options.h"
#include "data/foreign.h"
#include "data/tokenizer.h"

struct tokenize_flags {
  char *tokenizer;
  bool decode, lines, count, special, skip_special;
};

/* What one text after the other goes through. */
struct tokenizing {
  struct tokenize_flags flags;
  struct tokenizer *t;
  struct tokenizer_scratch *scratch;
  struct token_list ids;
  struct buf text, out;
  char why[120]; /* the last text was not read */
};

#define AT(field) offsetof(struct tokenize_flags, field)

static const struct option rows[] = {
    {"t tokenizer", "PATH", OPTION_STRING, AT(tokenizer), "Options",
     .help = "tokenizer.json, a folder with one, tiktoken ranks, or a model "
             "that the Hugging Face cache has"},
    {"d decode", NULL, OPTION_BOOLEAN, AT(decode),
     .help = "ids to text instead"},
    {"c count", NULL, OPTION_BOOLEAN, AT(count),
     .help = "print only how many tokens there are (with --lines: in each)"},
    {"s add-special-tokens special", NULL, OPTION_BOOLEAN, AT(special),
     .help = "with what the tokenizer puts around a text (BOS and the like)"},
    {"skip-special-tokens", NULL, OPTION_BOOLEAN, AT(skip_special),
     .help = "leave special tokens out when decoding"},
    {"l lines", NULL, OPTION_BOOLEAN, AT(lines),
     .help = "a JSON string a line on standard input, a JSON array of ids a "
             "line on standard output; with --decode the other way round"},
};

static const struct options_spec spec = {
    .program = "stoke tokenize",
    .usage = "--tokenizer PATH [TEXT]",
    .intro = "Shows how a model's tokenizer cuts a text (standard input, when "
             "there is none or it is -).",
    .examples =
        "stoke tokenize -t tokenizer.json 'Hello, world'\tits ids\n"
        "stoke tokenize -t tokenizer.json --count <prompt.txt\thow many\n"
        "stoke tokenize -t tokenizer.json --decode '9906 11 1917'\tthe text\n",
    .rows = rows,
    .n = sizeof rows / sizeof *rows,
    .max_args = 1,
};

/* ---- input ---- */

static void read_all(FILE *from, struct buf *out)
{
  char *to;
  size_t n;
  while ((to = buf_reserve(out, 65536)) && (n = fread(to, 1, 65536, from)))
    out->len += n;
}

/* A text without its mark of encoding; -1 and why when it is no text. */
static int read_input(struct buf *input, struct str *text)
{
  const char *why;
  read_all(stdin, input);
  *text = buf_str(input);
  if ((why = foreign_file(*text))) {
    log_line("standard input: %s", why);
    return -1;
  }
  *text = str_without_bom(*text);
  return 0;
}

/* Numbers with blanks and commas between them, in brackets or not; -1 and
 * what is none in *bad. */
static int read_ids(struct str s, uint32_t n_tokens, struct token_list *out,
                    struct str *bad)
{
  while (s.len) {
    size_t n = 0;
    uint64_t id = 0;
    while (n < s.len && !strchr(" \t\r\n,[]", s.p[n]))
      n++;
    *bad = (struct str){s.p, n};
    for (size_t i = 0; i < n; i++) {
      if (s.p[i] < '0' || s.p[i] > '9')
        return -1;
      id = id * 10 + (uint64_t)(s.p[i] - '0');
      if (id >= n_tokens)
        return -1;
    }
    if (n)
      token_list_add(out, (uint32_t)id);
    n += n < s.len;
    s = str_from(s, n);
  }
  return 0;
}

/* ---- one text ---- */

static const char gave_up[] = "the tokenizer gave up on this text";

static int encode(struct tokenizing *x, struct str text)
{
  x->ids.n = 0;
  snprintf(x->why, sizeof x->why, "%s", gave_up);
  return tokenizer_encode(x->t, x->scratch, text,
                          x->flags.special ? TOKENIZER_ADD_SPECIAL : 0,
                          &x->ids);
}

static int decode(struct tokenizing *x, struct str ids)
{
  uint32_t n = tokenizer_vocab_size(x->t);
  struct str bad;
  x->ids.n = 0;
  buf_reset(&x->text);
  if (read_ids(ids, n, &x->ids, &bad) < 0) {
    snprintf(x->why, sizeof x->why,
             "%.*s: not the id of a token; these are 0 to %u",
             (int)(bad.len < 40 ? bad.len : 40), bad.p, (unsigned)n - 1);
    return -1;
  }
  snprintf(x->why, sizeof x->why, "%s", gave_up);
  return tokenizer_decode(x->t, x->scratch, x->ids.ids, x->ids.n,
                          x->flags.skip_special ? TOKENIZER_SKIP_SPECIAL : 0,
                          &x->text);
}

static void print_ids(struct tokenizing *x, const char *between)
{
  for (size_t i = 0; i < x->ids.n; i++)
    buf_addf(&x->out, "%s%u", i ? between : "", (unsigned)x->ids.ids[i]);
}

static int whole(struct tokenizing *x, struct str input)
{
  if ((x->flags.decode ? decode(x, input) : encode(x, input)) < 0) {
    log_line("%s", x->why);
    return 1;
  }
  if (x->flags.count)
    buf_addf(&x->out, "%zu", x->ids.n);
  else if (x->flags.decode)
    buf_addstr(&x->out, buf_str(&x->text));
  else
    print_ids(x, " ");
  buf_addc(&x->out, '\n');
  return 0;
}

/* ---- a text a line ---- */

static int line(struct tokenizing *x, struct str input, size_t number)
{
  struct json_writer w = {.out = &x->out};
  struct str inside = str_trim(input);
  if (x->flags.decode) {
    if (decode(x, inside) < 0)
      goto failed;
    json_string(&w, buf_str(&x->text));
  } else {
    const char *end = inside.p + inside.len;
    bool quoted = inside.len >= 2 && inside.p[0] == '"' &&
                  walk_string_end(inside.p + 1, end) == end - 1;
    buf_reset(&x->text);
    if (!quoted || json_unescape(&x->text, (struct str){inside.p + 1,
                                                        inside.len - 2}) < 0) {
      log_line("line %zu: not a JSON string", number);
      return 1;
    }
    if (encode(x, buf_str(&x->text)) < 0)
      goto failed;
    if (x->flags.count) {
      buf_addf(&x->out, "%zu", x->ids.n);
    } else {
      buf_addc(&x->out, '[');
      print_ids(x, ",");
      buf_addc(&x->out, ']');
    }
  }
  buf_addc(&x->out, '\n');
  return 0;
failed:
  log_line("line %zu: %s", number, x->why);
  return 1;
}

static int lines(struct tokenizing *x, struct str input)
{
  int status = 0;
  for (size_t number = 1; input.len && status == 0; number++) {
    status = line(x, str_split(&input, '\n'), number);
    if (x->out.len > 1 << 20) {
      fwrite(x->out.p, 1, x->out.len, stdout);
      buf_reset(&x->out);
    }
  }
  return status;
}

/* ---- the command ---- */

/* What stands behind `--` may begin with a dash. NULL: there is no text. */
static const char *text_argument(const struct options *o, struct err *e)
{
  const struct option_list *from = o->args.n ? &o->args : &o->rest;
  if (o->args.n + o->rest.n > 1)
    err_add(e, "%s: unexpected argument; put the text in quotes",
            o->rest.items[o->rest.n - 1]);
  return from->n ? from->items[0] : NULL;
}

static int run(struct tokenizing *x, const struct options *o)
{
  struct buf input = {0};
  struct str text = {0};
  struct err e = {0};
  const char *argument = text_argument(o, &e);
  int status = 2;
  if (!x->flags.tokenizer) {
    err_add(&e, "--tokenizer is missing: which tokenizer.json?");
  } else if (!e.count) {
    x->t = tokenizer_open(x->flags.tokenizer, &e);
  }
  if (!x->t) {
    options_complain(&spec, &e);
  } else {
    x->scratch = tokenizer_scratch_new(x->t);
    if (argument && (!o->args.n || strcmp(argument, "-") != 0))
      text = str_of(argument);
    else if (read_input(&input, &text) < 0)
      goto done;
    status = x->flags.lines ? lines(x, text) : whole(x, text);
    fwrite(x->out.p ? x->out.p : "", 1, x->out.len, stdout);
  }
done:
  buf_free(&input);
  err_free(&e);
  return status;
}

int cmd_tokenize(int argc, char *const argv[])
{
  struct tokenizing x = {0};
  struct options o;
  int status;
  options_init(&o, &spec, &x.flags);
  status = options_main(&o, argc, argv);
  if (status < 0)
    status = run(&x, &o);
  tokenizer_scratch_free(x.scratch);
  tokenizer_free(x.t);
  token_list_free(&x.ids);
  buf_free(&x.text);
  buf_free(&x.out);
  options_free(&o);
  return status;
}
