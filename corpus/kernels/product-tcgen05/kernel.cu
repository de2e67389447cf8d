// C = A * B^T with the tensor cores of Blackwell's data centres, in five steps.
//
// A is m x k, B is n x k and C is m x n, all row-major and bf16; sums are f32. m and n are multiples
// of the tiles, k is a multiple of 64 (step 1: of 256). A and B arrive by tensor maps whose boxes are
// 64 elements wide (128 bytes, swizzled so) and 128 rows of A, 256 of B high, unless a kernel says so.

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

// A slab is what a tile reads of A or B at a time: rows of 64 elements, 128 bytes.
constexpr int DEPTH = 64;
constexpr int ROW_BYTES = 128;

extern __shared__ __align__(1024) unsigned char slabs[];

__device__ u32 shared_address(const void *pointer)
{
    return u32(__cvta_generic_to_shared(pointer));
}

// mbarriers

__device__ void barrier_init(u32 barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// The copies of other threads and blocks use the barriers, too.
__device__ void barriers_ready()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Says that reads are over, and publishes no writes: a fence of the cluster would cost and give nothing.
__device__ void arrive_of_block(u32 barrier, u32 block)
{
    asm volatile("{\n"
                 ".reg .b32 there;\n"
                 "mapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
                 "}" ::"r"(barrier), "r"(block) : "memory");
}

__device__ void arrive_expecting(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

__device__ void wait(u32 barrier, u32 phase)
{
    u32 over;
    do {
        asm volatile("{\n"
                     ".reg .pred over;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, over;\n"
                     "}" : "=r"(over) : "r"(barrier), "r"(phase) : "memory");
    } while (!over);
}

// A place in a queue of stages, and the parity of the round.
template <int STAGES>
struct Place {
    u32 stage = 0;
    u32 phase = 0;

    __device__ void advance()
    {
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// Copies

__device__ void load_box(u32 to, const TensorMap &map, int column, int row, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

// Tensor memory

constexpr int HEIGHT = 128; // rows of a tile and lanes of tensor memory
constexpr int WIDTH = 256;  // columns of both
constexpr int A_BYTES = HEIGHT * ROW_BYTES, B_BYTES = WIDTH * ROW_BYTES;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;

// By one warp. Its address goes to shared memory.
template <int BLOCKS, int COLUMNS>
__device__ void allocate(u32 *address)
{
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;\n"
                 "tcgen05.relinquish_alloc_permit.cta_group::%2.sync.aligned;"
                 ::"r"(shared_address(address)), "n"(COLUMNS), "n"(BLOCKS) : "memory");
}

template <int BLOCKS, int COLUMNS>
__device__ void release(u32 sums)
{
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;"
                 ::"r"(sums), "n"(COLUMNS), "n"(BLOCKS));
}

__device__ void before_sync()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

__device__ void after_sync()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// One lane of a warp, the same each time.
__device__ bool elected()
{
    u32 is;
    asm volatile("{\n"
                 ".reg .pred is;\n"
                 "elect.sync _|is, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, is;\n"
                 "}" : "=r"(is));
    return is;
}

// Products

// Rows of 128 bytes, swizzled over groups of eight rows.
__device__ u64 descriptor(u32 slab)
{
    constexpr u64 SWIZZLE_128B = u64(2) << 61, VERSION = u64(1) << 46;
    constexpr u64 GROUP_STRIDE = u64(8 * ROW_BYTES / 16) << 32;
    return SWIZZLE_128B | VERSION | GROUP_STRIDE | (slab & 0x3ffff) / 16;
}

// The sums of 128 rows for each block, and 64 of the depth.
template <int BLOCKS>
__device__ void multiply_slabs(u32 sums, u32 a, u32 b, bool accumulate)
{
    constexpr u32 F32_SUMS = 1 << 4, BF16_A = 1 << 7, BF16_B = 1 << 10;
    constexpr u32 SHAPE = WIDTH / 8 << 17 | BLOCKS * HEIGHT / 16 << 24;
    const u64 a_slab = descriptor(a), b_slab = descriptor(b);
#pragma unroll
    for (int slice = 0; slice < DEPTH / 16; slice++) {
        constexpr int SLICE = 16 * 2 / 16; // in the descriptor's units
        asm volatile("{\n"
                     ".reg .pred accumulate;\n"
                     "setp.ne.b32 accumulate, %4, 0;\n"
                     "tcgen05.mma.cta_group::%5.kind::f16 [%0], %1, %2, %3, accumulate;\n"
                     "}" ::"r"(sums), "l"(a_slab + SLICE * slice), "l"(b_slab + SLICE * slice),
                     "r"(F32_SUMS | BF16_A | BF16_B | SHAPE), "r"(int(accumulate || slice > 0)),
                     "n"(BLOCKS) : "memory");
    }
}

// Tells the barrier when the products so far are over.
__device__ void tell(u32 barrier)
{
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];"
                 ::"r"(barrier) : "memory");
}

// Tells the barriers at this place in both blocks of a pair.
__device__ void tell_pair(u32 barrier)
{
    asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
                 ".multicast::cluster.b64 [%0], %1;" ::"r"(barrier), "h"(u16(0b11)) : "memory");
}

// Results

__device__ u32 pack(u32 low, u32 high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
        : "=r"(both) : "f"(__uint_as_float(high)), "f"(__uint_as_float(low)));
    return both;
}

#define NEW_8(v, i)                                                                                      \
    "=r"(v[i]), "=r"(v[i + 1]), "=r"(v[i + 2]), "=r"(v[i + 3]), "=r"(v[i + 4]), "=r"(v[i + 5]),          \
        "=r"(v[i + 6]), "=r"(v[i + 7])

// By four warps, one for each quarter of the lanes. A thread has a row, and writes whole sectors of it.
__device__ void store_sums(u16 *c, int n, u32 sums)
{
    const int row = threadIdx.x % 128;
    const u32 own_sums = sums + (row / 32 * 32 << 16);
    for (int column = 0; column < WIDTH; column += 32) {
        u32 v[32];
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x32.b32 "
                     "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                     "[%32];\n"
                     "tcgen05.wait::ld.sync.aligned;"
                     : NEW_8(v, 0), NEW_8(v, 8), NEW_8(v, 16), NEW_8(v, 24)
                     : "r"(own_sums + column) : "memory");
        u16 *const place = c + row * n + column;
#pragma unroll
        for (int i = 0; i < 32; i += 16)
            asm volatile("st.global.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(place + i),
                         "r"(pack(v[i], v[i + 1])), "r"(pack(v[i + 2], v[i + 3])),
                         "r"(pack(v[i + 4], v[i + 5])), "r"(pack(v[i + 6], v[i + 7])),
                         "r"(pack(v[i + 8], v[i + 9])), "r"(pack(v[i + 10], v[i + 11])),
                         "r"(pack(v[i + 12], v[i + 13])), "r"(pack(v[i + 14], v[i + 15])) : "memory");
    }
}

// Step 1: one stage of 256 of the depth. Copies and products take turns.
extern "C" __global__ void __launch_bounds__(128)
    product_basic(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, u16 *c,
                  int m, int n, int k)
{
    constexpr int SLABS = 4;
    __shared__ u64 barriers[3];
    __shared__ u32 tensor_memory;

    const u32 full = shared_address(barriers), empty = full + 8, done = empty + 8;
    const u32 first_slab = shared_address(slabs);
    const int row = blockIdx.y * HEIGHT, column = blockIdx.x * WIDTH;
    const int warp = threadIdx.x / 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < 3; i++)
            barrier_init(full + 8 * i, 1);
        barriers_ready();
    }
    if (warp == 1) {
        allocate<1, WIDTH>(&tensor_memory);
        before_sync();
    }
    __syncthreads();
    after_sync();
    const u32 sums = tensor_memory;

    if (warp == 0 && elected()) {
        u32 phase = 0;
        for (int depth = 0; depth < k; depth += SLABS * DEPTH) {
            arrive_expecting(full, SLABS * STAGE_BYTES);
            for (int i = 0; i < SLABS; i++) {
                const u32 slab = first_slab + i * STAGE_BYTES;
                load_box(slab, a_map, depth + i * DEPTH, row, full);
                load_box(slab + A_BYTES, b_map, depth + i * DEPTH, column, full);
            }
            wait(full, phase);
            after_sync();
            for (int i = 0; i < SLABS; i++) {
                const u32 slab = first_slab + i * STAGE_BYTES;
                multiply_slabs<1>(sums, slab, slab + A_BYTES, depth > 0 || i > 0);
            }
            tell(empty);
            wait(empty, phase);
            phase ^= 1;
        }
        tell(done);
    }

    wait(done, 0);
    after_sync();
    store_sums(c + row * n + column, n, sums);
    before_sync();
    __syncthreads();
    after_sync();
    if (warp == 1)
        release<1, WIDTH>(sums);
}

// Step 2: four stages of 64. One thread keeps a product in flight, and copies into the stage of the one
// before it.
extern "C" __global__ void __launch_bounds__(128)
    product_stages(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, u16 *c,
                   int m, int n, int k)
{
    constexpr int STAGES = 4;
    __shared__ u64 barriers[2 * STAGES + 1];
    __shared__ u32 tensor_memory;

    const u32 full = shared_address(barriers), empty = full + 8 * STAGES, done = empty + 8 * STAGES;
    const u32 first_slab = shared_address(slabs);
    const int row = blockIdx.y * HEIGHT, column = blockIdx.x * WIDTH;
    const int warp = threadIdx.x / 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * STAGES + 1; i++)
            barrier_init(full + 8 * i, 1);
        barriers_ready();
    }
    if (warp == 1) {
        allocate<1, WIDTH>(&tensor_memory);
        before_sync();
    }
    __syncthreads();
    after_sync();
    const u32 sums = tensor_memory;

    if (warp == 0 && elected()) {
        int loaded = 0;
        Place<STAGES> to;
        const auto load = [&] {
            const u32 told = full + 8 * to.stage;
            const u32 slab = first_slab + STAGE_BYTES * to.stage;
            wait(empty + 8 * to.stage, to.phase ^ 1);
            arrive_expecting(told, STAGE_BYTES);
            load_box(slab, a_map, loaded, row, told);
            load_box(slab + A_BYTES, b_map, loaded, column, told);
            loaded += DEPTH;
            to.advance();
        };
        while (loaded < k && loaded < (STAGES - 1) * DEPTH)
            load();

        Place<STAGES> from;
        for (int depth = 0; depth < k; depth += DEPTH) {
            const u32 slab = first_slab + STAGE_BYTES * from.stage;
            wait(full + 8 * from.stage, from.phase);
            after_sync();
            multiply_slabs<1>(sums, slab, slab + A_BYTES, depth > 0);
            tell(empty + 8 * from.stage);
            from.advance();
            if (loaded < k)
                load();
        }
        tell(done);
    }

    wait(done, 0);
    after_sync();
    store_sums(c + row * n + column, n, sums);
    before_sync();
    __syncthreads();
    after_sync();
    if (warp == 1)
        release<1, WIDTH>(sums);
}

// Warps 0 to 3 store.
constexpr int COPYING_WARP = 4;
constexpr int MULTIPLYING_WARP = 5;

// Step 3: a warp copies and another multiplies, so that neither waits for the other's barriers.
extern "C" __global__ void __launch_bounds__(192)
    product_roles(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, u16 *c,
                  int m, int n, int k)
{
    constexpr int STAGES = 4;
    __shared__ u64 barriers[2 * STAGES + 1];
    __shared__ u32 tensor_memory;

    const u32 full = shared_address(barriers), empty = full + 8 * STAGES, done = empty + 8 * STAGES;
    const u32 first_slab = shared_address(slabs);
    const int row = blockIdx.y * HEIGHT, column = blockIdx.x * WIDTH;
    const int warp = threadIdx.x / 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * STAGES + 1; i++)
            barrier_init(full + 8 * i, 1);
        barriers_ready();
    }
    if (warp == MULTIPLYING_WARP) {
        allocate<1, WIDTH>(&tensor_memory);
        before_sync();
    }
    __syncthreads();
    after_sync();
    const u32 sums = tensor_memory;

    Place<STAGES> place;
    if (warp == COPYING_WARP) {
        if (elected()) {
            for (int depth = 0; depth < k; depth += DEPTH) {
                const u32 told = full + 8 * place.stage;
                const u32 slab = first_slab + STAGE_BYTES * place.stage;
                wait(empty + 8 * place.stage, place.phase ^ 1);
                arrive_expecting(told, STAGE_BYTES);
                load_box(slab, a_map, depth, row, told);
                load_box(slab + A_BYTES, b_map, depth, column, told);
                place.advance();
            }
        }
    } else if (warp == MULTIPLYING_WARP) {
        if (elected()) {
            for (int depth = 0; depth < k; depth += DEPTH) {
                const u32 slab = first_slab + STAGE_BYTES * place.stage;
                wait(full + 8 * place.stage, place.phase);
                after_sync();
                multiply_slabs<1>(sums, slab, slab + A_BYTES, depth > 0);
                tell(empty + 8 * place.stage);
                place.advance();
            }
            tell(done);
        }
    } else {
        wait(done, 0);
        after_sync();
        store_sums(c + row * n + column, n, sums);
        before_sync();
    }
    __syncthreads();
    after_sync();
    if (warp == MULTIPLYING_WARP)
        release<1, WIDTH>(sums);
}

// Pairs of blocks: the products of the first block take the slabs of both. Each has 128 rows of A and
// of B, and the sums of its own rows.
constexpr int PAIR = 2;
constexpr int HALF_BYTES = B_BYTES / PAIR;
constexpr int PAIR_STAGE_BYTES = A_BYTES + HALF_BYTES; // in each of them
constexpr int PAIR_STAGES = 7;

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}

// The address of a barrier of the first block.
__device__ u32 of_first_block(u32 barrier)
{
    u32 there;
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"(barrier));
    return there;
}

// To this block. The barrier may be the other one's.
__device__ void load_box_of_pair(u32 to, const TensorMap &map, int column, int row, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.cta_group::2.shared::cluster.global"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(&map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

// By one thread of each block. The first block's barrier hears of all copies.
__device__ void fill_pair(Place<PAIR_STAGES> &place, u32 full, u32 empty, int rank, const TensorMap &a_map,
                          const TensorMap &b_map, int row, int column, int k)
{
    for (int depth = 0; depth < k; depth += DEPTH) {
        const u32 told = of_first_block(full + 8 * place.stage);
        const u32 slab = shared_address(slabs) + PAIR_STAGE_BYTES * place.stage;
        wait(empty + 8 * place.stage, place.phase ^ 1);
        if (rank == 0)
            arrive_expecting(full + 8 * place.stage, PAIR * PAIR_STAGE_BYTES);
        load_box_of_pair(slab, a_map, depth, row, told);
        load_box_of_pair(slab + A_BYTES, b_map, depth, column, told);
        place.advance();
    }
}

// By one thread of the first block.
__device__ void multiply_pair(Place<PAIR_STAGES> &place, u32 full, u32 empty, u32 sums, int k)
{
    for (int depth = 0; depth < k; depth += DEPTH) {
        const u32 slab = shared_address(slabs) + PAIR_STAGE_BYTES * place.stage;
        wait(full + 8 * place.stage, place.phase);
        after_sync();
        multiply_slabs<PAIR>(sums, slab, slab + A_BYTES, depth > 0);
        tell_pair(empty + 8 * place.stage);
        place.advance();
    }
}

// Step 4: a tile of 256 x 256 for a pair; a product reads half as much of B from each shared memory.
// The box of B is 128 rows high, m is a multiple of 256.
extern "C" __global__ void __cluster_dims__(PAIR) __launch_bounds__(192)
    product_pair(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, u16 *c,
                 int m, int n, int k)
{
    __shared__ u64 barriers[2 * PAIR_STAGES + 1];
    __shared__ u32 tensor_memory;

    const u32 full = shared_address(barriers), empty = full + 8 * PAIR_STAGES;
    const u32 done = empty + 8 * PAIR_STAGES;
    const int rank = blockIdx.x % PAIR;
    const int row = blockIdx.x * HEIGHT, column = blockIdx.y * WIDTH;
    const int warp = threadIdx.x / 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * PAIR_STAGES + 1; i++)
            barrier_init(full + 8 * i, 1);
        barriers_ready();
    }
    if (warp == MULTIPLYING_WARP) {
        allocate<PAIR, WIDTH>(&tensor_memory);
        before_sync();
    }
    cluster_sync();
    after_sync();
    const u32 sums = tensor_memory;

    Place<PAIR_STAGES> place;
    if (warp == COPYING_WARP) {
        if (elected())
            fill_pair(place, full, empty, rank, a_map, b_map, row, column + rank * (WIDTH / PAIR), k);
    } else if (warp == MULTIPLYING_WARP) {
        if (rank == 0 && elected()) {
            multiply_pair(place, full, empty, sums, k);
            tell_pair(done);
        }
    } else {
        wait(done, 0);
        after_sync();
        store_sums(c + row * n + column, n, sums);
        before_sync();
    }
    cluster_sync();
    after_sync();
    if (warp == MULTIPLYING_WARP)
        release<PAIR, WIDTH>(sums);
}

// Tiles in bands of so many rows of tiles, down the columns of a band: those of the same time share slabs
// in the L2.
template <int BAND>
struct Tile {
    int row, column;

    __device__ Tile(int index, int rows, int columns)
    {
        const int band = index / (BAND * columns);
        const int within = index - band * BAND * columns;
        const int height = min(BAND, rows - band * BAND);
        row = band * BAND + within % height;
        column = within / height;
    }
};

// Step 5: pairs stay and take every so many tiles. Sums alternate between two halves of tensor memory:
// one is stored while the products of the next tile go to the other.
extern "C" __global__ void __cluster_dims__(PAIR) __launch_bounds__(192)
    product_persistent(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                       u16 *c, int m, int n, int k)
{
    constexpr int HALVES = 2, STORING_WARPS = 4;
    __shared__ u64 barriers[2 * PAIR_STAGES + 2 * HALVES];
    __shared__ u32 tensor_memory;

    const u32 full = shared_address(barriers), empty = full + 8 * PAIR_STAGES;
    const u32 summed = empty + 8 * PAIR_STAGES, stored = summed + 8 * HALVES;
    const int rank = blockIdx.x % PAIR;
    const int rows = m / (PAIR * HEIGHT), columns = n / WIDTH;
    const int warp = threadIdx.x / 32;

    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * PAIR_STAGES + HALVES; i++)
            barrier_init(full + 8 * i, 1);
        for (int i = 0; i < HALVES; i++)
            barrier_init(stored + 8 * i, PAIR * STORING_WARPS);
        barriers_ready();
    }
    if (warp == MULTIPLYING_WARP) {
        allocate<PAIR, HALVES * WIDTH>(&tensor_memory);
        before_sync();
    }
    cluster_sync();
    after_sync();
    const u32 sums = tensor_memory;

    const int first = blockIdx.x / PAIR, step = gridDim.x / PAIR, tiles = rows * columns;
    Place<PAIR_STAGES> place;
    Place<HALVES> half;
    if (warp == COPYING_WARP) {
        if (elected()) {
            for (int index = first; index < tiles; index += step) {
                const Tile<8> tile(index, rows, columns);
                fill_pair(place, full, empty, rank, a_map, b_map, (tile.row * PAIR + rank) * HEIGHT,
                          tile.column * WIDTH + rank * (WIDTH / PAIR), k);
            }
        }
    } else if (warp == MULTIPLYING_WARP) {
        if (rank == 0 && elected()) {
            for (int index = first; index < tiles; index += step) {
                wait(stored + 8 * half.stage, half.phase ^ 1);
                after_sync();
                multiply_pair(place, full, empty, sums + half.stage * WIDTH, k);
                tell_pair(summed + 8 * half.stage);
                half.advance();
            }
        }
    } else {
        for (int index = first; index < tiles; index += step) {
            const Tile<8> tile(index, rows, columns);
            wait(summed + 8 * half.stage, half.phase);
            after_sync();
            store_sums(c + (tile.row * PAIR + rank) * HEIGHT * n + tile.column * WIDTH, n,
                       sums + half.stage * WIDTH);
            before_sync();
            __syncwarp();
            if (elected())
                arrive_of_block(stored + 8 * half.stage, 0);
            half.advance();
        }
    }
    cluster_sync();
    after_sync();
    if (warp == MULTIPLYING_WARP)
        release<PAIR, HALVES * WIDTH>(sums);
}
