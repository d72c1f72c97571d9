#include "data/wordpiece.h"

#include "base/mem.h"
#include "data/token_walk.h"
#include "data/utf8.h"

int wordpiece_init(struct wordpiece *w, const struct token_index *index,
                   const json_value *model, const char *path, struct err *e)
{
  const char *unk = json_text(json_get(model, "unk_token"));
  const char *prefix = json_text(json_get(model, "continuing_subword_prefix"));
  double chars = json_double(json_get(model, "max_input_chars_per_word"), 100);
  *w = (struct wordpiece){
      .index = index,
      .max_chars = chars > 0 && chars < 1e9 ? (size_t)chars
                   : chars > 0              ? SIZE_MAX
                                            : 0,
      .prefix = mem_strdup(prefix ? prefix : "##"),
      .unk = token_index_find(index, str_of(unk ? unk : "[UNK]"), false),
  };
  if (w->unk == TOKEN_NONE)
    return err_add(e, "%s: model.unk_token %s is not in the vocabulary", path,
                   unk ? unk : "[UNK]");
  return 0;
}

void wordpiece_deinit(struct wordpiece *w)
{
  mem_free(w->prefix);
}

/* The longest piece at the start of `rest`, its length in *len (without the
 * prefix), or TOKEN_NONE. */
static uint32_t longest(const struct wordpiece *w, struct str rest, bool first,
                        size_t *len)
{
  struct token_walk walk = token_walk_start(w->index);
  uint32_t best = TOKEN_NONE;
  if (!first)
    for (const char *p = w->prefix; *p; p++)
      if (!token_walk_next(w->index, &walk, (unsigned char)*p))
        return TOKEN_NONE;
  for (size_t i = 0; i < rest.len; i++) {
    uint32_t id;
    if (!token_walk_next(w->index, &walk, (unsigned char)rest.p[i]))
      break;
    id = token_walk_id(w->index, &walk);
    if (id != TOKEN_NONE)
      best = id, *len = i + 1;
  }
  return best;
}

void wordpiece_encode(const struct wordpiece *w, struct str word,
                      struct token_list *out)
{
  size_t before = out->n, len = 0;
  struct str rest = word;
  bool unknown = utf8_count(word) > w->max_chars;
  while (rest.len && !unknown) {
    uint32_t id = longest(w, rest, rest.len == word.len, &len);
    unknown = id == TOKEN_NONE;
    if (!unknown) {
      token_list_add(out, id);
      rest.p += len, rest.len -= len;
    }
  }
  if (unknown) {
    out->n = before;
    token_list_add(out, w->unk);
  }
}
