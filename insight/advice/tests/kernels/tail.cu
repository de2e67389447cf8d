// 29 blocks, one an SM: the last one runs alone.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    for (int k = 0; k < rounds; k++) x = x * x + 0.25f;
    out[i] = x;
}

// 28 blocks, each with a little more to do.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    for (int k = 0; k < rounds; k++) x = x * x + 0.25f;
    out[i] = x;
}
