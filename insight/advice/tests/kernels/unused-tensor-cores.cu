// Products of half-precision numbers, two multiply-adds of a lane to an instruction.
extern "C" __global__ void planted(const unsigned* __restrict__ a, unsigned* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = a[i + 128];
    unsigned c[8] = {};
#pragma unroll 1
    for (int k = 0; k < rounds; k++)
        for (int q = 0; q < 32; q++)
            asm volatile("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(c[q & 7]) : "r"(x), "r"(y));
    unsigned all = 0;
    for (int q = 0; q < 8; q++) all ^= c[q];
    out[i] = all;
}

// The same number of multiply-adds, 2,048 of a warp to an instruction.
extern "C" __global__ void mended(const unsigned* __restrict__ a, unsigned* __restrict__ out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = a[i + 128];
    unsigned c[8] = {};
#pragma unroll 1
    for (int k = 0; k < rounds; k += 4)
        for (int q = 0; q < 4; q++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
                         "{%0, %1}, {%2, %2, %2, %2}, {%3, %3}, {%0, %1};"
                         : "+r"(c[2 * q]), "+r"(c[2 * q + 1]) : "r"(x), "r"(y));
    unsigned all = 0;
    for (int q = 0; q < 8; q++) all ^= c[q];
    out[i] = all;
}
