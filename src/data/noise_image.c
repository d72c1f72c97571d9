#include "data/noise_image.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "base/mem.h"

/* What Pillow takes when nobody says. */
enum { QUALITY = 75 };

enum { MARKER = 0xff, RESTART = 0xd0, SCAN = 0xda, END = 0xd9 };

struct noise_image {
  unsigned char *file;
  unsigned long size;
  size_t head;   /* bytes up to the first row */
  size_t *rows;  /* n + 1: where each begins; two bytes of marker between */
  size_t *order; /* n: as they were dealt last */
  size_t n;
};

/* ---- the one that is encoded ---- */

static void fill(JSAMPLE *row, size_t n, struct rng *r)
{
  uint64_t bits = 0;
  for (size_t i = 0; i < n; i++) {
    if (i % 8 == 0)
      bits = rng_u64(r);
    row[i] = (JSAMPLE)bits;
    bits >>= 8;
  }
}

static void encode(struct noise_image *x, unsigned width, unsigned height,
                   uint64_t seed)
{
  struct jpeg_compress_struct c = {0};
  struct jpeg_error_mgr errors;
  JSAMPLE *row = mem_alloc((size_t)width * 3);
  struct rng r;
  rng_init(&r, seed, RNG_DATA, (uint64_t)width << 32 | height);
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  jpeg_mem_dest(&c, &x->file, &x->size);
  c.image_width = width;
  c.image_height = height;
  c.input_components = 3;
  c.in_color_space = JCS_RGB;
  jpeg_set_defaults(&c);
  jpeg_set_quality(&c, QUALITY, TRUE);
  c.restart_in_rows = 1;
  jpeg_start_compress(&c, TRUE);
  while (c.next_scanline < height) {
    fill(row, (size_t)width * 3, &r);
    jpeg_write_scanlines(&c, &row, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  mem_free(row);
}

/* ---- its rows ---- */

/* Behind the header of the scan. */
static size_t find_scan(const struct noise_image *x)
{
  size_t at = 2;
  for (;;) {
    unsigned char kind = x->file[at + 1];
    assert(x->file[at] == MARKER);
    at += 2 + ((size_t)x->file[at + 2] << 8 | x->file[at + 3]);
    if (kind == SCAN)
      return at;
  }
}

static void find_rows(struct noise_image *x)
{
  size_t cap = 1;
  x->head = find_scan(x);
  for (size_t i = x->head; i + 1 < x->size; i++)
    cap += x->file[i] == MARKER && (x->file[i + 1] & 0xf8) == RESTART;
  x->rows = mem_zalloc(cap + 1, sizeof *x->rows);
  x->order = mem_zalloc(cap, sizeof *x->order);
  x->rows[0] = x->head;
  for (size_t i = x->head; i + 1 < x->size; i++)
    if (x->file[i] == MARKER && (x->file[i + 1] & 0xf8) == RESTART)
      x->rows[++x->n] = i + 2;
  x->rows[++x->n] = x->size; /* its "marker" is the end of the file */
  for (size_t i = 0; i < x->n; i++)
    x->order[i] = i;
}

struct noise_image *noise_image_new(unsigned width, unsigned height,
                                    uint64_t seed)
{
  struct noise_image *x = mem_new(struct noise_image);
  assert(width >= 1 && width <= NOISE_IMAGE_SIDE);
  assert(height >= 1 && height <= NOISE_IMAGE_SIDE);
  encode(x, width, height, seed);
  find_rows(x);
  return x;
}

size_t noise_image_size(const struct noise_image *x)
{
  return x->size + 2 * (x->n + 1) * sizeof *x->rows;
}

void noise_image_free(struct noise_image *x)
{
  if (!x)
    return;
  free(x->file); /* libjpeg's */
  mem_free(x->rows);
  mem_free(x->order);
  mem_free(x);
}

static void shuffle(struct noise_image *x, struct rng *r)
{
  for (size_t i = 0; i < x->n; i++)
    x->order[i] = i;
  for (size_t i = x->n; i > 1; i--) {
    size_t j = (size_t)rng_below(r, i), k = x->order[j];
    x->order[j] = x->order[i - 1];
    x->order[i - 1] = k;
  }
}

void noise_image_deal(struct noise_image *x, struct rng *r, struct buf *out)
{
  shuffle(x, r);
  buf_add(out, x->file, x->head);
  for (size_t i = 0; i < x->n; i++) {
    size_t row = x->order[i];
    char marker[2] = {(char)MARKER,
                      (char)(i + 1 < x->n ? RESTART + i % 8 : END)};
    buf_add(out, x->file + x->rows[row], x->rows[row + 1] - 2 - x->rows[row]);
    buf_add(out, marker, 2);
  }
}
