// One chain of multiply-adds, and one warp for each scheduler.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = 0;
    for (int k = 0; k < rounds; k++)
        y = y * x + 1.0f;
    out[i] = y;
}

// Four chains of a quarter of the length.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y0 = 0, y1 = 0, y2 = 0, y3 = 0;
    float x4 = x * x * x * x;
    for (int k = 0; k < rounds; k += 4) {
        y0 = y0 * x4 + 1.0f;
        y1 = y1 * x4 + 1.0f;
        y2 = y2 * x4 + 1.0f;
        y3 = y3 * x4 + 1.0f;
    }
    out[i] = y0 + x * (y1 + x * (y2 + x * y3));
}
