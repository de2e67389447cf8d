// A launch for every 7,168 numbers.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * 2.0f;
}

// One for all of them.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] * 2.0f;
}
