// Products of tensor cores, stores by pitch, and grids by their number and order of blocks.
// Prints lines of CSV: benchmark, parameter, value, unit.
#include "bench.cuh"
static double MHZ = 1980;
// Registers %0 to %(n - 1) of an accumulator, as text and as operands.
#define TEN(t)                                                                             \
    "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t \
    "8, %" #t "9, "
#define NAMES_4 "%0, %1, %2, %3"
#define NAMES_32 TEN() TEN(1) TEN(2) "%30, %31"
#define NAMES_64 TEN() TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) "%60, %61, %62, %63"
#define NAMES_128                                                          \
    TEN()                                                                  \
    TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) \
        TEN(11) "%120, %121, %122, %123, %124, %125, %126, %127"
#define DATA_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define DATA_16(i) DATA_4(i), DATA_4(i + 4), DATA_4(i + 8), DATA_4(i + 12)
#define DATA_32(i) DATA_16(i), DATA_16(i + 16)
#define DATA_64(i) DATA_32(i), DATA_32(i + 32)
#define DATA_128(i) DATA_64(i), DATA_64(i + 64)
// D = A·B + D of 64×N×K by one warpgroup, A and B in shared memory. `regs` holds D: N / 2.
#define WGMMA(n, format, regs, a_name, b_name, shape, last)                                     \
    template <>                                                                                 \
    __device__ __forceinline__ void wgm<n, format>(float* d, u64 a, u64 b) {                    \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned." shape \
                     " {" NAMES_##regs "}, " a_name ", " b_name ", p, 1, 1" last "; }"          \
                     : DATA_##regs(0)                                                           \
                     : "l"(a), "l"(b));                                                         \
    }
template <int N, int F>
__device__ void wgm(float* d, u64 a, u64 b);
WGMMA(8, 0, 4, "%4", "%5", "m64n8k16.f32.f16.f16", ", 0, 0")
WGMMA(64, 0, 32, "%32", "%33", "m64n64k16.f32.f16.f16", ", 0, 0")
WGMMA(128, 0, 64, "%64", "%65", "m64n128k16.f32.f16.f16", ", 0, 0")
WGMMA(256, 0, 128, "%128", "%129", "m64n256k16.f32.f16.f16", ", 0, 0")
WGMMA(128, 1, 64, "%64", "%65", "m64n128k16.f32.bf16.bf16", ", 0, 0")
WGMMA(8, 2, 4, "%4", "%5", "m64n8k8.f32.tf32.tf32", "")
WGMMA(64, 2, 32, "%32", "%33", "m64n64k8.f32.tf32.tf32", "")
WGMMA(128, 2, 64, "%64", "%65", "m64n128k8.f32.tf32.tf32", "")
WGMMA(256, 2, 128, "%128", "%129", "m64n256k8.f32.tf32.tf32", "")
WGMMA(8, 3, 4, "%4", "%5", "m64n8k32.f32.e4m3.e4m3", "")
WGMMA(64, 3, 32, "%32", "%33", "m64n64k32.f32.e4m3.e4m3", "")
WGMMA(128, 3, 64, "%64", "%65", "m64n128k32.f32.e4m3.e4m3", "")
WGMMA(256, 3, 128, "%128", "%129", "m64n256k32.f32.e4m3.e4m3", "")

template <int N, int F>
__global__ void __launch_bounds__(128) wgk(u64* o, int reps) {
    extern __shared__ __align__(1024) char s[];
    for (int i = threadIdx.x; i < 49152 / 4; i += 128) ((u32*)s)[i] = 0;
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    float d[N / 2];
    for (int i = 0; i < N / 2; i++) d[i] = i;
    u32 a = (u32)__cvta_generic_to_shared(s);
    u64 da = ((u64)(a & 0x3ffff) >> 4) | ((u64)1 << 16) | ((u64)64 << 32) | ((u64)1 << 62),
        db = da + 1024;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
        wgm<N, F>(d, da, db);
        wgm<N, F>(d, da, db);
        wgm<N, F>(d, da, db);
        wgm<N, F>(d, da, db);
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::
                         : "memory");
    }
    u64 t1 = clk();
    float q = 0;
    for (int i = 0; i < N / 2; i++) q += d[i];
    if (threadIdx.x == 0) o[blockIdx.x] = t1 - t0 + (q == 1.2345f);
}
template <int N, int F>
void wgrun(const char* n, u64* d) {
    cudaFuncSetAttribute(wgk<N, F>, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152);
    u64 h[2];
    for (int wgs : {1, 2}) {
        for (int j = 0; j < 2; j++) {
            wgk<N, F><<<SMS * wgs, 128, 49152>>>(d, j ? 200 : 100);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        char p[48];
        snprintf(p, 48, "%s; %d warpgroups an SM, 4 in a group", n, wgs);
        out("wgmma", p, (h[1] - h[0]) / 400.0 * 1.0 / wgs, "clk for each product of an SM");
    }
}
// mma.sync
template <int K>
__global__ void __launch_bounds__(512) mm(u64* o, int reps) {
    float c[8][4];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++) c[i][j] = 0;
    double dd[8][2];
    for (int i = 0; i < 8; i++) dd[i][0] = dd[i][1] = 0;
    u32 a0 = threadIdx.x, a1 = 1, a2 = 2, a3 = 3, b0 = 4, b1 = 5;
    __syncthreads();
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (K == 0)
                asm volatile(
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                    "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                    : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                    : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
            if (K == 1)
                asm volatile(
                    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                    "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                    : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                    : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
            if (K == 2)
                asm volatile(
                    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
                    "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                    : "+r"(*(u32*)&c[i][0]), "+r"(*(u32*)&c[i][1]), "+r"(*(u32*)&c[i][2]),
                      "+r"(*(u32*)&c[i][3])
                    : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
            if (K == 3)
                asm volatile(
                    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                    : "+d"(dd[i][0]), "+d"(dd[i][1])
                    : "d"((double)a1), "d"((double)b1));
            if (K == 4)
                asm volatile(
                    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                    "{%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                    : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                    : "r"(a0), "r"(a1), "r"(b0));
            if (K == 5)
                asm volatile(
                    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
                    "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                    : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                    : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
        }
    }
    __syncthreads();
    u64 t1 = clk();
    float q = 0;
    for (int i = 0; i < 8; i++)
        q += c[i][0] + c[i][1] + c[i][2] + c[i][3] + (float)dd[i][0] + (float)dd[i][1];
    if (threadIdx.x == 0) o[blockIdx.x] = t1 - t0 + (q == 1.2345f);
}
template <int K>
void mmrun(const char* n, double macs, u64* d) {
    for (int w : {1, 4, 8, 16}) {
        u64 h[2];
        for (int j = 0; j < 2; j++) {
            mm<K><<<1, 32 * w>>>(d, j ? 400 : 200);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        char p[48];
        snprintf(p, 48, "%s; %d warps", n, w);
        out("mma.sync", p, macs * 8 * 200 * w / (double)(h[1] - h[0]),
            "multiply-adds/clk of an SM");
    }
}
template <int K>
__global__ void mml(u64* o, int reps) {
    float c[4] = {0, 0, 0, 0};
    u32 a0 = 1, a1 = 1, a2 = 2, a3 = 3, b0 = 4, b1 = 5;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    u64 t1 = clk();
    if (threadIdx.x == 0) o[0] = t1 - t0 + (c[0] == 1.2345f);
}
// stores: every lane WORDS words at a pitch; sectors a second
template <int V>
__global__ void st(u32* g, u64 mask, u64 pitch, int per) {
    u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x, n = gridDim.x * (u64)blockDim.x;
    for (int k = 0; k < per; k++) {
        u64 b = ((t + k * n) * pitch) & mask;
        u32* p = (u32*)((char*)g + b);
        if (V == 1) asm volatile("st.global.u32 [%0],%1;" ::"l"(p), "r"(k) : "memory");
        if (V == 2) asm volatile("st.global.v2.u32 [%0],{%1,%1};" ::"l"(p), "r"(k) : "memory");
        if (V == 4)
            asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" ::"l"(p), "r"(k) : "memory");
        if (V == 8) {
            asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" ::"l"(p), "r"(k) : "memory");
            asm volatile("st.global.v4.u32 [%0+16],{%1,%1,%1,%1};" ::"l"(p), "r"(k) : "memory");
        }
    }
}
template <int V>
void strun(const char* n, u32* g, u64 mb, u64 pitch) {
    int per = 16;
    u64 need = (mb << 20) / pitch / per;
    int blocks = (int)(need / 256);
    double t = median([&] { st<V><<<blocks, 256>>>(g, (mb << 20) - 1, pitch, per); }, 11);
    char p[64];
    snprintf(p, 64, "%s pitch %llu in %llu MB", n, pitch, mb);
    double stores = (double)blocks * 256 * per;
    out("stores", p,
        stores * std::max(1.0, std::min(1.0 * pitch, 32.0) / 32) * (pitch >= 32 ? 1 : 1) /
            (t * MHZ * 1e6),
        "stores of a lane/clk of the GPU");
    out("stores", p, stores * pitch / 32 / (t * MHZ * 1e6),
        "pitch*stores/32/clk (sectors touched at pitch 32 or less)");
}
// first touch of lines by another SM
__global__ void touch(const u32* g, int lines, u32* o) {
    u32 a = 0;
    for (int i = threadIdx.x; i < lines; i += blockDim.x) a += __ldcg(g + i * 32);
    if (a == 0x7654321) *o = a;
}
__global__ void lat(const u32* g, int lines, u32* o, int sm) {
    u32 id;
    asm volatile("mov.u32 %0,%%smid;" : "=r"(id));
    if (id != sm || threadIdx.x) return;
    __shared__ u32 ts[4096];
    u32 x = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < lines; l++) {
            const u32* p = g + l * 32 + (x >> 31);
            u32 t0, t1;
            asm volatile("mov.u32 %0,%%clock;" : "=r"(t0)::"memory");
            asm volatile("ld.global.cg.u32 %0,[%1];" : "=r"(x) : "l"(p) : "memory");
            asm volatile("{.reg .pred q; setp.eq.u32 q,%1,77; @q trap; mov.u32 %0,%%clock;}"
                         : "=r"(t1)
                         : "r"(x)
                         : "memory");
            ts[pass * 2048 + l] = t1 - t0;
        }
    for (int i = 0; i < 4096; i++) o[i] = ts[i];
}
// copies by number of CTAs
__global__ void cp(const float4* a, float4* b, int per) {
    u64 base = blockIdx.x * (u64)per * blockDim.x;
    for (int k = 0; k < per; k++) {
        u64 i = base + k * blockDim.x + threadIdx.x;
        b[i] = a[i];
    }
}
__global__ void fm(float* p, int reps) {
    float a = threadIdx.x, b = 1.0001f;
    for (int r = 0; r < reps; r++) {
#pragma unroll
        for (int k = 0; k < 16; k++) a = a * b + 0.5f;
    }
    p[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
__global__ void skew(float* p, int working, int rounds) {
    if (blockIdx.x >= working) return;
    float a = threadIdx.x;
    for (int i = 0; i < rounds; i++) a = a * 1.0001f + 0.5f;
    p[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
__global__ void strag(const int* p, int* o, int which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = i;
    if (blockIdx.x == which)
        for (int k = 0; k < n; k++) x = p[x & 1048575];
    o[i] = x;
}
// persistent, by atomics and by stride: tiles of work
__global__ void tiles(float* p, int* next, int n, int mode, int rounds) {
    __shared__ int t;
    int tile = blockIdx.x;
    for (;;) {
        if (mode == 1) {
            if (threadIdx.x == 0) t = atomicAdd(next, 1);
            __syncthreads();
            tile = t;
            __syncthreads();
        }
        if (tile >= n) break;
        float a = threadIdx.x;
        int r = rounds * (1 + tile % 7);
        for (int i = 0; i < r; i++) a = a * 1.0001f + 0.5f;
        p[(u64)tile * blockDim.x + threadIdx.x] = a;
        if (mode == 2) break;
        tile += gridDim.x;
    }
}
__global__ void fillk(float4* p, u64 n) {
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (i < n) p[i] = make_float4(1, 2, 3, 4);
}
__global__ void readk(const float4* p, u64 n, float4* o) {
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = p[i];
        if (v.x == 123.f) *o = v;
    }
}
__global__ void ldl1(const float* g, u64* o, int reps) {
    const float* p = g;
    u64 t0 = clk();
    for (int i = 0; i < reps; i++) {
        u64 q;
        asm volatile("ld.global.ca.u64 %0,[%1];" : "=l"(q) : "l"(p) : "memory");
        p = (const float*)q;
    }
    u64 t1 = clk();
    o[0] = t1 - t0 + (p == nullptr);
}
int main(int argc, char** argv) {
    cudaDeviceProp pr;
    CK(cudaGetDeviceProperties(&pr, 0));
    SMS = pr.multiProcessorCount;
    u64* d;
    CK(cudaMalloc(&d, 1 << 20));
    u32* g;
    size_t G = (size_t)4 << 30;
    CK(cudaMalloc(&g, G));
    CK(cudaMemset(g, 0, G));
    if (argc > 1) {
        for (u64 mb : {4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 256}) {
            u64 n = mb << 16;
            fillk<<<(int)(n / 256), 256>>>((float4*)g, n);
            CK(cudaDeviceSynchronize());
        }
        for (u64 mb : {4, 16, 32, 48, 64, 96, 128}) {
            u64 n = mb << 16;
            readk<<<(int)(n / 256), 256>>>((float4*)g, n, (float4*)d);
            CK(cudaDeviceSynchronize());
        }
        return 0;
    }
    printf("name,parameter,value,unit\n# %s\n", pr.name);
    for (int i = 0; i < 300; i++) fm<<<SMS * 16, 512>>>((float*)g, 2000);
    CK(cudaDeviceSynchronize());
    wgrun<8, 0>("m64n8 f16", d);
    wgrun<64, 0>("m64n64 f16", d);
    wgrun<128, 0>("m64n128 f16", d);
    wgrun<256, 0>("m64n256 f16", d);
    wgrun<128, 1>("m64n128 bf16", d);
    wgrun<8, 2>("m64n8 tf32", d);
    wgrun<64, 2>("m64n64 tf32", d);
    wgrun<128, 2>("m64n128 tf32", d);
    wgrun<256, 2>("m64n256 tf32", d);
    wgrun<8, 3>("m64n8 e4m3", d);
    wgrun<64, 3>("m64n64 e4m3", d);
    wgrun<128, 3>("m64n128 e4m3", d);
    wgrun<256, 3>("m64n256 e4m3", d);
    mmrun<0>("m16n8k16 f16 f32", 2048, d);
    mmrun<4>("m16n8k8 f16 f32", 1024, d);
    mmrun<1>("m16n8k8 tf32", 1024, d);
    mmrun<2>("m16n8k32 s8", 4096, d);
    mmrun<3>("m8n8k4 f64", 256, d);
    mmrun<5>("m16n8k32 e4m3", 4096, d);
    {
        u64 h[2];
        for (int j = 0; j < 2; j++) {
            mml<0><<<1, 32>>>(d, j ? 200 : 100);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        out("mma.sync", "m16n8k16 latency", (h[1] - h[0]) / 100.0, "clk");
    }
    {
        u64 a = (u64)g;
        CK(cudaMemcpy(g, &a, 8, cudaMemcpyHostToDevice));
        u64 h[2];
        for (int j = 0; j < 2; j++) {
            ldl1<<<1, 1>>>((float*)g, d, j ? 200 : 100);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        out("ld.global.ca", "chain of one pointer", (h[1] - h[0]) / 100.0, "clk");
    }
    for (u64 mb : {16, 1024}) {
        strun<1>("one word", g, mb, 4);
        strun<1>("one word", g, mb, 8);
        strun<1>("one word", g, mb, 16);
        strun<1>("one word", g, mb, 32);
        strun<1>("one word", g, mb, 64);
        strun<1>("one word", g, mb, 128);
        strun<2>("two words", g, mb, 32);
        strun<4>("four words", g, mb, 16);
        strun<4>("four words", g, mb, 32);
        strun<8>("eight words", g, mb, 32);
    }
    for (int sm : {0, 1, 2, 50, 131}) {
        CK(cudaMemset(g, 0, 1 << 20));
        touch<<<1, 256>>>(g, 1024, (u32*)d);
        CK(cudaDeviceSynchronize());
        lat<<<SMS * 8, 32>>>(g, 1024, (u32*)d, sm);
        std::vector<u32> h(4096);
        CK(cudaMemcpy(h.data(), d, 16384, cudaMemcpyDeviceToHost));
        for (int pass = 0; pass < 2; pass++) {
            std::vector<u32> v(h.begin() + pass * 2048, h.begin() + pass * 2048 + 1024);
            std::sort(v.begin(), v.end());
            char p[64];
            for (int q : {10, 256, 500, 524, 768, 1000}) {
                snprintf(p, 64, "SM %d pass %d quantile %d of 1024", sm, pass, q);
                out("ld.cg latency of lines that another SM wrote", p, v[q], "clk");
            }
        }
    }
    for (int c : {1,   33,  66,  100, 131, 132, 133, 140, 165,  198,  263,  264,
                  265, 300, 396, 400, 528, 529, 660, 792, 1056, 1057, 1584, 2112})
        outi("copy of 1 MB a CTA of 1024 threads, CTAs", c,
             median([&] { cp<<<c, 1024>>>((float4*)g, (float4*)g + (1 << 27), 64); }, 9) * 1e6,
             "us");
    for (int c : {131, 132, 133, 264, 265, 528})
        outi("multiply-adds, CTAs of 1024 threads", c,
             median([&] { fm<<<c, 1024>>>((float*)g, 500); }, 9) * 1e6, "us");
    for (auto x : {std::pair<int, int>{32, 64}, {64, 64}, {64, 8192}, {1, 1024}, {132, 1024}}) {
        char p[48];
        snprintf(p, 48, "%d of %d", x.first, x.second);
        out("skew", p, median([&] { skew<<<x.second, 256>>>((float*)g, x.first, 1000); }, 11) * 1e6,
            "us");
    }
    for (int w : {0, 500, 999, 123, 637})
        outi("strag, which", w,
             median([&] { strag<<<1000, 256>>>((int*)g, (int*)g + (1 << 26), w, 50); }, 11) * 1e6,
             "us");
    for (int gsz : {132, 264, 528})
        for (int mode : {0, 1, 2}) {
            char p[64];
            snprintf(p, 64, "grid %d %s", mode == 2 ? 5000 : gsz,
                     mode == 0   ? "by stride"
                     : mode == 1 ? "by atomics"
                                 : "one CTA a tile");
            out("tiles of 1 to 7 units", p,
                median(
                    [&] {
                        CK(cudaMemsetAsync((int*)d, 0, 4));
                        tiles<<<mode == 2 ? 5000 : gsz, 256>>>((float*)g, (int*)d, 5000, mode, 200);
                    },
                    11) *
                    1e6,
                "us with a fill of 4 bytes before");
        }
    return 0;
}
