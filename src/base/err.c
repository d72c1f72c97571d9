#include "base/err.h"

int err_add(struct err *e, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  buf_vaddf(&e->text, fmt, ap);
  va_end(ap);
  buf_addc(&e->text, '\n');
  e->count++;
  return -1;
}

const char *err_text(struct err *e)
{
  return buf_cstr(&e->text);
}

void err_free(struct err *e)
{
  buf_free(&e->text);
  e->count = 0;
}
