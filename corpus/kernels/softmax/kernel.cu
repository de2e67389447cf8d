// Softmax of each row of f32: y = exp(x - max) / sum. A warp has a row, so that shuffles are all the communication
// there is: block (32, rows of a block), grid (rows / rows of a block).
//
// One pass finds maximum and sum: a sum is scaled to a new maximum where one comes. A second pass writes. Rows of any
// length whose start is aligned to 16 bytes: a multiple of 4.

constexpr float MINUS_INFINITY = __builtin_bit_cast(float, 0xff800000);
constexpr float LOG2_E = 1.44269504f;

__device__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ float exponential(float x, float maximum) { return exp2_fast(x * LOG2_E - maximum * LOG2_E); }

extern "C" __global__ void softmax(const float *x, float *y, int rows, int length)
{
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    const float4 *const from = reinterpret_cast<const float4 *>(x + size_t(row) * length);
    float4 *const to = reinterpret_cast<float4 *>(y + size_t(row) * length);

    float maximum = MINUS_INFINITY;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length / 4; i += 32) {
        const float4 v = from[i];
        const float top = fmaxf(maximum, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
        sum = sum * exponential(maximum, top) + exponential(v.x, top) + exponential(v.y, top) +
              exponential(v.z, top) + exponential(v.w, top);
        maximum = top;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
        const float top = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, mask));
        // A lane without an element has no maximum: nothing of it counts.
        sum = maximum == MINUS_INFINITY ? 0.0f : sum * exponential(maximum, top);
        sum += __shfl_xor_sync(~0u, sum, mask);
        maximum = top;
    }

    const float inverse = 1.0f / sum;
    for (int i = threadIdx.x; i < length / 4; i += 32) {
        const float4 v = from[i];
        to[i] = make_float4(exponential(v.x, maximum) * inverse, exponential(v.y, maximum) * inverse,
                            exponential(v.z, maximum) * inverse, exponential(v.w, maximum) * inverse);
    }
}
