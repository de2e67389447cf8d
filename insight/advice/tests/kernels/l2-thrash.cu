// Four passes over 11 MB; the L2 holds three, so each pass comes from device memory.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int pass = 0; pass < 4; pass++)
#pragma unroll 8
        for (int j = 0; j < 64; j++)
            sum = sum * 0.5f + a[j * n + i];
    out[i] = sum;
}

// All that is done with a number is done while it is in a register.
extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 8
    for (int j = 0; j < 64; j++) {
        float x = a[j * n + i];
        for (int pass = 0; pass < 4; pass++)
            sum = sum * 0.5f + x;
    }
    out[i] = sum;
}
