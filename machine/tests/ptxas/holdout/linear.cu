// Matrices, convolutions, transposes.

//: sgemm_register grid=2,2 block=16,16 f32[16384]=uniform(-1,1,1) f32[16384]=uniform(-1,1,2) f32[16384]=zero s32:128 s32:128 s32:128 f32:1 f32:0
extern "C" __global__ void sgemm_register(const float *a, const float *b, float *c, int m, int n, int k,
                                          float alpha, float beta)
{
    __shared__ __align__(16) float as[8][64];
    __shared__ __align__(16) float bs[8][64];
    int t = threadIdx.y * 16 + threadIdx.x;
    const float *pa = a + (blockIdx.y * 64 + t / 4) * k + (t % 4) * 2;
    const float *pb = b + (t / 32) * n + blockIdx.x * 64 + (t % 32) * 2;
    float sum[4][4] = {};
    for (int kk = 0; kk < k; kk += 8) {
        float2 va = *(const float2 *)pa, vb = *(const float2 *)pb;
        as[(t % 4) * 2][t / 4] = va.x;
        as[(t % 4) * 2 + 1][t / 4] = va.y;
        *(float2 *)&bs[t / 32][(t % 32) * 2] = vb;
        __syncthreads();
#pragma unroll
        for (int p = 0; p < 8; ++p) {
            float4 x = *(const float4 *)&as[p][threadIdx.y * 4], y = *(const float4 *)&bs[p][threadIdx.x * 4];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sum[i][j] += xs[i] * ys[j];
        }
        __syncthreads();
        pa += 8;
        pb += 8 * n;
    }
    for (int i = 0; i < 4; ++i) {
        float4 *out = (float4 *)(c + (blockIdx.y * 64 + threadIdx.y * 4 + i) * n + blockIdx.x * 64 + threadIdx.x * 4);
        float4 old = *out;
        *out = make_float4(alpha * sum[i][0] + beta * old.x, alpha * sum[i][1] + beta * old.y,
                           alpha * sum[i][2] + beta * old.z, alpha * sum[i][3] + beta * old.w);
    }
}

//: sgemm_naive grid=2,2 block=16,16 f32[1024]=uniform(-1,1,1) f32[1024]=uniform(-1,1,2) f32[1024]=zero s32:32
extern "C" __global__ void sgemm_naive(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && column < n) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
        c[row * n + column] = sum;
    }
}

//: dgemm_batched grid=8 block=8,8 f64[512]=uniform(-1,1,1) f64[512]=uniform(-1,1,2) f64[512]=zero
extern "C" __global__ void dgemm_batched(const double *a, const double *b, double *c)
{
    __shared__ double x[8][8], y[8][8];
    int i = threadIdx.y, j = threadIdx.x;
    size_t base = (size_t)blockIdx.x * 64;
    x[i][j] = a[base + i * 8 + j];
    y[i][j] = b[base + i * 8 + j];
    __syncthreads();
    double sum = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += x[i][k] * y[k][j];
    c[base + i * 8 + j] = sum;
}

//: gemv grid=16 block=128 f32[8192]=uniform(-1,1,1) f32[128]=uniform(-1,1,2) f32[64]=zero s32:64 s32:128
extern "C" __global__ void gemv(const float *a, const float *x, float *y, int rows, int columns)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    const float4 *a4 = (const float4 *)(a + row * columns), *x4 = (const float4 *)x;
    for (int k = lane; k < columns / 4; k += 32) {
        float4 p = a4[k], q = x4[k];
        sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[row] = sum;
}

//: triangular_solve grid=4 block=16 f32[256]=uniform(1,2,1) f32[64]=uniform(0,1,2)
extern "C" __global__ void triangular_solve(const float *l, float *x)
{
    __shared__ float s[16];
    int t = threadIdx.x;
    float mine = x[blockIdx.x * 16 + t];
    for (int k = 0; k < 16; ++k) {
        if (t == k) s[k] = mine / l[k * 16 + k];
        __syncthreads();
        if (t > k) mine -= l[t * 16 + k] * s[k];
    }
    x[blockIdx.x * 16 + t] = s[t];
}

//: axpy_strided grid=4 block=64 s32:250 f64:1.5 f64[512]=uniform(-1,1,1) s32:2 f64[768]=uniform(-1,1,2) s32:3
extern "C" __global__ void axpy_strided(int n, double alpha, const double *x, int incx, double *y, int incy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i * incy] += alpha * x[i * incx];
}

//: transpose_naive grid=4,4 block=16,16 f32[4096]=iota f32[4096]=zero s32:64 s32:64
extern "C" __global__ void transpose_naive(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[x * h + y] = in[y * w + x];
}

//: transpose_tiled grid=2,2 block=32,8 f64[4096]=iota f64[4096]=zero s32:64 s32:64
extern "C" __global__ void transpose_tiled(const double *in, double *out, int w, int h)
{
    __shared__ double tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (x < w && y + k < h) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (x < h && y + k < w) out[(y + k) * h + x] = tile[threadIdx.x][threadIdx.y + k];
}

//: permute_4d grid=4 block=256 f32[960]=iota f32[960]=zero s32:960 s32:4 s32:5 s32:6 s32:8
extern "C" __global__ void permute_4d(const float *in, float *out, int n, int d0, int d1, int d2, int d3)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int c3 = i % d3, r = i / d3;
    int c2 = r % d2;
    r /= d2;
    int c1 = r % d1, c0 = r / d1;
    out[((c2 * d3 + c3) * d0 + c0) * d1 + c1] = in[i];
}

__constant__ float filter[32];

//: convolve_1d grid=4 block=128 f32[544]=uniform(-1,1,1) f32[512]=zero s32:512 s32:9
extern "C" __global__ void convolve_1d(const float *in, float *out, int n, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < width; ++k) sum += in[i + k] * filter[k];
    out[i] = sum;
}

//: convolve_2d grid=4,4 block=16,16 f32[4096]=uniform(-1,1,1) f32[4096]=zero s32:64 s32:64
extern "C" __global__ void convolve_2d(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            int xx = min(max(x + dx, 0), w - 1), yy = min(max(y + dy, 0), h - 1);
            sum += in[yy * w + xx] * filter[(dy + 2) * 5 + dx + 2];
        }
    out[y * w + x] = sum;
}

//: convolve_shared grid=4 block=128 f32[520]=uniform(-1,1,1) f32[512]=zero
extern "C" __global__ void convolve_shared(const float *in, float *out)
{
    __shared__ float s[136];
    int t = threadIdx.x, base = blockIdx.x * 128;
    s[t] = in[base + t];
    if (t < 8) s[t + 128] = in[base + t + 128];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 9; ++k) sum += s[t + k] * filter[k];
    out[base + t] = sum;
}

//: max_pool grid=4 block=64 f32[4096]=uniform(-1,1,1) f32[256]=zero s32:4 s32:32 s32:32 s32:8 s32:8
extern "C" __global__ void max_pool(const float *in, float *out, int channels, int h, int w, int oh, int ow)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= channels * oh * ow) return;
    int x = i % ow, y = i / ow % oh, c = i / (ow * oh);
    const float *p = in + c * h * w;
    float best = -3.4e38f;
    for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) {
            int yy = y * 4 + dy - 1, xx = x * 4 + dx - 1;
            if (yy >= 0 && yy < h && xx >= 0 && xx < w) best = fmaxf(best, p[yy * w + xx]);
        }
    out[i] = best;
}

//: im2col grid=4 block=64 f32[1024]=uniform(-1,1,1) f32[9216]=zero s32:256 s32:16 s32:16 s32:1
extern "C" __global__ void im2col(const float *in, float *out, int n, int h, int w, int pad)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        int x = i % w, y = (i / w) % h, c = i / (w * h);
        float *o = out + (c * 9 * h + y) * w + x;
        for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx) {
                int yy = y + dy - pad, xx = x + dx - pad;
                *o = (yy >= 0 && xx >= 0 && yy < h && xx < w) ? in[(c * h + yy) * w + xx] : 0.0f;
                o += h * w;
            }
    }
}

//: bilinear grid=2,4 block=16,8 f32[1024]=uniform(0,1,1) f32[1024]=zero s32:32 s32:32 s32:32 s32:32
extern "C" __global__ void bilinear(const float *in, float *out, int iw, int ih, int ow, int oh)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= ow || y >= oh) return;
    float fx = fmaxf((x + 0.5f) * iw / ow - 0.5f, 0.0f), fy = fmaxf((y + 0.5f) * ih / oh - 0.5f, 0.0f);
    int x0 = (int)fx, y0 = (int)fy;
    int x1 = min(x0 + 1, iw - 1), y1 = min(y0 + 1, ih - 1);
    float wx = fx - x0, wy = fy - y0;
    out[y * ow + x] = (in[y0 * iw + x0] * (1 - wx) + in[y0 * iw + x1] * wx) * (1 - wy) +
                      (in[y1 * iw + x0] * (1 - wx) + in[y1 * iw + x1] * wx) * wy;
}

//: rgb_to_grey grid=4 block=64 u8[1024]=uniform(0,255,1) u8[256]=zero s32:256
extern "C" __global__ void rgb_to_grey(const uchar4 *in, unsigned char *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uchar4 p = in[i];
        out[i] = (unsigned char)(0.299f * p.x + 0.587f * p.y + 0.114f * p.z + 0.5f);
    }
}
