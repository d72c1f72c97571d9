#include "data/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "data/regex_parts.h"
#include "data/utf8.h"

/* The stack of compiled code: enough for a run of a million characters. */
#define STACK_START (32 * 1024)
#define STACK_MAX   (256 * 1024 * 1024)

int regex_init(struct regex *r, struct str pattern, const char *place,
               struct err *e)
{
  struct buf text = {0};
  pcre2_compile_context *context;
  PCRE2_UCHAR message[160];
  size_t at;
  int number;
  r->code = NULL;
  if (regex_translate(&text, pattern, place, e) < 0) {
    buf_free(&text);
    return -1;
  }
  context = pcre2_compile_context_create(NULL);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  r->code = pcre2_compile((PCRE2_SPTR)buf_cstr(&text), text.len,
                          PCRE2_UTF | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                          &number, &at, context);
  pcre2_compile_context_free(context);
  if (!r->code) {
    pcre2_get_error_message(number, message, sizeof message);
    err_add(e, "%s: the pattern %.*s: %s", place, STR_ARG(regex_shown(pattern)),
            message);
  } else {
    /* Without JIT on this machine the interpreter does it. */
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
  }
  buf_free(&text);
  return r->code ? 0 : -1;
}

void regex_deinit(struct regex *r)
{
  pcre2_code_free(r->code);
  r->code = NULL;
}

void regex_scratch_free(struct regex_scratch *s)
{
  pcre2_match_data_free(s->match);
  pcre2_match_context_free(s->context);
  pcre2_jit_stack_free(s->stack);
  *s = (struct regex_scratch){0};
}

static void prepare(struct regex_scratch *s)
{
  s->match = pcre2_match_data_create(1, NULL);
  s->context = pcre2_match_context_create(NULL);
  s->stack = pcre2_jit_stack_create(STACK_START, STACK_MAX, NULL);
  pcre2_jit_stack_assign(s->context, NULL, s->stack);
  pcre2_set_match_limit(s->context, 10 * 1000 * 1000); /* as Oniguruma's */
}

int regex_find(const struct regex *r, struct regex_scratch *s, struct str text,
               size_t from, size_t *start, size_t *end)
{
  const size_t *ovector;
  int got;
  if (!text.p)
    text.p = "";
  if (!s->match)
    prepare(s);
  got = pcre2_match(r->code, (PCRE2_SPTR)text.p, text.len, from,
                    PCRE2_NO_UTF_CHECK, s->match, s->context);
  if (got == PCRE2_ERROR_NOMATCH)
    return 0;
  if (got < 0)
    return -1;
  ovector = pcre2_get_ovector_pointer(s->match);
  *start = ovector[0], *end = ovector[1];
  return 1;
}

int regex_next(const struct regex *r, struct regex_scratch *s, struct str text,
               struct regex_walk *w, size_t *start, size_t *end)
{
  while (w->from <= text.len) {
    int got = regex_find(r, s, text, w->from, start, end);
    if (got <= 0)
      return got;
    if (*start != *end || !w->any || w->last_end != *end) {
      w->any = true;
      w->from = w->last_end = *end;
      return 1;
    }
    w->from +=
        w->from < text.len ? utf8_size((unsigned char)text.p[w->from]) : 1;
  }
  return 0;
}

const char *regex_version(char out[64])
{
  int n = pcre2_config(PCRE2_CONFIG_VERSION, NULL);
  out[0] = '\0';
  if (n > 0 && n <= 64)
    pcre2_config(PCRE2_CONFIG_VERSION, out);
  return out;
}
