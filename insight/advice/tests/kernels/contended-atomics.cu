// Every thread adds each of its numbers to one sum of the block. Sums of floats are not added up
// within a warp by the assembler.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ sums, int n)
{
    __shared__ float sum;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < 32; j++)
        if (a[(j & 1) * n + i] > -1.0f * j) atomicAdd(&sum, 0.5f * j);
    __syncthreads();
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// It adds them up first, and a warp's lanes add up theirs.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ sums, int n)
{
    __shared__ float sum;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    float own = 0;
#pragma unroll 1
    for (int j = 0; j < 32; j++)
        if (a[(j & 1) * n + i] > -1.0f * j) own += 0.5f * j;
    for (int step = 16; step > 0; step /= 2) own += __shfl_xor_sync(~0u, own, step);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
