/* noise_image.h -- JPEGs of random noise, any number of them, cheaply.
 * Encoding a megapixel of noise takes some 20 ms. So one is encoded for a
 * size, with a restart marker behind every row of blocks, and the others are
 * that one with its rows dealt anew: as random, as large, as slow to decode,
 * and none like another (but for one in n! of them, of n rows). */
#ifndef STOKE_DATA_NOISE_IMAGE_H
#define STOKE_DATA_NOISE_IMAGE_H

#include "base/buf.h"
#include "base/rng.h"

struct noise_image;

enum { NOISE_IMAGE_SIDE = 8192 };

/* Sides from 1 to NOISE_IMAGE_SIDE. The seed is that of the noise. */
struct noise_image *noise_image_new(unsigned width, unsigned height,
                                    uint64_t seed);
void noise_image_free(struct noise_image *x);
/* Bytes of memory that it takes, about. */
size_t noise_image_size(const struct noise_image *x);
/* Appends a JPEG file. */
void noise_image_deal(struct noise_image *x, struct rng *r, struct buf *out);

#endif
