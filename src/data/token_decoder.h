/* token_decoder.h -- the "decoder" of tokenizer.json: tokens back into text.
 * Steps that turn a row of texts into another row; what is left is joined. */
#ifndef STOKE_DATA_TOKEN_DECODER_H
#define STOKE_DATA_TOKEN_DECODER_H

#include "base/json.h"
#include "data/byte_alphabet.h"
#include "data/regex.h"

enum decode_kind {
  DECODE_BYTE_LEVEL,
  DECODE_BYTE_FALLBACK,
  DECODE_FUSE,
  DECODE_REPLACE,
  DECODE_REPLACE_REGEX,
  DECODE_STRIP,
  DECODE_METASPACE,
  DECODE_WORDPIECE,
  DECODE_SUFFIX /* BPEDecoder */
};

struct decode_step {
  enum decode_kind kind;
  struct buf from, to;
  struct regex regex;
  size_t start, stop; /* Strip: at most so many, at either end */
  bool flag; /* Metaspace: the first token may begin with a mark that was
              * prepended. WordPiece: cleanup */
};

struct token_decoder {
  struct byte_alphabet alphabet;
  struct decode_step *step;
  size_t n;
  bool given; /* without one, tokens are joined by blanks */
  bool fused; /* the first three are SentencePiece's: done in one go */
};

/* Texts in a row, end to end. */
struct text_row {
  struct buf bytes;
  size_t *end;
  size_t n, cap;
};

/* One for each thread; zeroed it is valid. */
struct token_decoder_scratch {
  struct text_row row[2];
  struct buf text;
  struct regex_scratch regex;
};

int token_decoder_init(struct token_decoder *d, const json_value *v,
                       const char *path, struct err *e);
void token_decoder_deinit(struct token_decoder *d);
void token_decoder_scratch_free(struct token_decoder_scratch *s);

void text_row_reset(struct text_row *r);
/* What was added to r->bytes since the last one is another text. */
void text_row_close(struct text_row *r);

/* Decodes s->row[0]; appends valid UTF-8. 0, or -1 when a pattern gave up. */
int token_decoder_run(const struct token_decoder *d,
                      struct token_decoder_scratch *s, struct buf *out);

/* Is a token's text all that is needed, bytes and nothing more? Then the
 * caller may join the bytes itself. */
bool token_decoder_joins_bytes(const struct token_decoder *d);

#endif
