/* tiktoken_file.c -- tiktoken's ranks: "base64 rank" lines.
 * The file says nothing of how text is split or which special tokens there
 * are: both follow from which encoding it is, told by the number of ranks.
 * A pair merges when its bytes together are a token, the lowest rank first;
 * so every way to cut a token in two is a merge. */
#include "data/tokenizer_file.h"

#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "data/base64.h"
#include "data/token_builder.h"

struct special {
  const char *text;
  uint32_t id;
};

struct encoding {
  const char *name;
  uint32_t ranks;
  const char *pattern;
  struct special special[12];
  /* A row of tokens "<|NAME_N|>", from one N and id on. */
  struct {
    const char *name;
    uint32_t first, id, n;
  } row;
};

#define GPT2                                                                   \
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"         \
  "\\s+(?!\\S)|\\s+"
#define TAIL        "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CL100K(digits)                                                         \
  CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                         \
              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" TAIL
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K                                                                  \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" CONTRACTION "?|"                \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" CONTRACTION "?|"                \
  "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" TAIL

/* Names and ids as their makers have them. */
static const struct encoding encodings[] = {
    {.name = "r50k_base",
     .ranks = 50256,
     .pattern = GPT2,
     .special = {{"<|endoftext|>", 50256}}},
    {.name = "p50k_base",
     .ranks = 50280,
     .pattern = GPT2,
     .special = {{"<|endoftext|>", 50256}}},
    {.name = "cl100k_base",
     .ranks = 100256,
     .pattern = CL100K("\\p{N}{1,3}"),
     .special = {{"<|endoftext|>", 100257},
                 {"<|fim_prefix|>", 100258},
                 {"<|fim_middle|>", 100259},
                 {"<|fim_suffix|>", 100260},
                 {"<|endofprompt|>", 100276}}},
    {.name = "o200k_base",
     .ranks = 199998,
     .pattern = O200K,
     .special = {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
    {.name = "llama3",
     .ranks = 128000,
     .pattern = CL100K("\\p{N}{1,3}"),
     .special = {{"<|begin_of_text|>", 128000},
                 {"<|end_of_text|>", 128001},
                 {"<|reserved_special_token_0|>", 128002},
                 {"<|reserved_special_token_1|>", 128003},
                 {"<|finetune_right_pad_id|>", 128004},
                 {"<|reserved_special_token_2|>", 128005},
                 {"<|start_header_id|>", 128006},
                 {"<|end_header_id|>", 128007},
                 {"<|eom_id|>", 128008},
                 {"<|eot_id|>", 128009},
                 {"<|python_tag|>", 128010}},
     .row = {"reserved_special_token", 3, 128011, 245}},
    {.name = "qwen",
     .ranks = 151643,
     .pattern = CL100K("\\p{N}"),
     .special = {{"<|endoftext|>", 151643},
                 {"<|im_start|>", 151644},
                 {"<|im_end|>", 151645}},
     .row = {"extra", 0, 151646, 205}},
};

static const struct encoding *encoding_of(uint32_t ranks)
{
  for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++)
    if (encodings[i].ranks == ranks)
      return &encodings[i];
  return NULL;
}

/* ---- the lines ---- */

static int read_line(struct token_builder *b, struct str line,
                     struct buf *bytes, uint32_t *rank)
{
  struct str number = line, text = str_split(&number, ' ');
  uint64_t x = 0;
  buf_reset(bytes);
  if (!number.len || number.len > 9 || base64_decode(bytes, text) < 0 ||
      !bytes->len)
    return -1;
  for (size_t i = 0; i < number.len; i++) {
    if (number.p[i] < '0' || number.p[i] > '9')
      return -1;
    x = x * 10 + (uint64_t)(number.p[i] - '0');
  }
  *rank = (uint32_t)x;
  token_builder_add_bytes(b, buf_str(bytes), *rank);
  return 0;
}

static int read_lines(struct token_builder *b, const char *path,
                      struct str text, struct err *e)
{
  struct buf bytes = {0};
  size_t number = 0;
  int result = 0;
  while (result == 0 && text.len) {
    struct str line = str_trim(str_split(&text, '\n'));
    uint32_t rank;
    number++;
    if (line.len && read_line(b, line, &bytes, &rank) < 0)
      result = err_add(e,
                       "%s:%zu: expected base64, a blank and a rank: is "
                       "this a tokenizer.json or a tiktoken file?",
                       path, number);
  }
  buf_free(&bytes);
  return result;
}

/* ---- merges ---- */

static void cut_token(struct token_builder *b, uint32_t id)
{
  struct str key = {b->keys + b->offset[id], b->offset[id + 1] - b->offset[id]};
  for (size_t at = 1; at < key.len; at++) {
    struct str left = {key.p, at}, right = {key.p + at, key.len - at};
    uint32_t l = token_builder_find_key(b, left, false), r;
    if (l == TOKEN_NONE)
      continue;
    r = token_builder_find_key(b, right, false);
    if (r != TOKEN_NONE)
      token_builder_merge(b, l, r, id, id);
  }
}

/* ---- what the file leaves out ---- */

static void add_special(struct json_writer *w, const char *text, uint32_t id)
{
  json_begin_object(w);
  json_key(w, "id");
  json_integer(w, id);
  json_key(w, "content");
  json_string(w, str_of(text));
  json_key(w, "special");
  json_boolean(w, true);
  json_key(w, "normalized");
  json_boolean(w, false);
  json_end_object(w);
}

static void write_specials(struct json_writer *w, const struct encoding *enc)
{
  json_key(w, "added_tokens");
  json_begin_array(w);
  for (size_t i = 0; i < sizeof enc->special / sizeof *enc->special; i++)
    if (enc->special[i].text)
      add_special(w, enc->special[i].text, enc->special[i].id);
  for (uint32_t i = 0; i < enc->row.n; i++) {
    char text[48];
    snprintf(text, sizeof text, "<|%s_%u|>", enc->row.name, enc->row.first + i);
    add_special(w, text, enc->row.id + i);
  }
  json_end_array(w);
}

static void write_config(struct buf *out, const struct encoding *enc)
{
  struct json_writer w = {.out = out};
  json_begin_object(&w);
  json_key(&w, "encoding");
  json_string(&w, str_of(enc->name));
  write_specials(&w, enc);
  json_key(&w, "pre_tokenizer");
  json_raw(&w, STR("{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                   "\"Split\",\"behavior\":\"Isolated\",\"invert\":false,"
                   "\"pattern\":{\"Regex\":\""));
  json_escape(out, str_of(enc->pattern));
  buf_adds(out, "\"}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                "\"use_regex\":false}]}");
  json_key(&w, "decoder");
  json_raw(&w, STR("{\"type\":\"ByteLevel\"}"));
  json_key(&w, "model");
  json_raw(&w, STR("{\"type\":\"BPE\",\"ignore_merges\":true}"));
  json_end_object(&w);
}

void *tiktoken_read(const char *path, struct str text,
                    const struct token_source *source, size_t *size,
                    struct err *e)
{
  struct token_builder b;
  struct buf config = {0};
  const struct encoding *enc;
  uint32_t culprit;
  void *block = NULL;
  token_builder_init(&b, TOKEN_BPE_BYTES);
  if (read_lines(&b, path, text, e) < 0)
    goto out;
  enc = encoding_of(b.entries);
  if (!enc) {
    err_add(e,
            "%s: %u ranks are none of the known encodings, so how it "
            "splits text is not known; use its tokenizer.json",
            path, b.entries);
    goto out;
  }
  if (token_builder_seal(&b, &culprit) < 0) {
    err_add(e, "%s: rank %u is given twice", path, culprit);
    goto out;
  }
  for (uint32_t id = 0; id < b.n; id++)
    cut_token(&b, id);
  write_config(&config, enc);
  block = token_builder_finish(&b, false, buf_str(&config), source, size);
out:
  token_builder_free(&b);
  buf_free(&config);
  return block;
}

void *tokenizer_file_read(const char *path, struct str text,
                          const struct token_source *source, size_t *size,
                          struct err *e)
{
  struct str start = str_trim(text);
  if (!start.len) {
    err_add(e, "%s: the file is empty", path);
    return NULL;
  }
  if (start.p[0] == '{')
    return tokenizer_json_read(path, text, source, size, e);
  if (str_starts(text, STR("\xef\xbb\xbf")))
    return tokenizer_json_read(path, text, source, size, e);
  return tiktoken_read(path, text, source, size, e);
}
