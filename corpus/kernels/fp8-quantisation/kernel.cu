// Rows of bf16 to e4m3 with a scale for each row (token): scale = max |x| / 448, y = x / scale, rounded to nearest.
//
// A block has a row, grid (rows). Threads keep their part of the row in registers, eight elements of 16 bytes at a
// time, so memory is read once. The row's length is a multiple of 8, up to PARTS * 8 * blockDim.x.

using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;
using u8 = unsigned char;  // the bits of an e4m3

constexpr int PARTS = 2;   // of a thread, of eight elements each
constexpr int WARPS = 32;  // of a block, at most
constexpr float GREATEST = 448.0f;
constexpr float LEAST_SCALE = 1e-12f;  // rows of zeros have one, too

__device__ void unpack(float (&x)[8], uint4 bits)
{
    const u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[2 * i] = __uint_as_float(words[i] << 16);
        x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000);
    }
}

__device__ u16 quantise(float low, float high)
{
    u16 both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(high), "f"(low));
    return both;
}

__device__ float block_max(float x)
{
    __shared__ float maxima[WARPS];
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, mask));
    if (threadIdx.x % 32 == 0)
        maxima[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? maxima[threadIdx.x % 32] : 0.0f;
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, mask));
    return x;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    fp8_quantisation(const u16 *x, u8 *y, float *scales, int length)
{
    const size_t row = size_t(blockIdx.x) * length;
    float values[PARTS][8];
    float greatest = 0.0f;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int column = 8 * (part * blockDim.x + threadIdx.x);
        if (column < length) {
            unpack(values[part], *reinterpret_cast<const uint4 *>(x + row + column));
#pragma unroll
            for (int i = 0; i < 8; i++)
                greatest = fmaxf(greatest, fabsf(values[part][i]));
        }
    }

    const float scale = fmaxf(block_max(greatest) / GREATEST, LEAST_SCALE);
    const float inverse = 1.0f / scale;
    if (threadIdx.x == 0)
        scales[blockIdx.x] = scale;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int column = 8 * (part * blockDim.x + threadIdx.x);
        if (column < length) {
            u32 words[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const float *v = values[part] + 4 * i;
                words[i] = quantise(v[0] * inverse, v[1] * inverse) |
                           u32(quantise(v[2] * inverse, v[3] * inverse)) << 16;
            }
            *reinterpret_cast<uint2 *>(y + row + column) = make_uint2(words[0], words[1]);
        }
    }
}
