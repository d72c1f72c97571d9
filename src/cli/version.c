#include "cli/version.h"

#include <stdio.h>

#include "base/json.h"
#include "base/version.h"
#include "net/fetch.h"
#include "net/xfer.h"
#include "script/luajit.h"

void version_write(struct buf *out)
{
  char loop[32], json[32], lua[64];
  const char *warning = luajit_warning(luajit_version(lua));
  buf_addf(out, "stoke %s\nlibcurl %s\n%s\n%s\n%s\n", stoke_version,
           net_version(), fetch_loop_version(loop), lua, json_version(json));
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
