/* hub.h -- models by their names on the Hugging Face hub, as far as its own
 * tools have put them on this machine: $HF_HUB_CACHE, else $HF_HOME/hub, else
 * $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. Nothing is
 * ever downloaded. */
#ifndef STOKE_DATA_HUB_H
#define STOKE_DATA_HUB_H

#include <stdbool.h>

#include "base/buf.h"

/* "Qwen/Qwen3-8B": could this be a name, and not a path? */
bool hub_is_name(const char *name);
/* The path of the model's `file`, owned by the caller: of the snapshot that
 * refs/main names, else of any. NULL when it is not there. */
char *hub_find(const char *name, const char *file);
/* The cache's folder. */
void hub_folder(struct buf *out);

#endif
