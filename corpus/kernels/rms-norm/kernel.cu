// RMS norm of each row with a residual, as language models have it before attention and before the feed-forward:
// residual += x, y = residual / sqrt(mean(residual^2) + epsilon) * weight. Rows of bf16; sums are of f32.
//
// A block has a row, grid (rows). Threads keep their part of the row in registers, eight elements of 16 bytes at a
// time, so memory is read once. The row's length is a multiple of 8, up to PARTS * 8 * blockDim.x.

using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;

constexpr int PARTS = 2;  // of a thread, of eight elements each
constexpr int WARPS = 32; // of a block, at most

__device__ void unpack(float (&x)[8], uint4 bits)
{
    const u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[2 * i] = __uint_as_float(words[i] << 16);
        x[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000);
    }
}

__device__ uint4 pack(const float (&x)[8])
{
    u32 words[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(words[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ float block_sum(float x)
{
    __shared__ float sums[WARPS];
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(~0u, x, mask);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0.0f;
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
        x += __shfl_xor_sync(~0u, x, mask);
    return x;
}

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    rms_norm(const u16 *x, u16 *residual, const u16 *weight, u16 *y, int length, float epsilon)
{
    const size_t row = size_t(blockIdx.x) * length;
    float values[PARTS][8];
    float squares = 0.0f;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int column = 8 * (part * blockDim.x + threadIdx.x);
        if (column < length) {
            float added[8];
            uint4 *const kept = reinterpret_cast<uint4 *>(residual + row + column);
            unpack(values[part], *kept);
            unpack(added, *reinterpret_cast<const uint4 *>(x + row + column));
#pragma unroll
            for (int i = 0; i < 8; i++)
                values[part][i] += added[i];
            // What is normalised is what is kept, rounded.
            *kept = pack(values[part]);
            unpack(values[part], pack(values[part]));
#pragma unroll
            for (int i = 0; i < 8; i++)
                squares += values[part][i] * values[part][i];
        }
    }

    const float factor = rsqrtf(block_sum(squares) / length + epsilon);
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int column = 8 * (part * blockDim.x + threadIdx.x);
        if (column < length) {
            float weights[8];
            unpack(weights, *reinterpret_cast<const uint4 *>(weight + column));
#pragma unroll
            for (int i = 0; i < 8; i++)
                values[part][i] *= factor * weights[i];
            *reinterpret_cast<uint4 *>(y + row + column) = pack(values[part]);
        }
    }
}
