/* rng.h -- seeded random streams: the same on every machine and thread.
 * xoshiro256++ (Blackman and Vigna, 2019), its state filled by splitmix64
 * from (seed, domain, id). A stream belongs to one item of work (a request,
 * a session, the arrival sequence), never to a thread: that is what makes the
 * thread count invisible in what is sent. */
#ifndef STOKE_BASE_RNG_H
#define STOKE_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
  uint64_t s[4];
};

/* What a stream is for: two domains never share numbers. */
enum rng_domain {
  RNG_ARRIVAL = 1, /* gaps between arrivals */
  RNG_REQUEST,     /* the content of request or session `id` */
  RNG_WARMUP,      /* the same of the warm-up, so that it warms no prompt */
  RNG_DATA,        /* shuffles of data files */
  RNG_BRANCH,      /* a parallel branch of a session */
  RNG_SETUP,       /* setup() and other main-thread hooks */
  RNG_MOCK,        /* the embedded server */
  RNG_SHARED,      /* what many users share: a script's stoke.rng(n) */
};

void rng_init(struct rng *r, uint64_t seed, enum rng_domain domain,
              uint64_t id);

uint64_t rng_u64(struct rng *r);
/* [0, 1), 53 bits. */
double rng_double(struct rng *r);
/* [0, n), without bias; n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* [lo, hi], both inclusive; lo <= hi. */
int64_t rng_int(struct rng *r, int64_t lo, int64_t hi);
/* [lo, hi). */
double rng_uniform(struct rng *r, double lo, double hi);
/* Marsaglia's polar method. */
double rng_normal(struct rng *r, double mean, double sd);
/* exp of a normal(mu, sigma). */
double rng_lognormal(struct rng *r, double mu, double sigma);
double rng_exp(struct rng *r, double mean);
/* Gamma with mean shape * scale (Marsaglia and Tsang 2000; shape < 1 by
 * their boost). shape > 0, scale >= 0. */
double rng_gamma(struct rng *r, double shape, double scale);
/* 1..n with weight k^-s (rejection-inversion, Hörmann and Derflinger 1996);
 * n >= 1, s >= 0. */
uint64_t rng_zipf(struct rng *r, uint64_t n, double s);
/* True with probability p. */
bool rng_bool(struct rng *r, double p);

#endif
