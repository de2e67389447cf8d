// y = silu(gate) * up, the middle of a gated feed-forward, where one product of matrices has made both: rows of x
// hold `length` gates and behind them `length` factors, in bf16. silu(g) = g / (1 + exp(-g)).
//
// A thread makes eight elements of 16 bytes, grid (pieces of a row, rows). The length is a multiple of 8.

using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;

constexpr float LOG2_E = 1.44269504f;

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

__device__ float silu(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-x * LOG2_E));
    return __fdividef(x, 1.0f + power);
}

extern "C" __global__ void silu_and_multiply(const u16 *x, u16 *y, int length)
{
    const int column = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (column >= length)
        return;
    const size_t row = blockIdx.y;
    const u16 *const from = x + row * 2 * length + column;
    float gate[8];
    float up[8];
    unpack(gate, *reinterpret_cast<const uint4 *>(from));
    unpack(up, *reinterpret_cast<const uint4 *>(from + length));
#pragma unroll
    for (int i = 0; i < 8; i++)
        gate[i] = silu(gate[i]) * up[i];
    *reinterpret_cast<uint4 *>(y + row * length + column) = pack(gate);
}
