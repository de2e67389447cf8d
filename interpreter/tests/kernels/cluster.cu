// Histograms, sums and rings over the shared memories of a cluster, and bulk copies.
//
// Compiled by regenerate.py for compute_90. The reference computations are in
// interpreter/tests/all/asynchronous_kernels.rs.

#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/ptx>

namespace cg = cooperative_groups;

constexpr int BINS = 256;

// The bins are spread over the CTAs of the cluster.
extern "C" __global__ void histogram(const unsigned *x, unsigned *bins, int count)
{
    extern __shared__ unsigned mine[];
    auto cluster = cg::this_cluster();
    const unsigned share = BINS / cluster.num_blocks();
    #pragma unroll 1
    for (unsigned i = threadIdx.x; i < share; i += blockDim.x) mine[i] = 0;
    cluster.sync();
    const int stride = blockDim.x * gridDim.x;
    #pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
        const unsigned bin = x[i] % BINS;
        unsigned *of = cluster.map_shared_rank(mine, bin / share);
        atomicAdd(&of[bin % share], 1u);
    }
    cluster.sync();
    #pragma unroll 1
    for (unsigned i = threadIdx.x; i < share; i += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * share + i], mine[i]);
}

// Each CTA passes its row on to the next one, around the ring.
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring(const int *x, int *y, int steps)
{
    __shared__ int box[2][64];
    auto cluster = cg::this_cluster();
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    int value = x[blockIdx.x * 64 + threadIdx.x];
    int sum = 0;
    #pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        cluster.map_shared_rank(&box[s % 2][0], next)[63 - threadIdx.x] = value;
        auto token = cluster.barrier_arrive();
        sum = sum * 3 + value;
        cluster.barrier_wait(std::move(token));
        value = box[s % 2][threadIdx.x] + cluster.block_rank();
    }
    cluster.sync();
    y[blockIdx.x * 64 + threadIdx.x] = sum + (cluster.query_shared_rank(box) == cluster.block_rank());
}

// Tiles by bulk copies, two under way; results go back by bulk copies too.
extern "C" __global__ void bulk(const int *x, int *y, int tiles)
{
    constexpr int N = 128;
    __shared__ alignas(128) int in[2][N];
    __shared__ alignas(128) int out[N];
    __shared__ cuda::barrier<cuda::thread_scope_block> full[2];
    const bool leader = threadIdx.x == 0;
    x += blockIdx.x * tiles * N;
    y += blockIdx.x * tiles * N;
    if (leader) {
        init(&full[0], blockDim.x);
        init(&full[1], blockDim.x);
        cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
    }
    __syncthreads();
    auto fetch = [&](int tile) {
        if (leader)
            cuda::device::memcpy_async_tx(in[tile % 2], x + tile * N, cuda::aligned_size_t<16>(sizeof(in[0])), full[tile % 2]);
    };
    auto announce = [&](int tile) {
        return leader ? cuda::device::barrier_arrive_tx(full[tile % 2], 1, sizeof(in[0])) : full[tile % 2].arrive();
    };
    fetch(0);
    #pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        if (tile + 1 < tiles) fetch(tile + 1);
        full[tile % 2].wait(announce(tile));
        if (leader) cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>{});
        __syncthreads();
        #pragma unroll 1
        for (int i = threadIdx.x; i < N; i += blockDim.x) out[i] = in[tile % 2][N - 1 - i] * 2 + tile;
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
        __syncthreads();
        if (leader) {
            cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, y + tile * N, out, sizeof(out));
            cuda::ptx::cp_async_bulk_commit_group();
        }
    }
    if (leader) cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>{});
}

// Every CTA of the cluster sends its partial sums to rank 0, whose mbarrier counts the bytes.
extern "C" __global__ void __cluster_dims__(2, 2, 1) gather(const long long *x, long long *y)
{
    __shared__ long long partial[4][32];
    __shared__ unsigned long long bar;
    auto cluster = cg::this_cluster();
    const unsigned cta = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) {
        cuda::ptx::mbarrier_init(reinterpret_cast<uint64_t *>(&bar), 1);
        cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster);
        cuda::ptx::mbarrier_arrive_expect_tx(cuda::ptx::sem_release, cuda::ptx::scope_cluster,
            cuda::ptx::space_shared, reinterpret_cast<uint64_t *>(&bar), sizeof(partial));
    }
    cluster.sync();
    const long long value = x[cta * 32 + threadIdx.x] * 5;
    auto *slot = reinterpret_cast<int64_t *>(cluster.map_shared_rank(&partial[cluster.block_rank()][threadIdx.x], 0));
    auto *remote = reinterpret_cast<uint64_t *>(cluster.map_shared_rank(&bar, 0));
    cuda::ptx::st_async(slot, static_cast<int64_t>(value), remote);
    if (cluster.block_rank() == 0) {
        while (!cuda::ptx::mbarrier_try_wait_parity(reinterpret_cast<uint64_t *>(&bar), 0)) {}
        long long sum = 0;
        #pragma unroll 1
        for (int i = 0; i < 4; ++i) sum = sum * 7 + partial[i][threadIdx.x];
        const unsigned index = (blockIdx.y / 2) * (gridDim.x / 2) + blockIdx.x / 2;
        y[index * 32 + threadIdx.x] = sum;
    }
    cluster.sync();
}
