// A family of kernels with a chosen balance of computing and reading, after the "mixbench"
// benchmark of Konstantinidis 2017 (section 3.2, listing A.1). Every element is read once and goes
// through `ITERATIONS` multiply-adds; nothing is written, unless a sum happens to be -1.
//
// The listing leaves the block size, the granularity and the fusion degree open; 256, 8 and 4 are
// our choice.

constexpr int BLOCK = 256;
constexpr int GRANULARITY = 8;
constexpr int FUSION_DEGREE = 4;

template <class T, int ITERATIONS>
__device__ __forceinline__ void mixbench(T seed, T *data)
{
    const int first = blockIdx.x * BLOCK * GRANULARITY + threadIdx.x;
    const int big_stride = gridDim.x * BLOCK * GRANULARITY;

    // Kept as a loop: unrolled, it would make the text four times as long.
#pragma unroll 1
    for (int k = 0; k < FUSION_DEGREE; k++) {
        T elements[GRANULARITY];
#pragma unroll
        for (int j = 0; j < GRANULARITY; j++) {
            elements[j] = data[first + j * BLOCK + k * big_stride];
#pragma unroll
            for (int i = 0; i < ITERATIONS; i++)
                elements[j] = elements[j] * elements[j] + seed;
        }

        T sum = (T)0;
#pragma unroll
        for (int j = 0; j < GRANULARITY; j += 2)
            sum += elements[j] * elements[j + 1];

        // Keeps the compiler from removing the work.
        if (sum == (T)-1)
            data[first + k * big_stride] = sum;
    }
}

#define MIXBENCH(name, type, iterations)                                                           \
    extern "C" __global__ void mixbench_##name##_i##iterations(type seed, type *data)              \
    {                                                                                              \
        mixbench<type, iterations>(seed, data);                                                    \
    }

#define MIXBENCH_FAMILY(name, type)                                                                \
    MIXBENCH(name, type, 0)                                                                        \
    MIXBENCH(name, type, 1)                                                                        \
    MIXBENCH(name, type, 2)                                                                        \
    MIXBENCH(name, type, 4)                                                                        \
    MIXBENCH(name, type, 8)                                                                        \
    MIXBENCH(name, type, 16)                                                                       \
    MIXBENCH(name, type, 32)                                                                       \
    MIXBENCH(name, type, 64)                                                                       \
    MIXBENCH(name, type, 128)

MIXBENCH_FAMILY(f32, float)
MIXBENCH_FAMILY(f64, double)
MIXBENCH_FAMILY(s32, int)
