// Sums of 64 numbers each. Thread i of a warp reads 256 bytes behind thread i - 1.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < 64; j++)
        sum += a[i * 64 + j];
    sums[i] = sum;
}

// The matrix is transposed: thread i reads the word behind that of thread i - 1.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < 64; j++)
        sum += a[j * n + i];
    sums[i] = sum;
}
