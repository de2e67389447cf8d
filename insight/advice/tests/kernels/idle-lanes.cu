// Blocks of 40 threads: the second warp of each has eight.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = x;
    for (int k = 0; k < rounds; k++) {
        x = x * x + 0.25f;
        y = y * 0.5f + 0.75f;
    }
    out[i] = x + y;
}

// Blocks of 320 threads.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = x;
    for (int k = 0; k < rounds; k++) {
        x = x * x + 0.25f;
        y = y * 0.5f + 0.75f;
    }
    out[i] = x + y;
}
