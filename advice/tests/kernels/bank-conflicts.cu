// Each thread has 16 words of its own in shared memory. Those of a warp's threads begin 16 words
// apart, so that sixteen of them are in the same bank.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ sums, int rounds)
{
    __shared__ float own[128 * 16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = a[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        own[threadIdx.x * 16 + (k & 15)] = sum;
        sum += own[threadIdx.x * 16 + (k * 5 & 15)];
    }
    sums[i] = sum;
}

// A pitch of 17 words leads the threads of a warp to all banks.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ sums, int rounds)
{
    __shared__ float own[128 * 17];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = a[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        own[threadIdx.x * 17 + (k & 15)] = sum;
        sum += own[threadIdx.x * 17 + (k * 5 & 15)];
    }
    sums[i] = sum;
}
