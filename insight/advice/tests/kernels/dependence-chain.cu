// One chain of multiply-adds, and one warp for each scheduler.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = 0;
    for (int k = 0; k < rounds; k++)
        y = y * x + 1.0f;
    out[i] = y;
}

// Eight chains of an eighth of the length.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y[8] = {};
    float x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
#pragma unroll 8
    for (int k = 0; k < rounds; k += 8)
        for (int q = 0; q < 8; q++)
            y[q] = y[q] * x8 + 1.0f;
    float sum = 0;
    for (int q = 7; q >= 0; q--) sum = sum * x + y[q];
    out[i] = sum;
}
