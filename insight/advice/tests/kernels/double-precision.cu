// 0.99 and 0.01 are doubles, and so is everything that is computed with them.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    for (int k = 0; k < rounds; k++)
        x = x * 0.99 + 0.01;
    out[i] = x;
}

extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    for (int k = 0; k < rounds; k++)
        x = x * 0.99f + 0.01f;
    out[i] = x;
}
