// A barrier in every round, although a thread reads only what its own warp wrote.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    __shared__ float next[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        next[threadIdx.x] = x;
        __syncthreads();
        x = x * 0.5f + next[threadIdx.x ^ 1];
        __syncthreads();
    }
    out[i] = x;
}

// The warp waits for itself alone.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    __shared__ float next[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        next[threadIdx.x] = x;
        __syncwarp();
        x = x * 0.5f + next[threadIdx.x ^ 1];
        __syncwarp();
    }
    out[i] = x;
}
