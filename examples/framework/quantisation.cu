// Rows of bf16 to e4m3 with the structure of vLLM's kernels: `quantise` by one scale for all, `quantise_rows` by a
// scale for each row that the kernel finds itself. A block has a row; a thread takes 16 elements at a time.
// The first multiplies by the inverse of the scale, the second divides.

using u8 = unsigned char;  // the bits of an e4m3
using u16 = unsigned short;  // the bits of a bf16
using u32 = unsigned;

constexpr float GREATEST = 448.0f;
constexpr float LEAST_SCALE = 1.0f / (448.0f * 512.0f);
constexpr int WIDTH = 16;

struct alignas(32) Values { u16 of[WIDTH]; };
struct alignas(16) Bytes { u8 of[WIDTH]; };

__device__ float widened(u16 bits) { return __uint_as_float(u32(bits) << 16); }

// Each value is converted alone, beside a zero.
__device__ u8 converted(float x)
{
    u16 both;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(both) : "f"(0.0f), "f"(x));
    return u8(both);
}

template <typename Scaled>
__device__ void quantise_row(const u16 *x, u8 *y, int length, Scaled scaled)
{
    const Values *from = reinterpret_cast<const Values *>(x);
    Bytes *to = reinterpret_cast<Bytes *>(y);
    for (int at = threadIdx.x; at < length / WIDTH; at += blockDim.x) {
        const Values values = from[at];
        Bytes bytes;
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            bytes.of[i] = converted(fmaxf(-GREATEST, fminf(scaled(widened(values.of[i])), GREATEST)));
        to[at] = bytes;
    }
}

extern "C" __global__ void quantise(const u16 *x, u8 *y, const float *scale, int length)
{
    const size_t row = size_t(blockIdx.x) * length;
    const float inverse = 1.0f / *scale;
    quantise_row(x + row, y + row, length, [=](float value) { return value * inverse; });
}

__device__ float block_max(float x)
{
    __shared__ float maxima[32];
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
        x = fmaxf(x, __shfl_down_sync(~0u, x, step));
    if (threadIdx.x % 32 == 0)
        maxima[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int warp = 1; warp < (blockDim.x + 31) / 32; warp++)
            x = fmaxf(x, maxima[warp]);
    return x;  // of thread 0
}

extern "C" __global__ void quantise_rows(const u16 *x, u8 *y, float *scales, int length)
{
    const size_t row = size_t(blockIdx.x) * length;
    const Values *from = reinterpret_cast<const Values *>(x + row);
    float greatest = 0.0f;
    for (int at = threadIdx.x; at < length / WIDTH; at += blockDim.x) {
        const Values values = from[at];
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            greatest = fmaxf(greatest, fabsf(widened(values.of[i])));
    }
    greatest = block_max(greatest);
    __shared__ float scale;
    if (threadIdx.x == 0) {
        scale = fmaxf(greatest / GREATEST, LEAST_SCALE);
        scales[blockIdx.x] = scale;
    }
    __syncthreads();
    const float divisor = scale;
    quantise_row(x + row, y + row, length, [=](float value) { return value / divisor; });
}
