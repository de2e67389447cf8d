// The launch has seven blocks on 28 SMs; the twin is the same kernel with blocks for all of them.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = a[i];
        for (int k = 0; k < 16; k++) x = x * x + 0.25f;
        out[i] = x;
    }
}

extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = a[i];
        for (int k = 0; k < 16; k++) x = x * x + 0.25f;
        out[i] = x;
    }
}
