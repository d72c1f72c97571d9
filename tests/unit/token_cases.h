/* token_cases.h -- tests/data/tokenizer/cases.jsonl, row by row: what the Rust
 * library makes of a text (written by tests/oracle/make_cases.mjs). */
#ifndef STOKE_TESTS_TOKEN_CASES_H
#define STOKE_TESTS_TOKEN_CASES_H

#include "data/json_scan.h"
#include "data/token_list.h"
#include "files.h"

#define TOKEN_DATA "tests/data/tokenizer/"

struct token_case {
  struct buf file, text, back, skip;
  struct token_list ids, full;
};

static inline void case_reset(struct token_case *c)
{
  buf_reset(&c->file);
  buf_reset(&c->text);
  buf_reset(&c->back);
  buf_reset(&c->skip);
  c->ids.n = c->full.n = 0;
}

static inline void case_free(struct token_case *c)
{
  buf_free(&c->file);
  buf_free(&c->text);
  buf_free(&c->back);
  buf_free(&c->skip);
  token_list_free(&c->ids);
  token_list_free(&c->full);
}

static inline void case_ids(struct json_scan *s, struct token_list *out)
{
  bool first = true;
  assert_true(json_scan_skip(s, '['));
  while (json_scan_more(s, ']', &first)) {
    uint32_t id;
    assert_int_equal(json_scan_u32(s, &id), 0);
    token_list_add(out, id);
  }
}

/* One line into *c. */
static inline void case_read(struct token_case *c, struct str line)
{
  struct json_scan s;
  struct buf key = {0};
  bool first = true;
  case_reset(c);
  json_scan_init(&s, line);
  assert_true(json_scan_skip(&s, '{'));
  while (json_scan_more(&s, '}', &first)) {
    struct str k;
    buf_reset(&key);
    assert_int_equal(json_scan_key(&s, &key), 0);
    k = buf_str(&key);
    if (str_eq(k, STR("ids")) || str_eq(k, STR("full")))
      case_ids(&s, k.p[0] == 'i' ? &c->ids : &c->full);
    else
      assert_int_equal(json_scan_string(&s, str_eq(k, STR("file"))   ? &c->file
                                            : str_eq(k, STR("text")) ? &c->text
                                            : str_eq(k, STR("back"))
                                                ? &c->back
                                                : &c->skip),
                       0);
  }
  buf_free(&key);
}

#endif
