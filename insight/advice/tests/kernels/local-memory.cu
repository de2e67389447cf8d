// A histogram of each thread: registers cannot be indexed, so the array is in local memory.
extern "C" __global__ void planted(const int* __restrict__ a, int* __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int bins[8];
    for (int b = 0; b < 8; b++) bins[b] = 0;
#pragma unroll 1
    for (int j = 0; j < 32; j++)
        bins[a[(j & 1) * n + i] + j & 7] += 1;
    int most = 0;
#pragma unroll 1
    for (int b = 0; b < 8; b++) most = max(most, bins[b]);
    out[i] = most;
}

// The same in shared memory, a bank for each lane.
extern "C" __global__ void mended(const int* __restrict__ a, int* __restrict__ out, int n)
{
    __shared__ int bins[8][128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int b = 0; b < 8; b++) bins[b][threadIdx.x] = 0;
    for (int j = 0; j < 32; j++)
        bins[a[(j & 1) * n + i] + j & 7][threadIdx.x] += 1;
    int most = 0;
    for (int b = 0; b < 8; b++) most = max(most, bins[b][threadIdx.x]);
    out[i] = most;
}
