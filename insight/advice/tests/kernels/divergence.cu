// Neighbouring threads take different ways, so each warp takes all four.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    int way = threadIdx.x & 3;
    if (way == 0)
        for (int k = 0; k < rounds; k++) x = x * 0.5f + 1.0f;
    else if (way == 1)
        for (int k = 0; k < rounds; k++) x = x * 0.25f + x;
    else if (way == 2)
        for (int k = 0; k < rounds; k++) x = 2.0f - x * 0.125f;
    else
        for (int k = 0; k < rounds; k++) x = x * x + 0.5f;
    out[i] = x;
}

// All threads of a warp take the same way.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    int way = (threadIdx.x >> 5) & 3;
    if (way == 0)
        for (int k = 0; k < rounds; k++) x = x * 0.5f + 1.0f;
    else if (way == 1)
        for (int k = 0; k < rounds; k++) x = x * 0.25f + x;
    else if (way == 2)
        for (int k = 0; k < rounds; k++) x = 2.0f - x * 0.125f;
    else
        for (int k = 0; k < rounds; k++) x = x * x + 0.5f;
    out[i] = x;
}
