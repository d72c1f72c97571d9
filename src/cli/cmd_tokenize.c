/* `stoke tokenize`: texts to ids and back, singly or a line each. */
#include "cli/cmd_tokenize.h"

#include <stddef.h>
#include <stdio.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/options.h"
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
};

#define AT(field) offsetof(struct tokenize_flags, field)

static const struct option rows[] = {
    {"t tokenizer", "PATH", OPTION_STRING, AT(tokenizer), "Options",
     .help = "tokenizer.json, a folder with one, tiktoken ranks, or a model "
             "that the Hugging Face cache has"},
    {"d decode", NULL, OPTION_BOOLEAN, AT(decode),
     .help = "ids to text instead"},
    {"c count", NULL, OPTION_BOOLEAN, AT(count),
     .help = "print only how many tokens there are"},
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

/* Numbers with anything else between them. */
static void read_ids(struct str s, struct token_list *out)
{
  uint64_t id = 0;
  bool digits = false;
  for (size_t i = 0; i <= s.len; i++) {
    char c = i < s.len ? s.p[i] : ' ';
    if (c >= '0' && c <= '9') {
      id = id * 10 + (uint64_t)(c - '0');
      if (id > UINT32_MAX)
        id = UINT32_MAX;
      digits = true;
    } else if (digits) {
      token_list_add(out, (uint32_t)id);
      id = 0;
      digits = false;
    }
  }
}

/* ---- one text ---- */

static int encode(struct tokenizing *x, struct str text)
{
  x->ids.n = 0;
  return tokenizer_encode(x->t, x->scratch, text,
                          x->flags.special ? TOKENIZER_ADD_SPECIAL : 0,
                          &x->ids);
}

static int decode(struct tokenizing *x, struct str ids)
{
  x->ids.n = 0;
  read_ids(ids, &x->ids);
  buf_reset(&x->text);
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
    log_line("the tokenizer gave up on this text");
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
      goto gave_up;
    json_string(&w, buf_str(&x->text));
  } else {
    bool quoted = inside.len >= 2 && inside.p[0] == '"' &&
                  inside.p[inside.len - 1] == '"';
    buf_reset(&x->text);
    if (!quoted || json_unescape(&x->text, (struct str){inside.p + 1,
                                                        inside.len - 2}) < 0) {
      log_line("line %zu: not a JSON string", number);
      return 1;
    }
    if (encode(x, buf_str(&x->text)) < 0)
      goto gave_up;
    buf_addc(&x->out, '[');
    print_ids(x, ",");
    buf_addc(&x->out, ']');
  }
  buf_addc(&x->out, '\n');
  return 0;
gave_up:
  log_line("line %zu: the tokenizer gave up on this text", number);
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

static int run(struct tokenizing *x, const struct option_list *args)
{
  struct buf input = {0};
  struct err e = {0};
  int status = 2;
  if (!x->flags.tokenizer) {
    err_add(&e, "--tokenizer is missing: which tokenizer.json?");
  } else {
    x->t = tokenizer_open(x->flags.tokenizer, &e);
  }
  if (!x->t) {
    options_complain(&spec, &e);
  } else {
    x->scratch = tokenizer_scratch_new(x->t);
    if (args->n && strcmp(args->items[0], "-") != 0)
      buf_adds(&input, args->items[0]);
    else
      read_all(stdin, &input);
    status =
        x->flags.lines ? lines(x, buf_str(&input)) : whole(x, buf_str(&input));
    fwrite(x->out.p ? x->out.p : "", 1, x->out.len, stdout);
  }
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
    status = run(&x, &o.args);
  tokenizer_scratch_free(x.scratch);
  tokenizer_free(x.t);
  token_list_free(&x.ids);
  buf_free(&x.text);
  buf_free(&x.out);
  options_free(&o);
  return status;
}
