// Tiles of a row that arrive through asynchronous copies while the tile before is used.
//
// Compiled by regenerate.py for compute_80 and compute_90. The reference computations are in
// interpreter/tests/all/asynchronous_kernels.rs.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

constexpr int THREADS = 128;
constexpr int STAGES = 3;

// y[i] = sum over tiles of x[tile][i] * (tile + 1), with the C primitives.
extern "C" __global__ void primitives(const float *x, float *y, int tiles)
{
    __shared__ float ring[STAGES][THREADS];
    const int t = threadIdx.x;
    const float *mine = x + blockIdx.x * tiles * THREADS;
    #pragma unroll 1
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < tiles)
            __pipeline_memcpy_async(&ring[s][t], &mine[s * THREADS + t], sizeof(float));
        __pipeline_commit();
    }
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i < tiles; ++i) {
        const int ahead = i + STAGES - 1;
        if (ahead < tiles)
            __pipeline_memcpy_async(&ring[ahead % STAGES][t], &mine[ahead * THREADS + t], sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();
        sum += ring[i % STAGES][THREADS - 1 - t] * (i + 1);
        __syncthreads();
    }
    y[blockIdx.x * THREADS + t] = sum;
}

// The same with a pipeline of the whole block.
extern "C" __global__ void block_pipeline(const float *x, float *y, int tiles)
{
    __shared__ float ring[STAGES][THREADS];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    const float *mine = x + blockIdx.x * tiles * THREADS;
    float sum = 0;
    #pragma unroll 1
    for (int compute = 0, fetch = 0; compute < tiles; ++compute) {
        #pragma unroll 1
        for (; fetch < tiles && fetch < compute + STAGES; ++fetch) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, ring[fetch % STAGES], mine + fetch * THREADS,
                               cuda::aligned_size_t<16>(sizeof(float) * THREADS), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += ring[compute % STAGES][THREADS - 1 - threadIdx.x] * (compute + 1);
        pipe.consumer_release();
    }
    y[blockIdx.x * THREADS + threadIdx.x] = sum;
}

// Half of the block's threads produce, the other half consume.
extern "C" __global__ void specialised_pipeline(const float *x, float *y, int tiles)
{
    __shared__ float ring[STAGES][THREADS / 2];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    auto block = cg::this_thread_block();
    const auto role = threadIdx.x < THREADS / 2 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    const float *mine = x + blockIdx.x * tiles * THREADS / 2;
    const int t = threadIdx.x % (THREADS / 2);
    if (role == cuda::pipeline_role::producer) {
        #pragma unroll 1
        for (int i = 0; i < tiles; ++i) {
            pipe.producer_acquire();
            cuda::memcpy_async(&ring[i % STAGES][t], &mine[i * THREADS / 2 + t], sizeof(float), pipe);
            pipe.producer_commit();
        }
    } else {
        float sum = 0;
        #pragma unroll 1
        for (int i = 0; i < tiles; ++i) {
            pipe.consumer_wait();
            sum += ring[i % STAGES][THREADS / 2 - 1 - t] * (i + 1);
            pipe.consumer_release();
        }
        y[blockIdx.x * THREADS / 2 + t] = sum;
    }
}

// A ping-pong between two barriers: warp 0 writes, the other warps add up.
extern "C" __global__ void barriers(const int *x, int *y, int rounds)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> filled, drained;
    __shared__ int box[32];
    if (threadIdx.x == 0) {
        init(&filled, blockDim.x);
        init(&drained, blockDim.x);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        #pragma unroll 1
        for (int i = 0; i < rounds; ++i) {
            box[lane] = x[(blockIdx.x * rounds + i) * 32 + lane];
            auto token = filled.arrive();
            drained.arrive_and_wait();
        }
    } else {
        int sum = 0;
        #pragma unroll 1
        for (int i = 0; i < rounds; ++i) {
            filled.arrive_and_wait();
            sum = sum * 5 + box[(lane + threadIdx.x / 32) % 32];
            drained.arrive_and_wait();
        }
        y[blockIdx.x * (blockDim.x - 32) + threadIdx.x - 32] = sum;
    }
}

// A copy of the whole group into shared memory, and a barrier that waits for it; then another copy to
// the same place, which has to wait until everybody has read the first one.
template <bool WAITS_FOR_READERS>
__device__ __forceinline__ void copy_twice(const int *x, int *y, int count)
{
    extern __shared__ int items[];
    __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
    auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&arrived, block.size());
    block.sync();
    cuda::memcpy_async(block, items, x + blockIdx.x * count, sizeof(int) * count, arrived);
    arrived.arrive_and_wait();
    int sum = 0;
    #pragma unroll 1
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += items[count - 1 - i] * i;
    if (WAITS_FOR_READERS) block.sync();
    cg::memcpy_async(block, items, x + blockIdx.x * count, sizeof(int) * count);
    cg::wait(block);
    #pragma unroll 1
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum -= items[i];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void group_copy(const int *x, int *y, int count)
{
    copy_twice<true>(x, y, count);
}

// Wrong on purpose: a race for the sanitizer's tests.
extern "C" __global__ void group_copy_racing(const int *x, int *y, int count)
{
    copy_twice<false>(x, y, count);
}

// Fewer threads in every round: those that are done drop out of the barrier.
extern "C" __global__ void dropping(int *y)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> round;
    __shared__ int counter;
    if (threadIdx.x == 0) { init(&round, blockDim.x); counter = 0; }
    __syncthreads();
    #pragma unroll 1
    for (int i = 0;; ++i) {
        if (i == threadIdx.x / 16) {
            y[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&counter, 0) + i;
            round.arrive_and_drop();
            return;
        }
        round.arrive_and_wait();
        if (threadIdx.x == blockDim.x - 1) counter += 100;
        round.arrive_and_wait();
    }
}
