/* Where a time is counted: the twin of `bucket` in src/summary.rs, which says what buckets are. */
#ifndef BACKSIGHT_BUCKET_H
#define BACKSIGHT_BUCKET_H

#define FINE 5

/* 1 if a number below 2^63 is larger than another, 0 if not; without a branch, of which the verifier would follow both ways. */
#define LARGER(number, than) (((than) - (number)) >> 63)

static inline __attribute__((always_inline)) unsigned int bucket(unsigned long long value)
{
	unsigned long long rest = value | 1, power, step;

	power = step = LARGER(rest, 0xffffffffull) << 5;
	rest >>= step;
	power += step = LARGER(rest, 0xffffull) << 4;
	rest >>= step;
	power += step = LARGER(rest, 0xffull) << 3;
	rest >>= step;
	power += step = LARGER(rest, 0xfull) << 2;
	rest >>= step;
	power += step = LARGER(rest, 3ull) << 1;
	rest >>= step;
	power += LARGER(rest, 1ull);
	/* So many doublings beyond the first buckets, which are one nanosecond each. */
	power = (power - FINE) & ~(0 - LARGER(FINE, power));
	return (power << FINE) + (value >> power);
}

#endif
