// Functions that round each product and each sum on its own.
extern "C" __global__ void planted(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    for (int k = 0; k < rounds; k++)
        x = __fadd_rn(__fmul_rn(x, x), 0.25f);
    out[i] = x;
}

extern "C" __global__ void mended(const float* __restrict__ a, float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    for (int k = 0; k < rounds; k++)
        x = x * x + 0.25f;
    out[i] = x;
}
