// Atomics, streams, chases, barriers, fences, bulk copies, tensor boxes, distributed shared memory,
// and launches, measured by the clocks of an SM or by events.
// Prints lines of CSV: benchmark, parameter, value, unit.
#include <cuda.h>

#include <cstdint>

#include "bench.cuh"
static double MHZ = 1980;
// ---- 1 shared atomics: clocks of one warp's operation, W warps
template <int KIND>
__global__ void satom(u64* o, int ways, int reps) {
    extern __shared__ u32 s[];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) s[i] = 0;
    __syncthreads();
    u32 a = (u32)__cvta_generic_to_shared(s) + 4 * ((threadIdx.x & 31) / ways) * 1;
    u32 v = threadIdx.x + 1;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
#pragma unroll
        for (int k = 0; k < 16; k++) {
            if (KIND == 0) asm volatile("red.shared.add.u32 [%0],1;" ::"r"(a) : "memory");
            if (KIND == 1) asm volatile("red.shared.add.u32 [%0],%1;" ::"r"(a), "r"(v) : "memory");
            if (KIND == 2) {
                u32 x;
                asm volatile("atom.shared.add.u32 %0,[%1],%2;"
                             : "=r"(x)
                             : "r"(a), "r"(v)
                             : "memory");
            }
            if (KIND == 3) asm volatile("red.shared.max.u32 [%0],%1;" ::"r"(a), "r"(v) : "memory");
            if (KIND == 4) {
                float x;
                asm volatile("atom.shared.add.f32 %0,[%1],%2;"
                             : "=f"(x)
                             : "r"(a), "f"(1.f)
                             : "memory");
            }
            if (KIND == 5)
                asm volatile("st.volatile.shared.u32 [%0],%1;" ::"r"(a), "r"(v) : "memory");
            if (KIND == 6) {
                u32 x;
                asm volatile("atom.shared.exch.b32 %0,[%1],%2;"
                             : "=r"(x)
                             : "r"(a), "r"(v)
                             : "memory");
            }
            if (KIND == 7) {
                u32 x;
                asm volatile("atom.shared.cas.b32 %0,[%1],%2,%3;"
                             : "=r"(x)
                             : "r"(a), "r"(v), "r"(v)
                             : "memory");
            }
        }
    }
    __syncthreads();
    u64 t1 = clk();
    if (threadIdx.x == 0) o[0] = t1 - t0;
}
template <int KIND>
void satoms(const char* n, u64* d) {
    for (int w : {1, 4, 32})
        for (int ways : {1, 2, 4, 8, 16, 32}) {
            u64 h[2];
            int it;
            for (int j = 0; j < 2; j++) {
                it = j ? 200 : 100;
                satom<KIND><<<1, 32 * w, 32768>>>(d, ways, it);
                CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
            }
            char p[32];
            snprintf(p, 32, "warps%d_ways%d", w, ways);
            out(n, p, double(h[1] - h[0]) / (100.0 * 16 * w), "clk/warp-instruction of an SM");
        }
}
// ---- 2 global atomics & stores, all SMs
template <int KIND>
__global__ void gatom(u32* g, int mode, int reps) {
    u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    u64 idx;
    if (mode == 0)
        idx = 0;
    else if (mode == 1)
        idx = threadIdx.x & 7;
    else if (mode == 2)
        idx = (i / 32) * 8 % (1 << 18) + 0;
    else if (mode == 3)
        idx = i % (1 << 20);
    else if (mode == 4)
        idx = (threadIdx.x & 31) * 8;
    else if (mode == 5)
        idx = ((i * 8) % (1 << 22));
    else
        idx = (blockIdx.x % 1024) * 64;
    u32* p = g + idx;
    u32 v = threadIdx.x + 1;
    for (int r = 0; r < reps; r++) {
        if (KIND == 0) asm volatile("red.global.add.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
        if (KIND == 1) asm volatile("red.global.add.f32 [%0],%1;" ::"l"(p), "f"(1.f) : "memory");
        if (KIND == 2) {
            u32 x;
            asm volatile("atom.global.add.u32 %0,[%1],%2;" : "=r"(x) : "l"(p), "r"(v) : "memory");
        }
        if (KIND == 3) asm volatile("st.volatile.global.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
        if (KIND == 4)
            asm volatile("red.global.add.f64 [%0],%1;" ::"l"((double*)g + idx), "d"(1.0)
                         : "memory");
        if (KIND == 5) {
            u32 x;
            asm volatile("atom.global.cas.b32 %0,[%1],%2,%3;"
                         : "=r"(x)
                         : "l"(p), "r"(v), "r"(v)
                         : "memory");
        }
        if (KIND == 6) asm volatile("red.global.max.u32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
    }
}
template <int KIND>
void gatoms(const char* n, u32* g) {
    const char* m[] = {"one word by all",       "8 words of one sector",    "one word a warp",
                       "lane words coalesced",  "32 sectors by every warp", "a sector a lane",
                       "one word a CTA of 1024"};
    for (int mode = 0; mode < 7; mode++) {
        int reps = mode == 0 || mode == 1 || mode == 4 ? 16 : 32;
        double t1 = median([&] { gatom<KIND><<<SMS * 4, 256>>>(g, mode, reps); }, 9),
               t2 = median([&] { gatom<KIND><<<SMS * 4, 256>>>(g, mode, 3 * reps); }, 9);
        double lanes = 2.0 * reps * SMS * 4 * 256 / ((t2 - t1) * MHZ * 1e6);
        out(n, m[mode], lanes, "lane operations/clk of the GPU");
    }
}
// single warp per GPU: latency & interval at one address
template <int KIND>
__global__ void galat(u32* g, u64* o, int reps) {
    u32* p = g + ((KIND & 1) ? threadIdx.x : 0);
    u32 x = 0;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
        asm volatile("atom.global.add.u32 %0,[%1],%2;" : "=r"(x) : "l"(p), "r"(x & 0) : "memory");
        p += x >> 31;
    }
    u64 t1 = clk();
    if (threadIdx.x == 0) o[0] = t1 - t0 + (x == 12345);
}
// ---- 4 DRAM and L2 streams
__global__ void stream(const uint4* __restrict__ a, const uint4* __restrict__ b, uint4* c, uint4* d,
                       u64 n, int rd, int wr, uint4* o) {
    uint4 s = make_uint4(0, 0, 0, 0);
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * (u64)blockDim.x) {
        if (rd > 0) {
            uint4 v = __ldcg(a + i);
            s.x ^= v.x;
            s.y ^= v.y;
            s.z ^= v.z;
            s.w ^= v.w;
        }
        if (rd > 1) {
            uint4 v = __ldcg(b + i);
            s.x ^= v.x;
            s.y ^= v.y;
            s.z ^= v.z;
            s.w ^= v.w;
        }
        if (wr > 0) c[i] = s;
        if (wr > 1) d[i] = s;
    }
    if (s.x == 0x12345678 && s.y == 77) *o = s;
}
__global__ void rep_read(const uint4* a, u64 n, int reps, uint4* o) {
    uint4 s = make_uint4(0, 0, 0, 0);
    for (int r = 0; r < reps; r++)
        for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n;
             i += gridDim.x * (u64)blockDim.x) {
            uint4 v = __ldcg(a + i);
            s.x ^= v.x;
            s.y += v.y;
            s.z ^= v.z;
            s.w ^= v.w;
        }
    if (s.x == 0x12345678 && s.y == 77) *o = s;
}
// ---- 5 chases
__global__ void chase(const u32* next, int steps, u64* o, int cg) {
    u32 p = 0;
    for (int i = 0; i < steps; i++) p = cg ? __ldcg(next + p) : __ldca(next + p);
    u64 t0 = clk();
    for (int i = 0; i < steps; i++) p = cg ? __ldcg(next + p) : __ldca(next + p);
    u64 t1 = clk();
    o[0] = t1 - t0 + (p == 0xffffffff);
    o[1] = p;
}
// ---- 6 sync
__global__ void bars(u64* o, int reps) {
    __syncthreads();
    u64 t0 = clk();
    for (int i = 0; i < reps; i++) asm volatile("bar.sync 0;" ::: "memory");
    u64 t1 = clk();
    if (threadIdx.x == 0) o[0] = t1 - t0;
}
template <int K>
__global__ void fences(u64* o, int reps, u32* g) {
    u64 t0 = clk();
    for (int i = 0; i < reps; i++) {
        if (K == 3 || K == 4)
            asm volatile("st.global.u32 [%0],%1;" ::"l"(g + i % 64), "r"(i) : "memory");
        if (K == 0) asm volatile("membar.cta;" ::: "memory");
        if (K == 1 || K == 3) asm volatile("membar.gl;" ::: "memory");
        if (K == 2 || K == 4) asm volatile("membar.sys;" ::: "memory");
    }
    u64 t1 = clk();
    if (threadIdx.x == 0) o[0] = t1 - t0;
}
__global__ void mbar(u64* o, int reps) {
    __shared__ alignas(8) u64 m;
    u32 a = (u32)__cvta_generic_to_shared(&m);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(a), "r"(blockDim.x) : "memory");
    __syncthreads();
    u64 t0 = clk();
    for (int i = 0; i < reps; i++) {
        u64 st;
        asm volatile("mbarrier.arrive.shared.b64 %0,[%1];" : "=l"(st) : "r"(a) : "memory");
        u32 ok = 0;
        while (!ok)
            asm volatile(
                "{.reg .pred p; mbarrier.try_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                : "=r"(ok)
                : "r"(a), "l"(st)
                : "memory");
    }
    u64 t1 = clk();
    if (threadIdx.x == 0) o[0] = t1 - t0;
}
// ---- 7 bulk copies
__global__ void bulkin(const char* g, u64* o, int bytes, int reps, int depth) {
    extern __shared__ __align__(128) char sm[];
    __shared__ alignas(8) u64 m;
    u32 a = (u32)__cvta_generic_to_shared(&m), d = (u32)__cvta_generic_to_shared(sm);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(a) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x) return;
    const char* p = g + (u64)blockIdx.x * bytes * depth;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
        u64 st;
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0,[%1],%2;"
                     : "=l"(st)
                     : "r"(a), "r"(bytes * depth)
                     : "memory");
        for (int k = 0; k < depth; k++)
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%0],[%1],%2,[%3];" ::"r"(d + k * bytes),
                "l"(p + k * bytes), "r"(bytes), "r"(a)
                : "memory");
        u32 ok = 0;
        while (!ok)
            asm volatile(
                "{.reg .pred p; mbarrier.try_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                : "=r"(ok)
                : "r"(a), "l"(st)
                : "memory");
    }
    u64 t1 = clk();
    o[blockIdx.x] = t1 - t0;
}
__global__ void bulkout(char* g, u64* o, int bytes, int reps, int depth) {
    extern __shared__ __align__(128) char sm[];
    u32 d = (u32)__cvta_generic_to_shared(sm);
    if (threadIdx.x) return;
    char* p = g + (u64)blockIdx.x * bytes * depth;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
        for (int k = 0; k < depth; k++)
            asm volatile(
                "cp.async.bulk.global.shared::cta.bulk_group [%0],[%1],%2;" ::"l"(p + k * bytes),
                "r"(d + k * bytes), "r"(bytes)
                : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
    u64 t1 = clk();
    o[blockIdx.x] = t1 - t0;
}
__global__ void tmabox(const __grid_constant__ CUtensorMap map, u64* o, int rows, int rowbytes,
                       int reps, int depth) {
    extern __shared__ __align__(1024) char sm[];
    __shared__ alignas(8) u64 m;
    u32 a = (u32)__cvta_generic_to_shared(&m), d = (u32)__cvta_generic_to_shared(sm);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0],1;" ::"r"(a) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x) return;
    int bytes = rows * rowbytes;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
        u64 st;
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0,[%1],%2;"
                     : "=l"(st)
                     : "r"(a), "r"(bytes * depth)
                     : "memory");
        for (int k = 0; k < depth; k++)
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                "[%0],[%1,{%2,%3}],[%4];" ::"r"(d + k * bytes),
                "l"(&map), "r"(0), "r"((int)(blockIdx.x * depth + k) * rows), "r"(a)
                : "memory");
        u32 ok = 0;
        while (!ok)
            asm volatile(
                "{.reg .pred p; mbarrier.try_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                : "=r"(ok)
                : "r"(a), "l"(st)
                : "memory");
    }
    u64 t1 = clk();
    o[blockIdx.x] = t1 - t0;
}
// ---- 8 launches
__global__ void empty() {}
__global__ void tiny(u32* g) {
    if (g && threadIdx.x > 5000) g[0] = 1;
}
// ---- 9 dsmem
__global__ void __cluster_dims__(2, 1, 1) dsm(u64* o, int reps, int wide) {
    __shared__ u32 s[4096];
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) s[i] = 0;
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    u32 a = (u32)__cvta_generic_to_shared(s), r;
    u32 rank;
    asm volatile("mov.u32 %0,%%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0,%1,%2;" : "=r"(r) : "r"(a), "r"(rank ^ 1));
    u64 t0 = 0, t1 = 0;
    if (!wide) {
        if (threadIdx.x == 0) {
            u32 x = 0;
            t0 = clk();
            for (int i = 0; i < reps; i++)
                asm volatile("ld.volatile.shared::cluster.u32 %0,[%1];"
                             : "=r"(x)
                             : "r"(r + x)
                             : "memory");
            t1 = clk();
            o[blockIdx.x] = t1 - t0 + (x == 99);
        }
    } else {
        u32 q = r + threadIdx.x * 16 % 16384;
        u32 x, y, z, w, acc = 0;
        __syncthreads();
        t0 = clk();
        for (int i = 0; i < reps; i++) {
#pragma unroll
            for (int k = 0; k < 8; k++) {
                asm volatile("ld.volatile.shared::cluster.v4.u32 {%0,%1,%2,%3},[%4];"
                             : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                             : "r"(q)
                             : "memory");
                acc += x ^ y ^ z ^ w;
            }
        }
        __syncthreads();
        t1 = clk();
        if (threadIdx.x == 0) o[blockIdx.x] = t1 - t0 + (acc == 99);
    }
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
int main(int argc, char** argv) {
    cudaDeviceProp pr;
    CK(cudaGetDeviceProperties(&pr, 0));
    SMS = pr.multiProcessorCount;
    printf("name,parameter,value,unit\n# %s, %d SMs\n", pr.name, SMS);
    u64* d;
    CK(cudaMalloc(&d, 1 << 20));
    u32* g;
    size_t G = (size_t)6 << 30;
    CK(cudaMalloc(&g, G));
    CK(cudaMemset(g, 0, G));
    for (int i = 0; i < 50; i++)
        stream<<<SMS * 8, 512>>>((uint4*)g, (uint4*)g, (uint4*)g + (1 << 26), (uint4*)g, 1 << 26, 1,
                                 1, (uint4*)d);
    CK(cudaDeviceSynchronize());
    // shared atomics
    satoms<0>("red.shared.add.u32 of 1", d);
    satoms<1>("red.shared.add.u32", d);
    satoms<2>("atom.shared.add.u32", d);
    satoms<3>("red.shared.max.u32", d);
    satoms<4>("atom.shared.add.f32", d);
    satoms<5>("st.shared", d);
    satoms<6>("atom.shared.exch", d);
    satoms<7>("atom.shared.cas", d);
    // global atomics
    gatoms<0>("red.global.add.u32", g);
    gatoms<1>("red.global.add.f32", g);
    gatoms<2>("atom.global.add.u32", g);
    gatoms<3>("st.global", g);
    gatoms<4>("red.global.add.f64", g);
    gatoms<5>("atom.global.cas", g);
    gatoms<6>("red.global.max.u32", g);
    for (int k = 0; k < 2; k++) {
        u64 h[2];
        for (int j = 0; j < 2; j++) {
            if (k)
                galat<1><<<1, 32>>>(g, d, j ? 64 : 32);
            else
                galat<0><<<1, 1>>>(g, d, j ? 64 : 32);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        out("atom.global.add latency", k ? "a warp" : "a thread", (h[1] - h[0]) / 32.0, "clk");
    }
    // dram
    {
        u64 n = (u64)1 << 26;
        uint4 *a = (uint4*)g, *b = a + n, *c = b + n, *e = c + n;
        int cs[][2] = {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {1, 1}, {2, 1}, {1, 2}};
        for (auto& x : cs) {
            double t =
                median([&] { stream<<<SMS * 8, 512>>>(a, b, c, e, n, x[0], x[1], (uint4*)d); }, 11);
            char p[32];
            snprintf(p, 32, "%d reads %d writes", x[0], x[1]);
            out("dram", p, (x[0] + x[1]) * n * 16 / t / 1e9, "GB/s");
        }
    }
    // L2 read bandwidth by size
    for (int mb : {1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80, 128}) {
        u64 n = (u64)mb << 16;
        int reps = std::max(4, 512 / mb);
        double t1 = median([&] { rep_read<<<SMS * 4, 512>>>((uint4*)g, n, reps, (uint4*)d); }, 7),
               t2 = median([&] { rep_read<<<SMS * 4, 512>>>((uint4*)g, n, 2 * reps, (uint4*)d); },
                           7);
        outi("read again and again, MB", mb, reps * n * 16.0 / ((t2 - t1) * MHZ * 1e6),
             "bytes/clk of the GPU");
    }
    // chases
    auto fill = [&](u64 bytes, u64 stride, bool shuffle) {
        u64 n = bytes / stride;
        std::vector<u32> idx(n);
        for (u64 i = 0; i < n; i++) idx[i] = i;
        if (shuffle) {
            u64 s = 88172645463325252ull;
            for (u64 i = n - 1; i > 0; i--) {
                s ^= s << 13;
                s ^= s >> 7;
                s ^= s << 17;
                std::swap(idx[i], idx[s % (i + 1)]);
            }
        }
        std::vector<u32> buf(bytes / 4, 0);
        for (u64 i = 0; i < n; i++) buf[idx[i] * stride / 4] = idx[(i + 1) % n] * stride / 4;
        CK(cudaMemcpy(g, buf.data(), bytes, cudaMemcpyHostToDevice));
        return n;
    };
    cudaFuncSetAttribute(chase, cudaFuncAttributePreferredSharedMemoryCarveout, 0);
    for (int kb : {16, 64, 128, 192, 208, 216, 224, 232, 240, 248, 256, 288, 320, 512})
        for (int sh = 0; sh < 2; sh++) {
            u64 n = fill((u64)kb << 10, 128, sh);
            u64 h;
            chase<<<1, 1>>>(g, (int)n * 2, d, 0);
            CK(cudaMemcpy(&h, d, 8, cudaMemcpyDeviceToHost));
            char p[32];
            snprintf(p, 32, "%d KB %s", kb, sh ? "shuffled" : "in order");
            out("chase ld.ca stride 128", p, h / (2.0 * n), "clk");
        }
    for (int kb : {64, 128, 192, 208, 216, 224, 232, 240, 248, 256, 320})
        for (int sh = 0; sh < 1; sh++) {
            u64 n = fill((u64)kb << 10, 32, 0);
            u64 h;
            chase<<<1, 1>>>(g, (int)n * 2, d, 0);
            CK(cudaMemcpy(&h, d, 8, cudaMemcpyDeviceToHost));
            outi("chase ld.ca stride 32, in order, KB", kb, h / (2.0 * n), "clk");
        }
    for (int mb : {1, 4, 16, 24, 28, 32, 40, 48, 56, 60, 64, 80, 128, 256, 1024, 3072}) {
        u64 st = mb <= 64 ? 128 : 4096 + 128;
        u64 n = fill((u64)mb << 20, st, 1);
        u64 h;
        chase<<<1, 1>>>(g, (int)std::min<u64>(n, 1000000), d, 1);
        CK(cudaMemcpy(&h, d, 8, cudaMemcpyDeviceToHost));
        outi("chase ld.cg shuffled, MB", mb, h / (double)std::min<u64>(n, 1000000), "clk");
    }
    // sync
    for (int w : {1, 2, 4, 8, 16, 32}) {
        u64 h[2];
        for (int j = 0; j < 2; j++) {
            bars<<<1, 32 * w>>>(d, j ? 200 : 100);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        outi("bar.sync, warps", w, (h[1] - h[0]) / 100.0, "clk");
        for (int j = 0; j < 2; j++) {
            mbar<<<1, 32 * w>>>(d, j ? 200 : 100);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        outi("mbarrier arrive and wait, warps", w, (h[1] - h[0]) / 100.0, "clk");
    }
    {
        u64 h[2];
#define FE(K, N)                                             \
    for (int j = 0; j < 2; j++) {                            \
        fences<K><<<1, 32>>>(d, j ? 200 : 100, g);           \
        CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost)); \
    }                                                        \
    out("fence", N, (h[1] - h[0]) / 100.0, "clk");
        FE(0, "cta") FE(1, "gpu") FE(2, "system") FE(3, "store and gpu") FE(4, "store and system")
    }
    // bulk
    cudaFuncSetAttribute(bulkin, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    cudaFuncSetAttribute(bulkout, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    cudaFuncSetAttribute(tmabox, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10);
    for (int by : {16, 64, 128, 512, 2048, 8192, 16384})
        for (int dep : {1, 8}) {
            for (int out_ = 0; out_ < 2; out_++)
                for (int ctas : {1, SMS}) {
                    u64 h[2];
                    std::vector<u64> hh(ctas);
                    for (int j = 0; j < 2; j++) {
                        int reps = j ? 40 : 20;
                        if (out_)
                            bulkout<<<ctas, 32, (size_t)by * dep>>>((char*)g, d, by, reps, dep);
                        else
                            bulkin<<<ctas, 32, (size_t)by * dep>>>((char*)g, d, by, reps, dep);
                        CK(cudaMemcpy(hh.data(), d, 8 * ctas, cudaMemcpyDeviceToHost));
                        h[j] = *std::max_element(hh.begin(), hh.end());
                    }
                    char p[48];
                    snprintf(p, 48, "%d x %d bytes, %d CTAs", dep, by, ctas);
                    out(out_ ? "bulk shared to global" : "bulk global to shared", p,
                        (h[1] - h[0]) / 20.0, "clk");
                }
        }
    {
        typedef CUresult (*Enc)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
        void* fn;
        cudaDriverEntryPointQueryResult q;
        CK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &fn, cudaEnableDefault, &q));
        Enc enc = (Enc)fn;
        for (int rb : {16, 32, 64, 128})
            for (int pitchx : {1, 16})
                for (int dep : {1, 8}) {
                    CUtensorMap m;
                    int rows = 128;
                    cuuint64_t dim[2] = {(cuuint64_t)rb / 2, 1 << 20};
                    cuuint64_t str[1] = {(cuuint64_t)rb * pitchx};
                    cuuint32_t box[2] = {(cuuint32_t)rb / 2, (cuuint32_t)rows}, es[2] = {1, 1};
                    if (enc(&m, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, g, dim, str, box, es,
                            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                            CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)) {
                        fprintf(stderr, "enc\n");
                        continue;
                    }
                    for (int ctas : {1, SMS}) {
                        u64 h[2];
                        std::vector<u64> hh(ctas);
                        for (int j = 0; j < 2; j++) {
                            int reps = j ? 40 : 20;
                            tmabox<<<ctas, 32, (size_t)rb * rows * dep + 1024>>>(m, d, rows, rb,
                                                                                 reps, dep);
                            CK(cudaMemcpy(hh.data(), d, 8 * ctas, cudaMemcpyDeviceToHost));
                            h[j] = *std::max_element(hh.begin(), hh.end());
                        }
                        char p[64];
                        snprintf(p, 64, "%d boxes of 128 rows of %d B pitch %d B; %d CTAs", dep, rb,
                                 rb * pitchx, ctas);
                        out("tensor box global to shared", p, (h[1] - h[0]) / 20.0, "clk");
                    }
                }
    }
    // dsmem
    {
        u64 h[2];
        for (int j = 0; j < 2; j++) {
            dsm<<<2, 32>>>(d, j ? 200 : 100, 0);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        out("dsmem", "latency", (h[1] - h[0]) / 100.0, "clk");
        for (int w : {4, 32}) {
            for (int j = 0; j < 2; j++) {
                dsm<<<2, 32 * w>>>(d, j ? 100 : 50, 1);
                CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
            }
            char p[32];
            snprintf(p, 32, "bytes/clk, %d warps", w);
            out("dsmem", p, 50.0 * 8 * 16 * 32 * w / (h[1] - h[0]), "bytes/clk of an SM");
        }
        for (int w : {4, 32}) {
            for (int j = 0; j < 2; j++) {
                dsm<<<SMS, 32 * w>>>(d, j ? 100 : 50, 1);
                CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
            }
            char p[32];
            snprintf(p, 32, "all SMs, %d warps", w);
            out("dsmem", p, 50.0 * 8 * 16 * 32 * w / (h[1] - h[0]), "bytes/clk of an SM");
        }
    }
    // launches
    {
        double e = median([&] {}, 31);
        out("events", "nothing between", e * 1e6, "us");
        e = median([&] { empty<<<1, 32>>>(); }, 31);
        out("events", "one empty kernel", e * 1e6, "us");
        for (int n : {10, 100, 1000}) {
            double t = median(
                [&] {
                    for (int i = 0; i < n; i++) empty<<<1, 32>>>();
                },
                11);
            outi("empty kernels in a row", n, t * 1e6 / n, "us each");
        }
        for (int ctas : {132, 1056}) {
            double t = median(
                [&] {
                    for (int i = 0; i < 200; i++) empty<<<ctas, 256>>>();
                },
                11);
            outi("200 empty kernels of 256 threads, CTAs", ctas, t * 1e6 / 200, "us each");
        }
        cudaStream_t s;
        CK(cudaStreamCreate(&s));
        for (int n : {1, 2, 10, 100}) {
            cudaGraph_t gr;
            cudaGraphExec_t ge;
            CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
            for (int i = 0; i < n; i++) empty<<<1, 32, 0, s>>>();
            CK(cudaStreamEndCapture(s, &gr));
            CK(cudaGraphInstantiate(&ge, gr, 0));
            cudaEvent_t a, b;
            cudaEventCreate(&a);
            cudaEventCreate(&b);
            std::vector<float> t;
            for (int i = 0; i < 21; i++) {
                cudaEventRecord(a, s);
                cudaGraphLaunch(ge, s);
                cudaEventRecord(b, s);
                cudaEventSynchronize(b);
                float ms;
                cudaEventElapsedTime(&ms, a, b);
                t.push_back(ms);
            }
            std::sort(t.begin(), t.end());
            outi("graph of empty kernels", n, t[10] * 1e3, "us in all");
        }
        for (int th : {32, 128, 256, 512, 1024})
            for (int per : {64, 512}) {
                double t1 = median([&] { tiny<<<SMS * per, th>>>(nullptr); }, 11),
                       t2 = median([&] { tiny<<<SMS * per * 2, th>>>(nullptr); }, 11);
                char p[40];
                snprintf(p, 40, "%d threads, %d CTAs an SM", th, per);
                out("tiny CTAs", p, (t2 - t1) * MHZ * 1e6 / per, "clk of an SM for a CTA");
            }
    }
    // number of CTAs of a stream of copies (grid-stride-free): each CTA copies the same amount
    return 0;
}
