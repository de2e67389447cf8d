// Each block adds up 32 rows of 256 numbers. In the first kernel its threads meet at a barrier in each
// round, in the second each warp
// adds up rows by itself.
extern "C" __global__ void planted(const float* __restrict__ in, float* __restrict__ sums)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    for (int row = 0; row < 32; row++) {
        part[t] = in[(blockIdx.x * 32 + row) * 256 + t];
        __syncthreads();
        for (int d = 128; d > 0; d /= 2) {
            if (t < d) part[t] += part[t + d];
            __syncthreads();
        }
        if (t == 0) sums[blockIdx.x * 32 + row] = part[0];
    }
}

extern "C" __global__ void mended(const float* __restrict__ in, float* __restrict__ sums)
{
    int lane = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < 32; row += 8) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < 256; i += 32) sum += in[(blockIdx.x * 32 + row) * 256 + i + lane];
#pragma unroll
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
        if (lane == 0) sums[blockIdx.x * 32 + row] = sum;
    }
}
