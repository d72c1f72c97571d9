/* stage_table.h -- a line per stage, under the result table. */
#ifndef STOKE_REPORT_STAGE_TABLE_H
#define STOKE_REPORT_STAGE_TABLE_H

#include "base/buf.h"
#include "report/run_info.h"

/* Nothing when the run had no stages. */
void stage_table_write(struct buf *out, const struct run_info *r);

#endif
