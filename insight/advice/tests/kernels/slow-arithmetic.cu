// The remainder by a number that the compiler does not know takes about twenty instructions.
extern "C" __global__ void planted(const unsigned* __restrict__ a, unsigned* __restrict__ out,
                                   unsigned size, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i];
    for (int k = 0; k < rounds; k++)
        x = (x * 5 + 17) % size;
    out[i] = x;
}

// The size is a power of two.
extern "C" __global__ void mended(const unsigned* __restrict__ a, unsigned* __restrict__ out,
                                  unsigned size, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i];
    for (int k = 0; k < rounds; k++)
        x = (x * 5 + 17) & (size - 1);
    out[i] = x;
}
