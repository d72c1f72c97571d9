/* order.h -- a shuffle without a list: row i of a permutation of n rows,
 * computed. A Feistel network of four rounds on the smallest even number of
 * bits that n fits in; places beyond n are walked past (Black and Rogaway,
 * "Ciphers with arbitrary finite domains", 2002). Takes no memory, and any
 * thread finds the same row for the same place. */
#ifndef STOKE_DATA_ORDER_H
#define STOKE_DATA_ORDER_H

#include <stdint.h>

/* i < n. */
uint64_t order_at(uint64_t seed, uint64_t n, uint64_t i);

#endif
