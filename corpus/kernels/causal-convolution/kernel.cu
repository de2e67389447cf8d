// Convolution along each channel with the three elements before, and SiLU, as state-space models have it:
// y[t] = silu(bias + w[0] x[t - 3] + w[1] x[t - 2] + w[2] x[t - 1] + w[3] x[t]); before the beginning there are zeros.
//
// x and y are [batch][channels][length] in bf16, weights [channels][4] and biases [channels] in f32. A thread makes
// eight elements of 16 bytes, grid (pieces of a row, channels, batch). The length is a multiple of 8.

using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;

constexpr int OWN = 8;     // elements of a thread
constexpr int BEFORE = 3;  // elements of the threads before that it needs
constexpr float LOG2_E = 1.44269504f;

__device__ float low_half(u32 both) { return __uint_as_float(both << 16); }
__device__ float high_half(u32 both) { return __uint_as_float(both & 0xffff0000); }

__device__ float silu(float x)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-x * LOG2_E));
    return __fdividef(x, 1.0f + power);
}

extern "C" __global__ void causal_convolution(const u16 *x, const float4 *weights, const float *biases, u16 *y, int length)
{
    const size_t row = (size_t(blockIdx.z) * gridDim.y + blockIdx.y) * length;
    const int first = OWN * (blockIdx.x * blockDim.x + threadIdx.x);
    const bool exists = first < length;

    uint4 bits = make_uint4(0, 0, 0, 0);
    if (exists)
        bits = *reinterpret_cast<const uint4 *>(x + row + first);
    // The four elements before are in the lane before, and for the first lane in memory.
    uint2 earlier = make_uint2(__shfl_up_sync(~0u, bits.z, 1), __shfl_up_sync(~0u, bits.w, 1));
    if (threadIdx.x % 32 == 0)
        earlier = exists && first > 0 ? *reinterpret_cast<const uint2 *>(x + row + first - 4) : make_uint2(0, 0);
    if (!exists)
        return;

    const u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
    float values[BEFORE + OWN] = {high_half(earlier.x), low_half(earlier.y), high_half(earlier.y)};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        values[BEFORE + 2 * i] = low_half(words[i]);
        values[BEFORE + 2 * i + 1] = high_half(words[i]);
    }

    const float4 weight = weights[blockIdx.y];
    const float bias = biases[blockIdx.y];
    float sums[OWN];
#pragma unroll
    for (int i = 0; i < OWN; i++)
        sums[i] = silu(bias + weight.x * values[i] + weight.y * values[i + 1] + weight.z * values[i + 2] +
                       weight.w * values[i + 3]);

    u32 results[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(results[i]) : "f"(sums[2 * i + 1]), "f"(sums[2 * i]));
    *reinterpret_cast<uint4 *>(y + row + first) = make_uint4(results[0], results[1], results[2], results[3]);
}
