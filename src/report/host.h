/* host.h -- the machine that the client ran on, for the results. */
#ifndef STOKE_REPORT_HOST_H
#define STOKE_REPORT_HOST_H

#include "base/json.h"

/* {"name", "system", "machine", "cpus", "cpu_model", "memory_bytes"} */
void host_write(struct json_writer *w);

#endif
