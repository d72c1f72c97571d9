#include "mock/blast.h"

#include "base/mem.h"

void mock_blast_deinit(struct mock_blast *b)
{
  for (size_t i = 0; i < b->count; i++)
    buf_free(&b->pages[i].bytes);
  mem_free(b->pages);
  *b = (struct mock_blast){0};
}

static bool fits(const struct mock_page *p, const struct mock_ask *a,
                 uint64_t tokens, uint64_t cached)
{
  return p->tokens == tokens && p->prompt == a->prompt_tokens &&
         p->cached == cached && strcmp(p->function, a->function) == 0 &&
         p->choices == a->choices && p->api == a->api &&
         p->stream == a->stream && p->usage == a->usage &&
         p->usage_each == a->usage_each && strcmp(p->model, a->model) == 0;
}

struct mock_page *mock_blast_page(struct mock_blast *b,
                                  const struct mock_ask *a, uint64_t tokens,
                                  uint64_t cached)
{
  struct mock_page *p;
  for (size_t i = 0; i < b->count; i++)
    if (fits(&b->pages[i], a, tokens, cached))
      return &b->pages[i];
  if (b->count == MOCK_PAGES)
    return NULL;
  if (!b->pages)
    b->pages = mem_zalloc(MOCK_PAGES, sizeof *b->pages);
  p = &b->pages[b->count++];
  *p = (struct mock_page){.api = a->api,
                          .stream = a->stream,
                          .usage = a->usage,
                          .usage_each = a->usage_each,
                          .choices = a->choices,
                          .tokens = tokens,
                          .prompt = a->prompt_tokens,
                          .cached = cached};
  memcpy(p->model, a->model, sizeof p->model);
  memcpy(p->function, a->function, sizeof p->function);
  return p;
}
