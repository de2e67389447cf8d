// Hashes, strings, divisions, bits.

__constant__ unsigned sha_k[64];

__device__ __forceinline__ unsigned rotate_right(unsigned x, int n) { return (x >> n) | (x << (32 - n)); }

//: sha256 grid=2 block=64 u32[2048]=uniform(0,4294967295,1) u32[1024]=zero s32:128
extern "C" __global__ void sha256(const unsigned *message, unsigned *digest, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned w[16];
    for (int k = 0; k < 16; ++k) w[k] = message[i * 16 + k];
    unsigned a = 0x6a09e667, b = 0xbb67ae85, c = 0x3c6ef372, d = 0xa54ff53a;
    unsigned e = 0x510e527f, f = 0x9b05688c, g = 0x1f83d9ab, h = 0x5be0cd19;
#pragma unroll
    for (int k = 0; k < 64; ++k) {
        unsigned wk;
        if (k < 16) {
            wk = w[k];
        } else {
            unsigned s0 = w[(k + 1) & 15], s1 = w[(k + 14) & 15];
            s0 = rotate_right(s0, 7) ^ rotate_right(s0, 18) ^ (s0 >> 3);
            s1 = rotate_right(s1, 17) ^ rotate_right(s1, 19) ^ (s1 >> 10);
            wk = w[k & 15] += s0 + s1 + w[(k + 9) & 15];
        }
        unsigned t1 = h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                      ((e & f) ^ (~e & g)) + sha_k[k] + wk;
        unsigned t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    unsigned *out = digest + i * 8;
    out[0] = a; out[1] = b; out[2] = c; out[3] = d;
    out[4] = e; out[5] = f; out[6] = g; out[7] = h;
}

//: xxhash32 grid=2 block=64 u32[4096]=uniform(0,4294967295,1) u32[128]=zero s32:8 u32:7
extern "C" __global__ void xxhash32(const uint4 *data, unsigned *out, int blocks, unsigned seed)
{
    const unsigned p1 = 2654435761u, p2 = 2246822519u, p3 = 3266489917u;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v1 = seed + p1 + p2, v2 = seed + p2, v3 = seed, v4 = seed - p1;
    for (int k = 0; k < blocks; ++k) {
        uint4 d = data[i * blocks + k];
        v1 = __funnelshift_l(v1 + d.x * p2, v1 + d.x * p2, 13) * p1;
        v2 = __funnelshift_l(v2 + d.y * p2, v2 + d.y * p2, 13) * p1;
        v3 = __funnelshift_l(v3 + d.z * p2, v3 + d.z * p2, 13) * p1;
        v4 = __funnelshift_l(v4 + d.w * p2, v4 + d.w * p2, 13) * p1;
    }
    unsigned h = __funnelshift_l(v1, v1, 1) + __funnelshift_l(v2, v2, 7) + __funnelshift_l(v3, v3, 12) +
                 __funnelshift_l(v4, v4, 18);
    h += blocks * 16;
    h ^= h >> 15;
    h *= p2;
    h ^= h >> 13;
    h *= p3;
    h ^= h >> 16;
    out[i] = h;
}

//: murmur64 grid=2 block=128 u64[256]=uniform(0,1000000000,1) u64[256]=zero s32:256
extern "C" __global__ void murmur64(const unsigned long long *in, unsigned long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned long long h = in[i];
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 33;
        h *= 0xc4ceb9fe1a85ec53ull;
        h ^= h >> 33;
        out[i] = h;
    }
}

//: hash_insert grid=4 block=128 u32[2048]=constant(4294967295) u32[2048]=zero u32[512]=uniform(0,4000000000,1) u32:2047 s32:512
extern "C" __global__ void hash_insert(unsigned *keys, unsigned *values, const unsigned *input, unsigned mask,
                                       int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = input[i];
    unsigned slot = (key * 2654435769u) >> 7 & mask;
    while (true) {
        unsigned old = atomicCAS(&keys[slot], 0xffffffffu, key);
        if (old == 0xffffffffu || old == key) {
            values[slot] = i;
            return;
        }
        slot = (slot + 1) & mask;
    }
}

//: table_cipher grid=2 block=128 u32[1024]=uniform(0,4294967295,1) u32[1024]=zero u32[1024]=uniform(0,4294967295,2) u32[44]=uniform(0,4294967295,3)
extern "C" __global__ void table_cipher(const uint4 *in, uint4 *out, const unsigned *table,
                                        const unsigned *keys)
{
    __shared__ unsigned t[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) t[k] = table[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 s = in[i];
    for (int round = 0; round < 9; ++round) {
        const unsigned *k = keys + 4 * round;
        unsigned a = t[s.x >> 24] ^ t[256 + ((s.y >> 16) & 255)] ^ t[512 + ((s.z >> 8) & 255)] ^
                     t[768 + (s.w & 255)] ^ k[0];
        unsigned b = t[s.y >> 24] ^ t[256 + ((s.z >> 16) & 255)] ^ t[512 + ((s.w >> 8) & 255)] ^
                     t[768 + (s.x & 255)] ^ k[1];
        unsigned c = t[s.z >> 24] ^ t[256 + ((s.w >> 16) & 255)] ^ t[512 + ((s.x >> 8) & 255)] ^
                     t[768 + (s.y & 255)] ^ k[2];
        unsigned d = t[s.w >> 24] ^ t[256 + ((s.x >> 16) & 255)] ^ t[512 + ((s.y >> 8) & 255)] ^
                     t[768 + (s.z & 255)] ^ k[3];
        s = make_uint4(a, b, c, d);
    }
    out[i] = s;
}

//: string_match grid=4 block=128 u8[520]=uniform(97,99,1) u8[8]=uniform(97,99,2) u32[1]=zero s32:512 s32:8
extern "C" __global__ void string_match(const unsigned char *text, const unsigned char *pattern,
                                        unsigned *count, int n, int length)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = 0;
    while (k < length && text[i + k] == pattern[k]) ++k;
    if (k == length) atomicAdd(count, 1u);
}

//: edit_distance grid=2 block=32 u8[1024]=uniform(97,100,1) u8[16]=uniform(97,100,2) s32[64]=zero
extern "C" __global__ void edit_distance(const char *words, const char *target, int *distance)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row[17];
    for (int k = 0; k <= 16; ++k) row[k] = k;
    for (int a = 0; a < 16; ++a) {
        int diagonal = row[0];
        row[0] = a + 1;
        char c = words[i * 16 + a];
        for (int b = 0; b < 16; ++b) {
            int above = row[b + 1];
            int cost = diagonal + (target[b] != c);
            row[b + 1] = min(min(above, row[b]) + 1, cost);
            diagonal = above;
        }
    }
    distance[i] = row[16];
}

//: divide64 grid=2 block=128 u64[256]=uniform(1,1000000000000,1) u64[256]=uniform(1,100000,2) u64[256]=zero u64[256]=zero
extern "C" __global__ void divide64(const unsigned long long *a, const unsigned long long *b,
                                    unsigned long long *quotient, unsigned long long *remainder)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    quotient[i] = a[i] / b[i];
    remainder[i] = a[i] % b[i];
}

//: modpow grid=2 block=64 u32[128]=uniform(2,1000000,1) u32[128]=zero u32:65537 u32:1000000007
extern "C" __global__ void modpow(const unsigned *base, unsigned *out, unsigned exponent, unsigned modulus)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long b = base[i] % modulus, r = 1;
    for (unsigned e = exponent; e; e >>= 1) {
        if (e & 1) r = r * b % modulus;
        b = b * b % modulus;
    }
    out[i] = (unsigned)r;
}

//: index_3d grid=8 block=128 f32[1024]=zero f32[1024]=iota s32:10 s32:7 s32:13
extern "C" __global__ void index_3d(float *out, const float *in, int nx, int ny, int nz)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= nx * ny * nz) return;
    int x = i % nx, y = (i / nx) % ny, z = i / (nx * ny);
    out[(x * ny + y) * nz + z] = in[i];
}

//: index_constants grid=8 block=128 f32[1024]=zero f32[1024]=iota s32:1000
extern "C" __global__ void index_constants(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = i % 10, y = (i / 10) % 25, z = i / 250;
    out[z * 250 + x * 25 + y] = in[i];
}

//: collatz grid=2 block=128 u32[256]=zero u32:1
extern "C" __global__ void collatz(unsigned *steps, unsigned first)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned n = first + i, count = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        ++count;
    }
    steps[i] = count;
}

//: gcd grid=2 block=128 u32[256]=uniform(1,100000,1) u32[256]=uniform(1,100000,2) u32[256]=zero
extern "C" __global__ void gcd(const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = a[i], y = b[i];
    while (y) {
        unsigned r = x % y;
        x = y;
        y = r;
    }
    out[i] = x;
}

//: sieve grid=2 block=64 u8[4096]=zero s32:4096
extern "C" __global__ void sieve(unsigned char *composite, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x + 2;
    if (p * p >= n) return;
    for (int k = p * p; k < n; k += p) composite[k] = 1;
}

//: bit_tricks grid=2 block=128 u32[256]=uniform(0,4294967295,1) u32[256]=zero
extern "C" __global__ void bit_tricks(const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[i];
    unsigned morton = x & 0xffff;
    morton = (morton | (morton << 8)) & 0x00FF00FF;
    morton = (morton | (morton << 4)) & 0x0F0F0F0F;
    morton = (morton | (morton << 2)) & 0x33333333;
    morton = (morton | (morton << 1)) & 0x55555555;
    out[i] = __popc(x) + __clz(x) + __ffs(x) + (__brev(x) >> 7) + morton + __byte_perm(x, x, 0x0123);
}

//: calculator grid=2 block=128 u8[256]=uniform(0,7,1) s32[256]=uniform(-100,100,2) s32[256]=uniform(1,100,3) s32[256]=zero
extern "C" __global__ void calculator(const unsigned char *op, const int *a, const int *b, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int x = a[i], y = b[i], r;
    switch (op[i]) {
    case 0: r = x + y; break;
    case 1: r = x - y; break;
    case 2: r = x * y; break;
    case 3: r = x / y; break;
    case 4: r = x % y; break;
    case 5: r = x << (y & 31); break;
    case 6: r = abs(x) > y ? x : -y; break;
    default: r = __popc(x ^ y); break;
    }
    out[i] = r;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

//: recursion grid=1 block=32 s32[32]=zero
extern "C" __global__ void recursion(int *out)
{
    out[threadIdx.x] = fibonacci(threadIdx.x % 8);
}

__device__ __noinline__ float polynomial(const float *c, float x, int n)
{
    float r = 0;
    for (int k = 0; k < n; ++k) r = r * x + c[k];
    return r;
}

//: newton grid=2 block=64 f32[128]=uniform(1,2,1) f32[8]=uniform(0.5,1,2) f32[128]=zero s32:5
extern "C" __global__ void newton(const float *start, const float *c, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = start[i];
    for (int step = 0; step < 4; ++step) {
        float f = polynomial(c, x, n), g = polynomial(c + 1, x, n - 1);
        x -= f / g;
    }
    out[i] = x;
}
