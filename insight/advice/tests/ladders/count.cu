// Counts the numbers above a half, step by step.

// A warp adds once.
extern "C" __global__ void of_warps(const float* __restrict__ in, unsigned* count)
{
    unsigned above = __ballot_sync(~0u, in[blockIdx.x * blockDim.x + threadIdx.x] > 0.5f);
    if (threadIdx.x % 32 == 0) atomicAdd(count, __popc(above));
}

// A block adds once.
extern "C" __global__ void of_blocks(const float* __restrict__ in, unsigned* count)
{
    int above = __syncthreads_count(in[blockIdx.x * blockDim.x + threadIdx.x] > 0.5f);
    if (threadIdx.x == 0) atomicAdd(count, above);
}

// A block adds once, and a thread counts sixteen numbers.
extern "C" __global__ void several(const float* __restrict__ in, unsigned* count)
{
    int above = 0;
#pragma unroll
    for (int i = 0; i < 16; i++)
        above += in[(blockIdx.x * 16 + i) * blockDim.x + threadIdx.x] > 0.5f;
    above = __reduce_add_sync(~0u, above);
    __shared__ int of_warps[8];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = above;
    __syncthreads();
    if (threadIdx.x == 0) {
        above = 0;
        for (int i = 0; i < 8; i++) above += of_warps[i];
        atomicAdd(count, above);
    }
}
