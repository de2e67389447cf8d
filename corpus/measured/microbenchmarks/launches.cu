// Events behind other work, stores of parts of sectors, loads of constants by index, reads of the
// L2. Prints lines of CSV: benchmark, parameter, value, unit. With an argument it launches the
// kernels whose counters Nsight Compute reads.
#include "bench.cuh"
__global__ void spin(u64 n) {
    u64 t = clk();
    while (clk() - t < n);
}
// The median of n times of f behind other work, so that the host's own time is not seen.
template <class F>
double busy(F f, int n = 41) {
    return median(f, n, [] { spin<<<1, 32>>>(200000); });
}
__global__ void empty() {}
__global__ void one(u32* g) { g[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
template <int V>
__global__ void st(u32* g, u64 mask, u64 pitch, int per) {
    u64 t = blockIdx.x * (u64)blockDim.x + threadIdx.x, n = gridDim.x * (u64)blockDim.x;
    for (int k = 0; k < per; k++) {
        u64 b = ((t + k * n) * pitch) & mask;
        u32* p = (u32*)((char*)g + b);
        if (V == 1) asm volatile("st.global.u32 [%0],%1;" ::"l"(p), "r"(k) : "memory");
        if (V == 4)
            asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" ::"l"(p), "r"(k) : "memory");
        if (V == 8) {
            asm volatile("st.global.v4.u32 [%0],{%1,%1,%1,%1};" ::"l"(p), "r"(k) : "memory");
            asm volatile("st.global.v4.u32 [%0+16],{%1,%1,%1,%1};" ::"l"(p), "r"(k) : "memory");
        }
    }
}
template <int V>
void strun(u32* g, u64 mb, u64 pitch) {
    int per = 16;
    u64 need = (mb << 20) / pitch / per;
    st<V><<<(int)(need / 256), 256>>>(g, (mb << 20) - 1, pitch, per);
    CK(cudaDeviceSynchronize());
}
template <int V>
void sttime(const char* n, u32* g, u64 mb, u64 pitch) {
    int per = 16;
    u64 need = (mb << 20) / pitch / per;
    double t = busy([&] { st<V><<<(int)(need / 256), 256>>>(g, (mb << 20) - 1, pitch, per); }, 11);
    char p[80];
    snprintf(p, 80, "%s; pitch %llu in %llu MB", n, pitch, mb);
    out("stores, queue busy", p, t * 1e6, "us");
}
__constant__ u32 table[4096];
// constant loads by index: uniform over the warp, each warp walks; U independent per step
__global__ void ldc(u64* o, int reps, u32 mask, int stride) {
    u32 a = 0, i = threadIdx.x >> 5;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
#pragma unroll
        for (int k = 0; k < 16; k++) {
            a += table[(i + k * stride) & mask];
        }
        i += a & 1;
    }
    __syncthreads();
    u64 t1 = clk();
    if (threadIdx.x == 0) o[blockIdx.x] = t1 - t0;
    if (a == 0x1234567) o[1] = a;
}
// L2 reads with many in flight
template <int U>
__global__ void __launch_bounds__(512) l2r(const uint4* a, u64 n, int reps, uint4* o) {
    uint4 s = make_uint4(0, 0, 0, 0);
    u64 T = gridDim.x * (u64)blockDim.x;
    for (int r = 0; r < reps; r++)
        for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += T * U) {
            uint4 v[U];
#pragma unroll
            for (int u = 0; u < U; u++) v[u] = __ldcg(a + (i + u * T < n ? i + u * T : 0));
#pragma unroll
            for (int u = 0; u < U; u++) {
                s.x ^= v[u].x;
                s.y += v[u].y;
                s.z ^= v[u].z;
                s.w ^= v[u].w;
            }
        }
    if (s.x == 0x12345678 && s.y == 77) *o = s;
}
template <int U>
void l2run(u32* g, u64* d, int mb) {
    u64 n = (u64)mb << 16;
    int reps = std::max(4, 512 / mb);
    double t1 = busy([&] { l2r<U><<<SMS * 4, 512>>>((uint4*)g, n, reps, (uint4*)d); }, 7),
           t2 = busy([&] { l2r<U><<<SMS * 4, 512>>>((uint4*)g, n, 2 * reps, (uint4*)d); }, 7);
    char p[48];
    snprintf(p, 48, "%d MB, %d loads in flight a thread", mb, U);
    out("L2 reads", p, reps * n * 16.0 / (t2 - t1) / 1e9, "GB/s");
}
__global__ void fma3(u64* o, int reps, float s) {
    float a[8];
    for (int i = 0; i < 8; i++) a[i] = s * i + threadIdx.x;
    float b = s * 1.5f, c = s + 2;
    u64 t0 = clk();
    for (int r = 0; r < reps; r++) {
#pragma unroll
        for (int k = 0; k < 8; k++) {
#pragma unroll
            for (int i = 0; i < 8; i++) a[i] = fmaf(a[i], b, c);
        }
    }
    __syncthreads();
    u64 t1 = clk();
    float q = 0;
    for (int i = 0; i < 8; i++) q += a[i];
    if (threadIdx.x == 0) o[blockIdx.x] = t1 - t0 + (q == 1.25f);
}
int main(int argc, char** argv) {
    cudaDeviceProp pr;
    CK(cudaGetDeviceProperties(&pr, 0));
    SMS = pr.multiProcessorCount;
    u64* d;
    CK(cudaMalloc(&d, 1 << 20));
    u32* g;
    size_t G = (size_t)2 << 30;
    CK(cudaMalloc(&g, G));
    CK(cudaMemset(g, 0, G));
    if (argc > 1) {
        empty<<<1, 32>>>();
        empty<<<SMS, 256>>>();
        one<<<SMS * 8, 256>>>(g);
        strun<1>(g, 1024, 4);
        strun<1>(g, 1024, 8);
        strun<1>(g, 1024, 32);
        strun<4>(g, 1024, 16);
        strun<8>(g, 1024, 32);
        strun<1>(g, 16, 4);
        strun<1>(g, 16, 32);
        strun<8>(g, 16, 32);
        return 0;
    }
    printf("benchmark,parameter,value,unit\n# %s\n", pr.name);
    out("events, queue busy", "nothing between", busy([] {}) * 1e6, "us");
    out("events, queue busy", "one empty kernel of a warp", busy([] { empty<<<1, 32>>>(); }) * 1e6,
        "us");
    out("events, queue busy", "one empty kernel of 132 x 256",
        busy([] { empty<<<132, 256>>>(); }) * 1e6, "us");
    out("events, queue busy", "two empty kernels", busy([] {
                                                       empty<<<1, 32>>>();
                                                       empty<<<1, 32>>>();
                                                   }) * 1e6,
        "us");
    out("events, queue busy", "ten empty kernels", busy([] {
                                                       for (int i = 0; i < 10; i++)
                                                           empty<<<1, 32>>>();
                                                   }) * 1e6,
        "us");
    out("events, queue busy", "one store each, 1056 x 256",
        busy([&] { one<<<1056, 256>>>(g); }) * 1e6, "us");
    for (u64 mb : {4, 16, 1024}) {
        sttime<1>("one word", g, mb, 4);
        sttime<1>("one word", g, mb, 8);
        sttime<1>("one word", g, mb, 32);
        sttime<4>("four words", g, mb, 16);
        sttime<8>("eight words by two stores", g, mb, 32);
    }
    for (int w : {1, 4, 16, 32})
        for (int st : {1, 0, 64}) {
            u64 h[2];
            for (int j = 0; j < 2; j++) {
                ldc<<<1, 32 * w>>>(d, j ? 200 : 100, 1023, st);
                CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
            }
            char p[64];
            snprintf(p, 64, "%d warps, stride %d words", w, st);
            out("indexed constant loads", p, (h[1] - h[0]) / (100.0 * 16 * w),
                "clk/warp-instruction of an SM");
        }
    for (int mb : {4, 8, 16, 24, 40}) {
        l2run<1>(g, d, mb);
        l2run<2>(g, d, mb);
        l2run<4>(g, d, mb);
        l2run<8>(g, d, mb);
    }
    for (int w : {4, 8, 16, 32}) {
        u64 h[2];
        for (int j = 0; j < 2; j++) {
            fma3<<<1, 32 * w>>>(d, j ? 128 : 64, 1.5f);
            CK(cudaMemcpy(&h[j], d, 8, cudaMemcpyDeviceToHost));
        }
        char p[32];
        snprintf(p, 32, "%d warps", w);
        out("fma.f32", p, 64.0 * 64 * 32 * w / (h[1] - h[0]), "lanes/clk of an SM");
    }
    return 0;
}
