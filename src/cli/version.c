#include "cli/version.h"

#include <stdio.h>

#include "base/json.h"
#include "base/version.h"
#include "data/normal_form.h"
#include "data/regex.h"
#include "net/fetch.h"
#include "net/xfer.h"
#include "script/luajit.h"

void version_write(struct buf *out)
{
  char loop[32], json[32], lua[64], regex[64];
  const char *warning = luajit_warning(luajit_version(lua));
  buf_addf(out, "stoke %s\nlibcurl %s\n%s\n%s\n%s\n", stoke_version,
           net_version(), fetch_loop_version(loop), lua, json_version(json));
  buf_addf(out, "PCRE2 %s\nutf8proc %s\n", regex_version(regex),
           normal_form_version());
  if (warning)
    buf_addf(out, "warning: %s\n", warning);
}

int version_main(void)
{
  struct buf out = {0};
  version_write(&out);
  fputs(buf_cstr(&out), stdout);
  buf_free(&out);
  return 0;
}
