// Numbers times factors by their last bits. Each block first computes the table of factors. In the
// first kernel a thread then has one number, in the second sixteen.
__device__ void filled(float* factors, float seed)
{
    float x = threadIdx.x, y = seed;
#pragma unroll 8
    for (int i = 0; i < 128; i++) x = x * seed + 0.5f, y = y * seed + 0.25f;
    factors[threadIdx.x] = x * y;
    __syncthreads();
}

extern "C" __global__ void planted(const float* __restrict__ in, float* __restrict__ out,
                                   float seed)
{
    __shared__ float factors[256];
    filled(factors, seed);
    int i = blockIdx.x * 256 + threadIdx.x;
    float x = in[i];
    out[i] = x * factors[__float_as_int(x) & 255];
}

extern "C" __global__ void mended(const float* __restrict__ in, float* __restrict__ out,
                                  float seed)
{
    __shared__ float factors[256];
    filled(factors, seed);
#pragma unroll
    for (int j = 0; j < 16; j++) {
        int i = (blockIdx.x * 16 + j) * 256 + threadIdx.x;
        float x = in[i];
        out[i] = x * factors[__float_as_int(x) & 255];
    }
}
