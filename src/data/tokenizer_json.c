/* tokenizer_json.c -- tokenizer.json, read without building a tree.
 * A first walk only notes where the parts of the file lie, so their order
 * does not matter; then the vocabulary and the merges go to the builder and
 * everything else becomes the index's configuration. */
#include "data/tokenizer_file.h"

#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "data/json_scan.h"
#include "data/pretokenizer.h"
#include "data/token_builder.h"
#include "data/tokenizer_limits.h"
#include "data/utf8.h"

struct reading {
  const char *path;
  struct str file;
  struct str vocab, merges, pre_tokenizer;
  struct buf config; /* the rest */
  json_value *model; /* its fields without the two big ones */
  size_t prefix_len; /* of continuing_subword_prefix */
  struct token_builder build;
  struct err *e;
};

static int fail(struct reading *r, const struct json_scan *at, const char *what)
{
  struct json_scan whole = {.begin = r->file.p, .p = at->p};
  return err_add(r->e, "%s:%zu: %s", r->path, json_scan_line(&whole), what);
}

static int fail_syntax(struct reading *r, const struct json_scan *at)
{
  return fail(r, at, "not valid JSON; is the file complete?");
}

/* ---- the parts ---- */

/* Copies one member into the configuration. */
static void keep(struct buf *config, struct str key, struct str value)
{
  if (config->len && config->p[config->len - 1] != '{')
    buf_addc(config, ',');
  buf_addf(config, "\"%.*s\":", STR_ARG(key));
  buf_addstr(config, value);
}

static bool one_of(struct str key, const char *const *names)
{
  for (; *names; names++)
    if (str_eq(key, str_of(*names)))
      return true;
  return false;
}

/* The members of `text`, an object: the wanted ones into the configuration,
 * the big ones only noted. */
static int parts(struct reading *r, struct str text, bool model)
{
  static const char *const top[] = {"added_tokens",  "normalizer",
                                    "pre_tokenizer", "post_processor",
                                    "decoder",       NULL};
  struct json_scan s;
  struct buf key = {0};
  bool first = true;
  json_scan_init(&s, text);
  if (!json_scan_skip(&s, '{'))
    json_scan_fail(&s);
  while (!s.bad && json_scan_more(&s, '}', &first)) {
    struct str value;
    buf_reset(&key);
    if (json_scan_key(&s, &key) < 0)
      break;
    value = json_scan_value(&s);
    if (s.bad)
      break;
    if (model && str_eq(buf_str(&key), STR("vocab"))) {
      r->vocab = value;
    } else if (model && str_eq(buf_str(&key), STR("merges"))) {
      r->merges = value;
    } else if (!model && str_eq(buf_str(&key), STR("model"))) {
      buf_adds(&r->config, r->config.len > 1 ? ",\"model\":{" : "\"model\":{");
      if (parts(r, value, true) < 0)
        break;
      buf_addc(&r->config, '}');
    } else if (model || one_of(buf_str(&key), top)) {
      if (str_eq(buf_str(&key), STR("pre_tokenizer")))
        r->pre_tokenizer = value;
      keep(&r->config, buf_str(&key), value);
    }
  }
  buf_free(&key);
  if (r->e->count)
    return -1;
  json_scan_peek(&s);
  return s.bad || s.p < s.end ? fail_syntax(r, &s) : 0;
}

/* ---- vocabulary ---- */

/* Where every token that a text could begin with is tried, none is long. */
static int check_length(struct reading *r, const struct json_scan *at,
                        const struct buf *key)
{
  enum token_kind kind = r->build.kind;
  char what[80];
  if ((kind != TOKEN_UNIGRAM && kind != TOKEN_WORDPIECE) ||
      key->len <= TOKENIZER_PIECE_MAX)
    return 0;
  snprintf(what, sizeof what, "model.vocab: a token of more than %d bytes",
           TOKENIZER_PIECE_MAX);
  return fail(r, at, what);
}

/* {"token": id, …} */
static int read_vocab(struct reading *r)
{
  struct json_scan s;
  struct buf key = {0};
  bool first = true;
  json_scan_init(&s, r->vocab);
  if (!json_scan_skip(&s, '{'))
    return fail(r, &s, "model.vocab: expected an object of tokens and ids");
  while (json_scan_more(&s, '}', &first)) {
    uint32_t id;
    buf_reset(&key);
    if (json_scan_key(&s, &key) < 0 || json_scan_u32(&s, &id) < 0)
      break;
    if (check_length(r, &s, &key) < 0)
      break;
    token_builder_add(&r->build, buf_str(&key), id, 0);
  }
  buf_free(&key);
  if (r->e->count)
    return -1;
  return s.bad ? fail(r, &s, "model.vocab: expected \"token\": id") : 0;
}

/* [["token", score], …]; the place is the id */
static int read_scored_vocab(struct reading *r)
{
  struct json_scan s;
  struct buf key = {0};
  bool first = true;
  json_scan_init(&s, r->vocab);
  if (!json_scan_skip(&s, '['))
    return fail(r, &s, "model.vocab: expected a list of tokens and scores");
  for (uint32_t id = 0; json_scan_more(&s, ']', &first); id++) {
    double score;
    buf_reset(&key);
    if (!json_scan_skip(&s, '[') || json_scan_string(&s, &key) < 0 ||
        !json_scan_skip(&s, ',') || json_scan_double(&s, &score) < 0 ||
        !json_scan_skip(&s, ']')) {
      json_scan_fail(&s);
      break;
    }
    if (check_length(r, &s, &key) < 0)
      break;
    token_builder_add(&r->build, buf_str(&key), id, score);
  }
  buf_free(&key);
  if (r->e->count)
    return -1;
  return s.bad ? fail(r, &s, "model.vocab: expected [\"token\", score]") : 0;
}

/* ---- merges ---- */

/* "left right" or ["left", "right"], the halves parted by a NUL. -1 when it
 * is neither, 1 when it is the header line of an old merges.txt. */
static int read_pair(struct json_scan *s, struct buf *pair, size_t *left)
{
  char *blank;
  buf_reset(pair);
  if (json_scan_peek(s) == '[') {
    json_scan_skip(s, '[');
    if (json_scan_string(s, pair) < 0 || !json_scan_skip(s, ','))
      return json_scan_fail(s);
    *left = pair->len;
    return json_scan_string(s, pair) < 0 || !json_scan_skip(s, ']')
               ? json_scan_fail(s)
               : 0;
  }
  if (json_scan_string(s, pair) < 0)
    return -1;
  if (str_starts(buf_str(pair), STR("#version")))
    return 1;
  blank = pair->len ? memchr(pair->p, ' ', pair->len) : NULL;
  if (!blank ||
      memchr(blank + 1, ' ', pair->len - (size_t)(blank + 1 - pair->p)))
    return json_scan_fail(s);
  *left = (size_t)(blank - pair->p);
  memmove(blank, blank + 1, pair->len - *left - 1);
  pair->len--;
  return 0;
}

static int unknown(struct reading *r, const struct json_scan *s,
                   struct str text)
{
  struct buf what = {0};
  buf_adds(&what, "model.merges: \"");
  json_escape(&what, text);
  buf_adds(&what, "\" is not in the vocabulary");
  fail(r, s, buf_cstr(&what));
  buf_free(&what);
  return -1;
}

static int add_pair(struct reading *r, const struct json_scan *s,
                    struct buf *pair, size_t left, uint32_t rank)
{
  struct str a = {pair->p, left}, b = {pair->p + left, pair->len - left};
  uint32_t a_id = token_builder_find(&r->build, a), b_id, id;
  if (a_id == TOKEN_NONE)
    return unknown(r, s, a);
  b_id = token_builder_find(&r->build, b);
  if (b_id == TOKEN_NONE)
    return unknown(r, s, b);
  if (r->prefix_len && b.len >= r->prefix_len) {
    memmove(pair->p + left, pair->p + left + r->prefix_len,
            b.len - r->prefix_len);
    pair->len -= r->prefix_len;
  }
  id = token_builder_find(&r->build, buf_str(pair));
  if (id == TOKEN_NONE)
    return unknown(r, s, buf_str(pair));
  token_builder_merge(&r->build, a_id, b_id, rank, id);
  return 0;
}

static int read_merges(struct reading *r)
{
  struct json_scan s;
  struct buf pair = {0};
  bool first = true;
  uint32_t rank = 0;
  int got = 0;
  json_scan_init(&s, r->merges);
  if (!json_scan_skip(&s, '['))
    return fail(r, &s, "model.merges: expected a list");
  while (got >= 0 && json_scan_more(&s, ']', &first)) {
    size_t left = 0;
    got = read_pair(&s, &pair, &left);
    if (got == 0)
      got = add_pair(r, &s, &pair, left, rank++);
  }
  buf_free(&pair);
  return s.bad ? fail(r, &s, "model.merges: expected \"left right\"") : got;
}

/* ---- the model ---- */

static const char *model_type(const struct reading *r)
{
  const char *type = json_text(json_get(r->model, "type"));
  if (type)
    return type;
  /* Files older than the field. */
  if (r->merges.len)
    return "BPE";
  if (r->vocab.len && r->vocab.p[0] == '[')
    return "Unigram";
  return json_get(r->model, "continuing_subword_prefix") ? "WordPiece" : "none";
}

static bool bytes_level(const struct reading *r)
{
  json_value *v = json_parse(r->pre_tokenizer, NULL);
  bool yes = pretokenizer_makes_bytes(v);
  json_free(v);
  return yes;
}

static int choose_kind(struct reading *r, enum token_kind *kind)
{
  const char *type = model_type(r);
  if (strcmp(type, "BPE") == 0)
    *kind = bytes_level(r) ? TOKEN_BPE_BYTES : TOKEN_BPE;
  else if (strcmp(type, "Unigram") == 0)
    *kind = TOKEN_UNIGRAM;
  else if (strcmp(type, "WordPiece") == 0)
    *kind = TOKEN_WORDPIECE;
  else
    return err_add(r->e,
                   "%s: models of type %s are not supported; BPE, "
                   "Unigram and WordPiece are",
                   r->path, type);
  return 0;
}

static int parse_config(struct reading *r, json_value **config)
{
  struct str text = buf_str(&r->config);
  if (str_find(text, STR("\\u0000")) >= 0)
    return err_add(r->e,
                   "%s: \\u0000 outside of the vocabulary is not "
                   "supported",
                   r->path);
  *config = json_parse(text, NULL);
  if (!*config)
    return err_add(r->e, "%s: not valid JSON", r->path);
  r->model = json_get(*config, "model");
  if (!r->model || !r->vocab.len)
    return err_add(r->e,
                   "%s: no model with a vocabulary in it; is this a "
                   "tokenizer.json?",
                   r->path);
  return 0;
}

static int read_model(struct reading *r, enum token_kind kind)
{
  const char *prefix =
      json_text(json_get(r->model, "continuing_subword_prefix"));
  uint32_t culprit;
  const char *suffix = json_text(json_get(r->model, "end_of_word_suffix"));
  r->prefix_len = prefix ? strlen(prefix) : 0;
  if (r->prefix_len > TOKENIZER_AFFIX_MAX ||
      (suffix && strlen(suffix) > TOKENIZER_AFFIX_MAX))
    return err_add(r->e,
                   "%s: model: continuing_subword_prefix and "
                   "end_of_word_suffix have at most %d bytes",
                   r->path, TOKENIZER_AFFIX_MAX);
  if ((kind == TOKEN_UNIGRAM ? read_scored_vocab(r) : read_vocab(r)) < 0)
    return -1;
  if (token_builder_seal(&r->build, &culprit) < 0)
    return err_add(r->e, "%s: model.vocab: the id %u %s", r->path, culprit,
                   culprit < TOKEN_ID_LIMIT ? "is given twice"
                                            : "is out of reach");
  if (kind != TOKEN_BPE && kind != TOKEN_BPE_BYTES)
    return 0;
  if (!r->merges.len)
    return err_add(r->e, "%s: model.merges is missing", r->path);
  return read_merges(r);
}

/* Only then is a character without a token sure to become its bytes. */
static bool falls_back(const struct reading *r)
{
  const char *suffix = json_text(json_get(r->model, "end_of_word_suffix"));
  return json_true(json_get(r->model, "byte_fallback")) && !r->prefix_len &&
         (!suffix || !*suffix);
}

void *tokenizer_json_read(const char *path, struct str text,
                          const struct token_source *source, size_t *size,
                          struct err *e)
{
  struct reading r = {.path = path, .file = text, .e = e};
  json_value *config = NULL;
  enum token_kind kind = TOKEN_KINDS;
  void *block = NULL;
  size_t valid = utf8_valid(text);
  if (valid != text.len) {
    err_add(e, "%s: not UTF-8 at byte %zu", path, valid);
    return NULL;
  }
  buf_addc(&r.config, '{');
  if (parts(&r, text, false) < 0)
    goto out;
  buf_addc(&r.config, '}');
  if (parse_config(&r, &config) < 0 || choose_kind(&r, &kind) < 0)
    goto out;
  token_builder_init(&r.build, kind);
  if (read_model(&r, kind) == 0)
    block = token_builder_finish(&r.build, falls_back(&r), buf_str(&r.config),
                                 source, size);
out:
  token_builder_free(&r.build);
  json_free(config);
  buf_free(&r.config);
  return block;
}
