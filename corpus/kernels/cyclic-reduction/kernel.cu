// The forward phase of cyclic reduction, CR and CR-NBC of Zhang and Owens 2011, section 5.2: a
// block solves a tridiagonal system of N equations, N a power of two, for its last unknown.
//
//     lower[i] x[i - 1] + diagonal[i] x[i] + upper[i] x[i + 1] = right[i]
//
// lower of the first equation and upper of the last one are 0. Step 0 loads the system into shared
// memory. Each of the log2(N) steps that follow eliminates the neighbours of every other equation
// that is left, with half as many threads as the step before and at twice the stride. The last
// equation then has one unknown, and thread 0 solves it.
//
// SPREAD puts elements of shared memory where steps find them in different banks:
// - Plain: side by side. Strides 2, 4, 8 ... meet in 2, 4, 8 ... -fold conflicts.
// - Padded<4>: an element of padding after every 16, as in the paper, for 16 banks.
// - Padded<5>: the same for 32 banks.
//
// `regroup` has no conflicts at all: it stores the equations of each step anew, those that are
// eliminated and those that stay apart, so that all accesses are to neighbouring elements.

struct Plain {
    static __device__ __forceinline__ constexpr int place(int i) { return i; }
};

template <int LOG2_BANKS>
struct Padded {
    // A shift, since the division of a signed number is four instructions.
    static __device__ __forceinline__ constexpr int place(int i) { return i + (i >> LOG2_BANKS); }
};

template <int N, typename SPREAD>
__device__ __forceinline__ void reduce(const float *lower, const float *diagonal,
                                       const float *upper, const float *right, float *last)
{
    constexpr int THREADS = N / 2;
    constexpr int LENGTH = SPREAD::place(N - 1) + 1;

    __shared__ float a[LENGTH];
    __shared__ float b[LENGTH];
    __shared__ float c[LENGTH];
    __shared__ float d[LENGTH];

    const int thread = threadIdx.x;
    const int system = blockIdx.x * N;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i = half * THREADS + thread;
        const int here = SPREAD::place(i);
        a[here] = lower[system + i];
        b[here] = diagonal[system + i];
        c[here] = upper[system + i];
        d[here] = right[system + i];
    }

#pragma unroll 1
    for (int distance = 1, threads = THREADS; threads > 0; distance *= 2, threads /= 2) {
        __syncthreads();
        if (thread < threads) {
            const int i = 2 * distance * thread + 2 * distance - 1;
            const int here = SPREAD::place(i);
            const int before = SPREAD::place(i - distance);
            // The last equation has nothing behind it: its upper is 0, whatever is read.
            const int after = SPREAD::place(min(i + distance, N - 1));

            // GPUs of the paper's generation divided like this, to 2 ulp.
            const float down = __fdividef(a[here], b[before]);
            const float up = __fdividef(c[here], b[after]);
            b[here] = b[here] - c[before] * down - a[after] * up;
            d[here] = d[here] - d[before] * down - d[after] * up;
            a[here] = -a[before] * down;
            c[here] = -c[after] * up;
        }
    }

    // Only thread 0 took part in the last step, so that it may read what it wrote.
    if (thread == 0) {
        const int here = SPREAD::place(N - 1);
        last[blockIdx.x] = __fdividef(d[here], b[here]);
    }
}

#define KERNEL(NAME, N, SPREAD)                                                                    \
    extern "C" __global__ void NAME##_##N(const float *lower, const float *diagonal,               \
                                          const float *upper, const float *right, float *last)     \
    {                                                                                              \
        reduce<N, SPREAD>(lower, diagonal, upper, right, last);                                    \
    }

KERNEL(cyclic_reduction, 512, Plain)
KERNEL(cyclic_reduction, 64, Plain)
KERNEL(cyclic_reduction_nbc, 512, Padded<4>)
KERNEL(cyclic_reduction_nbc, 64, Padded<4>)
KERNEL(cyclic_reduction_nbc_32, 512, Padded<5>)
KERNEL(cyclic_reduction_nbc_32, 64, Padded<5>)

// The idea of Goeddeke and Strzodka 2011, which the paper cites: equations 0, 2, 4 ... of a system stand
// side by side, and so do 1, 3, 5 ..., half a row of banks out of step with the former, so that a
// warp that stores neighbours stores half of them in each half of the banks.
template <int BANKS>
struct Regrouped {
    // Where the odd equations of a system begin of which `half` are even.
    static __device__ __forceinline__ constexpr int odd(int half)
    {
        return (half & -BANKS) + BANKS / 2;
    }
};

template <int N, int BANKS>
__device__ __forceinline__ void regroup(const float *lower, const float *diagonal,
                                        const float *upper, const float *right, float *last)
{
    using Place = Regrouped<BANKS>;
    constexpr int THREADS = N / 2;
    // The system, and beside it the one of the next step; from there they take turns.
    constexpr int NEXT = Place::odd(N / 2) + N / 2;
    constexpr int LENGTH = NEXT + Place::odd(N / 4) + N / 4;

    __shared__ float a[LENGTH];
    __shared__ float b[LENGTH];
    __shared__ float c[LENGTH];
    __shared__ float d[LENGTH];

    const int thread = threadIdx.x;
    const int system = blockIdx.x * N;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i = half * THREADS + thread;
        const int here = i / 2u + (i % 2u ? Place::odd(N / 2) : 0);
        a[here] = lower[system + i];
        b[here] = diagonal[system + i];
        c[here] = upper[system + i];
        d[here] = right[system + i];
    }

    const int place = thread / 2u;
    const int is_odd = -(thread % 2u);
    int from = 0;
    int odd = Place::odd(THREADS);
#pragma unroll 1
    for (int threads = THREADS; threads > 0; threads /= 2) {
        __syncthreads();
        if (thread < threads) {
            const int before = from + thread;
            const int here = before + odd;
            // The last equation has nothing behind it: its upper is 0, whatever is read.
            const int after = from + min(thread + 1, threads - 1);

            const float down = __fdividef(a[here], b[before]);
            const float up = __fdividef(c[here], b[after]);
            const float diagonal = b[here] - c[before] * down - a[after] * up;
            const float right = d[here] - d[before] * down - d[after] * up;
            const float lower = -a[before] * down;
            const float upper = -c[after] * up;

            // Who does not get here is done.
            from = NEXT - from;
            odd = Place::odd(threads / 2);
            const int there = from + place + (odd & is_odd);
            b[there] = diagonal;
            d[there] = right;
            a[there] = lower;
            c[there] = upper;
        }
    }

    // Only thread 0 took part in the last step, so that it may read what it wrote.
    if (thread == 0) {
        last[blockIdx.x] = __fdividef(d[from], b[from]);
    }
}

#define REGROUPED(NAME, N, BANKS)                                                                  \
    extern "C" __global__ void NAME##_##N(const float *lower, const float *diagonal,               \
                                          const float *upper, const float *right, float *last)     \
    {                                                                                              \
        regroup<N, BANKS>(lower, diagonal, upper, right, last);                                    \
    }

REGROUPED(cyclic_reduction_regrouped, 512, 16)
REGROUPED(cyclic_reduction_regrouped, 64, 16)
REGROUPED(cyclic_reduction_regrouped_32, 512, 32)
REGROUPED(cyclic_reduction_regrouped_32, 64, 32)
