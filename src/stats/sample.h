/* sample.h -- exact statistics of a sorted list of numbers. Pure. */
#ifndef STOKE_STATS_SAMPLE_H
#define STOKE_STATS_SAMPLE_H

#include <stddef.h>

/* Ascending, in linear time; all x must be >= 0 and no NaN. */
void sample_sort(double *x, size_t n);
/* At p/100 * (n - 1), linear between neighbours (as numpy.percentile does by
 * default); NaN when n is 0. `x` is sorted. */
double sample_percentile(const double *x, size_t n, double p);
double sample_mean(const double *x, size_t n);
/* Of the population (divided by n). */
double sample_std(const double *x, size_t n);

#endif
