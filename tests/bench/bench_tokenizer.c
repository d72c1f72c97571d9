/* bench_tokenizer.c -- how fast our tokenizer is, on one thread.
 *   bench_tokenizer --tokenizer PATH --text FILE [--bytes 4096]
 * Cuts the file at line ends into documents of about so many bytes; prints a
 * JSON object. Rates are per second of CPU time, so that neighbours do not
 * count; opening is what one waits for. */
#include "bench.h"

#include "base/mem.h"
#include "data/token_text.h"
#include "data/tokenizer.h"

static struct buf read_file(const char *path)
{
  struct buf b = {0};
  FILE *f = fopen(path, "rb");
  char *to;
  size_t n;
  while (f && (to = buf_reserve(&b, 1 << 20)) && (n = fread(to, 1, 1 << 20, f)))
    b.len += n;
  if (f)
    fclose(f);
  return b;
}

/* The next document of about `bytes`. */
static struct str document(struct str *rest, size_t bytes)
{
  size_t n = bytes < rest->len ? bytes : rest->len;
  const char *end = memchr(rest->p + n, '\n', rest->len - n);
  struct str d;
  if (end)
    n = (size_t)(end + 1 - rest->p);
  d = (struct str){rest->p, n};
  rest->p += n, rest->len -= n;
  return d;
}

/* CPU seconds for 100,000 random prompts of 2,000 tokens, from a part of them
 * that are all counted, as scripts have one in 64 counted, or only drawn. */
static double random_prompts(const struct tokenizer *t,
                             struct tokenizer_scratch *s, bool count)
{
  enum { PART = 500, ALL = 100000, TOKENS = 2000 };
  struct token_text x;
  struct buf text = {0};
  struct rng r;
  double start;
  rng_init(&r, 1, RNG_DATA, 0);
  token_text_init(&x, t, s);
  start = cpu_seconds();
  for (int i = 0; i < PART && x.n; i++) {
    buf_reset(&text);
    token_text_draw(&x, &r, TOKENS, &text);
    if (count && !token_text_is(t, s, buf_str(&text), 0, TOKENS))
      fputs("a random prompt is not as long as it should be\n", stderr);
  }
  start = cpu_seconds() - start;
  buf_free(&text);
  token_text_deinit(&x);
  return start / PART * ALL;
}

int main(int argc, char **argv)
{
  const char *path = flag(argc, argv, "tokenizer", "");
  size_t bytes = (size_t)flag_number(argc, argv, "bytes", 4096), size = 0;
  struct buf text = read_file(flag(argc, argv, "text", "")), back = {0};
  struct err e = {0};
  uint64_t start = bench_now();
  double opened_ms, opened, encoded, decoded;
  struct tokenizer *t = tokenizer_open(path, &e);
  struct tokenizer_scratch *s;
  struct token_list ids = {0};
  struct str rest = buf_str(&text);
  if (!t) {
    fputs(err_text(&e), stderr);
    return 1;
  }
  s = tokenizer_scratch_new(t);
  opened_ms = (double)(bench_now() - start) / 1e6;
  opened = cpu_seconds();
  while (rest.len)
    tokenizer_encode(t, s, document(&rest, bytes), 0, &ids);
  encoded = cpu_seconds();
  for (size_t i = 0; i < ids.n; i += 1000) {
    buf_reset(&back);
    tokenizer_decode(t, s, ids.ids + i, ids.n - i < 1000 ? ids.n - i : 1000, 0,
                     &back);
    size += back.len;
  }
  decoded = cpu_seconds();
  printf("{\"open_ms\":%.2f,\"encode_mb_s\":%.2f,\"decode_mb_s\":%.2f,"
         "\"tokens\":%zu,\"tokens_s\":%.0f,\"rss_mb\":%.1f,"
         "\"random_s\":%.1f,\"random_counted_s\":%.1f}\n",
         opened_ms, (double)text.len / 1e6 / (encoded - opened),
         (double)size / 1e6 / (decoded - encoded), ids.n,
         (double)ids.n / (encoded - opened), rss_mb(),
         random_prompts(t, s, false), random_prompts(t, s, true));
  tokenizer_scratch_free(s);
  tokenizer_free(t);
  token_list_free(&ids);
  buf_free(&text);
  buf_free(&back);
  return 0;
}
