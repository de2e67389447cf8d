// Kernels with the structure of PyTorch's own (ATen): element-wise operations on vectors of four, softmax by blocks
// and by warps, layer normalisation by Welford's method.

// Less than every element.
#define LEAST -3.402823466e38f

// A thread has one vector; a block of 128 threads has 512 elements.
#define BINARY(NAME, RESULT)                                                                             \
    extern "C" __global__ void __launch_bounds__(128)                                                    \
    NAME(const float4 *a, const float4 *b, float4 *c, unsigned elements) {                               \
        unsigned at = blockIdx.x * 128 + threadIdx.x;                                                    \
        if (at >= elements / 4) return;                                                                       \
        float4 left = a[at], right = b[at];                                                              \
        auto of = [](float x, float y) { return RESULT; };                                               \
        c[at] = make_float4(of(left.x, right.x), of(left.y, right.y), of(left.z, right.z), of(left.w, right.w)); \
    }

#define UNARY(NAME, RESULT)                                                                              \
    extern "C" __global__ void __launch_bounds__(128)                                                    \
    NAME(const float4 *a, float4 *c, unsigned elements, float y) {                                       \
        unsigned at = blockIdx.x * 128 + threadIdx.x;                                                    \
        if (at >= elements / 4) return;                                                                       \
        float4 left = a[at];                                                                             \
        auto of = [y](float x) { return RESULT; };                                                       \
        c[at] = make_float4(of(left.x), of(left.y), of(left.z), of(left.w));                             \
    }

BINARY(add, x + y)
BINARY(multiply, x * y)
BINARY(divide, x / y)
BINARY(power, powf(x, y))
UNARY(add_number, x + y)
UNARY(multiply_number, x * y)
UNARY(square, x * x)
UNARY(relu, fmaxf(x, y))
UNARY(hyperbolic_tangent, tanhf(x))
UNARY(gelu, x * normcdff(x))

// All threads keep their results in shared memory. Each lane of the first warp reduces those of a warp, one after
// the other, and one thread reduces what is left.
#define REDUCE(NAME, START, RESULT)                                                                      \
    __device__ float NAME(float *shared, float mine) {                                                   \
        __syncthreads();                                                                                 \
        shared[threadIdx.x] = mine;                                                                      \
        __syncthreads();                                                                                 \
        unsigned warps = blockDim.x / 32;                                                                \
        if (threadIdx.x < warps) {                                                                       \
            float x = START;                                                                             \
            _Pragma("unroll") for (int lane = 0; lane < 32; ++lane) {                                    \
                float y = shared[threadIdx.x * 32 + lane];                                               \
                x = RESULT;                                                                              \
            }                                                                                            \
            __syncwarp((1u << warps) - 1);                                                               \
            shared[threadIdx.x] = x;                                                                     \
        }                                                                                                \
        __syncthreads();                                                                                 \
        if (threadIdx.x == 0) {                                                                          \
            float x = START;                                                                             \
            for (unsigned warp = 0; warp < warps; ++warp) {                                              \
                float y = shared[warp];                                                                  \
                x = RESULT;                                                                              \
            }                                                                                            \
            shared[0] = x;                                                                               \
        }                                                                                                \
        __syncthreads();                                                                                 \
        return shared[0];                                                                                \
    }

REDUCE(greatest, LEAST, fmaxf(x, y))
REDUCE(sum, 0.0f, x + y)

// A block has a row, and reads it three times.
extern "C" __global__ void softmax_of_block(const float *in, float *out, int rows, int length) {
    __shared__ float shared[1024];
    const float4 *x = (const float4 *)(in + (size_t)blockIdx.x * length);
    float4 *y = (float4 *)(out + (size_t)blockIdx.x * length);
    float most = LEAST, all = 0.0f;
    for (int at = threadIdx.x; at < length / 4; at += blockDim.x) {
        float4 v = x[at];
        most = fmaxf(fmaxf(fmaxf(most, v.x), fmaxf(v.y, v.z)), v.w);
    }
    most = greatest(shared, most);
    for (int at = threadIdx.x; at < length / 4; at += blockDim.x) {
        float4 v = x[at];
        all += expf(v.x - most) + expf(v.y - most) + expf(v.z - most) + expf(v.w - most);
    }
    all = sum(shared, all);
    for (int at = threadIdx.x; at < length / 4; at += blockDim.x) {
        float4 v = x[at];
        y[at] = make_float4(expf(v.x - most) / all, expf(v.y - most) / all, expf(v.z - most) / all, expf(v.w - most) / all);
    }
}

// A warp has a row of at most 1,024 elements, in registers.
extern "C" __global__ void softmax_of_warp(const float *in, float *out, int rows, int length) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    in += (size_t)row * length + threadIdx.x;
    out += (size_t)row * length + threadIdx.x;
    float v[32], most = LEAST, all = 0.0f;
#pragma unroll
    for (int at = 0; at < 32; at++) v[at] = threadIdx.x + at * 32 < length ? in[at * 32] : LEAST;
#pragma unroll
    for (int at = 0; at < 32; at++) most = fmaxf(most, v[at]);
    for (int offset = 16; offset; offset /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, offset));
#pragma unroll
    for (int at = 0; at < 32; at++) {
        v[at] = expf(v[at] - most);
        all += v[at];
    }
    for (int offset = 16; offset; offset /= 2) all += __shfl_xor_sync(~0u, all, offset);
#pragma unroll
    for (int at = 0; at < 32; at++)
        if (threadIdx.x + at * 32 < length) out[at * 32] = v[at] / all;
}

struct Moments {
    float mean, squares, count;
};

__device__ Moments joined(Moments a, Moments b) {
    float count = a.count + b.count, difference = b.mean - a.mean;
    if (count <= 0.0f) return {0.0f, 0.0f, 0.0f};
    float each = 1.0f / count, of_a = a.count * each, of_b = b.count * each;
    return {of_a * a.mean + of_b * b.mean, a.squares + b.squares + difference * difference * a.count * of_b, count};
}

// A block of 32 x 4 threads has a row, and reads it twice.
extern "C" __global__ void layer_norm(const float *in, const float *weight, const float *bias, float *out, int length,
                                      float epsilon, float *means, float *scales) {
    __shared__ float moments[4], counts[2], both[2];
    const float4 *x = (const float4 *)(in + (size_t)blockIdx.x * length);
    const float4 *w = (const float4 *)weight, *b = (const float4 *)bias;
    float4 *y = (float4 *)(out + (size_t)blockIdx.x * length);
    int thread = threadIdx.x + threadIdx.y * 32;
    Moments mine = {0.0f, 0.0f, 0.0f};
    for (int at = thread; at < length / 4; at += 128) {
        float4 v = x[at];
        float values[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float difference = values[k] - mine.mean, count = mine.count + 1.0f;
            float mean = mine.mean + difference * (1.0f / count);
            mine = {mean, mine.squares + difference * (values[k] - mean), count};
        }
    }
    for (int offset = 16; offset; offset /= 2)
        mine = joined(mine, {__shfl_down_sync(~0u, mine.mean, offset), __shfl_down_sync(~0u, mine.squares, offset),
                             __shfl_down_sync(~0u, mine.count, offset)});
    for (int half = 2; half; half /= 2) {
        int upper = threadIdx.y - half;
        if (threadIdx.x == 0 && upper >= 0 && upper < half) {
            moments[2 * upper] = mine.mean;
            moments[2 * upper + 1] = mine.squares;
            counts[upper] = mine.count;
        }
        __syncthreads();
        if (threadIdx.x == 0 && threadIdx.y < half)
            mine = joined(mine, {moments[2 * threadIdx.y], moments[2 * threadIdx.y + 1], counts[threadIdx.y]});
        __syncthreads();
    }
    if (thread == 0) {
        both[0] = mine.mean;
        both[1] = rsqrtf(mine.squares / length + epsilon);
    }
    __syncthreads();
    float mean = both[0], scale = both[1];
    for (int at = thread; at < length / 4; at += 128) {
        float4 v = x[at], g = w[at], s = b[at];
        y[at] = make_float4(g.x * (scale * (v.x - mean)) + s.x, g.y * (scale * (v.y - mean)) + s.y,
                            g.z * (scale * (v.z - mean)) + s.z, g.w * (scale * (v.w - mean)) + s.w);
    }
    if (thread == 0) {
        means[blockIdx.x] = mean;
        scales[blockIdx.x] = scale;
    }
}
