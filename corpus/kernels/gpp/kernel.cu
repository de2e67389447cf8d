// A reduction like the general plasmon pole kernel of BerkeleyGW that Yang and Williams 2019 study
// ("Code Example 1: GPP"). For bands n and columns g' of a matrix, a block sums over g, for NW
// frequencies w at a time,
//
//     conj(m[n, g']) m[n, g] epsilon[g', g] * pole[g', g] / (w[n] - pole[g', g])
//
// in complex double precision, with the quotient as the product of a conjugate and a reciprocal.
// What does not depend on w is read once, so that NW scales the arithmetic and not the traffic: 48
// bytes an iteration, 1.5 GiB in all at the slides' size.
//
// - gpp_nw1 ... gpp_nw6: the frequencies.
// - gpp_nw6_no_fma: multiplications and additions are kept apart, as by -fmad=false.
// - A stride above 1 splits the loop over g: the outer one starts at 0, 1 ... stride - 1, the inner
//   one takes every stride-th element. stride divides the number of elements.
//
// Blocks have 256 threads; block (n, g') writes NW sums.

constexpr int THREADS = 256;

template <bool FMA>
struct Arithmetic {
    static __device__ __forceinline__ double times_plus(double a, double b, double c)
    {
        return FMA ? fma(a, b, c) : __dadd_rn(__dmul_rn(a, b), c);
    }

    // a * b
    static __device__ __forceinline__ double2 product(double2 a, double2 b)
    {
        return make_double2(times_plus(a.x, b.x, -__dmul_rn(a.y, b.y)),
                            times_plus(a.x, b.y, __dmul_rn(a.y, b.x)));
    }

    // a * b + c
    static __device__ __forceinline__ double2 product_plus(double2 a, double2 b, double2 c)
    {
        return make_double2(times_plus(a.x, b.x, times_plus(-a.y, b.y, c.x)),
                            times_plus(a.x, b.y, times_plus(a.y, b.x, c.y)));
    }

    // |a|^2
    static __device__ __forceinline__ double norm(double2 a)
    {
        return times_plus(a.x, a.x, __dmul_rn(a.y, a.y));
    }
};

__device__ __forceinline__ double2 conjugate(double2 a)
{
    return make_double2(a.x, -a.y);
}

template <int NW, bool FMA>
__device__ __forceinline__ void plasmon_pole(const double2 *m, const double2 *epsilon,
                                             const double2 *pole, const double *w, double2 *sums,
                                             int count, int stride)
{
    using A = Arithmetic<FMA>;
    __shared__ double2 partial[THREADS];

    const int band = blockIdx.x;
    const int column = blockIdx.y;
    m += band * count;
    epsilon += column * count;
    pole += column * count;
    w += band * NW;

    const double2 left = conjugate(m[column]);
    double frequencies[NW];
    double2 own[NW];
#pragma unroll
    for (int i = 0; i < NW; ++i) {
        frequencies[i] = w[i];
        own[i] = make_double2(0.0, 0.0);
    }

#pragma unroll 1
    for (int first = 0; first < stride; ++first) {
#pragma unroll 1
        for (int g = first + threadIdx.x * stride; g < count; g += THREADS * stride) {
            const double2 factor = A::product(A::product(left, m[g]), epsilon[g]);
            const double2 here = pole[g];
#pragma unroll
            for (int i = 0; i < NW; ++i) {
                const double2 difference = make_double2(frequencies[i] - here.x, -here.y);
                const double reciprocal = 1.0 / A::norm(difference);
                const double2 quotient = A::product(here, conjugate(difference));
                const double2 scaled = make_double2(__dmul_rn(quotient.x, reciprocal),
                                                    __dmul_rn(quotient.y, reciprocal));
                own[i] = A::product_plus(factor, scaled, own[i]);
            }
        }
    }

#pragma unroll 1
    for (int i = 0; i < NW; ++i) {
        // The index of a register array has to be known when compiling.
        double2 mine = own[0];
#pragma unroll
        for (int k = 1; k < NW; ++k)
            if (k == i)
                mine = own[k];
        partial[threadIdx.x] = mine;
        __syncthreads();
#pragma unroll 1
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) {
                partial[threadIdx.x].x += partial[threadIdx.x + half].x;
                partial[threadIdx.x].y += partial[threadIdx.x + half].y;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0)
            sums[(band * gridDim.y + column) * NW + i] = partial[0];
        __syncthreads();
    }
}

#define KERNEL(NAME, NW, FMA)                                                                      \
    extern "C" __global__ void NAME(const double2 *m, const double2 *epsilon, const double2 *pole, \
                                    const double *w, double2 *sums, int count, int stride)         \
    {                                                                                              \
        plasmon_pole<NW, FMA>(m, epsilon, pole, w, sums, count, stride);                           \
    }

KERNEL(gpp_nw1, 1, true)
KERNEL(gpp_nw2, 2, true)
KERNEL(gpp_nw3, 3, true)
KERNEL(gpp_nw4, 4, true)
KERNEL(gpp_nw5, 5, true)
KERNEL(gpp_nw6, 6, true)
KERNEL(gpp_nw6_no_fma, 6, false)
