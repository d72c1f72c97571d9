/* tokenizer_parts.h -- the inside of a tokenizer, for tokenizer*.c alone. */
#ifndef STOKE_DATA_TOKENIZER_PARTS_H
#define STOKE_DATA_TOKENIZER_PARTS_H

#include "data/added_tokens.h"
#include "data/bpe.h"
#include "data/normalizer.h"
#include "data/post_processor.h"
#include "data/pretokenizer.h"
#include "data/token_decoder.h"
#include "data/tokenizer.h"
#include "data/unigram.h"
#include "data/word_cache.h"
#include "data/wordpiece.h"

struct tokenizer {
  struct unicode unicode;
  struct token_index index;
  void *block; /* the index's */
  struct normalizer normalizer;
  struct added_tokens added;
  struct pretokenizer pretokenizer;
  struct post_processor post;
  struct token_decoder decoder;
  struct bpe bpe; /* one of these, by index.kind */
  struct unigram unigram;
  struct wordpiece wordpiece;
};

struct tokenizer_scratch {
  struct buf repaired, joined;
  struct normalizer_scratch normalizer;
  struct pretokenizer_scratch pretokenizer;
  struct bpe_scratch bpe;
  struct unigram_scratch unigram;
  struct token_decoder_scratch decoder;
  struct word_cache words;
  struct token_list count;
};

#endif
