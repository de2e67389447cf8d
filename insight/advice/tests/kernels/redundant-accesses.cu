// `out` may be `weight`: the compiler must load the weight and store the sum in every round.
extern "C" __global__ void planted(const float* a, const float* weight, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = 0;
#pragma unroll 1
    for (int j = 0; j < 64; j++)
        out[i] += a[(j & 1) * n + i] * weight[0];
}

// The sum is in a register, and `__restrict__` says that nothing else changes the weight.
extern "C" __global__ void mended(const float* __restrict__ a, const float* __restrict__ weight,
                                  float* __restrict__ out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < 64; j++)
        sum += a[(j & 1) * n + i] * weight[0];
    out[i] = sum;
}
