// Particles, grids, waves.

//: nbody grid=2 block=128 f32[1024]=uniform(-1,1,1) f32[1024]=zero s32:256
extern "C" __global__ void nbody(const float4 *body, float4 *acceleration, int n)
{
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = body[i];
    float3 a = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += 128) {
        tile[threadIdx.x] = body[start + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < 128; ++k) {
            float4 other = tile[k];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float r2 = dx * dx + dy * dy + dz * dz + 1e-4f;
            float inverse = rsqrtf(r2);
            float s = other.w * inverse * inverse * inverse;
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
        __syncthreads();
    }
    acceleration[i] = make_float4(a.x, a.y, a.z, 0);
}

//: lennard_jones grid=2 block=64 f32[128]=uniform(0,6,1) f32[128]=uniform(0,6,2) f32[128]=uniform(0,6,3) f32[384]=zero s32:128 f32:4
extern "C" __global__ void lennard_jones(const float *x, const float *y, const float *z, float *force, int n,
                                         float cutoff2)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float fx = 0, fy = 0, fz = 0;
    float xi = x[i], yi = y[i], zi = z[i];
    for (int k = 0; k < n; ++k) {
        if (k == i) continue;
        float dx = xi - x[k], dy = yi - y[k], dz = zi - z[k];
        float r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cutoff2) {
            float inverse2 = 1.0f / r2;
            float inverse6 = inverse2 * inverse2 * inverse2;
            float f = 24.0f * inverse6 * (2.0f * inverse6 - 1.0f) * inverse2;
            fx += f * dx;
            fy += f * dy;
            fz += f * dz;
        }
    }
    force[3 * i] = fx;
    force[3 * i + 1] = fy;
    force[3 * i + 2] = fz;
}

struct Particle {
    float x, y, z, vx, vy, vz, mass;
    int kind;
};

//: integrate_aos grid=4 block=64 f32[2048]=uniform(-1,1,1) f32:0.01 s32:256
extern "C" __global__ void integrate_aos(Particle *p, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Particle q = p[i];
    q.vy -= 9.81f * dt;
    q.x += q.vx * dt;
    q.y += q.vy * dt;
    q.z += q.vz * dt;
    if (q.y < 0) {
        q.y = -q.y;
        q.vy = -0.5f * q.vy;
    }
    p[i] = q;
}

//: integrate_soa grid=4 block=64 f32[256]=uniform(-1,1,1) f32[256]=uniform(-1,1,2) f32[256]=uniform(-1,1,3) f32[256]=uniform(-1,1,4) f32:0.01 s32:256
extern "C" __global__ void integrate_soa(float *x, float *y, float *vx, float *vy, float dt, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        float u = vx[i], v = vy[i] - 9.81f * dt;
        float py = y[i] + v * dt;
        if (py < 0) {
            py = -py;
            v *= -0.5f;
        }
        x[i] += u * dt;
        y[i] = py;
        vy[i] = v;
    }
}

//: jacobi_2d grid=4,4 block=16,16 f64[4096]=uniform(-1,1,1) f64[4096]=zero s32:64 s32:64
extern "C" __global__ void jacobi_2d(const double *in, double *out, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        out[y * nx + x] = 0.25 * (in[y * nx + x - 1] + in[y * nx + x + 1] + in[(y - 1) * nx + x] +
                                  in[(y + 1) * nx + x]);
}

//: jacobi_3d grid=2,4,1 block=16,4 f64[8192]=uniform(-1,1,1) f64[8192]=zero s32:32 s32:16 s32:16
extern "C" __global__ void jacobi_3d(const double *__restrict__ in, double *__restrict__ out, int nx, int ny,
                                     int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x >= nx - 1 || y >= ny - 1) return;
    long plane = (long)nx * ny;
    const double *p = in + plane + (long)y * nx + x;
    double below = p[-plane], here = p[0];
    for (int z = 1; z < nz - 1; ++z) {
        double above = p[plane];
        out[z * plane + (long)y * nx + x] =
            (below + above + p[-1] + p[1] + p[-nx] + p[nx] - 6.0 * here) * 0.1 + here;
        below = here;
        here = above;
        p += plane;
    }
}

//: heat_shared grid=4,4 block=16,16 f32[4096]=uniform(0,1,1) f32[4096]=zero s32:64 f32:0.2
extern "C" __global__ void heat_shared(const float *in, float *out, int n, float k)
{
    __shared__ float t[18][18];
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    t[ty][tx] = in[y * n + x];
    if (threadIdx.x == 0) t[ty][0] = x > 0 ? in[y * n + x - 1] : 0.0f;
    if (threadIdx.x == 15) t[ty][17] = x < n - 1 ? in[y * n + x + 1] : 0.0f;
    if (threadIdx.y == 0) t[0][tx] = y > 0 ? in[(y - 1) * n + x] : 0.0f;
    if (threadIdx.y == 15) t[17][tx] = y < n - 1 ? in[(y + 1) * n + x] : 0.0f;
    __syncthreads();
    out[y * n + x] = t[ty][tx] + k * (t[ty][tx - 1] + t[ty][tx + 1] + t[ty - 1][tx] + t[ty + 1][tx] -
                                      4.0f * t[ty][tx]);
}

__constant__ float lbm_weight[9];
__constant__ int lbm_cx[9], lbm_cy[9];

//: lattice_boltzmann grid=2,8 block=32,4 f32[18432]=uniform(0.1,1,1) f32[18432]=zero s32:64 s32:32 f32:1.2
extern "C" __global__ void lattice_boltzmann(const float *f, float *g, int nx, int ny, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    int cells = nx * ny;
    float v[9], density = 0, ux = 0, uy = 0;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        v[k] = f[k * cells + y * nx + x];
        density += v[k];
        ux += v[k] * lbm_cx[k];
        uy += v[k] * lbm_cy[k];
    }
    ux /= density;
    uy /= density;
    float square = 1.5f * (ux * ux + uy * uy);
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        float cu = 3.0f * (lbm_cx[k] * ux + lbm_cy[k] * uy);
        float equilibrium = lbm_weight[k] * density * (1.0f + cu + 0.5f * cu * cu - square);
        int xx = (x + lbm_cx[k] + nx) % nx, yy = (y + lbm_cy[k] + ny) % ny;
        g[k * cells + yy * nx + xx] = v[k] + omega * (equilibrium - v[k]);
    }
}

//: mandelbrot grid=4,4 block=16,16 u8[4096]=zero s32:64 s32:64 f32:-2 f32:-1 f32:0.046875 s32:50
extern "C" __global__ void mandelbrot(unsigned char *image, int width, int height, float x0, float y0,
                                      float step, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    float cx = x0 + px * step, cy = y0 + py * step;
    float x = 0, y = 0;
    int k = 0;
    while (k < limit && x * x + y * y < 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        ++k;
    }
    image[py * width + px] = (unsigned char)k;
}

//: julia_double grid=2,2 block=16,16 s32[1024]=zero s32:32 f64:-0.8 f64:0.156 s32:40
extern "C" __global__ void julia_double(int *image, int n, double cx, double cy, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    double x = 3.0 * px / n - 1.5, y = 3.0 * py / n - 1.5;
    int k;
    for (k = 0; k < limit; ++k) {
        double xx = x * x, yy = y * y;
        if (xx + yy > 4.0) break;
        y = 2 * x * y + cy;
        x = xx - yy + cx;
    }
    image[py * n + px] = k;
}

//: complex_multiply grid=4 block=64 f32[512]=uniform(-1,1,1) f32[512]=uniform(-1,1,2) f32[512]=zero s32:256
extern "C" __global__ void complex_multiply(const float2 *a, const float2 *b, float2 *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 x = a[i], y = b[i];
        c[i] = make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
    }
}

//: transcendental grid=2 block=128 f32[256]=uniform(0.1,3,1) f32[256]=zero s32:256
extern "C" __global__ void transcendental(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i], s, c;
        sincosf(x, &s, &c);
        out[i] = s * c + powf(x, 1.7f) + log1pf(x) + tanhf(x) + atan2f(s, x) + cbrtf(x);
    }
}

//: transcendental_fast grid=2 block=128 f32[256]=uniform(0.1,3,1) f32[256]=zero s32:256
extern "C" __global__ void transcendental_fast(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i];
        out[i] = __sinf(x) * __cosf(x) + __expf(-x) + __logf(x) + __powf(x, 1.5f) + __fdividef(1.0f, x);
    }
}

//: transcendental_double grid=2 block=64 f64[128]=uniform(0.1,3,1) f64[128]=zero
extern "C" __global__ void transcendental_double(const double *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = in[i];
    out[i] = sin(x) + exp(-x) * log(x) + pow(x, 1.3) + 1.0 / sqrt(x);
}

//: fft_radix2 grid=2 block=128 f32[512]=uniform(-1,1,1) f32[512]=zero s32:8 f32:-3.14159265
extern "C" __global__ void fft_radix2(const float2 *in, float2 *out, int span, float sign_pi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, half = gridDim.x * blockDim.x;
    int k = i & (span - 1);
    float2 a = in[i & (half / 2 - 1)], b = in[(i & (half / 2 - 1)) + half / 2];
    float s, c;
    __sincosf(sign_pi * k / span, &s, &c);
    float2 t = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
    int j = ((i - k) << 1) + k & (half - 1);
    out[j] = i < half / 2 ? make_float2(a.x + t.x, a.y + t.y) : make_float2(a.x - t.x, a.y - t.y);
}

__device__ float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ float2 operator*(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

//: fft_radix4 grid=1 block=64 f32[512]=uniform(-1,1,1) f32[512]=zero
extern "C" __global__ void fft_radix4(const float2 *in, float2 *out)
{
    __shared__ float2 data[256];
    int t = threadIdx.x;
    float2 v[4];
    for (int k = 0; k < 4; ++k) v[k] = in[t + 64 * k];
    for (int span = 1; span < 256; span *= 4) {
        float angle = -6.2831853f * (t & (span - 1)) / (4 * span), s, c;
        sincosf(angle, &s, &c);
        float2 w1 = make_float2(c, s), w2 = w1 * w1, w3 = w2 * w1;
        v[1] = v[1] * w1;
        v[2] = v[2] * w2;
        v[3] = v[3] * w3;
        float2 a = v[0] + v[2], b = v[0] - v[2], d = v[1] + v[3], e = v[1] - v[3];
        e = make_float2(e.y, -e.x);
        v[0] = a + d;
        v[1] = b + e;
        v[2] = a - d;
        v[3] = b - e;
        int base = ((t & ~(span - 1)) << 2) + (t & (span - 1));
        __syncthreads();
        for (int k = 0; k < 4; ++k) data[base + k * span] = v[k];
        __syncthreads();
        for (int k = 0; k < 4; ++k) v[k] = data[t + 64 * k];
    }
    for (int k = 0; k < 4; ++k) out[t + 64 * k] = v[k];
}

//: ray_spheres grid=2,2 block=16,8 f32[64]=uniform(-3,3,1) s32:16 f32[1536]=zero s32:32
extern "C" __global__ void ray_spheres(const float4 *sphere, int count, float *image, int width)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float dx = px / (float)width - 0.5f, dy = py / (float)width - 0.5f, dz = 1.0f;
    float scale = rsqrtf(dx * dx + dy * dy + 1.0f);
    dx *= scale;
    dy *= scale;
    dz *= scale;
    float nearest = 1e30f;
    int hit = -1;
    for (int k = 0; k < count; ++k) {
        float4 s = sphere[k];
        float b = dx * s.x + dy * s.y + dz * (s.z + 6.0f);
        float c = s.x * s.x + s.y * s.y + (s.z + 6.0f) * (s.z + 6.0f) - s.w * s.w;
        float d = b * b - c;
        if (d > 0) {
            float t = b - sqrtf(d);
            if (t > 0 && t < nearest) {
                nearest = t;
                hit = k;
            }
        }
    }
    image[py * width + px] = hit < 0 ? 0.0f : hit + 1.0f / nearest;
}
