#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <jpeglib.h>

#include "base/mem.h"
#include "data/noise_image.h"

/* Decode all of it without a warning; the sum of squares of what differs
 * between neighbours tells noise from anything smooth. */
static double roughness(struct str file, unsigned width, unsigned height)
{
  struct jpeg_decompress_struct d = {0};
  struct jpeg_error_mgr errors;
  JSAMPLE *row = mem_alloc((size_t)width * 3);
  double sum = 0;
  d.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&d);
  jpeg_mem_src(&d, (const unsigned char *)file.p, file.len);
  assert_int_equal(jpeg_read_header(&d, TRUE), JPEG_HEADER_OK);
  assert_int_equal(d.image_width, width);
  assert_int_equal(d.image_height, height);
  jpeg_start_decompress(&d);
  while (d.output_scanline < height) {
    jpeg_read_scanlines(&d, &row, 1);
    for (unsigned i = 3; i < width * 3; i++)
      sum += (row[i] - row[i - 3]) * (row[i] - row[i - 3]);
  }
  jpeg_finish_decompress(&d);
  assert_int_equal(errors.num_warnings, 0);
  jpeg_destroy_decompress(&d);
  mem_free(row);
  return sum / width / height;
}

static void check_size(unsigned width, unsigned height)
{
  struct noise_image *x = noise_image_new(width, height, 7);
  struct buf a = {0}, b = {0}, again = {0};
  struct rng r;
  rng_init(&r, 1, RNG_REQUEST, 1);
  noise_image_deal(x, &r, &a);
  noise_image_deal(x, &r, &b);
  rng_init(&r, 1, RNG_REQUEST, 1);
  noise_image_deal(x, &r, &again);
  assert_true(str_eq(buf_str(&a), buf_str(&again)));
  assert_int_equal(a.len, b.len);
  if (height > 64)
    assert_false(str_eq(buf_str(&a), buf_str(&b)));
  if (width > 1)
    assert_true(roughness(buf_str(&a), width, height) > 1000);
  roughness(buf_str(&b), width, height);
  buf_free(&a);
  buf_free(&b);
  buf_free(&again);
  noise_image_free(x);
}

static void deals_are_pictures_of_noise(void **state)
{
  (void)state;
  check_size(256, 256);
  check_size(333, 201);
  check_size(1280, 720);
  check_size(16, 16);
  check_size(1, 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deals_are_pictures_of_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
