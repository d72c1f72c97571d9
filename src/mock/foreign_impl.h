/* foreign_impl.h -- what foreign.c, foreign_responses.c and foreign_messages.c
 * have in common. Private to them. */
#ifndef STOKE_MOCK_FOREIGN_IMPL_H
#define STOKE_MOCK_FOREIGN_IMPL_H

#include "mock/foreign.h"

#define LLU(x) (unsigned long long)(x)

void mock_foreign_quote(struct buf *out, const char *s);
/* The scratch, emptied, and then handed over as an event. */
struct buf *mock_foreign_fresh(const struct mock_foreign *f);
void mock_foreign_put(const struct mock_foreign *f, const char *name);

bool mock_foreign_is_tool(enum mock_kind kind);
/* The number of the item or block that a piece belongs to. */
uint64_t mock_foreign_place(const struct mock_foreign *f,
                            const struct mock_piece *p);
uint64_t mock_foreign_places(const struct mock_foreign *f);
/* Does event `e` begin one? */
bool mock_foreign_begins(const struct mock_foreign *f, uint64_t e);
bool mock_foreign_has(const struct mock_foreign *f, enum mock_kind kind);
/* The texts of all events of a kind (and call), as one. */
void mock_foreign_run(const struct mock_foreign *f, enum mock_kind kind,
                      uint64_t call, struct buf *out);
/* Did max_tokens end the answer? */
bool mock_foreign_is_cut(const struct mock_foreign *f);

/* foreign_responses.c */
void mock_responses_add(const struct mock_foreign *f, bool done,
                        struct buf *out);
void mock_responses_put(const struct mock_foreign *f, const char *type,
                        bool done);
void mock_responses_piece(const struct mock_foreign *f, uint64_t e);

/* foreign_messages.c */
void mock_messages_add(const struct mock_foreign *f, bool done,
                       struct buf *out);
void mock_messages_begin(const struct mock_foreign *f);
void mock_messages_piece(const struct mock_foreign *f, uint64_t e);
void mock_messages_end(const struct mock_foreign *f);

#endif
