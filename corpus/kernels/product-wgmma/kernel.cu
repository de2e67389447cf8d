// C = A * B^T with the tensor cores of Hopper, in six steps.
//
// A is m x k, B is n x k and C is m x n, all row-major and bf16; sums are f32. m and n are multiples
// of the tiles, k is a multiple of 64. A and B arrive by tensor maps whose boxes are 64 elements wide
// (128 bytes, swizzled so) and as high as the tile, or as said at the kernel.

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

struct alignas(64) TensorMap {
    unsigned char bytes[128];
};

// A slab is what a tile reads of A or B at a time: rows of 64 elements, 128 bytes.
constexpr int DEPTH = 64;
constexpr int ROW_BYTES = 128;
constexpr int WARPGROUP = 128;

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

__device__ void arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
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

// To the same place of every block in `blocks`, and tells the same barrier of each.
__device__ void load_box_for(u16 blocks, u32 to, const TensorMap &map, int column, int row, u32 barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(&map), "r"(column),
                 "r"(row), "r"(barrier), "h"(blocks) : "memory");
}

__device__ void store_box(const TensorMap &map, int column, int row, u32 from)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                 "r"(column), "r"(row), "r"(from) : "memory");
}

// Products

#define REGISTERS_8(d, i)                                                                                \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),          \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define REGISTERS(d, i)                                                                                  \
    REGISTERS_8(d, i), REGISTERS_8(d, i + 8), REGISTERS_8(d, i + 16), REGISTERS_8(d, i + 24)

// 64 x WIDTH sums of a warpgroup and 16 of the depth.
template <int WIDTH>
__device__ void multiply(float (&d)[WIDTH / 2], u64 a, u64 b, bool accumulate);

template <>
__device__ void multiply<64>(float (&d)[32], u64 a, u64 b, bool accumulate)
{
    asm volatile("{\n"
                 ".reg .pred accumulate;\n"
                 "setp.ne.b32 accumulate, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, accumulate, 1, 1, 0, 0;\n"
                 "}"
                 : REGISTERS(d, 0)
                 : "l"(a), "l"(b), "r"(int(accumulate)));
}

template <>
__device__ void multiply<128>(float (&d)[64], u64 a, u64 b, bool accumulate)
{
    asm volatile("{\n"
                 ".reg .pred accumulate;\n"
                 "setp.ne.b32 accumulate, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, accumulate, 1, 1, 0, 0;\n"
                 "}"
                 : REGISTERS(d, 0), REGISTERS(d, 32)
                 : "l"(a), "l"(b), "r"(int(accumulate)));
}

template <>
__device__ void multiply<256>(float (&d)[128], u64 a, u64 b, bool accumulate)
{
    asm volatile("{\n"
                 ".reg .pred accumulate;\n"
                 "setp.ne.b32 accumulate, %130, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, accumulate, 1, 1, 0, 0;\n"
                 "}"
                 : REGISTERS(d, 0), REGISTERS(d, 32), REGISTERS(d, 64), REGISTERS(d, 96)
                 : "l"(a), "l"(b), "r"(int(accumulate)));
}

// Rows of 128 bytes, swizzled over groups of eight rows.
__device__ u64 descriptor(u32 slab)
{
    constexpr u64 SWIZZLE_128B = u64(1) << 62;
    constexpr u64 GROUP_STRIDE = u64(8 * ROW_BYTES / 16) << 32;
    return SWIZZLE_128B | GROUP_STRIDE | u64(1) << 16 | (slab & 0x3ffff) / 16;
}

template <int WIDTH>
__device__ void multiply_slabs(float (&d)[WIDTH / 2], u32 a, u32 b, bool accumulate)
{
    const u64 a_slab = descriptor(a), b_slab = descriptor(b);
#pragma unroll
    for (int slice = 0; slice < DEPTH / 16; slice++) {
        constexpr int SLICE = 16 * 2 / 16; // in the descriptor's units
        multiply<WIDTH>(d, a_slab + SLICE * slice, b_slab + SLICE * slice, accumulate || slice > 0);
    }
}

__device__ void products_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ void products_end()
{
    asm volatile("wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// Results

__device__ u32 pack(float low, float high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// Four lanes write 16 bytes of a row: half of each sector at a time.
template <int WIDTH>
__device__ void store_sums(u16 *c, int n, const float (&d)[WIDTH / 2])
{
    const int thread = threadIdx.x % WARPGROUP;
    const int row = thread / 32 * 16 + thread % 32 / 4;
    u16 *const place = c + row * n + thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < WIDTH / 8; i++) {
        *reinterpret_cast<u32 *>(place + 8 * i) = pack(d[4 * i], d[4 * i + 1]);
        *reinterpret_cast<u32 *>(place + 8 * i + 8 * n) = pack(d[4 * i + 2], d[4 * i + 3]);
    }
}

// One warpgroup copies a slab, waits, multiplies, waits. Other blocks of the SM fill the gaps.
template <int BLOCKS, int WIDTH>
__device__ void product_of_one_warpgroup(const TensorMap &a_map, const TensorMap &b_map, u16 *c, int n,
                                         int k)
{
    constexpr int HEIGHT = 64 * BLOCKS;
    constexpr int A_BYTES = HEIGHT * ROW_BYTES, B_BYTES = WIDTH * ROW_BYTES;
    __shared__ u64 full_barrier;

    const u32 full = shared_address(&full_barrier);
    const u32 a_slab = shared_address(slabs), b_slab = a_slab + A_BYTES;
    const int row = blockIdx.y * HEIGHT, column = blockIdx.x * WIDTH;

    if (threadIdx.x == 0) {
        barrier_init(full, 1);
        barriers_ready();
    }
    __syncthreads();

    float d[BLOCKS][WIDTH / 2];
    u32 phase = 0;
    for (int depth = 0; depth < k; depth += DEPTH) {
        if (threadIdx.x == 0) {
            arrive_expecting(full, A_BYTES + B_BYTES);
            load_box(a_slab, a_map, depth, row, full);
            load_box(b_slab, b_map, depth, column, full);
        }
        wait(full, phase);
        phase ^= 1;

        products_begin();
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            multiply_slabs<WIDTH>(d[i], a_slab + i * 64 * ROW_BYTES, b_slab, depth > 0);
        products_end();
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < BLOCKS; i++)
        store_sums<WIDTH>(c + (row + 64 * i) * n + column, n, d[i]);
}

// Step 1: a tile of 64 x 64.
extern "C" __global__ void __launch_bounds__(128)
    product_basic(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, u16 *c,
                  int m, int n, int k)
{
    product_of_one_warpgroup<1, 64>(a_map, b_map, c, n, k);
}

// Step 2: 128 x 128, which reads half as much for each product.
extern "C" __global__ void __launch_bounds__(128)
    product_large_tile(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                       u16 *c, int m, int n, int k)
{
    product_of_one_warpgroup<2, 128>(a_map, b_map, c, n, k);
}

// A queue of stages between a warpgroup that copies and others that multiply. A consumer owns
// BLOCKS * 64 rows of the tile.
template <int CONSUMERS, int BLOCKS, int WIDTH, int STAGES>
struct Queue {
    static constexpr int HEIGHT = CONSUMERS * BLOCKS * 64;
    static constexpr int A_BYTES = HEIGHT * ROW_BYTES, B_BYTES = WIDTH * ROW_BYTES;
    static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;

    u32 first_slab;
    u32 full, empty; // the first of STAGES barriers each
    Place<STAGES> place;

    __device__ Queue(u64 *barriers)
        : first_slab(shared_address(slabs)), full(shared_address(barriers)), empty(full + 8 * STAGES)
    {
        if (threadIdx.x == 0) {
            for (int i = 0; i < STAGES; i++) {
                barrier_init(full + 8 * i, 1);
                barrier_init(empty + 8 * i, CONSUMERS);
            }
            barriers_ready();
        }
        __syncthreads();
    }

    // By one thread of the producer.
    __device__ void fill(const TensorMap &a_map, const TensorMap &b_map, int row, int column, int k)
    {
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

    // By one consumer.
    __device__ void multiply_tile(float (&d)[BLOCKS][WIDTH / 2], int consumer, int k)
    {
        for (int depth = 0; depth < k; depth += DEPTH) {
            const u32 slab = first_slab + STAGE_BYTES * place.stage;
            wait(full + 8 * place.stage, place.phase);
            products_begin();
#pragma unroll
            for (int i = 0; i < BLOCKS; i++)
                multiply_slabs<WIDTH>(d[i], slab + (consumer * BLOCKS + i) * 64 * ROW_BYTES,
                                      slab + A_BYTES, depth > 0);
            products_end();
            if (threadIdx.x % WARPGROUP == 0)
                arrive(empty + 8 * place.stage);
            place.advance();
        }
    }
};

#define FEWER_REGISTERS(count) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count))
#define MORE_REGISTERS(count) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count))

// Step 3: copies run ahead through five stages. A block begins with 128 registers a thread, as if two
// were to share an SM, and the consumer takes over what the producer gives back.
extern "C" __global__ void __launch_bounds__(256, 2)
    product_queue(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map, u16 *c,
                  int m, int n, int k)
{
    constexpr int STAGES = 5, BLOCKS = 2, WIDTH = 128;
    __shared__ u64 barriers[2 * STAGES];
    Queue<1, BLOCKS, WIDTH, STAGES> queue(barriers);
    const int row = blockIdx.y * queue.HEIGHT, column = blockIdx.x * WIDTH;

    if (threadIdx.x < WARPGROUP) {
        FEWER_REGISTERS(40);
        if (threadIdx.x == 0)
            queue.fill(a_map, b_map, row, column, k);
    } else {
        MORE_REGISTERS(216);
        float d[BLOCKS][WIDTH / 2];
        queue.multiply_tile(d, 0, k);
#pragma unroll
        for (int i = 0; i < BLOCKS; i++)
            store_sums<WIDTH>(c + (row + 64 * i) * n + column, n, d[i]);
    }
}

// Step 4: 128 x 256, a half for each of two consumers. One multiplies while the other waits.
extern "C" __global__ void __launch_bounds__(384)
    product_two_consumers(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                          u16 *c, int m, int n, int k)
{
    constexpr int STAGES = 4, WIDTH = 256;
    __shared__ u64 barriers[2 * STAGES];
    Queue<2, 1, WIDTH, STAGES> queue(barriers);
    const int row = blockIdx.y * queue.HEIGHT, column = blockIdx.x * WIDTH;

    if (threadIdx.x < WARPGROUP) {
        FEWER_REGISTERS(40);
        if (threadIdx.x == 0)
            queue.fill(a_map, b_map, row, column, k);
    } else {
        MORE_REGISTERS(232);
        const int consumer = threadIdx.x / WARPGROUP - 1;
        float d[1][WIDTH / 2];
        queue.multiply_tile(d, consumer, k);
        store_sums<WIDTH>(c + (row + 64 * consumer) * n + column, n, d[0]);
    }
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

// Step 5: a block stays and takes every gridDim.x-th tile. The producer is ahead in the next tile while
// the consumers store.
extern "C" __global__ void __launch_bounds__(384)
    product_persistent(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                       u16 *c, int m, int n, int k)
{
    constexpr int STAGES = 4, WIDTH = 256;
    __shared__ u64 barriers[2 * STAGES];
    Queue<2, 1, WIDTH, STAGES> queue(barriers);
    const int rows = m / queue.HEIGHT, columns = n / WIDTH;

    if (threadIdx.x < WARPGROUP) {
        FEWER_REGISTERS(40);
        if (threadIdx.x == 0) {
            for (int index = blockIdx.x; index < rows * columns; index += gridDim.x) {
                const Tile<16> tile(index, rows, columns);
                queue.fill(a_map, b_map, tile.row * queue.HEIGHT, tile.column * WIDTH, k);
            }
        }
    } else {
        MORE_REGISTERS(232);
        const int consumer = threadIdx.x / WARPGROUP - 1;
        for (int index = blockIdx.x; index < rows * columns; index += gridDim.x) {
            const Tile<16> tile(index, rows, columns);
            float d[1][WIDTH / 2];
            queue.multiply_tile(d, consumer, k);
            const int row = tile.row * queue.HEIGHT + 64 * consumer;
            store_sums<WIDTH>(c + row * n + tile.column * WIDTH, n, d[0]);
        }
    }
}

__device__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::: "memory");
}

__device__ void warpgroup_sync(int consumer)
{
    asm volatile("bar.sync %0, %1;" ::"r"(consumer + 1), "n"(WARPGROUP) : "memory");
}

// Sums to 64 x 64 boxes of bf16, swizzled as the tensor map of C says. Lanes of a quarter of the warp
// give the rows of one 8 x 8 matrix; the swizzle keeps them in different banks.
template <int WIDTH>
__device__ void stage_sums(u32 boxes, const float (&d)[WIDTH / 2])
{
    constexpr int BOX_BYTES = 64 * ROW_BYTES;
    const int thread = threadIdx.x % WARPGROUP;
    const int row = thread / 32 * 16 + thread % 16;
    const int right = thread % 32 / 16;
#pragma unroll
    for (int i = 0; i < WIDTH / 16; i++) {
        const int chunk = (i * 2 + right) % 8 ^ row % 8;
        const u32 place = boxes + i / 4 * BOX_BYTES + row * ROW_BYTES + chunk * 16;
        const float *const v = d + 8 * i;
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place),
                     "r"(pack(v[0], v[1])), "r"(pack(v[2], v[3])), "r"(pack(v[4], v[5])),
                     "r"(pack(v[6], v[7])) : "memory");
    }
}

// Step 6: pairs of blocks, one below the other, each of which loads a half of the slab of B for both.
// Sums leave by bulk copies, behind which the next tile begins. The box of B is 128 rows high, that of
// C is 64 x 64, and m is a multiple of 256.
extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(384)
    product_cluster(const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                    const __grid_constant__ TensorMap c_map, int m, int n, int k)
{
    constexpr int BLOCKS = 2, CONSUMERS = 2, STAGES = 3, WIDTH = 256, HEIGHT = CONSUMERS * 64;
    constexpr int A_BYTES = HEIGHT * ROW_BYTES, B_BYTES = WIDTH * ROW_BYTES;
    constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
    __shared__ u64 barriers[2 * STAGES];

    const u32 full = shared_address(barriers), empty = full + 8 * STAGES;
    const u32 first_slab = shared_address(slabs);
    const u32 boxes = first_slab + STAGES * STAGE_BYTES;
    const int rank = blockIdx.x % BLOCKS;
    const int rows = m / (BLOCKS * HEIGHT), columns = n / WIDTH;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, BLOCKS * CONSUMERS);
        }
        barriers_ready();
    }
    cluster_sync();

    Place<STAGES> place;
    if (threadIdx.x < WARPGROUP) {
        FEWER_REGISTERS(40);
        if (threadIdx.x == 0) {
            for (int index = blockIdx.x / BLOCKS; index < rows * columns; index += gridDim.x / BLOCKS) {
                const Tile<8> tile(index, rows, columns);
                const int row = (tile.row * BLOCKS + rank) * HEIGHT;
                const int column = tile.column * WIDTH + rank * (WIDTH / BLOCKS);
                for (int depth = 0; depth < k; depth += DEPTH) {
                    const u32 told = full + 8 * place.stage;
                    const u32 slab = first_slab + STAGE_BYTES * place.stage;
                    wait(empty + 8 * place.stage, place.phase ^ 1);
                    arrive_expecting(told, STAGE_BYTES);
                    load_box(slab, a_map, depth, row, told);
                    load_box_for(0b11, slab + A_BYTES + rank * (B_BYTES / BLOCKS), b_map, depth, column,
                                 told);
                    place.advance();
                }
            }
        }
    } else {
        MORE_REGISTERS(232);
        const int consumer = threadIdx.x / WARPGROUP - 1;
        const int thread = threadIdx.x % WARPGROUP;
        const u32 own_boxes = boxes + consumer * 64 * WIDTH * 2;
        for (int index = blockIdx.x / BLOCKS; index < rows * columns; index += gridDim.x / BLOCKS) {
            const Tile<8> tile(index, rows, columns);
            float d[WIDTH / 2];
            for (int depth = 0; depth < k; depth += DEPTH) {
                const u32 slab = first_slab + STAGE_BYTES * place.stage;
                wait(full + 8 * place.stage, place.phase);
                products_begin();
                multiply_slabs<WIDTH>(d, slab + consumer * 64 * ROW_BYTES, slab + A_BYTES, depth > 0);
                products_end();
                if (thread < BLOCKS)
                    arrive_of_block(empty + 8 * place.stage, thread);
                place.advance();
            }

            if (thread == 0)
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            warpgroup_sync(consumer);
            stage_sums<WIDTH>(own_boxes, d);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            warpgroup_sync(consumer);
            if (thread == 0) {
                const int row = (tile.row * BLOCKS + rank) * HEIGHT + 64 * consumer;
                for (int i = 0; i < WIDTH / 64; i++)
                    store_box(c_map, tile.column * WIDTH + 64 * i, row, own_boxes + i * 64 * ROW_BYTES);
                asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            }
        }
        if (thread == 0)
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
    // The other block may still send to this one.
    cluster_sync();
}
