/* post_processor.h -- the "post_processor" of tokenizer.json: the special
 * tokens around an encoded text. All kinds come down to ids in front and ids
 * behind; what they do to offsets and to pairs of texts is nobody's here. */
#ifndef STOKE_DATA_POST_PROCESSOR_H
#define STOKE_DATA_POST_PROCESSOR_H

#include "base/err.h"
#include "base/json.h"
#include "data/token_list.h"

struct post_processor {
  struct token_list before, after;
};

/* `v` is the "post_processor" value; NULL and null add nothing. 0, or -1 with
 * what is not supported in *e. post_processor_deinit either way. */
int post_processor_init(struct post_processor *p, const json_value *v,
                        const char *path, struct err *e);
void post_processor_deinit(struct post_processor *p);

#endif
