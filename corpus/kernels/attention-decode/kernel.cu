// O = softmax(q K^T / sqrt(128)) V for one new token of each sequence, after flash-decoding (Dao et al. 2023).
//
// Q and O are [batch][heads][128], and so that the GPU is busy with few sequences, the keys are split: each block
// takes one part of the keys of one key head, grid (splits, key heads, batch), and leaves a sum of values that is
// not normalised with its maximum and total. A second kernel combines them, grid (heads, batch).
//
// Keys and values are read once for all query heads that share them: GROUP of them. A warp takes a key of 256 bytes
// in half a load: sixteen threads have eight elements each. What bounds the kernel is the memory, not arithmetic.
//
// K and V are [batch][sequence][key heads][128] in bf16, or pages [page][PAGE][key heads][128] that a table
// [batch][pages of a sequence] names. Any number of keys will do.

using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;

constexpr float MINUS_INFINITY = __builtin_bit_cast(float, 0xff800000);
// log2(e) / sqrt(128): exponentials are powers of two.
constexpr float SCALE = 0.08838834764f * 1.44269504f;
constexpr int D = 128;
constexpr int GROUP = 4;  // query heads of a key head
constexpr int PAGE = 16;  // keys of a page
constexpr int WARPS = 4;
constexpr int ELEMENTS = 8;                // of a row that a thread has
constexpr int LANES = D / ELEMENTS;        // of a key
constexpr int KEYS = 2 * WARPS;            // that a block reads at once
constexpr int AHEAD = 4;                   // rounds of loads on their way

__device__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ float low_half(u32 both) { return __uint_as_float(both << 16); }
__device__ float high_half(u32 both) { return __uint_as_float(both & 0xffff0000); }

__device__ u32 pack(float low, float high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ void unpack(float (&x)[ELEMENTS], uint4 bits)
{
    const u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[2 * i] = low_half(words[i]);
        x[2 * i + 1] = high_half(words[i]);
    }
}

// Keys and values pass through once and shall not push anything out of the caches.
__device__ uint4 load_once(const u16 *from)
{
    uint4 x;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(from));
    return x;
}

// The row of the cache in which a key lies, if all heads of a key count as one row.
struct Contiguous {
    size_t first;

    __device__ Contiguous(int sequence) : first(size_t(blockIdx.z) * sequence) {}
    __device__ size_t row(int key) const { return first + key; }
};

struct Paged {
    const int *pages;

    __device__ Paged(const int *table, int pages_of_sequence) : pages(table + blockIdx.z * pages_of_sequence) {}
    __device__ size_t row(int key) const { return size_t(pages[key / PAGE]) * PAGE + key % PAGE; }
};

// A running softmax of one query head: the sum of values is to be divided by the total.
struct Sum {
    float maximum = MINUS_INFINITY;
    float total = 0.0f;
    float values[ELEMENTS] = {};

    // Before a first score both maxima may be infinite, and their difference is no number.
    __device__ void raise(float to)
    {
        const float factor = to == MINUS_INFINITY ? 1.0f : exp2_fast((maximum - to) * SCALE);
        maximum = to;
        total *= factor;
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++)
            values[i] *= factor;
    }

    __device__ void add(float score, const float (&value)[ELEMENTS])
    {
        const float weight = score == MINUS_INFINITY ? 0.0f : exp2_fast((score - maximum) * SCALE);
        total += weight;
#pragma unroll
        for (int i = 0; i < ELEMENTS; i++)
            values[i] += weight * value[i];
    }
};

// Makes of each thread's query heads the sum over its part of the keys, and of those the block's.
template <class Cache>
__device__ void split(const u16 *q, const u16 *k, const u16 *v, float *sums, float *maxima, float *totals, int sequence,
                      int heads, const Cache &cache)
{
    const int key_head = blockIdx.y;
    const int key_heads = gridDim.y;
    const int own = threadIdx.x / LANES;  // of the keys that the block reads at once
    const int column = threadIdx.x % LANES * ELEMENTS;

    float query[GROUP][ELEMENTS];
    Sum sum[GROUP];
#pragma unroll
    for (int i = 0; i < GROUP; i++) {
        const size_t row = size_t(blockIdx.z) * heads + key_head * GROUP + i;
        unpack(query[i], *reinterpret_cast<const uint4 *>(q + row * D + column));
    }

    const int share = (sequence + gridDim.x - 1) / gridDim.x;
    const int first = blockIdx.x * share;
    const int end = min(sequence, first + share);
    for (int round = first; round < end; round += KEYS * AHEAD) {
        uint4 key_bits[AHEAD];
        uint4 value_bits[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            // Behind the end the last key is read again, and its score is not used.
            const size_t row = cache.row(min(round + i * KEYS + own, end - 1));
            const size_t place = (row * key_heads + key_head) * D + column;
            key_bits[i] = load_once(k + place);
            value_bits[i] = load_once(v + place);
        }

        float score[GROUP][AHEAD] = {};
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            float key[ELEMENTS];
            unpack(key, key_bits[i]);
#pragma unroll
            for (int j = 0; j < GROUP; j++) {
#pragma unroll
                for (int l = 0; l < ELEMENTS; l++)
                    score[j][i] += query[j][l] * key[l];
#pragma unroll
                for (int mask = LANES / 2; mask > 0; mask /= 2)
                    score[j][i] += __shfl_xor_sync(~0u, score[j][i], mask);
                if (round + i * KEYS + own >= end)
                    score[j][i] = MINUS_INFINITY;
            }
        }
#pragma unroll
        for (int j = 0; j < GROUP; j++) {
            float top = sum[j].maximum;
#pragma unroll
            for (int i = 0; i < AHEAD; i++)
                top = fmaxf(top, score[j][i]);
            sum[j].raise(top);
        }
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            float value[ELEMENTS];
            unpack(value, value_bits[i]);
#pragma unroll
            for (int j = 0; j < GROUP; j++)
                sum[j].add(score[j][i], value);
        }
    }

    // Each group of lanes has a sum of its own keys.
    __shared__ float shared_maximum[GROUP][KEYS];
    __shared__ float shared_total[GROUP][KEYS];
    __shared__ __align__(16) float shared_values[KEYS][GROUP][D];
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
        if (threadIdx.x % LANES == 0) {
            shared_maximum[j][own] = sum[j].maximum;
            shared_total[j][own] = sum[j].total;
        }
#pragma unroll
        for (int i = 0; i < ELEMENTS; i += 4)
            *reinterpret_cast<float4 *>(&shared_values[own][j][column + i]) =
                make_float4(sum[j].values[i], sum[j].values[i + 1], sum[j].values[i + 2], sum[j].values[i + 3]);
    }
    __syncthreads();

    // One thread an element
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
        float top = MINUS_INFINITY;
#pragma unroll
        for (int i = 0; i < KEYS; i++)
            top = fmaxf(top, shared_maximum[j][i]);
        float total = 0.0f;
        float value = 0.0f;
#pragma unroll
        for (int i = 0; i < KEYS; i++) {
            // No key, no weight: a part may be empty, or shorter than the block is wide.
            const float maximum = shared_maximum[j][i];
            const float factor = maximum == MINUS_INFINITY ? 0.0f : exp2_fast((maximum - top) * SCALE);
            total += shared_total[j][i] * factor;
            value += shared_values[i][j][threadIdx.x] * factor;
        }
        const size_t row = (size_t(blockIdx.z) * heads + key_head * GROUP + j) * gridDim.x + blockIdx.x;
        sums[row * D + threadIdx.x] = value;
        if (threadIdx.x == 0) {
            maxima[row] = top;
            totals[row] = total;
        }
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    attention_decode_split(const u16 *q, const u16 *k, const u16 *v, float *sums, float *maxima, float *totals,
                           int sequence, int heads)
{
    split(q, k, v, sums, maxima, totals, sequence, heads, Contiguous(sequence));
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    attention_decode_split_paged(const u16 *q, const u16 *k, const u16 *v, float *sums, float *maxima, float *totals,
                                 int sequence, int heads, const int *table, int pages_of_sequence)
{
    split(q, k, v, sums, maxima, totals, sequence, heads, Paged(table, pages_of_sequence));
}

// A warp a head: every thread has four elements of the sum.
extern "C" __global__ void __launch_bounds__(32)
    attention_decode_combine(const float *sums, const float *maxima, const float *totals, u16 *o, int splits)
{
    const size_t head = size_t(blockIdx.y) * gridDim.x + blockIdx.x;
    const int lane = threadIdx.x;

    float top = MINUS_INFINITY;
    for (int i = lane; i < splits; i += 32)
        top = fmaxf(top, maxima[head * splits + i]);
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, mask));

    float total = 0.0f;
    float4 value = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int i = 0; i < splits; i++) {
        const size_t row = head * splits + i;
        const float factor = exp2_fast((maxima[row] - top) * SCALE);
        const float4 part = reinterpret_cast<const float4 *>(sums + row * D)[lane];
        total += totals[row] * factor;
        value.x += part.x * factor;
        value.y += part.y * factor;
        value.z += part.z * factor;
        value.w += part.w * factor;
    }
    const float inverse = 1.0f / total;
    reinterpret_cast<uint2 *>(o + head * D)[lane] =
        make_uint2(pack(value.x * inverse, value.y * inverse), pack(value.z * inverse, value.w * inverse));
}
