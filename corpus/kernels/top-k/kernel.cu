// The K greatest of each row of f32, in descending order, with their columns: the next words of a sampler, or the
// experts of a router. Of equal numbers the first comes first.
//
// A number and its column make one key of 64 bits, whose order is the order of results. Every thread keeps the K
// greatest keys that it meets, sorted, in registers. Then a warp takes K times the greatest of its lanes' first keys.
//
// top_k has a block for each row, grid (rows), whose first warp chooses among what its warps chose. top_k_of_few has
// a warp for each row, block (32, rows of a block).

using u32 = unsigned;
using u64 = unsigned long long;

constexpr int K = 8;
constexpr int WARPS = 8;

// Numbers are ordered as integers are, if negative ones are turned over.
__device__ u64 key_of(float x, int column)
{
    const u32 bits = __float_as_uint(x);
    const u32 ordered = bits & 0x80000000 ? ~bits : bits | 0x80000000;
    return u64(ordered) << 32 | ~u32(column);
}

__device__ float number_of(u64 key)
{
    const u32 ordered = key >> 32;
    return __uint_as_float(ordered & 0x80000000 ? ordered & 0x7fffffff : ~ordered);
}

__device__ int column_of(u64 key) { return ~u32(key); }

// Keys in descending order; zeros stand for none.
struct Best {
    u64 keys[K] = {};

    __device__ void meet(u64 key)
    {
        if (key <= keys[K - 1])
            return;
        keys[K - 1] = key;
#pragma unroll
        for (int i = K - 1; i > 0; i--) {
            const u64 greater = max(keys[i - 1], keys[i]);
            keys[i] = min(keys[i - 1], keys[i]);
            keys[i - 1] = greater;
        }
    }

    __device__ void leave_first()
    {
#pragma unroll
        for (int i = 0; i < K - 1; i++)
            keys[i] = keys[i + 1];
        keys[K - 1] = 0;
    }

    // Lane i gets the i-th of the warp's keys. Keys differ, so one lane alone leaves its first.
    __device__ u64 choose()
    {
        u64 own = 0;
#pragma unroll
        for (int i = 0; i < K; i++) {
            u64 greatest = keys[0];
#pragma unroll
            for (int mask = 16; mask > 0; mask /= 2)
                greatest = max(greatest, __shfl_xor_sync(~0u, greatest, mask));
            if (greatest == keys[0])
                leave_first();
            if (threadIdx.x % 32 == i)
                own = greatest;
        }
        return own;
    }
};

__device__ void store(float *numbers, int *columns, int row, u64 key)
{
    if (threadIdx.x < K) {
        numbers[row * K + threadIdx.x] = number_of(key);
        columns[row * K + threadIdx.x] = column_of(key);
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS) top_k(const float *x, float *numbers, int *columns, int length)
{
    const float *const row = x + size_t(blockIdx.x) * length;
    Best best;
    for (int column = threadIdx.x; column < length; column += 32 * WARPS)
        best.meet(key_of(row[column], column));

    __shared__ u64 chosen[WARPS * K];
    const u64 own = best.choose();
    if (threadIdx.x % 32 < K)
        chosen[threadIdx.x / 32 * K + threadIdx.x % 32] = own;
    __syncthreads();
    if (threadIdx.x < 32) {
        Best last;
#pragma unroll
        for (int i = threadIdx.x; i < WARPS * K; i += 32)
            last.meet(chosen[i]);
        store(numbers, columns, blockIdx.x, last.choose());
    }
}

extern "C" __global__ void top_k_of_few(const float *x, float *numbers, int *columns, int rows, int length)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    Best best;
    for (int column = threadIdx.x; column < length; column += 32)
        best.meet(key_of(x[size_t(row) * length + column], column));
    store(numbers, columns, row, best.choose());
}
