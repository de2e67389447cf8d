// 48,000 bytes of shared memory a block: an SM holds two blocks, which is eight warps.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int n)
{
    __shared__ float tile[12000];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < 32; j++)
        sum += a[j * n + i];
    out[i] = sum + tile[threadIdx.x];
}

// Only what is used is declared: an SM holds twelve blocks.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int n)
{
    __shared__ float tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < 32; j++)
        sum += a[j * n + i];
    out[i] = sum + tile[threadIdx.x];
}
