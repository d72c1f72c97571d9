/* unicode.h -- what the tokenizer asks of a code point.
 * The Rust tokenizers, whose ids have to be met, take their properties from
 * several places with a Unicode version each; so does this table:
 *   categories, \w, \s, graphemes  Oniguruma and the regex crate: 16
 *   numeric, lower case            Rust's standard library: 17
 *   punctuation and marks          the unicode_categories crate: 8
 *   normalization, combining mark  unicode-normalization-alignments: 9
 * It is written by unicode_ranges.mjs as runs of code points with the same
 * record, and opened here to two look-ups a code point. */
#ifndef STOKE_DATA_UNICODE_H
#define STOKE_DATA_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNICODE_RECORDS 158
#define UNICODE_RANGES  5691
#define UNICODE_MAX     0x110000u

enum unicode_category {
  UNICODE_CN,
  UNICODE_LU,
  UNICODE_LL,
  UNICODE_LT,
  UNICODE_LM,
  UNICODE_LO,
  UNICODE_MN,
  UNICODE_MC,
  UNICODE_ME,
  UNICODE_ND,
  UNICODE_NL,
  UNICODE_NO,
  UNICODE_PC,
  UNICODE_PD,
  UNICODE_PS,
  UNICODE_PE,
  UNICODE_PI,
  UNICODE_PF,
  UNICODE_PO,
  UNICODE_SM,
  UNICODE_SC,
  UNICODE_SK,
  UNICODE_SO,
  UNICODE_ZS,
  UNICODE_ZL,
  UNICODE_ZP,
  UNICODE_CC,
  UNICODE_CF,
  UNICODE_CS,
  UNICODE_CO,
  UNICODE_CATEGORIES
};

/* A record: the category in the low five bits, and these. */
#define UNICODE_CATEGORY    0x1fu
#define UNICODE_SPACE       (1u << 5)  /* White_Space */
#define UNICODE_WORD        (1u << 6)  /* Alphabetic, M, Nd, Pc */
#define UNICODE_NUMERIC     (1u << 7)  /* N in 17 */
#define UNICODE_PUNCTUATION (1u << 8)  /* P in 8 */
#define UNICODE_NONSPACING  (1u << 9)  /* Mn in 8 */
#define UNICODE_OTHER       (1u << 10) /* Cc, Cf, Co in 8 */
#define UNICODE_MARK        (1u << 11) /* M in 9 */
#define UNICODE_LINE_END    (1u << 12) /* carriage return, line feed */
#define UNICODE_YOUNG       (1u << 13) /* assigned after 14 */
/* Normalization, Unicode 9. A code point without the bit of a form stays as
 * it is in that form, if no UNICODE_CCC mark stands near it. */
#define UNICODE_NFD          (1u << 14)
#define UNICODE_NFKD         (1u << 15)
#define UNICODE_NFC          (1u << 16) /* changes, or may join to its left */
#define UNICODE_NFKC         (1u << 17)
#define UNICODE_CCC          (1u << 18) /* has a combining class */
#define UNICODE_BASE         (1u << 19) /* what is behind it may change it */
#define UNICODE_PICTOGRAPHIC (1u << 24)

/* Grapheme_Cluster_Break, bits 20 to 23. */
enum grapheme_break {
  GRAPHEME_OTHER,
  GRAPHEME_CR,
  GRAPHEME_LF,
  GRAPHEME_CONTROL,
  GRAPHEME_EXTEND,
  GRAPHEME_ZWJ,
  GRAPHEME_REGIONAL,
  GRAPHEME_PREPEND,
  GRAPHEME_SPACING,
  GRAPHEME_L,
  GRAPHEME_V,
  GRAPHEME_T,
  GRAPHEME_LV,
  GRAPHEME_LVT
};

static inline enum grapheme_break unicode_break(uint32_t record)
{
  return (enum grapheme_break)(record >> 20 & 15);
}

/* The generated data: records, and runs as start << 8 | index of a record. */
extern const uint32_t unicode_record[UNICODE_RECORDS];
extern const uint32_t unicode_range[UNICODE_RANGES];

/* The scripts that patterns name, as pairs of first and last. The last row
 * has no name. */
struct unicode_script {
  const char *name;
  const uint32_t *range;
  unsigned n;
};
extern const struct unicode_script unicode_script[];

/* The open table: block[c / 128] is where the 128 indexes of that block
 * start in `cell`. */
struct unicode {
  uint16_t block[UNICODE_MAX / 128];
  uint8_t *cell;
};

void unicode_init(struct unicode *u);
void unicode_deinit(struct unicode *u);

/* c < UNICODE_MAX. */
static inline uint8_t unicode_index(const struct unicode *u, uint32_t c)
{
  return u->cell[(uint32_t)u->block[c >> 7] * 128 + (c & 127)];
}

static inline uint32_t unicode_get(const struct unicode *u, uint32_t c)
{
  return unicode_record[unicode_index(u, c)];
}

/* Lower case as Rust's char::to_lowercase, without context. Writes one or
 * two code points and returns how many. */
unsigned unicode_lower(uint32_t c, uint32_t out[2]);

#endif
