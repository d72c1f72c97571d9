/* Tokenizers under any input. The last byte chooses:
 *  - the input is a tokenizer file, and what opens is tried on a text;
 *  - the input is a text for one of our small tokenizers: encoding never
 *    fails, byte-level ids give the text back, and counting agrees;
 *  - the input changes an index block, whose checksum is then put right: what
 *    still opens must not lead anywhere bad;
 *  - the input is a pattern, then a text that it is looked for in;
 *  - the input is a text for the patterns that are matched by hand, against
 *    PCRE2. */
#include "base/mem.h"
#include "data/normal_form.h"
#include "data/regex.h"
#include "data/token_builder.h"
#include "data/tokenizer.h"
#include "data/utf8.h"
#include "data/word_pattern.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct {
  struct buf text[4];
  struct tokenizer *t[4];
  struct tokenizer_scratch *s[4];
  struct regex regex[WORD_PATTERNS];
  struct regex_scratch match;
  struct unicode unicode;
  struct word_classes classes;
  void *block;
  size_t block_size;
} fixed;

static const char *const names[] = {"bytes", "sentence", "unigram",
                                    "wordpiece"};
static const struct token_source source = {{1, 2}, 3};

static void make_block(void)
{
  struct token_builder b;
  uint32_t culprit;
  token_builder_init(&b, TOKEN_BPE_BYTES);
  token_builder_add(&b, STR("a"), 0, 0);
  token_builder_add(&b, STR("b"), 1, 0);
  token_builder_add(&b, STR("ab"), 2, 0);
  FUZZ_CHECK(token_builder_seal(&b, &culprit) == 0);
  token_builder_merge(&b, 0, 1, 0, 2);
  fixed.block =
      token_builder_finish(&b, false, STR("{}"), &source, &fixed.block_size);
  token_builder_free(&b);
}

static void read_file(const char *name, struct buf *out)
{
  char path[80];
  FILE *f;
  char *to;
  snprintf(path, sizeof path, "tests/data/tokenizer/%s.json", name);
  f = fopen(path, "rb");
  FUZZ_CHECK(f);
  while ((to = buf_reserve(out, 4096))) {
    size_t n = fread(to, 1, 4096, f);
    if (!n)
      break;
    out->len += n;
  }
  fclose(f);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
  struct err e = {0};
  (void)argc, (void)argv;
  for (int i = 0; i < 4; i++) {
    read_file(names[i], &fixed.text[i]);
    fixed.t[i] = tokenizer_read(names[i], buf_str(&fixed.text[i]), &e);
    FUZZ_CHECK(fixed.t[i]);
    fixed.s[i] = tokenizer_scratch_new(fixed.t[i]);
  }
  for (int w = WORD_GPT2; w < WORD_WHITESPACE; w++)
    FUZZ_CHECK(regex_init(&fixed.regex[w],
                          str_of(word_pattern_text((enum word_pattern)w)), "x",
                          &e) == 0);
  unicode_init(&fixed.unicode);
  word_classes_init(&fixed.classes, &fixed.unicode);
  make_block();
  return 0;
}

/* ---- a file ---- */

static void use(const struct tokenizer *t, struct str text)
{
  struct tokenizer_scratch *s = tokenizer_scratch_new(t);
  struct token_list ids = {0};
  struct buf back = {0};
  if (tokenizer_encode(t, s, text, TOKENIZER_ADD_SPECIAL, &ids) == 0) {
    tokenizer_decode(t, s, ids.ids, ids.n, 0, &back);
    FUZZ_CHECK(utf8_valid(buf_str(&back)) == back.len);
  }
  for (uint32_t id = 0; id < tokenizer_vocab_size(t) && id < 2000; id++) {
    tokenizer_token(t, id);
    tokenizer_decode(t, s, &id, 1, TOKENIZER_SKIP_SPECIAL, &back);
  }
  buf_free(&back);
  token_list_free(&ids);
  tokenizer_scratch_free(s);
}

static void as_file(struct str in)
{
  struct err e = {0};
  struct tokenizer *t = tokenizer_read("x", in, &e);
  FUZZ_CHECK((t == NULL) == (e.count > 0));
  if (t)
    use(t, STR("ab the \u00e9\u4e2d 12  it's<|x|>\n\xff"));
  tokenizer_free(t);
  err_free(&e);
}

/* ---- a text ---- */

static void as_text(struct str in, unsigned which)
{
  const struct tokenizer *t = fixed.t[which];
  struct tokenizer_scratch *s = fixed.s[which];
  struct token_list ids = {0};
  struct buf back = {0}, whole = {0}, form = {0};
  size_t n, head = 0;
  FUZZ_CHECK(tokenizer_encode(t, s, in, 0, &ids) == 0);
  FUZZ_CHECK(tokenizer_count(t, s, in, 0, &n) == 0 && n == ids.n);
  FUZZ_CHECK(tokenizer_decode(t, s, ids.ids, ids.n, 0, &back) == 0);
  FUZZ_CHECK(utf8_valid(buf_str(&back)) == back.len);
  /* The first one loses nothing but what NFC takes; not so around its added
   * tokens, where NFC stops, blanks are stripped, and an e with an accent is
   * read as a letter of the byte alphabet. */
  utf8_add_repaired(&whole, in);
  if (which == 0 && str_find(in, STR("<")) < 0 &&
      str_find(in, STR("have")) < 0 && str_find(in, STR("caf")) < 0) {
    struct str want = buf_str(&whole);
    if (normal_form(&fixed.unicode, NORMAL_NFC, want, &form, &head))
      want = buf_str(&form);
    FUZZ_CHECK(str_eq(buf_str(&back), want));
  }
  buf_free(&back);
  buf_free(&whole);
  buf_free(&form);
  token_list_free(&ids);
}

/* ---- an index ---- */

static void as_index(struct str in)
{
  struct token_index x;
  unsigned char *block = mem_alloc(fixed.block_size);
  memcpy(block, fixed.block, fixed.block_size);
  for (size_t i = 0; i + 2 < in.len; i += 3) {
    size_t at =
        ((size_t)(unsigned char)in.p[i] << 8 | (unsigned char)in.p[i + 1]) %
        fixed.block_size;
    block[at] = (unsigned char)in.p[i + 2];
  }
  x = (struct token_index){.block = block, .size = fixed.block_size};
  /* Its own size is what the checksum runs over. */
  memcpy(block, fixed.block, 8);
  memcpy(block + 48, (char *)fixed.block + 48, 8);
  token_index_seal(&x);
  if (token_index_open(&x, block, fixed.block_size, &source) == 0) {
    token_index_find(&x, STR("ab"), false);
    token_index_find(&x, STR("zz"), true);
    token_index_merge(&x, 0, 1);
    token_index_merge(&x, 7, 9);
    for (uint32_t id = 0; id < x.n; id++)
      token_index_find(&x, token_index_key(&x, id), false);
  }
  mem_free(block);
}

/* ---- patterns ---- */

static void as_pattern(struct str in)
{
  struct err e = {0};
  struct regex r;
  struct regex_scratch s = {0};
  struct buf room = {0};
  struct str whole = utf8_repair(in, &room), text = whole;
  struct str pattern = str_split(&text, '\n');
  struct regex_walk w = {0};
  size_t start, end, last = 0;
  if (pattern.len < 200 && regex_init(&r, pattern, "x", &e) == 0) {
    while (regex_next(&r, &s, text, &w, &start, &end) == 1) {
      FUZZ_CHECK(start >= last && end >= start && end <= text.len);
      last = end;
    }
    regex_deinit(&r);
  }
  regex_scratch_free(&s);
  buf_free(&room);
  err_free(&e);
}

static void by_hand(struct str in, enum word_pattern w)
{
  struct buf room = {0};
  struct str text = utf8_repair(in.len ? in : STR(" "), &room);
  const char *p = text.p, *stop = p + text.len;
  struct regex_walk walk = {0};
  size_t start, end;
  while (p < stop) {
    const char *mine = word_pattern_match(w, &fixed.classes, p, stop);
    if (!mine) {
      p += utf8_size((unsigned char)*p);
      continue;
    }
    FUZZ_CHECK(regex_next(&fixed.regex[w], &fixed.match, text, &walk, &start,
                          &end) == 1);
    FUZZ_CHECK(text.p + start == p && text.p + end == mine);
    p = mine;
  }
  FUZZ_CHECK(regex_next(&fixed.regex[w], &fixed.match, text, &walk, &start,
                        &end) == 0);
  buf_free(&room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct str in = {(const char *)data, size};
  unsigned way = fuzz_take(&in);
  char *copy = fuzz_copy(in.p, in.len);
  in.p = copy;
  switch (way % 8) {
  case 2: /* a line end: files are seeds as they are */
  case 3: as_file(in); break;
  case 0:
  case 1: as_text(in, way / 8 % 4); break;
  case 4: as_index(in); break;
  case 5: as_pattern(in); break;
  default:
    by_hand(in, (enum word_pattern)(WORD_GPT2 +
                                    way / 8 % (WORD_WHITESPACE - WORD_GPT2)));
    break;
  }
  free(copy);
  return 0;
}
