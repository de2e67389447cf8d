// What the microbenchmarks share: errors, clocks, lines of CSV, and times between two events.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CK(x)                                                                          \
    do {                                                                               \
        cudaError_t e_ = (x);                                                          \
        if (e_ != cudaSuccess) {                                                       \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)
typedef unsigned long long u64;
typedef unsigned u32;
__device__ __forceinline__ u64 clk() {
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
    return t;
}
static inline void out(const char* n, const char* p, double v, const char* u) {
    printf("%s,%s,%.6g,%s\n", n, p, v, u);
    fflush(stdout);
}
static inline void outi(const char* n, long p, double v, const char* u) {
    char b[32];
    snprintf(b, 32, "%ld", p);
    out(n, b, v, u);
}
static int SMS;
// The median of n times of f, in seconds. Each starts after what `pre` launched.
template <class F>
double median(F f, int n = 15, void (*pre)() = nullptr) {
    cudaEvent_t a, b;
    CK(cudaEventCreate(&a));
    CK(cudaEventCreate(&b));
    std::vector<float> t;
    for (int i = 0; i < n; i++) {
        if (pre) pre();
        CK(cudaEventRecord(a));
        f();
        CK(cudaEventRecord(b));
        CK(cudaEventSynchronize(b));
        float ms;
        CK(cudaEventElapsedTime(&ms, a, b));
        t.push_back(ms);
    }
    CK(cudaGetLastError());
    std::sort(t.begin(), t.end());
    return t[n / 2] * 1e-3;
}
