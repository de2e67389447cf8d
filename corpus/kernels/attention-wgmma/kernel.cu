// O = softmax(Q K^T / sqrt(D)) V for each head of a batch, after FlashAttention-3 (Shah et al. 2024).
//
// Tensors are [batch][sequence][heads][D] in bf16. An item of work is a tile of queries of one head. A block
// takes every gridDim.x-th item: one a block, or fewer blocks that stay. One thread of the producer warpgroup
// copies tiles of K and V into two stages each. Every consumer warpgroup has 64 queries of the tile, whose
// scores and sums stay in registers.
//
// Three overlaps hide what is not a product. Within a warpgroup the next scores are on their way before the
// products with V are waited for. Between warpgroups the tensor cores are taken in turns, so that one computes
// exponentials while another multiplies. Between items the producer runs ahead.
//
// Any sequence length will do: copies fill with zeros beyond it, keys there are masked, and stores are cut.

using u32 = unsigned;
using u64 = unsigned long long;

// What cuTensorMapEncodeTiled writes. Boxes are 64 columns wide, which the 128-byte swizzle asks for.
struct alignas(64) TensorMap {
    char bytes[128];
};

constexpr float MINUS_INFINITY = __builtin_bit_cast(float, 0xff800000);
constexpr int WARPGROUP = 128;
constexpr int ROWS = 64;   // queries of a warpgroup
constexpr int KEYS = 128;  // keys of a tile
constexpr int STAGES = 2;
constexpr int PANEL = 64;  // columns of a panel: 128 bytes, the width of the swizzle
constexpr int PANEL_ROW = 2 * PANEL;

// Hardware barriers by number; 0 belongs to __syncthreads().
constexpr int TURN = 1;
constexpr int STORE = 4;

template <int D, int CONSUMERS>
struct Shared {
    static constexpr int QUERY_PANEL = ROWS * PANEL_ROW;
    static constexpr int KEY_PANEL = KEYS * PANEL_ROW;
    static constexpr int QUERY_TILE = D / PANEL * QUERY_PANEL;
    static constexpr int KEY_TILE = D / PANEL * KEY_PANEL;

    static constexpr int Q = 0;  // a tile of each consumer
    static constexpr int O = Q + CONSUMERS * QUERY_TILE;
    static constexpr int K = O + CONSUMERS * QUERY_TILE;
    static constexpr int V = K + STAGES * KEY_TILE;
    static constexpr int Q_FULL = V + STAGES * KEY_TILE;
    static constexpr int Q_FREE = Q_FULL + 8;
    static constexpr int K_FULL = Q_FREE + 8;
    static constexpr int K_FREE = K_FULL + 8 * STAGES;
    static constexpr int V_FULL = K_FREE + 8 * STAGES;
    static constexpr int V_FREE = V_FULL + 8 * STAGES;
};

// Barriers in shared memory

__device__ void barrier_init(u32 barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ void barrier_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ void barrier_wait(u32 barrier, u32 parity)
{
    u32 done;
    do {
        asm volatile(
            "{\n"
            ".reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.b32 %0, 1, 0, p;\n"
            "}"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
    } while (!done);
}

// Where a block's tile of K or V lies, of all that the block goes through, and the phase of that slot.
struct Stage {
    u32 slot;
    u32 phase;

    __device__ explicit Stage(u32 tile) : slot(tile % STAGES), phase(tile / STAGES % 2) {}
    __device__ u32 barrier(u32 ring) const { return ring + 8 * slot; }
};

// Copies by the tensor memory accelerator

__device__ void load_box(u32 to, const TensorMap &map, int column, int head, int row, int batch, u32 barrier)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::
            "r"(to),
        "l"(&map), "r"(column), "r"(head), "r"(row), "r"(batch), "r"(barrier)
        : "memory");
}

__device__ void store_box(const TensorMap &map, int column, int head, int row, int batch, u32 from)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map),
                 "r"(column), "r"(head), "r"(row), "r"(batch), "r"(from)
                 : "memory");
}

template <int D>
__device__ void load_tile(u32 to, int panel_bytes, const TensorMap &map, int head, int row, int batch, u32 barrier)
{
#pragma unroll
    for (int panel = 0; panel < D / PANEL; panel++)
        load_box(to + panel * panel_bytes, map, panel * PANEL, head, row, batch, barrier);
}

// Products of a warpgroup

__device__ void products_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int PENDING>
__device__ void products_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Keeps the compiler from using results before the wait that stands above.
template <int N>
__device__ void settle(float (&x)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(x[i])::"memory");
}

// Describes a tile in panels of 128-byte swizzle to the tensor cores. Eight rows of a panel are 1,024 bytes.
// `next_panel` matters where the columns are the outer dimension of the product, as in V.
__device__ u64 describe(u32 address, u32 next_panel)
{
    constexpr u64 swizzle_128 = 1ull << 62;
    constexpr u64 eight_rows = u64(1024 >> 4) << 32;
    return swizzle_128 | eight_rows | u64(next_panel >> 4) << 16 | (address & 0x3ffff) >> 4;
}

#define EIGHT(x, i) \
    "+f"(x[i]), "+f"(x[i + 1]), "+f"(x[i + 2]), "+f"(x[i + 3]), "+f"(x[i + 4]), "+f"(x[i + 5]), "+f"(x[i + 6]), "+f"(x[i + 7])
#define THIRTY_TWO(x, i) EIGHT(x, i), EIGHT(x, i + 8), EIGHT(x, i + 16), EIGHT(x, i + 24)
#define LIST_32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LIST_64 \
    LIST_32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// c = a b^T + (accumulate ? c : 0) for 16 columns of a and b, both in shared memory, 64 x 16 and 128 x 16.
__device__ void multiply(float (&c)[64], u64 a, u64 b, bool accumulate)
{
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" LIST_64 "}, %64, %65, p, 1, 1, 0, 0;\n"
        "}"
        : THIRTY_TWO(c, 0), THIRTY_TWO(c, 32)
        : "l"(a), "l"(b), "r"(int(accumulate)));
}

// c += a b for a in registers, 64 x 16, and b in shared memory, 16 x 128 or 16 x 64.
__device__ void multiply(float (&c)[64], const u32 (&a)[4], u64 b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" LIST_64 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
        : THIRTY_TWO(c, 0), THIRTY_TWO(c, 32)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ void multiply(float (&c)[32], const u32 (&a)[4], u64 b)
{
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" LIST_32 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
        : THIRTY_TWO(c, 0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// Elementary functions

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

// What there is to do, and for which item next.
template <int D, int CONSUMERS, bool CAUSAL>
struct Work {
    const int sequence, heads, query_tiles, items;
    int item = blockIdx.x;
    int head, batch, first_query, tiles;
    u32 done = 0;        // items before
    u32 done_tiles = 0;  // tiles of keys of items before

    __device__ Work(int sequence, int heads, int batch)
        : sequence(sequence), heads(heads), query_tiles((sequence + CONSUMERS * ROWS - 1) / (CONSUMERS * ROWS)),
          items(query_tiles * heads * batch)
    {
        find();
    }

    __device__ bool exists() const { return item < items; }
    __device__ bool is_last() const { return item + gridDim.x >= items; }

    __device__ void advance()
    {
        item += gridDim.x;
        done++;
        done_tiles += tiles;
        find();
    }

    __device__ void find()
    {
        // Of a head's causal tiles the last have the most keys; they begin first.
        const int query_tile = CAUSAL ? query_tiles - 1 - item % query_tiles : item % query_tiles;
        head = item / query_tiles % heads;
        batch = item / query_tiles / heads;
        first_query = query_tile * CONSUMERS * ROWS;
        const int keys = CAUSAL ? min(sequence, first_query + CONSUMERS * ROWS) : sequence;
        tiles = (keys + KEYS - 1) / KEYS;
    }
};

// A consumer thread at work on an item. Of its group's 64 queries it has parts of two rows, eight apart: elements
// 4i and 4i + 1 of a fragment belong to the first row and columns 8i + 2(lane % 4), the next two to the second.
template <int D, int CONSUMERS, bool CAUSAL>
struct Consumer {
    using Layout = Shared<D, CONSUMERS>;
    // log2(e) / sqrt(D): exponentials are powers of two.
    static constexpr float SCALE = (D == 64 ? 0.125f : 0.08838834764f) * 1.44269504f;

    const u32 shared;
    const int group;  // of the consumers
    const int sequence;
    const int row;  // of the first of the two rows
    float scores[KEYS / 2];
    float sums[D / 2] = {};
    u32 weights[KEYS / 16][4];
    float maximum[2] = {MINUS_INFINITY, MINUS_INFINITY};
    float total[2] = {};

    __device__ Consumer(u32 shared, int group, int first_row, int sequence)
        : shared(shared), group(group), sequence(sequence),
          row(first_row + threadIdx.x % WARPGROUP / 32 * 16 + threadIdx.x % 32 / 4)
    {
    }

    __device__ void start_scores(Stage stage)
    {
        const u32 key_tile = shared + Layout::K + stage.slot * Layout::KEY_TILE;
        const u64 q = describe(shared + Layout::Q + group * Layout::QUERY_TILE, 0);
        const u64 k = describe(key_tile, 0);
        products_fence();
#pragma unroll
        for (int step = 0; step < D / 16; step++) {
            const int panel = step * 16 / PANEL;
            const int column = 32 * (step % (PANEL / 16));
            multiply(scores, q + ((panel * Layout::QUERY_PANEL + column) >> 4),
                     k + ((panel * Layout::KEY_PANEL + column) >> 4), step > 0);
        }
        products_commit();
    }

    __device__ void start_sums(Stage stage)
    {
        const u64 v = describe(shared + Layout::V + stage.slot * Layout::KEY_TILE, Layout::KEY_PANEL);
        products_fence();
#pragma unroll
        for (int step = 0; step < KEYS / 16; step++)
            multiply(sums, weights[step], v + ((step * 16 * PANEL_ROW) >> 4));
        products_commit();
    }

    // Keys behind the sequence's end or, where causal, behind the query.
    __device__ void mask(int tile)
    {
        const int column = tile * KEYS + threadIdx.x % 4 * 2;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int limit = (CAUSAL ? min(sequence, row + 8 * half + 1) : sequence) - column;
#pragma unroll
            for (int i = 0; i < KEYS / 8; i++) {
#pragma unroll
                for (int j = 0; j < 2; j++)
                    scores[4 * i + 2 * half + j] = 8 * i + j < limit ? scores[4 * i + 2 * half + j] : MINUS_INFINITY;
            }
        }
    }

    // Makes weights of the scores, in place. What was summed before is to be multiplied by `factor`.
    // The first tile has a key for each row, so that the maximum is finite from then on.
    __device__ void soften(float (&factor)[2])
    {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float top = maximum[half];
#pragma unroll
            for (int i = 2 * half; i < KEYS / 2; i += 4)
                top = fmaxf(top, fmaxf(scores[i], scores[i + 1]));
            top = row_max(top);
            factor[half] = exp2_fast((maximum[half] - top) * SCALE);
            maximum[half] = top;

            float part = 0.0f;
#pragma unroll
            for (int i = 2 * half; i < KEYS / 2; i += 4) {
                scores[i] = exp2_fast(scores[i] * SCALE - top * SCALE);
                scores[i + 1] = exp2_fast(scores[i + 1] * SCALE - top * SCALE);
                part += scores[i] + scores[i + 1];
            }
            total[half] = total[half] * factor[half] + part;
        }
    }

    // Neighbouring fragments of scores are, as they lie, the left factor of a product with 16 keys.
    __device__ void pack_weights()
    {
#pragma unroll
        for (int i = 0; i < KEYS / 2; i += 2)
            weights[i / 8][i / 2 % 4] = pack(scores[i], scores[i + 1]);
    }

    __device__ void rescale(const float (&factor)[2])
    {
#pragma unroll
        for (int i = 0; i < D / 2; i++)
            sums[i] *= factor[i / 2 % 2];
    }

    // The first group has the first turn without waiting, so nobody is to pass the last one on.
    __device__ void take_turn(bool first) const
    {
        if (group > 0 || !first)
            asm volatile("bar.sync %0, %1;" ::"r"(TURN + group), "n"(2 * WARPGROUP) : "memory");
    }

    __device__ void pass_turn(bool last) const
    {
        if (group < CONSUMERS - 1 || !last)
            asm volatile("bar.arrive %0, %1;" ::"r"(TURN + (group + 1) % CONSUMERS), "n"(2 * WARPGROUP) : "memory");
    }

    __device__ void release(u32 barrier) const
    {
        if (threadIdx.x % WARPGROUP == 0)
            barrier_arrive(shared + barrier);
    }

    __device__ void meet() const
    {
        asm volatile("bar.sync %0, %1;" ::"r"(STORE + group), "n"(WARPGROUP) : "memory");
    }

    __device__ void store(const TensorMap &o, int head, int first_row, int batch)
    {
        const u32 tile = shared + Layout::O + group * Layout::QUERY_TILE;
        const bool leader = threadIdx.x % WARPGROUP == 0;
        if (leader)
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        meet();
        leave_output(tile);
        // Stores of threads become visible to the copy.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        meet();
        if (leader) {
#pragma unroll
            for (int panel = 0; panel < D / PANEL; panel++)
                store_box(o, panel * PANEL, head, first_row, batch, tile + panel * Layout::QUERY_PANEL);
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }

    // O, rounded, in the swizzle of the map.
    __device__ void leave_output(u32 tile)
    {
        float inverse[2];
#pragma unroll
        for (int half = 0; half < 2; half++)
            inverse[half] = 1.0f / row_sum(total[half]);
        rescale(inverse);

        const int lane = threadIdx.x % 32;
        const int own_row = threadIdx.x % WARPGROUP / 32 * 16 + lane % 16;
        const u32 row_address = tile + own_row * PANEL_ROW;
#pragma unroll
        for (int step = 0; step < D / 16; step++) {
            const float *s = sums + 8 * step;
            const int chunk = (step % (PANEL / 16) * 2 + lane / 16) ^ own_row % 8;
            const u32 address = row_address + step * 16 / PANEL * Layout::QUERY_PANEL + 16 * chunk;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                         "r"(pack(s[0], s[1])), "r"(pack(s[2], s[3])), "r"(pack(s[4], s[5])), "r"(pack(s[6], s[7]))
                         : "memory");
        }
    }
};

template <int D, int CONSUMERS, bool CAUSAL>
__device__ void produce(const TensorMap &q, const TensorMap &k, const TensorMap &v, u32 shared,
                        Work<D, CONSUMERS, CAUSAL> work)
{
    using Layout = Shared<D, CONSUMERS>;
    // A barrier's first wait, for the phase before its first, returns at once.
    for (; work.exists(); work.advance()) {
        barrier_wait(shared + Layout::Q_FREE, work.done % 2 ^ 1);
        barrier_expect(shared + Layout::Q_FULL, CONSUMERS * Layout::QUERY_TILE);
        for (int group = 0; group < CONSUMERS; group++)
            load_tile<D>(shared + Layout::Q + group * Layout::QUERY_TILE, Layout::QUERY_PANEL, q, work.head,
                         work.first_query + group * ROWS, work.batch, shared + Layout::Q_FULL);

        for (int tile = 0; tile < work.tiles; tile++) {
            const Stage stage(work.done_tiles + tile);
            const auto fill = [&](const TensorMap &map, u32 to, u32 full, u32 free) {
                barrier_wait(stage.barrier(free), stage.phase ^ 1);
                barrier_expect(stage.barrier(full), Layout::KEY_TILE);
                load_tile<D>(to + stage.slot * Layout::KEY_TILE, Layout::KEY_PANEL, map, work.head, tile * KEYS,
                             work.batch, stage.barrier(full));
            };
            fill(k, shared + Layout::K, shared + Layout::K_FULL, shared + Layout::K_FREE);
            fill(v, shared + Layout::V, shared + Layout::V_FULL, shared + Layout::V_FREE);
        }
    }
}

template <int D, int CONSUMERS, bool CAUSAL>
__device__ void consume(const TensorMap &o, u32 shared, int group, Work<D, CONSUMERS, CAUSAL> work)
{
    using Layout = Shared<D, CONSUMERS>;
    for (; work.exists(); work.advance()) {
        const int first_row = work.first_query + group * ROWS;
        const int first_masked = (CAUSAL ? min(work.sequence, first_row + 1) : work.sequence) / KEYS;
        const int last = work.tiles - 1;
        Consumer<D, CONSUMERS, CAUSAL> my(shared, group, first_row, work.sequence);
        float factor[2];

        Stage stage(work.done_tiles);
        barrier_wait(shared + Layout::Q_FULL, work.done % 2);
        barrier_wait(stage.barrier(shared + Layout::K_FULL), stage.phase);
        my.take_turn(work.done == 0);
        my.start_scores(stage);
        my.pass_turn(work.is_last() && last == 0);

        products_wait<0>();
        settle(my.scores);
        my.release(stage.barrier(Layout::K_FREE));
        if (last == 0)
            my.release(Layout::Q_FREE);
        if (first_masked == 0)
            my.mask(0);
        my.soften(factor);
        my.pack_weights();

        for (int tile = 1; tile <= last; tile++) {
            const Stage before = stage;
            stage = Stage(work.done_tiles + tile);
            barrier_wait(stage.barrier(shared + Layout::K_FULL), stage.phase);
            barrier_wait(before.barrier(shared + Layout::V_FULL), before.phase);
            my.take_turn(false);
            my.start_scores(stage);
            my.start_sums(before);
            my.pass_turn(work.is_last() && tile == last);

            products_wait<1>();
            settle(my.scores);
            my.release(stage.barrier(Layout::K_FREE));
            if (tile == last)
                my.release(Layout::Q_FREE);
            if (tile >= first_masked)
                my.mask(tile);
            my.soften(factor);

            products_wait<0>();
            settle(my.sums);
            my.release(before.barrier(Layout::V_FREE));
            my.rescale(factor);
            my.pack_weights();
        }

        barrier_wait(stage.barrier(shared + Layout::V_FULL), stage.phase);
        my.start_sums(stage);
        products_wait<0>();
        settle(my.sums);
        my.release(stage.barrier(Layout::V_FREE));
        my.store(o, work.head, first_row, work.batch);
    }
    // Shared memory lasts as long as the block.
    if (threadIdx.x % WARPGROUP == 0)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

template <int REGISTERS>
__device__ void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS>
__device__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int D, int CONSUMERS, bool CAUSAL>
__device__ void attend(const TensorMap &q, const TensorMap &k, const TensorMap &v, const TensorMap &o, int sequence,
                       int heads, int batch)
{
    using Layout = Shared<D, CONSUMERS>;
    extern __shared__ __align__(1024) char memory[];
    const u32 shared = __cvta_generic_to_shared(memory);

    if (threadIdx.x == 0) {
        barrier_init(shared + Layout::Q_FULL, 1);
        barrier_init(shared + Layout::Q_FREE, CONSUMERS);
        for (int slot = 0; slot < STAGES; slot++) {
            barrier_init(shared + Layout::K_FULL + 8 * slot, 1);
            barrier_init(shared + Layout::V_FULL + 8 * slot, 1);
            barrier_init(shared + Layout::K_FREE + 8 * slot, CONSUMERS);
            barrier_init(shared + Layout::V_FREE + 8 * slot, CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    const Work<D, CONSUMERS, CAUSAL> work(sequence, heads, batch);
    // All lanes of a warp get the same number; this tells the compiler.
    const int warpgroup = __shfl_sync(~0u, threadIdx.x / WARPGROUP, 0);
    if (warpgroup == 0) {
        give_registers<CONSUMERS == 2 ? 24 : 32>();
        if (threadIdx.x == 0)
            produce<D, CONSUMERS, CAUSAL>(q, k, v, shared, work);
    } else {
        take_registers<CONSUMERS == 2 ? 240 : 160>();
        consume<D, CONSUMERS, CAUSAL>(o, shared, warpgroup - 1, work);
    }
}

// A tile has 192 queries where D is 64, and 128 where it is 128, as in FlashAttention-3.
#define KERNEL(NAME, D, CONSUMERS, CAUSAL)                                                                       \
    extern "C" __global__ void __launch_bounds__((CONSUMERS + 1) * WARPGROUP, 1)                                 \
        NAME(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,                           \
             const __grid_constant__ TensorMap v, const __grid_constant__ TensorMap o, int sequence, int heads,  \
             int batch)                                                                                          \
    {                                                                                                            \
        attend<D, CONSUMERS, CAUSAL>(q, k, v, o, sequence, heads, batch);                                        \
    }

KERNEL(attention_wgmma_d64, 64, 3, false)
KERNEL(attention_wgmma_d64_causal, 64, 3, true)
KERNEL(attention_wgmma_d128, 128, 2, false)
KERNEL(attention_wgmma_d128_causal, 128, 2, true)
