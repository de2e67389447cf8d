// Division of 128-bit integers, which compilers write as chains of `add.cc`, `subc` and `madc`
// that mix additions and subtractions.

typedef unsigned __int128 u128;
typedef __int128 s128;

// Each thread divides one pair: quotient and remainder, unsigned and signed.
extern "C" __global__ void divide(const u128 *numerators, const u128 *denominators, u128 *results) {
    int thread = threadIdx.x;
    u128 n = numerators[thread], d = denominators[thread];
    results[4 * thread] = n / d;
    results[4 * thread + 1] = n % d;
    results[4 * thread + 2] = (u128)((s128)n / (s128)d);
    results[4 * thread + 3] = (u128)((s128)n % (s128)d);
}
