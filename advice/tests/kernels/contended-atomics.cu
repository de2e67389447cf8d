// Every thread adds each of its numbers to one counter of the block.
extern "C" __global__ void planted(const float* __restrict__ a, int* __restrict__ counts, int n)
{
    __shared__ int count;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < 32; j++)
        if (a[(j & 1) * n + i] > -1.0f * j) atomicAdd(&count, j);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// It adds them up first, and a warp's lanes add up theirs.
extern "C" __global__ void mended(const float* __restrict__ a, int* __restrict__ counts, int n)
{
    __shared__ int count;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    int own = 0;
#pragma unroll 1
    for (int j = 0; j < 32; j++)
        if (a[(j & 1) * n + i] > -1.0f * j) own += j;
    for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(~0u, own, step);
    if (threadIdx.x % 32 == 0) atomicAdd(&count, own);
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = count;
}
