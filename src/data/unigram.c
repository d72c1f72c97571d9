#include "data/unigram.h"

#include "base/mem.h"
#include "data/token_walk.h"
#include "data/utf8.h"

/* What an unknown character costs below the worst piece. */
#define UNK_PENALTY 10.0

int unigram_init(struct unigram *u, const struct token_index *index,
                 const json_value *model, const char *path, struct err *e)
{
  double unk = json_double(json_get(model, "unk_id"), -1), least = 0;
  bool first = true;
  *u = (struct unigram){
      .index = index,
      .byte_fallback = json_true(json_get(model, "byte_fallback")),
  };
  if (unk < 0 || unk >= index->n || unk != (uint32_t)unk)
    return err_add(e,
                   "%s: model.unk_id must name a token: without one, texts "
                   "with unknown characters cannot be encoded",
                   path);
  u->unk = (uint32_t)unk;
  for (uint32_t id = 0; id < index->n; id++) {
    if (first || index->score[id] < least)
      least = index->score[id];
    first = false;
  }
  u->unk_score = least - UNK_PENALTY;
  return 0;
}

void unigram_scratch_free(struct unigram_scratch *s)
{
  mem_free(s->node);
  mem_free(s->end);
}

static void reserve(struct unigram_scratch *s, size_t n)
{
  if (n <= s->cap)
    return;
  s->cap = n + n / 2 + 64;
  s->node = mem_resize(s->node, s->cap, sizeof *s->node);
  s->end = mem_resize(s->end, s->cap, sizeof *s->end);
}

static void offer(struct unigram_node *to, double score, uint32_t id,
                  uint32_t start)
{
  if (to->start == TOKEN_NONE || score > to->score)
    *to = (struct unigram_node){score, id, start};
}

/* Every piece that begins at `at`, and the unknown character when no piece
 * is just this one. */
static void go_on(const struct unigram *u, struct unigram_scratch *s,
                  struct str word, uint32_t at)
{
  struct token_walk w = token_walk_start(u->index);
  size_t one = utf8_size((unsigned char)word.p[at]);
  double here = s->node[at].score;
  bool single = false;
  for (uint32_t end = at + 1; end <= word.len; end++) {
    uint32_t id;
    if (!token_walk_next(u->index, &w, (unsigned char)word.p[end - 1]))
      break;
    id = token_walk_id(u->index, &w);
    if (id == TOKEN_NONE)
      continue;
    offer(&s->node[end], u->index->score[id] + here, id, at);
    single = single || end - at == one;
  }
  if (!single)
    offer(&s->node[at + one], u->unk_score + here, u->unk, at);
}

/* A piece, or unknown characters in a row taken together. */
static void emit(const struct unigram *u, struct str piece,
                 struct token_list *out)
{
  uint32_t id = token_index_find(u->index, piece, false), *to;
  size_t n = 0;
  if (id == TOKEN_NONE && u->byte_fallback) {
    to = token_list_reserve(out, piece.len);
    while (n < piece.len &&
           (to[n] = u->index->byte[(unsigned char)piece.p[n]]) != TOKEN_NONE)
      n++;
    if (n == piece.len) {
      out->n += n;
      return;
    }
  }
  token_list_add(out, id == TOKEN_NONE ? u->unk : id);
}

void unigram_encode(const struct unigram *u, struct unigram_scratch *s,
                    struct str word, struct token_list *out)
{
  uint32_t len = (uint32_t)word.len, start = 0;
  size_t pieces = 0;
  reserve(s, word.len + 1);
  for (uint32_t i = 0; i <= len; i++)
    s->node[i] = (struct unigram_node){0, 0, TOKEN_NONE};
  for (uint32_t at = 0; at < len;
       at += (uint32_t)utf8_size((unsigned char)word.p[at]))
    go_on(u, s, word, at);
  for (uint32_t at = len; at > 0; at = s->node[at].start) {
    bool fused = s->node[at].id == u->unk && at < len &&
                 s->node[s->end[pieces - 1]].id == u->unk;
    if (!fused)
      s->end[pieces++] = at;
  }
  while (pieces) {
    uint32_t end = s->end[--pieces];
    emit(u, (struct str){word.p + start, end - start}, out);
    start = end;
  }
}
