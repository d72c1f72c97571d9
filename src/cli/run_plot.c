#include "cli/run_plot.h"

#include "script/tool.h"

void run_plot(const struct summary *s, const struct run_info *info,
              unsigned blocks, bool search, bool to_stderr)
{
  struct buf request = {0};
  buf_addf(&request, "{\"search\":%s,\"to_stderr\":%s,\"results\":",
           search ? "true" : "false", to_stderr ? "true" : "false");
  results_write(&request, s, info, blocks);
  buf_addc(&request, '}');
  tool_run("plot", buf_str(&request));
  buf_free(&request);
}
