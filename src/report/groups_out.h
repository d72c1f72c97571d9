/* groups_out.h -- the figures by turn and by tag. */
#ifndef STOKE_REPORT_GROUPS_OUT_H
#define STOKE_REPORT_GROUPS_OUT_H

#include "base/json.h"
#include "stats/group.h"

/* [{"turn":1, …the figures}, …]; the last may be all turns beyond 64. */
void turns_write(struct json_writer *w, const struct metrics *m,
                 const struct summary *s);
/* {"class":{"long":{…the figures}, …}, …} */
void tags_write(struct json_writer *w, const struct metrics *m,
                const struct summary *s);
/* A line a tag, and a warning when there were too many. */
void tags_show(struct buf *out, const struct metrics *m,
               const struct summary *s);

#endif
