// Layers of neural networks.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

//: softmax grid=8 block=128 f32[2048]=uniform(-3,3,1) f32[2048]=zero s32:256
extern "C" __global__ void softmax(const float *in, float *out, int n)
{
    __shared__ float s[4];
    const float *row = in + blockIdx.x * n;
    int t = threadIdx.x;
    float best = -3.4e38f;
    for (int k = t; k < n; k += blockDim.x) best = fmaxf(best, row[k]);
    for (int d = 16; d > 0; d >>= 1) best = fmaxf(best, __shfl_xor_sync(0xffffffffu, best, d));
    if (t % 32 == 0) s[t / 32] = best;
    __syncthreads();
    best = fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3]));
    __syncthreads();
    float sum = 0;
    for (int k = t; k < n; k += blockDim.x) sum += expf(row[k] - best);
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (t % 32 == 0) s[t / 32] = sum;
    __syncthreads();
    sum = s[0] + s[1] + s[2] + s[3];
    for (int k = t; k < n; k += blockDim.x) out[blockIdx.x * n + k] = expf(row[k] - best) / sum;
}

//: layer_norm grid=16 block=32 f32[2048]=uniform(-3,3,1) f32[128]=uniform(0,1,2) f32[128]=uniform(0,1,3) f32[2048]=zero s32:128 f32:1e-5
extern "C" __global__ void layer_norm(const float *in, const float *gamma, const float *beta, float *out, int n,
                                      float epsilon)
{
    const float *row = in + blockIdx.x * n;
    float sum = 0, square = 0;
    for (int k = threadIdx.x; k < n; k += 32) {
        float v = row[k];
        sum += v;
        square += v * v;
    }
    for (int d = 16; d > 0; d >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
        square += __shfl_xor_sync(0xffffffffu, square, d);
    }
    float mean = sum / n, scale = rsqrtf(square / n - mean * mean + epsilon);
    for (int k = threadIdx.x; k < n; k += 32) out[blockIdx.x * n + k] = (row[k] - mean) * scale * gamma[k] + beta[k];
}

//: rms_norm grid=8 block=64 f32[2048]=uniform(-3,3,1) f32[256]=uniform(0,1,2) f32[2048]=zero s32:256
extern "C" __global__ void rms_norm(const float4 *in, const float4 *weight, float4 *out, int n)
{
    __shared__ float total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    float4 v = in[blockIdx.x * (n / 4) + threadIdx.x];
    float square = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    for (int d = 16; d > 0; d >>= 1) square += __shfl_down_sync(0xffffffffu, square, d);
    if (threadIdx.x % 32 == 0) atomicAdd(&total, square);
    __syncthreads();
    float scale = rsqrtf(total / n + 1e-6f);
    float4 w = weight[threadIdx.x];
    out[blockIdx.x * (n / 4) + threadIdx.x] =
        make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
}

//: gelu grid=4 block=128 f32[512]=uniform(-3,3,1) f32[512]=zero s32:500
extern "C" __global__ void gelu(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i];
        out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
    }
}

//: gelu_erf grid=4 block=128 f32[512]=uniform(-3,3,1) f32[512]=zero s32:500
extern "C" __global__ void gelu_erf(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i] * (1.0f + erff(in[i] * 0.70710678f));
}

//: swiglu_half grid=4 block=64 u16[512]=constant(14336) u16[512]=constant(15360) u16[512]=zero s32:256
extern "C" __global__ void swiglu_half(const __half2 *gate, const __half2 *up, __half2 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 g = __half22float2(gate[i]), u = __half22float2(up[i]);
        float a = g.x / (1.0f + __expf(-g.x)) * u.x, b = g.y / (1.0f + __expf(-g.y)) * u.y;
        out[i] = __floats2half2_rn(a, b);
    }
}

//: rotary grid=8 block=32 f32[1024]=uniform(-1,1,1) s32:64 f32:10000
extern "C" __global__ void rotary(float *q, int dimension, float base)
{
    int position = blockIdx.x, k = threadIdx.x;
    float angle = position * powf(base, -2.0f * k / dimension), s, c;
    sincosf(angle, &s, &c);
    float *row = q + position * dimension * 2;
    float a = row[k], b = row[k + dimension / 2];
    row[k] = a * c - b * s;
    row[k + dimension / 2] = a * s + b * c;
}

//: half2_axpy grid=4 block=64 u16[512]=constant(14336) u16[512]=constant(15360) f32:1.5 s32:256
extern "C" __global__ void half2_axpy(const __half2 *x, __half2 *y, float alpha, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#if __CUDA_ARCH__ >= 530
    __half2 a = __float2half2_rn(alpha);
    if (i < n) y[i] = __hfma2(a, x[i], y[i]);
#else
    if (i < n) {
        float2 p = __half22float2(x[i]), q = __half22float2(y[i]);
        y[i] = __floats2half2_rn(alpha * p.x + q.x, alpha * p.y + q.y);
    }
#endif
}

//: half_add grid=4 block=64 u16[256]=constant(14336) u16[256]=constant(15360) u16[256]=zero s32:250
extern "C" __global__ void half_add(const __half *a, const __half *b, __half *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

//: bf16_scale grid=4 block=64 u16[256]=constant(16256) u16[256]=zero f32:0.5 s32:250
extern "C" __global__ void bf16_scale(const __nv_bfloat16 *a, __nv_bfloat16 *c, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = __float2bfloat16(fmaxf(__bfloat162float(a[i]) * scale, 0.0f));
}

//: adam grid=4 block=64 f32[256]=uniform(-1,1,1) f32[256]=uniform(-1,1,2) f32[256]=zero f32[256]=zero f32:0.001 f32:0.9 f32:0.999 f32:1e-8 s32:3 s32:256
extern "C" __global__ void adam(float *p, const float *g, float *m, float *v, float rate, float b1, float b2,
                                float epsilon, int step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float d = g[i];
    float mi = m[i] = b1 * m[i] + (1 - b1) * d;
    float vi = v[i] = b2 * v[i] + (1 - b2) * d * d;
    float c1 = 1 - powf(b1, (float)step), c2 = 1 - powf(b2, (float)step);
    p[i] -= rate * (mi / c1) / (sqrtf(vi / c2) + epsilon);
}

//: embedding grid=4 block=64 s64[16]=uniform(0,63,1) f32[1024]=uniform(-1,1,2) f32[256]=zero s32:16 s32:16
extern "C" __global__ void embedding(const long long *token, const float *table, float *out, int tokens, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * width) out[i] = table[token[i / width] * width + i % width];
}

//: gemm_int8 grid=2,2 block=16,16 u32[256]=uniform(0,4294967295,1) u32[256]=uniform(0,4294967295,2) s32[1024]=zero s32:32 s32:32
extern "C" __global__ void gemm_int8(const int *a, const int *b, int *c, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    int sum = 0;
    for (int p = 0; p < k / 4; ++p) {
#if __CUDA_ARCH__ >= 610
        sum = __dp4a(a[row * (k / 4) + p], b[column * (k / 4) + p], sum);
#else
        char4 x = ((const char4 *)a)[row * (k / 4) + p], y = ((const char4 *)b)[column * (k / 4) + p];
        sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
#endif
    }
    c[row * n + column] = sum;
}

//: quantise grid=4 block=64 f32[1024]=uniform(-3,3,1) u32[256]=zero f32:40 s32:256
extern "C" __global__ void quantise(const float4 *in, char4 *out, float scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = in[i];
    auto q = [=](float x) { return (signed char)max(-127, min(127, __float2int_rn(x * scale))); };
    out[i] = make_char4(q(v.x), q(v.y), q(v.z), q(v.w));
}

//: attention_scores grid=4 block=64 f32[4096]=uniform(-1,1,1) f32[4096]=uniform(-1,1,2) f32[4096]=zero s32:64
extern "C" __global__ void attention_scores(const float *q, const float *k, float *out, int n)
{
    __shared__ float tile[16][65];
    int t = threadIdx.x;
    for (int r = 0; r < 16; ++r) tile[r][t] = q[(blockIdx.x * 16 + r) * 64 + t];
    __syncthreads();
    for (int j = t; j < n; j += blockDim.x) {
        float sum[16] = {};
        for (int d = 0; d < 64; ++d) {
            float kv = k[j * 64 + d];
#pragma unroll
            for (int r = 0; r < 16; ++r) sum[r] += tile[r][d] * kv;
        }
#pragma unroll
        for (int r = 0; r < 16; ++r) out[(blockIdx.x * 16 + r) * n + j] = sum[r] * 0.125f;
    }
}

//: cross_entropy grid=2 block=32 f32[640]=uniform(-3,3,1) s32[64]=uniform(0,9,2) f32[64]=zero s32:10
extern "C" __global__ void cross_entropy(const float *logits, const int *label, float *loss, int classes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float *row = logits + i * classes;
    float best = row[0];
    for (int c = 1; c < classes; ++c) best = fmaxf(best, row[c]);
    float sum = 0;
    for (int c = 0; c < classes; ++c) sum += __expf(row[c] - best);
    loss[i] = __logf(sum) - (row[label[i]] - best);
}
