/* bench_files.h -- what `bench serve` writes beside its results: the HTML of
 * --plot-timeline and --plot-dataset-stats, and the file for PyTorch's
 * benchmark database (SAVE_TO_PYTORCH_BENCHMARK_FORMAT in the environment). */
#ifndef STOKE_CLI_BENCH_FILES_H
#define STOKE_CLI_BENCH_FILES_H

#include "cli/bench_options.h"
#include "report/details.h"
#include "report/run_info.h"
#include "stats/summary.h"

/* Figures that outlive the summary; zeroed: none. */
struct bench_files {
  bool described;
  struct buf pytorch; /* JSON */
};

/* The results are written, or appended to. */
bool bench_saves(const struct bench_flags *f);
/* vLLM's name for the file, folder included; `model` as on the wire. Owned by
 * the caller. */
char *bench_file_name(const struct bench *b, const char *model);
/* Is any file to be written, so that their common name is needed? */
bool bench_files_wanted(const struct bench_flags *f);
/* --result-dir, with the folders that it is in. */
void bench_files_make_folder(const struct bench_flags *f, struct err *e);
/* Before the load: can they be written? 0, or -1 and messages. */
int bench_files_check(const struct bench *b, struct err *e);
void bench_files_describe(struct bench_files *f, const struct summary *s,
                          const struct run_info *info);
/* 0, or -1 when one could not be written, which was said. */
int bench_files_write(const struct bench *b, const struct details *d,
                      const struct bench_files *f);
void bench_files_free(struct bench_files *f);

#endif
