// C = A * B^T with warp-wide products of tensor cores (mma.sync), in five steps.
//
// A is m x k, B is n x k and C is m x n, all row-major and bf16; sums are f32. m and n are multiples of
// 128, k is a multiple of 64.

using u16 = unsigned short;
using u32 = unsigned;

// A block has a tile of 128 x 128, a quarter for each of its warps.
constexpr int SIDE = 128;
constexpr int THREADS = 128;
constexpr int WARP_SIDE = 64;
constexpr int A_PARTS = WARP_SIDE / 16; // products of a warp are 16 x 8 x 16
constexpr int B_PARTS = WARP_SIDE / 8;

// Copies and matrix loads move 16 bytes: eight elements.
constexpr int CHUNK = 8;
constexpr int CHUNK_BYTES = 16;

extern __shared__ __align__(128) unsigned char slabs[];

// What a block reads of A or B at a time: SIDE rows of DEPTH elements. Swizzled, the same chunk of
// eight rows lies in all of the banks.
template <int DEPTH, bool SWIZZLED>
struct Slab {
    static constexpr int CHUNKS = DEPTH / CHUNK;
    static constexpr int ROW_BYTES = DEPTH * 2;
    static constexpr int BYTES = SIDE * ROW_BYTES;
    static constexpr int EACH = SIDE * CHUNKS / THREADS;

    // Rows that lie in the banks side by side need no swizzle among themselves.
    static constexpr int ROWS_OF_BANKS = 128 / ROW_BYTES;

    __device__ static u32 place(int row, int chunk)
    {
        if (SWIZZLED)
            chunk ^= row / ROWS_OF_BANKS % CHUNKS;
        return row * ROW_BYTES + chunk * CHUNK_BYTES;
    }
};

// Copies

template <typename Layout>
__device__ void copy_through_registers(u32 slab, const u16 *from, int k)
{
    uint4 values[Layout::EACH];
#pragma unroll
    for (int i = 0; i < Layout::EACH; i++) {
        const int index = i * THREADS + threadIdx.x;
        const int row = index / Layout::CHUNKS, chunk = index % Layout::CHUNKS;
        values[i] = *reinterpret_cast<const uint4 *>(from + row * k + chunk * CHUNK);
    }
#pragma unroll
    for (int i = 0; i < Layout::EACH; i++) {
        const int index = i * THREADS + threadIdx.x;
        const u32 to = slab + Layout::place(index / Layout::CHUNKS, index % Layout::CHUNKS);
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(values[i].x),
                     "r"(values[i].y), "r"(values[i].z), "r"(values[i].w) : "memory");
    }
}

template <typename Layout>
__device__ void copy_asynchronously(u32 slab, const u16 *from, int k)
{
#pragma unroll
    for (int i = 0; i < Layout::EACH; i++) {
        const int index = i * THREADS + threadIdx.x;
        const int row = index / Layout::CHUNKS, chunk = index % Layout::CHUNKS;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(slab + Layout::place(row, chunk)),
                     "l"(from + row * k + chunk * CHUNK) : "memory");
    }
}

__device__ void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING>
__device__ void wait_for_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// Products

// What a warp multiplies at a time: its rows of A and of B, 16 deep.
struct Fragments {
    u32 a[A_PARTS][4];
    u32 b[B_PARTS][2];
};

using Sums = float[A_PARTS][B_PARTS][4];

__device__ void load_matrices(u32 &first, u32 &second, u32 &third, u32 &fourth, u32 row_address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(first), "=r"(second), "=r"(third), "=r"(fourth) : "r"(row_address) : "memory");
}

template <typename Layout>
__device__ void load_fragments(Fragments &to, u32 a_slab, u32 b_slab, int slice)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int a_row = warp / 2 * WARP_SIDE + lane % 16;
    const int b_row = warp % 2 * WARP_SIDE + lane / 16 * 8 + lane % 8;
#pragma unroll
    for (int i = 0; i < A_PARTS; i++)
        load_matrices(to.a[i][0], to.a[i][1], to.a[i][2], to.a[i][3],
                      a_slab + Layout::place(a_row + 16 * i, slice * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < B_PARTS; j += 2)
        load_matrices(to.b[j][0], to.b[j][1], to.b[j + 1][0], to.b[j + 1][1],
                      b_slab + Layout::place(b_row + 8 * j, slice * 2 + lane / 8 % 2));
}

__device__ void multiply(Sums &sums, const Fragments &of)
{
#pragma unroll
    for (int i = 0; i < A_PARTS; i++) {
#pragma unroll
        for (int j = 0; j < B_PARTS; j++) {
            float *const d = sums[i][j];
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(of.a[i][0]), "r"(of.a[i][1]), "r"(of.a[i][2]), "r"(of.a[i][3]),
                           "r"(of.b[j][0]), "r"(of.b[j][1]));
        }
    }
}

template <typename Layout>
__device__ void multiply_slabs(Sums &sums, u32 a_slab, u32 b_slab)
{
#pragma unroll
    for (int slice = 0; slice < Layout::CHUNKS / 2; slice++) {
        Fragments fragments;
        load_fragments<Layout>(fragments, a_slab, b_slab, slice);
        multiply(sums, fragments);
    }
}

// Results

__device__ u32 pack(float low, float high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

__device__ void store_sums(u16 *c, int n, const Sums &sums)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row = blockIdx.y * SIDE + warp / 2 * WARP_SIDE + lane / 4;
    const int column = blockIdx.x * SIDE + warp % 2 * WARP_SIDE + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < A_PARTS; i++) {
#pragma unroll
        for (int j = 0; j < B_PARTS; j++) {
            u16 *const place = c + (row + 16 * i) * n + column + 8 * j;
            *reinterpret_cast<u32 *>(place) = pack(sums[i][j][0], sums[i][j][1]);
            *reinterpret_cast<u32 *>(place + 8 * n) = pack(sums[i][j][2], sums[i][j][3]);
        }
    }
}

template <bool SWIZZLED>
__device__ void product_in_turns(const u16 *a, const u16 *b, u16 *c, int n, int k)
{
    using Layout = Slab<64, SWIZZLED>;
    const u32 a_slab = u32(__cvta_generic_to_shared(slabs)), b_slab = a_slab + Layout::BYTES;
    a += blockIdx.y * SIDE * k;
    b += blockIdx.x * SIDE * k;

    Sums sums = {};
    for (int depth = 0; depth < k; depth += 64) {
        copy_through_registers<Layout>(a_slab, a + depth, k);
        copy_through_registers<Layout>(b_slab, b + depth, k);
        __syncthreads();
        multiply_slabs<Layout>(sums, a_slab, b_slab);
        __syncthreads();
    }
    store_sums(c, n, sums);
}

// Step 1: copies and products take turns. The rows of a matrix load are 128 bytes apart, all in the
// same banks.
extern "C" __global__ void __launch_bounds__(THREADS)
    product_plain(const u16 *a, const u16 *b, u16 *c, int m, int n, int k)
{
    product_in_turns<false>(a, b, c, n, k);
}

// Step 2: the same, swizzled.
extern "C" __global__ void __launch_bounds__(THREADS)
    product_swizzled(const u16 *a, const u16 *b, u16 *c, int m, int n, int k)
{
    product_in_turns<true>(a, b, c, n, k);
}

// The slabs of A and B that are being read, and those on their way.
template <int DEPTH, int STAGES>
struct Pipeline {
    using Layout = Slab<DEPTH, true>;
    static constexpr int STAGE_BYTES = 2 * Layout::BYTES;

    const u16 *a, *b;
    int k;
    u32 first_slab = u32(__cvta_generic_to_shared(slabs));
    int to = 0, from = 0; // stages
    int copied = 0;       // of the depth

    __device__ Pipeline(const u16 *a, const u16 *b, int k)
        : a(a + blockIdx.y * SIDE * k), b(b + blockIdx.x * SIDE * k), k(k)
    {
        for (int i = 0; i < STAGES - 1; i++)
            copy_next();
    }

    // Behind the end, an empty group keeps the count of those that are pending.
    __device__ void copy_next()
    {
        if (copied < k) {
            const u32 slab = first_slab + to * STAGE_BYTES;
            copy_asynchronously<Layout>(slab, a + copied, k);
            copy_asynchronously<Layout>(slab + Layout::BYTES, b + copied, k);
        }
        commit_copies();
        copied += DEPTH;
        to = to + 1 == STAGES ? 0 : to + 1;
    }

    // The oldest slabs are there, and nobody reads those before them any more.
    __device__ void wait()
    {
        wait_for_copies<STAGES - 2>();
        __syncthreads();
    }

    __device__ u32 a_slab() const { return first_slab + from * STAGE_BYTES; }
    __device__ u32 b_slab() const { return a_slab() + Layout::BYTES; }
    __device__ void advance() { from = from + 1 == STAGES ? 0 : from + 1; }
};

template <int DEPTH, int STAGES>
__device__ void product_of_stages(const u16 *a, const u16 *b, u16 *c, int n, int k)
{
    using Layout = Slab<DEPTH, true>;
    Pipeline<DEPTH, STAGES> pipeline(a, b, k);
    Sums sums = {};
    for (int depth = 0; depth < k; depth += DEPTH) {
        pipeline.wait();
        pipeline.copy_next();
        multiply_slabs<Layout>(sums, pipeline.a_slab(), pipeline.b_slab());
        pipeline.advance();
    }
    store_sums(c, n, sums);
}

// Step 3: a slab is on its way while the one before it is multiplied.
extern "C" __global__ void __launch_bounds__(THREADS)
    product_two_stages(const u16 *a, const u16 *b, u16 *c, int m, int n, int k)
{
    product_of_stages<64, 2>(a, b, c, n, k);
}

// Step 4: the same shared memory as four stages of half the depth, three of them on their way.
extern "C" __global__ void __launch_bounds__(THREADS)
    product_four_stages(const u16 *a, const u16 *b, u16 *c, int m, int n, int k)
{
    product_of_stages<32, 4>(a, b, c, n, k);
}

// Step 5: the fragments of the next slice are loaded before the products of this one.
extern "C" __global__ void __launch_bounds__(THREADS)
    product_fragments(const u16 *a, const u16 *b, u16 *c, int m, int n, int k)
{
    constexpr int DEPTH = 32, STAGES = 4, SLICES = DEPTH / 16;
    using Layout = Slab<DEPTH, true>;
    Pipeline<DEPTH, STAGES> pipeline(a, b, k);
    pipeline.wait();

    Sums sums = {};
    Fragments fragments[2];
    load_fragments<Layout>(fragments[0], pipeline.a_slab(), pipeline.b_slab(), 0);
    for (int depth = 0; depth < k; depth += DEPTH) {
#pragma unroll
        for (int slice = 0; slice < SLICES; slice++) {
            if (slice == 0)
                pipeline.copy_next();
            // Behind the end, the last slab is read once more, for nothing.
            if (slice == SLICES - 1) {
                pipeline.wait();
                if (depth + DEPTH < k)
                    pipeline.advance();
            }
            load_fragments<Layout>(fragments[(slice + 1) % 2], pipeline.a_slab(), pipeline.b_slab(),
                                   (slice + 1) % SLICES);
            multiply(sums, fragments[slice % 2]);
        }
    }
    store_sums(c, n, sums);
}
