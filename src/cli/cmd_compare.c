/* stoke compare, stoke trend: their options; what they do with the files is
 * in lua/stoke/cmd/. */
#include "cli/cmd_compare.h"

#include <stddef.h>

#include "base/mem.h"
#include "base/version.h"
#include "cli/tool_request.h"
#include "script/tool.h"

struct compare_flags {
  struct option_list fail_on, metric;
  double tolerance, confidence, band;
  char *output;
  bool force, fail_on_any;
};

#define AT(field) offsetof(struct compare_flags, field)

static const struct option compare_rows[] = {
    {"fail-on", "EXPR", OPTION_LIST, AT(fail_on), "Options",
     .help = "exit with 99 when a file after the first is so, beyond noise: "
             "ttft.p99 > +10%, output_throughput < -5%, error_rate > 1%; may "
             "be repeated"},
    {"tolerance", "PERCENT", OPTION_NUMBER, AT(tolerance),
     .help = "what counts as the same", .shown_default = "3", .max = 100},
    {"confidence", "PERCENT", OPTION_NUMBER, AT(confidence),
     .help = "of the intervals that verdicts rest on", .shown_default = "99",
     .min = 50, .max = 99.9999},
    {"metric", "NAME", OPTION_LIST, AT(metric),
     .help = "compare this figure (ttft.p90, error_rate) in place of the usual "
             "ones; may be repeated"},
    {"o output", "FILE", OPTION_STRING, AT(output),
     .help = "write the comparison as JSON; - is the standard output"},
    {"force", NULL, OPTION_BOOLEAN, AT(force),
     .help = "overwrite a file that exists"},
};

static const struct option trend_rows[] = {
    {"metric", "NAME", OPTION_LIST, AT(metric), "Options",
     .help = "watch this figure in place of the usual ones; may be repeated"},
    {"band", "PERCENT", OPTION_NUMBER, AT(band),
     .help = "narrowest band around the median that a run may be in; it is as "
             "wide as the runs scatter when that is more",
     .shown_default = "5", .positive = true, .max = 1000},
    {"fail-on-any", NULL, OPTION_BOOLEAN, AT(fail_on_any),
     .help = "exit with 99 for any run that is out of the band; otherwise the "
             "latest alone decides, as a job that has just added it wants"},
};

static const struct options_spec compare_spec = {
    .program = "stoke compare",
    .usage = "BASE.json OTHER.json [MORE.json ...] [options]",
    .intro = "Show the figures of runs side by side, with a verdict that knows "
             "how noisy they are. Files are those of `stoke run -o`, of `stoke "
             "bench serve` and `vllm bench serve` (--save-result), or JSON "
             "Lines with several; request lines beside them (BASE.jsonl, "
             "BASE.requests.jsonl) are used when they are there.",
    .examples = "stoke compare monday.json tuesday.json\twhat changed?\n"
                "stoke compare base.json new.json --fail-on 'ttft.p99 > +10%'\t"
                "for CI: exit status 99 when it got worse\n",
    .footer =
        "Exit status: 0 compared; 2 wrong use or no results file; 99 "
        "what --fail-on says, or it speaks of a figure that is not there.",
    .rows = compare_rows,
    .n = sizeof compare_rows / sizeof *compare_rows,
    .max_args = 64,
};

static const struct options_spec trend_spec = {
    .program = "stoke trend",
    .usage = "FILE ... [options]",
    .intro = "List runs in the order of time, a line each, and mark those that "
             "left the band.",
    .examples = "stoke trend results/*.json\tis it getting slower?\n",
    .footer = "Exit status: 0 in the band; 99 the latest run (with "
              "--fail-on-any: one of them) is out of it on the bad side; 2 "
              "wrong use.",
    .rows = trend_rows,
    .n = sizeof trend_rows / sizeof *trend_rows,
    .max_args = 10000,
};

static int run(const char *name, const struct options *o)
{
  struct buf text = {0};
  struct json_writer w = {.out = &text};
  int status;
  json_begin_object(&w);
  tool_request_options(&w, o);
  tool_request_list(&w, "files", &o->args);
  json_key(&w, "version");
  json_string(&w, str_of(stoke_version));
  json_end_object(&w);
  status = tool_run(name, buf_str(&text));
  buf_free(&text);
  return status;
}

static int command(const char *name, const struct options_spec *spec, int argc,
                   char *const argv[])
{
  struct compare_flags flags = {.tolerance = 3, .confidence = 99, .band = 5};
  struct options o;
  int status;
  options_init(&o, spec, &flags);
  status = options_main(&o, argc, argv);
  if (status < 0)
    status = run(name, &o);
  options_free(&o);
  return status;
}

int cmd_compare(int argc, char *const argv[])
{
  return command("compare", &compare_spec, argc, argv);
}

int cmd_trend(int argc, char *const argv[])
{
  return command("trend", &trend_spec, argc, argv);
}
