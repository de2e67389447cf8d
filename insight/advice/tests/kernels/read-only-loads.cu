// `out` may be one of the inputs: behind each store all four values are loaded again.
extern "C" __global__ void planted(const float* a, const float* b, const float* c, const float* d,
                                   float* out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        int at = i + 32 * k & 1023;
        float* to = out + ((i + 1024 * k) & 8191);
        to[0] = a[at] * b[at] + c[at] * d[at];
        to[8192] = a[at] * c[at] + b[at] * d[at];
        to[16384] = a[at] * d[at] + b[at] * c[at];
        to[24576] = a[at] * b[at] - c[at] * d[at];
        to[32768] = a[at] * c[at] - b[at] * d[at];
        to[40960] = a[at] * d[at] - b[at] * c[at];
    }
}

// `__restrict__` says that the stores change none of them.
extern "C" __global__ void mended(const float* __restrict__ a, const float* __restrict__ b,
                                  const float* __restrict__ c, const float* __restrict__ d,
                                  float* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < rounds; k++) {
        int at = i + 32 * k & 1023;
        float* to = out + ((i + 1024 * k) & 8191);
        to[0] = a[at] * b[at] + c[at] * d[at];
        to[8192] = a[at] * c[at] + b[at] * d[at];
        to[16384] = a[at] * d[at] + b[at] * c[at];
        to[24576] = a[at] * b[at] - c[at] * d[at];
        to[32768] = a[at] * c[at] - b[at] * d[at];
        to[40960] = a[at] * d[at] - b[at] * c[at];
    }
}
