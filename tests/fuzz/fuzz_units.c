/* base/units: a parser takes the whole text or leaves its output alone, and
 * what it takes is in range. */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "fuzz.h"

static void integers(struct str in)
{
  uint64_t u = 77;
  int64_t i = 77;
  bool b = false;
  char text[32];
  if (units_duration(in, &u) < 0)
    FUZZ_CHECK(u == 77);
  FUZZ_CHECK(strlen(units_show_duration(u, text)) < sizeof text);
  u = 77;
  if (units_size(in, &u) < 0)
    FUZZ_CHECK(u == 77);
  if (units_integer(in, &i) < 0)
    FUZZ_CHECK(i == 77);
  FUZZ_CHECK(i <= (INT64_C(1) << 53) && i >= -(INT64_C(1) << 53));
  FUZZ_CHECK(strlen(units_show_count((double)i, text)) < sizeof text);
  units_boolean(in, &b);
}

/* What a number prints as is the number again. */
static void numbers(struct str in)
{
  double x = 77, again;
  char text[32];
  if (units_number(in, &x) < 0) {
    FUZZ_CHECK(x == 77);
    return;
  }
  FUZZ_CHECK(!isnan(x));
  snprintf(text, sizeof text, "%.17g", x);
  FUZZ_CHECK(units_number(str_of(text), &again) == 0 || isinf(x));
  FUZZ_CHECK(isinf(x) || again == x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *copy = fuzz_copy((const char *)data, size);
  struct str in = {copy, size};
  integers(in);
  numbers(in);
  free(copy);
  return 0;
}
