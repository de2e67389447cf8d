// Each thread has eight words of its own in shared memory. Those of a warp's threads begin eight words
// apart, so that eight of them are in the same bank.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ sums, int rounds)
{
    __shared__ float own[128 * 8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = a[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        own[threadIdx.x * 8 + (k & 7)] = sum;
        sum += own[threadIdx.x * 8 + (k * 5 & 7)];
    }
    sums[i] = sum;
}

// A pitch of nine words leads the threads of a warp to all banks.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ sums, int rounds)
{
    __shared__ float own[128 * 9];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = a[i];
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        own[threadIdx.x * 9 + (k & 7)] = sum;
        sum += own[threadIdx.x * 9 + (k * 5 & 7)];
    }
    sums[i] = sum;
}
