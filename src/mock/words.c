#include "mock/words.h"

static const struct str words[] = {
    STR("the"),   STR("river"),   STR("stone"), STR("light"), STR("carries"),
    STR("a"),     STR("slow"),    STR("wind"),  STR("over"),  STR("open"),
    STR("water"), STR("and"),     STR("fire"),  STR("keeps"), STR("small"),
    STR("coal"),  STR("warm"),    STR("under"), STR("ash"),   STR("until"),
    STR("dawn"),  STR("when"),    STR("some"),  STR("hand"),  STR("stirs"),
    STR("it"),    STR("with"),    STR("iron"),  STR("or"),    STR("breath"),
    STR("of"),    STR("morning"),
};

static const struct str cjk[] = {
    STR("中"), STR("文"), STR("火"), STR("水"), STR("山"), STR("川"),
    STR("風"), STR("雨"), STR("日"), STR("月"), STR("木"), STR("金"),
    STR("土"), STR("石"), STR("空"), STR("海"),
};

static const struct str emoji[] = {
    STR("🔥"), STR("🌊"), STR("⛰"),    STR("🌧"),
    STR("🌙"), STR("🌲"), STR("🪨"), STR("🌬"),
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static uint64_t pick(uint64_t seed, uint64_t k)
{
  uint64_t z = seed + k * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  return z ^ (z >> 31);
}

void mock_words_token(struct buf *out, enum mock_text kind, uint64_t seed,
                      uint64_t k)
{
  uint64_t x = pick(seed, k);
  switch (kind) {
  case MOCK_TEXT_WORDS:
    if (k)
      buf_addc(out, ' ');
    buf_addstr(out, words[x % COUNT(words)]);
    break;
  case MOCK_TEXT_CJK: buf_addstr(out, cjk[x % COUNT(cjk)]); break;
  case MOCK_TEXT_EMOJI: buf_addstr(out, emoji[x % COUNT(emoji)]); break;
  case MOCK_TEXT_SPACES: buf_addc(out, ' '); break;
  case MOCK_TEXT_SURROGATES:
    /* A pair's halves in tokens of their own. */
    buf_addstr(out, k % 2 ? STR("\\ude00") : STR("\\ud83d"));
    break;
  }
}

void mock_words_fill(struct buf *out, uint64_t seed, uint64_t bytes)
{
  size_t end = out->len + bytes;
  for (uint64_t k = 0; out->len < end; k++)
    mock_words_token(out, MOCK_TEXT_WORDS, seed, k);
  out->len = end;
}
