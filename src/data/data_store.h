/* data_store.h -- the data files of a run, each indexed once however many
 * VMs open it. What is handed out is immutable and lives as long as the store;
 * a lock is held while a file is looked for or indexed, never after. */
#ifndef STOKE_DATA_DATA_STORE_H
#define STOKE_DATA_DATA_STORE_H

#include "data/data_file.h"

struct data_store;

struct data_store *data_store_new(void);
void data_store_free(struct data_store *s);
/* As data_open; *fresh tells that this call indexed it. A file that changed
 * since, or is opened with other options, is another one. */
const struct data_file *data_store_open(struct data_store *s, const char *path,
                                        const char *shown,
                                        const struct data_options *o,
                                        bool *fresh, struct err *e);

#endif
