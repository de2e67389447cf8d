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
