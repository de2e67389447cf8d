// O = softmax(Q K^T / sqrt(D)) V for each head of a batch, after FlashAttention-2 (Dao 2023).
//
// Tensors are [batch][sequence][heads][D] in bf16. A block has the queries of one tile of one head:
// grid (query tiles, heads, batch). Each of four warps has 32 queries, whose scores and sums stay in
// registers, so that warps share the tiles of K and V and nothing else.
//
// V is on its way while scores are computed, and the next K while they are softened.
//
// Any sequence length will do: copies fill with zeros beyond it, keys there are masked, and rows are not
// stored. All heads of a sequence have fewer than 2^32 elements.

using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;

constexpr float MINUS_INFINITY = __builtin_bit_cast(float, 0xff800000);
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int PARTS = 2;  // of a warp's queries: the height of an mma is 16
constexpr int QUERIES = WARPS * PARTS * 16;

// Tiles in shared memory have rows of D elements. Chunks of 16 bytes are swapped within groups of eight, so that
// neither copies by rows nor the column of chunks that an ldmatrix reads meets a bank twice.
template <int D>
__device__ u32 place(int row, int chunk)
{
    return 2 * D * row + 16 * (chunk ^ row % 8);
}

__device__ void load_matrices(u32 (&x)[4], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

__device__ void load_transposed(u32 (&x)[4], u32 address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(address)
                 : "memory");
}

// c += a b, 16 x 16 times 16 x 8
__device__ void multiply(float (&c)[4], const u32 (&a)[4], u32 b_low, u32 b_high)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

__device__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ u32 pack(float low, float high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// Four threads of a warp share a row of scores.
__device__ float row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

__device__ float row_sum(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

__device__ void copies_wait()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

// Starts to copy rows of a head. `from` is the head's row 0; the caller waits for the copies.
template <int D, int ROWS>
__device__ void start_copy(u32 to, const u16 *from, u32 row_stride, int first_row, int sequence)
{
    constexpr int CHUNKS = D / 8;
    constexpr int ROWS_AT_ONCE = THREADS / CHUNKS;
    const int chunk = threadIdx.x % CHUNKS;
#pragma unroll
    for (int part = 0; part < ROWS / ROWS_AT_ONCE; part++) {
        const int row = part * ROWS_AT_ONCE + threadIdx.x / CHUNKS;
        const bool exists = first_row + row < sequence;
        const u16 *source = from + ((exists ? first_row + row : 0) * row_stride + 8 * chunk);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + place<D>(row, chunk)), "l"(source),
                     "r"(exists ? 16 : 0)
                     : "memory");
    }
}

// The state of a thread. Of 16 queries it has parts of two rows, eight apart: the first two elements of each
// fragment of four belong to the first row, the others to the second.
template <int D, int KEYS, bool CAUSAL>
struct Warp {
    // log2(e) / sqrt(D): exponentials are powers of two.
    static constexpr float SCALE = (D == 64 ? 0.125f : 0.08838834764f) * 1.44269504f;

    const int sequence;
    const int row;  // of the first of the rows
    float scores[PARTS][KEYS / 8][4];
    float sums[PARTS][D / 8][4] = {};
    float maximum[PARTS][2];
    float total[PARTS][2] = {};

    __device__ Warp(int sequence, int first_row) : sequence(sequence), row(first_row + threadIdx.x % 32 / 4)
    {
        for (int part = 0; part < PARTS; part++)
            maximum[part][0] = maximum[part][1] = MINUS_INFINITY;
    }

    __device__ void compute_scores(u32 own_q, u32 k)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int part = 0; part < PARTS; part++)
#pragma unroll
            for (int i = 0; i < KEYS / 8; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    scores[part][i][j] = 0.0f;

#pragma unroll
        for (int step = 0; step < D / 16; step++) {
            u32 a[PARTS][4];
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                load_matrices(a[part], own_q + place<D>(16 * part + lane % 16, 2 * step + lane / 16));
#pragma unroll
            for (int i = 0; i < KEYS / 16; i++) {
                u32 b[4];
                load_matrices(b, k + place<D>(16 * i + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2));
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                    multiply(scores[part][2 * i], a[part], b[0], b[1]);
                    multiply(scores[part][2 * i + 1], a[part], b[2], b[3]);
                }
            }
        }
    }

    // Keys behind the sequence's end or, where causal, behind the query.
    __device__ void mask(int first_key)
    {
        const int column = first_key + threadIdx.x % 4 * 2;
#pragma unroll
        for (int part = 0; part < PARTS; part++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int limit = (CAUSAL ? min(sequence, row + 16 * part + 8 * half + 1) : sequence) - column;
#pragma unroll
                for (int i = 0; i < KEYS / 8; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        float &score = scores[part][i][2 * half + j];
                        score = 8 * i + j < limit ? score : MINUS_INFINITY;
                    }
            }
    }

    // Makes weights of the scores, in place, and scales what was summed before to the new maxima.
    // The first tile has a key for each row, so that a maximum is finite from then on.
    __device__ void soften()
    {
#pragma unroll
        for (int part = 0; part < PARTS; part++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float top = maximum[part][half];
#pragma unroll
                for (int i = 0; i < KEYS / 8; i++)
                    top = fmaxf(top, fmaxf(scores[part][i][2 * half], scores[part][i][2 * half + 1]));
                top = row_max(top);
                const float factor = exp2_fast((maximum[part][half] - top) * SCALE);
                maximum[part][half] = top;

                float sum = 0.0f;
#pragma unroll
                for (int i = 0; i < KEYS / 8; i++)
#pragma unroll
                    for (int j = 0; j < 2; j++) {
                        float &score = scores[part][i][2 * half + j];
                        score = exp2_fast(score * SCALE - top * SCALE);
                        sum += score;
                    }
                total[part][half] = total[part][half] * factor + sum;
                rescale(part, half, factor);
            }
    }

    __device__ void rescale(int part, int half, float factor)
    {
#pragma unroll
        for (int i = 0; i < D / 8; i++) {
            sums[part][i][2 * half] *= factor;
            sums[part][i][2 * half + 1] *= factor;
        }
    }

    __device__ void add_values(u32 v)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int step = 0; step < KEYS / 16; step++) {
            // Two neighbouring fragments of scores are, as they lie, the left factor of a product with 16 keys.
            u32 a[PARTS][4];
#pragma unroll
            for (int part = 0; part < PARTS; part++)
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    const float(&score)[4] = scores[part][2 * step + i / 2];
                    a[part][i] = pack(score[i % 2 * 2], score[i % 2 * 2 + 1]);
                }
#pragma unroll
            for (int i = 0; i < D / 16; i++) {
                u32 b[4];
                load_transposed(b, v + place<D>(16 * step + lane % 16, 2 * i + lane / 16));
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                    multiply(sums[part][2 * i], a[part], b[0], b[1]);
                    multiply(sums[part][2 * i + 1], a[part], b[2], b[3]);
                }
            }
        }
    }

    // O goes through the place of the warp's Q, so that rows are stored in chunks of 16 bytes.
    __device__ void store(char *own_q, u16 *o, u32 row_stride, int first_row)
    {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int part = 0; part < PARTS; part++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                rescale(part, half, 1.0f / row_sum(total[part][half]));
                const int own_row = 16 * part + 8 * half + lane / 4;
#pragma unroll
                for (int i = 0; i < D / 8; i++)
                    *reinterpret_cast<u32 *>(own_q + place<D>(own_row, i) + lane % 4 * 4) =
                        pack(sums[part][i][2 * half], sums[part][i][2 * half + 1]);
            }
        __syncwarp();

        constexpr int CHUNKS = D / 8;
#pragma unroll
        for (int i = 0; i < PARTS * 16 * CHUNKS / 32; i++) {
            const int own_row = (32 * i + lane) / CHUNKS;
            const int chunk = lane % CHUNKS;
            if (first_row + own_row < sequence)
                *reinterpret_cast<uint4 *>(o + ((first_row + own_row) * row_stride + 8 * chunk)) =
                    *reinterpret_cast<const uint4 *>(own_q + place<D>(own_row, chunk));
        }
    }
};

template <int D, int KEYS, bool CAUSAL>
__device__ void attend(const u16 *q, const u16 *k, const u16 *v, u16 *o, int sequence, int heads)
{
    extern __shared__ __align__(128) char memory[];
    const u32 shared_q = __cvta_generic_to_shared(memory);
    const u32 shared_k = shared_q + 2 * D * QUERIES;
    const u32 shared_v = shared_k + 2 * D * KEYS;

    // Of causal tiles the last have the most keys; they begin first.
    const int query_tile = CAUSAL ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
    const int first_query = query_tile * QUERIES;
    const int end = CAUSAL ? min(sequence, first_query + QUERIES) : sequence;
    const u32 row_stride = heads * D;
    const size_t head = (size_t(blockIdx.z) * sequence * heads + blockIdx.y) * D;

    start_copy<D, QUERIES>(shared_q, q + head, row_stride, first_query, sequence);
    start_copy<D, KEYS>(shared_k, k + head, row_stride, 0, sequence);

    const int own_first = threadIdx.x / 32 * PARTS * 16;
    const u32 own_q = 2 * D * own_first;
    const int first_row = first_query + own_first;
    const int first_masked = CAUSAL ? min(sequence, first_row + 1) : sequence;
    Warp<D, KEYS, CAUSAL> my(sequence, first_row);

    for (int key = 0; key < end; key += KEYS) {
        // K is there, and nobody needs the last V.
        copies_wait();
        __syncthreads();
        start_copy<D, KEYS>(shared_v, v + head, row_stride, key, sequence);
        my.compute_scores(shared_q + own_q, shared_k);
        if (key + KEYS > first_masked)
            my.mask(key);

        // V is there, and nobody needs this K.
        copies_wait();
        __syncthreads();
        if (key + KEYS < end)
            start_copy<D, KEYS>(shared_k, k + head, row_stride, key + KEYS, sequence);
        my.soften();
        my.add_values(shared_v);
    }
    my.store(memory + own_q, o + head, row_stride, first_row);
}

// Tiles of keys are as in FlashAttention-2 on an A100: 128 where D is 64, and 64 where it is 128.
#define KERNEL(NAME, D, KEYS, CAUSAL)                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                      \
        NAME(const u16 *q, const u16 *k, const u16 *v, u16 *o, int sequence, int heads)                                      \
    {                                                                                                             \
        attend<D, KEYS, CAUSAL>(q, k, v, o, sequence, heads);                                                            \
    }

KERNEL(attention_mma_d64, 64, 128, false)
KERNEL(attention_mma_d64_causal, 64, 128, true)
KERNEL(attention_mma_d128, 128, 64, false)
KERNEL(attention_mma_d128_causal, 128, 64, true)
