// Options and random numbers.

__device__ float normal_cdf(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f,
                a5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267794f * expf(-0.5f * d * d) *
              (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - c : c;
}

//: black_scholes grid=8 block=128 f32[1000]=zero f32[1000]=zero f32[1000]=uniform(5,30,1) f32[1000]=uniform(1,100,2) f32[1000]=uniform(0.25,10,3) f32:0.02 f32:0.3 s32:1000
extern "C" __global__ void black_scholes(float *call, float *put, const float *price,
                                         const float *strike, const float *years, float r, float v,
                                         int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root);
    float d2 = d1 - v * root;
    float n1 = normal_cdf(d1), n2 = normal_cdf(d2);
    float discount = expf(-r * t);
    call[i] = s * n1 - x * discount * n2;
    put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

//: black_scholes_double grid=4 block=64 f64[250]=zero f64[250]=uniform(5,30,1) f64[250]=uniform(1,100,2) f64[250]=uniform(0.25,10,3) f64:0.02 f64:0.3 s32:250
extern "C" __global__ void black_scholes_double(double *call, const double *price,
                                                const double *strike, const double *years, double r,
                                                double v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double s = price[i], x = strike[i], t = years[i];
        double root = sqrt(t);
        double d1 = (log(s / x) + (r + 0.5 * v * v) * t) / (v * root);
        double d2 = d1 - v * root;
        double n1 = 0.5 * erfc(-d1 * 0.70710678118654752440);
        double n2 = 0.5 * erfc(-d2 * 0.70710678118654752440);
        call[i] = s * n1 - x * exp(-r * t) * n2;
    }
}

//: monte_carlo_pi grid=4 block=128 u64[1]=zero u32:12345 s32:50
extern "C" __global__ void monte_carlo_pi(unsigned long long *hits, unsigned seed, int samples)
{
    unsigned state = seed ^ (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
    unsigned inside = 0;
    for (int i = 0; i < samples; ++i) {
        state = state * 1664525u + 1013904223u;
        float x = (state >> 8) * (1.0f / 16777216.0f);
        state = state * 1664525u + 1013904223u;
        float y = (state >> 8) * (1.0f / 16777216.0f);
        if (x * x + y * y <= 1.0f) ++inside;
    }
    atomicAdd(hits, (unsigned long long)inside);
}

//: monte_carlo_option grid=2 block=128 f32[256]=zero f32:100 f32:100 f32:0.05 f32:0.2 f32:1 s32:16 u32:7
extern "C" __global__ void monte_carlo_option(float *payoff, float s0, float strike, float r, float v,
                                              float years, int steps, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = seed + i * 747796405u;
    float dt = years / steps;
    float drift = (r - 0.5f * v * v) * dt, diffusion = v * sqrtf(dt);
    float s = s0;
    for (int k = 0; k < steps; ++k) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        float u1 = ((x >> 9) + 1) * 1.1920929e-7f;
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        float u2 = (x >> 9) * 1.1920929e-7f;
        float z = sqrtf(-2.0f * logf(u1)) * cosf(6.2831853f * u2);
        s *= expf(drift + diffusion * z);
    }
    payoff[i] = fmaxf(s - strike, 0.0f) * expf(-r * years);
}

//: binomial_tree grid=2 block=128 f32[2]=zero f32[2]=uniform(20,40,1) f32:30 f32:1.01 f32:0.52
extern "C" __global__ void binomial_tree(float *out, const float *price, float strike, float up, float pu)
{
    __shared__ float value[129];
    int t = threadIdx.x, n = blockDim.x;
    float s = price[blockIdx.x] * powf(up, (float)(2 * t - n));
    value[t] = fmaxf(s - strike, 0.0f);
    if (t == 0) value[n] = fmaxf(price[blockIdx.x] * powf(up, (float)n) - strike, 0.0f);
    __syncthreads();
    for (int step = n; step > 0; --step) {
        float next = 0.0f;
        if (t < step) next = pu * value[t + 1] + (1.0f - pu) * value[t];
        __syncthreads();
        if (t < step) value[t] = next;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = value[0];
}

//: xorshift grid=4 block=128 u32[512]=zero u32:99 s32:100
extern "C" __global__ void xorshift(unsigned *out, unsigned seed, int rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = seed + i, y = 362436069u, z = 521288629u, w = 88675123u;
    for (int k = 0; k < rounds; ++k) {
        unsigned t = x ^ (x << 11);
        x = y;
        y = z;
        z = w;
        w = w ^ (w >> 19) ^ t ^ (t >> 8);
    }
    out[i] = w;
}

//: lcg64 grid=4 block=128 u32[512]=zero u64:99 s32:100
extern "C" __global__ void lcg64(unsigned *out, unsigned long long seed, int rounds)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = seed + i;
    unsigned sum = 0;
    for (int k = 0; k < rounds; ++k) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        unsigned shifted = (unsigned)(((state >> 18) ^ state) >> 27);
        unsigned rotation = (unsigned)(state >> 59);
        sum += (shifted >> rotation) | (shifted << ((32u - rotation) & 31u));
    }
    out[i] = sum;
}

__device__ uint4 philox(uint4 counter, uint2 key)
{
    for (int round = 0; round < 10; ++round) {
        unsigned hi0 = __umulhi(0xD2511F53u, counter.x), lo0 = 0xD2511F53u * counter.x;
        unsigned hi1 = __umulhi(0xCD9E8D57u, counter.z), lo1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(hi1 ^ counter.y ^ key.x, lo1, hi0 ^ counter.w ^ key.y, lo0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

//: philox_uniform grid=4 block=128 f32[4096]=zero u32:42 s32:1000
extern "C" __global__ void philox_uniform(float4 *out, unsigned seed, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint4 r = philox(make_uint4(i, 0, 0, 0), make_uint2(seed, 0));
        const float scale = 2.3283064e-10f;
        out[i] = make_float4(r.x * scale, r.y * scale, r.z * scale, r.w * scale);
    }
}
