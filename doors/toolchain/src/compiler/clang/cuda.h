// CUDA's words for clang on a machine that has none of NVIDIA's headers: what kernels of lessons
// and of most small programs use. Results of mathematics are within a few units in the last place;
// their instructions are not nvcc's. See docs/kernels.md.
#pragma once

#include <__clang_cuda_builtin_vars.h>
// Headers that nvcc includes by itself; clang has them where the host has none.
#include <float.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __managed__ __attribute__((device))
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000

// Without lines of their own: what they do is done by the line that calls them.
#define GPUCAST_DEVICE static __inline__ __attribute__((always_inline, nodebug, device))
#define GPUCAST_BOTH static __inline__ __attribute__((always_inline, nodebug, host, device))

// Types

#define GPUCAST_VECTORS(scalar, name, pair, quad)                                                  \
    struct name##1 { scalar x; };                                                                  \
    struct __align__(pair) name##2 { scalar x, y; };                                               \
    struct name##3 { scalar x, y, z; };                                                            \
    struct __align__(quad) name##4 { scalar x, y, z, w; };                                         \
    GPUCAST_BOTH name##1 make_##name##1(scalar x) { return {x}; }                                  \
    GPUCAST_BOTH name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }                     \
    GPUCAST_BOTH name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; }        \
    GPUCAST_BOTH name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w)                    \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }
GPUCAST_VECTORS(signed char, char, 2, 4)
GPUCAST_VECTORS(unsigned char, uchar, 2, 4)
GPUCAST_VECTORS(short, short, 4, 8)
GPUCAST_VECTORS(unsigned short, ushort, 4, 8)
GPUCAST_VECTORS(int, int, 8, 16)
GPUCAST_VECTORS(unsigned int, uint, 8, 16)
GPUCAST_VECTORS(long, long, 16, 16)
GPUCAST_VECTORS(unsigned long, ulong, 16, 16)
GPUCAST_VECTORS(long long, longlong, 16, 16)
GPUCAST_VECTORS(unsigned long long, ulonglong, 16, 16)
GPUCAST_VECTORS(float, float, 8, 16)
GPUCAST_VECTORS(double, double, 16, 16)

struct dim3 {
    unsigned x, y, z;
    __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    __host__ __device__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ operator uint3() const { return {x, y, z}; }
};
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
typedef unsigned char uchar;

// clang's variables convert themselves to these types.
__device__ inline __cuda_builtin_threadIdx_t::operator uint3() const { return {x, y, z}; }
__device__ inline __cuda_builtin_blockIdx_t::operator uint3() const { return {x, y, z}; }
__device__ inline __cuda_builtin_blockDim_t::operator dim3() const { return dim3(x, y, z); }
__device__ inline __cuda_builtin_gridDim_t::operator dim3() const { return dim3(x, y, z); }

// Barriers, fences, votes and shuffles

#if !__has_builtin(__syncthreads)
GPUCAST_DEVICE void __syncthreads() { asm volatile("bar.sync 0;" ::: "memory"); }
#endif
GPUCAST_DEVICE void __syncwarp(unsigned mask = 0xffffffff)
{
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}
#define GPUCAST_BARRIER(name, instruction)                                                         \
    GPUCAST_DEVICE int name(int predicate)                                                         \
    {                                                                                              \
        int all;                                                                                   \
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; " instruction " }"                     \
                     : "=r"(all) : "r"(predicate) : "memory");                                     \
        return all;                                                                                \
    }
GPUCAST_BARRIER(__syncthreads_or, "bar.red.or.pred p, 0, p; selp.s32 %0, 1, 0, p;")
GPUCAST_BARRIER(__syncthreads_and, "bar.red.and.pred p, 0, p; selp.s32 %0, 1, 0, p;")
GPUCAST_BARRIER(__syncthreads_count, "bar.red.popc.u32 %0, 0, p;")
GPUCAST_DEVICE void __threadfence() { asm volatile("membar.gl;" ::: "memory"); }
GPUCAST_DEVICE void __threadfence_block() { asm volatile("membar.cta;" ::: "memory"); }
GPUCAST_DEVICE void __threadfence_system() { asm volatile("membar.sys;" ::: "memory"); }
GPUCAST_DEVICE unsigned __activemask()
{
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
#define GPUCAST_VOTE(type, name, instruction)                                                      \
    GPUCAST_DEVICE type name(unsigned mask, int predicate)                                         \
    {                                                                                              \
        type all;                                                                                  \
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; " instruction " }"                     \
                     : "=r"(all) : "r"(predicate), "r"(mask));                                     \
        return all;                                                                                \
    }
GPUCAST_VOTE(unsigned, __ballot_sync, "vote.sync.ballot.b32 %0, p, %2;")
GPUCAST_VOTE(int, __any_sync, "vote.sync.any.pred p, p, %2; selp.s32 %0, 1, 0, p;")
GPUCAST_VOTE(int, __all_sync, "vote.sync.all.pred p, p, %2; selp.s32 %0, 1, 0, p;")

#define GPUCAST_SHUFFLE_OF_WORDS(name, mode, second, bound)                                        \
    GPUCAST_DEVICE unsigned __gpucast_##name(unsigned mask, unsigned value, second lane, int width) \
    {                                                                                              \
        unsigned got, limit = ((32 - width) << 8) | bound;                                         \
        asm volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, %4;"                                  \
                     : "=r"(got) : "r"(value), "r"(lane), "r"(limit), "r"(mask));                  \
        return got;                                                                                \
    }                                                                                              \
    GPUCAST_DEVICE int name(unsigned mask, int value, second lane, int width = 32)                 \
    {                                                                                              \
        return (int)__gpucast_##name(mask, (unsigned)value, lane, width);                          \
    }                                                                                              \
    GPUCAST_DEVICE unsigned name(unsigned mask, unsigned value, second lane, int width = 32)       \
    {                                                                                              \
        return __gpucast_##name(mask, value, lane, width);                                         \
    }                                                                                              \
    GPUCAST_DEVICE float name(unsigned mask, float value, second lane, int width = 32)             \
    {                                                                                              \
        return __uint_as_float(__gpucast_##name(mask, __float_as_uint(value), lane, width));       \
    }                                                                                              \
    GPUCAST_DEVICE unsigned long long name(unsigned mask, unsigned long long value, second lane,   \
                                           int width = 32)                                         \
    {                                                                                              \
        unsigned low = __gpucast_##name(mask, (unsigned)value, lane, width);                       \
        unsigned high = __gpucast_##name(mask, (unsigned)(value >> 32), lane, width);              \
        return (unsigned long long)high << 32 | low;                                               \
    }                                                                                              \
    GPUCAST_DEVICE long long name(unsigned mask, long long value, second lane, int width = 32)     \
    {                                                                                              \
        return (long long)name(mask, (unsigned long long)value, lane, width);                      \
    }                                                                                              \
    GPUCAST_DEVICE double name(unsigned mask, double value, second lane, int width = 32)           \
    {                                                                                              \
        return __longlong_as_double(name(mask, __double_as_longlong(value), lane, width));         \
    }

// Bits

#define GPUCAST_SAME_BITS(to, from, name)                                                          \
    GPUCAST_BOTH to name(from value)                                                               \
    {                                                                                              \
        to same;                                                                                   \
        __builtin_memcpy(&same, &value, sizeof(same));                                             \
        return same;                                                                               \
    }
GPUCAST_SAME_BITS(int, float, __float_as_int)
GPUCAST_SAME_BITS(unsigned, float, __float_as_uint)
GPUCAST_SAME_BITS(float, int, __int_as_float)
GPUCAST_SAME_BITS(float, unsigned, __uint_as_float)
GPUCAST_SAME_BITS(long long, double, __double_as_longlong)
GPUCAST_SAME_BITS(double, long long, __longlong_as_double)

GPUCAST_SHUFFLE_OF_WORDS(__shfl_sync, "idx", int, 0x1f)
GPUCAST_SHUFFLE_OF_WORDS(__shfl_up_sync, "up", unsigned, 0x00)
GPUCAST_SHUFFLE_OF_WORDS(__shfl_down_sync, "down", unsigned, 0x1f)
GPUCAST_SHUFFLE_OF_WORDS(__shfl_xor_sync, "bfly", int, 0x1f)

GPUCAST_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
GPUCAST_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
GPUCAST_DEVICE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
GPUCAST_DEVICE int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
GPUCAST_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
GPUCAST_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
GPUCAST_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
GPUCAST_DEVICE unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}
GPUCAST_DEVICE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
GPUCAST_DEVICE int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
GPUCAST_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned selector)
{
    unsigned chosen;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(chosen) : "r"(a), "r"(b), "r"(selector));
    return chosen;
}
GPUCAST_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    unsigned shifted;
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(shifted) : "r"(low), "r"(high), "r"(shift));
    return shifted;
}
GPUCAST_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    unsigned shifted;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(shifted) : "r"(low), "r"(high), "r"(shift));
    return shifted;
}

// Memory

template <class T> GPUCAST_DEVICE T __ldg(const T *address) { return *address; }
GPUCAST_DEVICE long long clock64()
{
    long long clocks;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(clocks)::"memory");
    return clocks;
}
GPUCAST_DEVICE int clock()
{
    int clocks;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clocks)::"memory");
    return clocks;
}

#define GPUCAST_ATOMIC(name, type, order)                                                          \
    GPUCAST_DEVICE type name(type *address, type value) { return order(address, value); }
GPUCAST_ATOMIC(atomicAdd, int, __nvvm_atom_add_gen_i)
GPUCAST_ATOMIC(atomicExch, int, __nvvm_atom_xchg_gen_i)
GPUCAST_ATOMIC(atomicMin, int, __nvvm_atom_min_gen_i)
GPUCAST_ATOMIC(atomicMax, int, __nvvm_atom_max_gen_i)
GPUCAST_ATOMIC(atomicAnd, int, __nvvm_atom_and_gen_i)
GPUCAST_ATOMIC(atomicOr, int, __nvvm_atom_or_gen_i)
GPUCAST_ATOMIC(atomicXor, int, __nvvm_atom_xor_gen_i)
GPUCAST_ATOMIC(atomicMin, unsigned, __nvvm_atom_min_gen_ui)
GPUCAST_ATOMIC(atomicMax, unsigned, __nvvm_atom_max_gen_ui)
GPUCAST_ATOMIC(atomicInc, unsigned, __nvvm_atom_inc_gen_ui)
GPUCAST_ATOMIC(atomicDec, unsigned, __nvvm_atom_dec_gen_ui)
GPUCAST_ATOMIC(atomicAdd, float, __nvvm_atom_add_gen_f)
GPUCAST_ATOMIC(atomicAdd, double, __nvvm_atom_add_gen_d)
GPUCAST_ATOMIC(atomicMin, long long, __nvvm_atom_min_gen_ll)
GPUCAST_ATOMIC(atomicMax, long long, __nvvm_atom_max_gen_ll)
GPUCAST_ATOMIC(atomicMin, unsigned long long, __nvvm_atom_min_gen_ull)
GPUCAST_ATOMIC(atomicMax, unsigned long long, __nvvm_atom_max_gen_ull)
// The bits of these are the same for both signs.
#define GPUCAST_UNSIGNED_ATOMIC(name, type, same, order)                                           \
    GPUCAST_DEVICE type name(type *address, type value)                                            \
    {                                                                                              \
        return (type)order((same *)address, (same)value);                                          \
    }
GPUCAST_UNSIGNED_ATOMIC(atomicAdd, unsigned, int, __nvvm_atom_add_gen_i)
GPUCAST_UNSIGNED_ATOMIC(atomicExch, unsigned, int, __nvvm_atom_xchg_gen_i)
GPUCAST_UNSIGNED_ATOMIC(atomicAnd, unsigned, int, __nvvm_atom_and_gen_i)
GPUCAST_UNSIGNED_ATOMIC(atomicOr, unsigned, int, __nvvm_atom_or_gen_i)
GPUCAST_UNSIGNED_ATOMIC(atomicXor, unsigned, int, __nvvm_atom_xor_gen_i)
GPUCAST_UNSIGNED_ATOMIC(atomicAdd, unsigned long long, long long, __nvvm_atom_add_gen_ll)
GPUCAST_UNSIGNED_ATOMIC(atomicExch, unsigned long long, long long, __nvvm_atom_xchg_gen_ll)
GPUCAST_UNSIGNED_ATOMIC(atomicAnd, unsigned long long, long long, __nvvm_atom_and_gen_ll)
GPUCAST_UNSIGNED_ATOMIC(atomicOr, unsigned long long, long long, __nvvm_atom_or_gen_ll)
GPUCAST_UNSIGNED_ATOMIC(atomicXor, unsigned long long, long long, __nvvm_atom_xor_gen_ll)
GPUCAST_DEVICE int atomicSub(int *address, int value) { return atomicAdd(address, -value); }
GPUCAST_DEVICE unsigned atomicSub(unsigned *address, unsigned value)
{
    return atomicAdd(address, 0u - value);
}
GPUCAST_DEVICE float atomicExch(float *address, float value)
{
    return __int_as_float(atomicExch((int *)address, __float_as_int(value)));
}
GPUCAST_DEVICE int atomicCAS(int *address, int expected, int value)
{
    return __nvvm_atom_cas_gen_i(address, expected, value);
}
GPUCAST_DEVICE unsigned atomicCAS(unsigned *address, unsigned expected, unsigned value)
{
    return (unsigned)__nvvm_atom_cas_gen_i((int *)address, (int)expected, (int)value);
}
GPUCAST_DEVICE unsigned long long atomicCAS(unsigned long long *address,
                                            unsigned long long expected, unsigned long long value)
{
    return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)address, (long long)expected,
                                                      (long long)value);
}

// Arithmetic that the GPU has instructions for

#define GPUCAST_EXTREMES(type)                                                                     \
    GPUCAST_DEVICE type min(type a, type b) { return b < a ? b : a; }                              \
    GPUCAST_DEVICE type max(type a, type b) { return a < b ? b : a; }
GPUCAST_EXTREMES(int)
GPUCAST_EXTREMES(unsigned)
GPUCAST_EXTREMES(long)
GPUCAST_EXTREMES(unsigned long)
GPUCAST_EXTREMES(long long)
GPUCAST_EXTREMES(unsigned long long)
GPUCAST_DEVICE unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
GPUCAST_DEVICE unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
GPUCAST_DEVICE unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
GPUCAST_DEVICE unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
GPUCAST_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
GPUCAST_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
GPUCAST_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
GPUCAST_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }
GPUCAST_DEVICE int abs(int x) { return x < 0 ? -x : x; }
GPUCAST_DEVICE long labs(long x) { return x < 0 ? -x : x; }
GPUCAST_DEVICE long long llabs(long long x) { return x < 0 ? -x : x; }

// Each function has the name of C for both types, and that of C++ for `float`.
#define GPUCAST_BUILT_IN(name)                                                                     \
    GPUCAST_DEVICE float name##f(float x) { return __builtin_##name##f(x); }                       \
    GPUCAST_DEVICE double name(double x) { return __builtin_##name(x); }                           \
    GPUCAST_DEVICE float name(float x) { return __builtin_##name##f(x); }
GPUCAST_BUILT_IN(sqrt)
GPUCAST_BUILT_IN(fabs)
GPUCAST_BUILT_IN(floor)
GPUCAST_BUILT_IN(ceil)
GPUCAST_BUILT_IN(trunc)
GPUCAST_BUILT_IN(rint)
GPUCAST_BUILT_IN(nearbyint)
#define GPUCAST_BUILT_IN_OF_TWO(name)                                                              \
    GPUCAST_DEVICE float name##f(float x, float y) { return __builtin_##name##f(x, y); }           \
    GPUCAST_DEVICE double name(double x, double y) { return __builtin_##name(x, y); }              \
    GPUCAST_DEVICE float name(float x, float y) { return __builtin_##name##f(x, y); }
GPUCAST_BUILT_IN_OF_TWO(fmin)
GPUCAST_BUILT_IN_OF_TWO(fmax)
GPUCAST_BUILT_IN_OF_TWO(copysign)
GPUCAST_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
GPUCAST_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
GPUCAST_DEVICE float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
GPUCAST_DEVICE float abs(float x) { return fabsf(x); }
GPUCAST_DEVICE double abs(double x) { return fabs(x); }
GPUCAST_DEVICE float roundf(float x) { return copysignf(truncf(fabsf(x) + 0.49999997f), x); }
GPUCAST_DEVICE float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }

#define GPUCAST_INSTRUCTION(name, instruction)                                                     \
    GPUCAST_DEVICE float name(float x)                                                             \
    {                                                                                              \
        float y;                                                                                   \
        asm(instruction " %0, %1;" : "=f"(y) : "f"(x));                                            \
        return y;                                                                                  \
    }
GPUCAST_INSTRUCTION(rsqrtf, "rsqrt.approx.f32")
GPUCAST_INSTRUCTION(__frcp_rn, "rcp.rn.f32")
GPUCAST_INSTRUCTION(__fsqrt_rn, "sqrt.rn.f32")
GPUCAST_INSTRUCTION(__sinf, "sin.approx.f32")
GPUCAST_INSTRUCTION(__cosf, "cos.approx.f32")
GPUCAST_INSTRUCTION(__log2f, "lg2.approx.f32")
GPUCAST_INSTRUCTION(__gpucast_exp2, "ex2.approx.f32")
GPUCAST_DEVICE float rsqrt(float x) { return rsqrtf(x); }
GPUCAST_DEVICE float __expf(float x) { return __gpucast_exp2(x * 1.44269504f); }
GPUCAST_DEVICE float __exp10f(float x) { return __gpucast_exp2(x * 3.32192809f); }
GPUCAST_DEVICE float __logf(float x) { return __log2f(x) * 0.693147181f; }
GPUCAST_DEVICE float __log10f(float x) { return __log2f(x) * 0.301029996f; }
GPUCAST_DEVICE float __powf(float x, float y) { return __gpucast_exp2(y * __log2f(x)); }
GPUCAST_DEVICE float __tanf(float x) { return __sinf(x) / __cosf(x); }
GPUCAST_DEVICE float __fdividef(float x, float y)
{
    float quotient;
    asm("div.approx.f32 %0, %1, %2;" : "=f"(quotient) : "f"(x), "f"(y));
    return quotient;
}
#define GPUCAST_ROUNDED(name, instruction)                                                         \
    GPUCAST_DEVICE float name(float x, float y)                                                    \
    {                                                                                              \
        float z;                                                                                   \
        asm(instruction " %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));                                \
        return z;                                                                                  \
    }
GPUCAST_ROUNDED(__fadd_rn, "add.rn.f32")
GPUCAST_ROUNDED(__fsub_rn, "sub.rn.f32")
GPUCAST_ROUNDED(__fmul_rn, "mul.rn.f32")
GPUCAST_ROUNDED(__fdiv_rn, "div.rn.f32")
GPUCAST_DEVICE float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#define GPUCAST_CONVERSION(name, to, letter, from, of, instruction)                                \
    GPUCAST_DEVICE to name(from x)                                                                 \
    {                                                                                              \
        to y;                                                                                      \
        asm(instruction " %0, %1;" : letter(y) : of(x));                                           \
        return y;                                                                                  \
    }
GPUCAST_CONVERSION(__float2int_rn, int, "=r", float, "f", "cvt.rni.s32.f32")
GPUCAST_CONVERSION(__float2int_rz, int, "=r", float, "f", "cvt.rzi.s32.f32")
GPUCAST_CONVERSION(__float2int_rd, int, "=r", float, "f", "cvt.rmi.s32.f32")
GPUCAST_CONVERSION(__float2int_ru, int, "=r", float, "f", "cvt.rpi.s32.f32")
GPUCAST_CONVERSION(__float2uint_rn, unsigned, "=r", float, "f", "cvt.rni.u32.f32")
GPUCAST_CONVERSION(__float2uint_rz, unsigned, "=r", float, "f", "cvt.rzi.u32.f32")
GPUCAST_CONVERSION(__int2float_rn, float, "=f", int, "r", "cvt.rn.f32.s32")
GPUCAST_CONVERSION(__uint2float_rn, float, "=f", unsigned, "r", "cvt.rn.f32.u32")

// Functions of mathematics for `float`

GPUCAST_DEVICE int isnan(float x) { return x != x; }
GPUCAST_DEVICE int isinf(float x) { return fabsf(x) == __builtin_inff(); }
GPUCAST_DEVICE int isfinite(float x) { return fabsf(x) < __builtin_inff(); }

// e^r for a remainder of at most half a ln 2, times 2^n in two steps, so that neither overflows.
GPUCAST_DEVICE float __gpucast_scaled(float power, float n)
{
    float half = floorf(0.5f * n);
    return power * __gpucast_exp2(half) * __gpucast_exp2(n - half);
}
GPUCAST_DEVICE float expf(float x)
{
    if (isnan(x))
        return x;
    x = fminf(fmaxf(x, -105.0f), 90.0f);
    float n = rintf(x * 1.44269504f);
    float rest = fmaf(n, -0.693145752f, x);
    rest = fmaf(n, -1.42860677e-6f, rest);
    float p = fmaf(rest, 1.98412701e-4f, 1.38888892e-3f);
    p = fmaf(rest, p, 8.33333377e-3f);
    p = fmaf(rest, p, 4.16666679e-2f);
    p = fmaf(rest, p, 1.66666672e-1f);
    p = fmaf(rest, p, 0.5f);
    p = fmaf(rest * rest, p, rest) + 1.0f;
    return __gpucast_scaled(p, n);
}
GPUCAST_DEVICE float exp2f(float x) { return __gpucast_exp2(x); }

// The logarithm to base e of a number between sqrt(1/2) and sqrt(2), and its exponent.
GPUCAST_DEVICE float __gpucast_log(float x, float *exponent)
{
    float scale = x < 1.17549435e-38f ? 24.0f : 0.0f;
    int bits = __float_as_int(x * (scale > 0.0f ? 16777216.0f : 1.0f));
    int over = (bits - 0x3f3504f3) >> 23;
    *exponent = (float)over - scale;
    float f = __int_as_float(bits - (over << 23)) - 1.0f;
    float s = f / (2.0f + f), z = s * s;
    float p = fmaf(z, 0.222222222f, 0.285714286f);
    p = fmaf(z, p, 0.4f);
    p = fmaf(z, p, 0.666666667f);
    // log(1 + f) = 2 s + s z p, and 2 s = f - s f.
    return f - s * (f - z * p);
}
GPUCAST_DEVICE float __gpucast_log_to(float x, float low, float high, float factor)
{
    if (isnan(x) || x < 0.0f)
        return __builtin_nanf("");
    if (x == 0.0f)
        return -__builtin_inff();
    if (isinf(x))
        return x;
    float exponent;
    float fraction = __gpucast_log(x, &exponent);
    return fmaf(exponent, high, fmaf(fraction, factor, exponent * low));
}
GPUCAST_DEVICE float logf(float x)
{
    return __gpucast_log_to(x, 1.42860677e-6f, 0.693145752f, 1.0f);
}
GPUCAST_DEVICE float log2f(float x) { return __gpucast_log_to(x, 0.0f, 1.0f, 1.44269504f); }
GPUCAST_DEVICE float log10f(float x)
{
    return __gpucast_log_to(x, 4.60503907e-6f - 5.02e-12f, 0.301025391f, 0.434294482f);
}

// A power is 2^(y log2 x): the product needs more bits than a float has.
GPUCAST_DEVICE double __gpucast_log2(double x)
{
    long long bits = __double_as_longlong(x);
    long long over = (bits - 0x3fe6a09e667f3bcdLL) >> 52;
    double f = __longlong_as_double(bits - (over << 52)) - 1.0;
    double s = f / (2.0 + f), z = s * s, p = 0.0;
    for (int k = 19; k >= 1; k -= 2)
        p = fma(p, z, 1.0 / k);
    return (double)over + 2.8853900817779268 * s * p;
}
GPUCAST_DEVICE float __gpucast_two_to(double exponent)
{
    exponent = fmin(fmax(exponent, -160.0), 130.0);
    double n = rint(exponent), rest = (exponent - n) * 0.69314718055994531, p = 1.0;
    for (int k = 9; k >= 1; --k)
        p = fma(p, rest * (1.0 / k), 1.0);
    return (float)(p * __longlong_as_double((long long)(n + 1023.0) << 52));
}
GPUCAST_DEVICE float powf(float x, float y)
{
    float size = fabsf(x);
    bool is_whole = y == truncf(y);
    bool is_odd = is_whole && fabsf(y) < 16777216.0f && ((int)y & 1);
    if (x == 1.0f || y == 0.0f)
        return 1.0f;
    if (isnan(x) || isnan(y) || (x < 0.0f && !is_whole && !isinf(x) && !isinf(y)))
        return __builtin_nanf("");
    float power;
    if (isinf(y))
        power = size == 1.0f ? 1.0f : (size > 1.0f) == (y > 0.0f) ? __builtin_inff() : 0.0f;
    else if (size == 0.0f || isinf(size))
        power = (size == 0.0f) == (y < 0.0f) ? __builtin_inff() : 0.0f;
    else
        power = __gpucast_two_to(y * __gpucast_log2(size));
    return is_odd && __float_as_int(x) < 0 ? -power : power;
}
GPUCAST_DEVICE float cbrtf(float x)
{
    if (x == 0.0f || !isfinite(x))
        return x;
    return copysignf(__gpucast_two_to(__gpucast_log2(fabsf(x)) / 3.0), x);
}

// 2 / pi in binary: 224 places behind the point.
static __constant__ const unsigned __gpucast_two_over_pi[7] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
// The angle beyond the nearest quarter turn, and how many of these there are, modulo 4.
GPUCAST_DEVICE float __gpucast_quarter(float x, int *quarters)
{
    float size = fabsf(x);
    if (size < 105615.0f) {
        float n = rintf(x * 0.636619747f);
        *quarters = (int)n;
        float rest = fmaf(n, -1.57079601f, x);
        rest = fmaf(n, -3.13916473e-7f, rest);
        return fmaf(n, -5.39030253e-15f, rest);
    }
    if (size < 1e9f) {
        double n = rint(x * 0.63661977236758138);
        *quarters = (int)(long long)n;
        return (float)fma(n, -6.1232339957367660e-17, fma(n, -1.5707963267948966, (double)x));
    }
    // Whole turns are left out before they are computed: 96 places of 2 / pi do.
    int bits = __float_as_int(size);
    int first = (bits >> 23) - 152, word = first >> 5;
    unsigned m = (bits & 0x7fffff) | 0x800000;
    const unsigned *of = __gpucast_two_over_pi;
    unsigned high = __funnelshift_l(of[word + 1], of[word], first & 31);
    unsigned middle = __funnelshift_l(of[word + 2], of[word + 1], first & 31);
    unsigned low = __funnelshift_l(of[word + 3], of[word + 2], first & 31);
    unsigned long long lower = (unsigned long long)low * m;
    unsigned long long upper = (unsigned long long)middle * m + (lower >> 32);
    unsigned top = high * m + (unsigned)(upper >> 32);
    long long fraction = (long long)((unsigned long long)top << 34
                                     | (unsigned long long)(unsigned)upper << 2
                                     | (unsigned)lower >> 30);
    int n = (int)(top >> 30) + (fraction < 0);
    double rest = (double)fraction * 8.5153039502163873e-20;
    *quarters = x < 0.0f ? -n : n;
    return (float)(x < 0.0f ? -rest : rest);
}
GPUCAST_DEVICE float __gpucast_sine(float x, int more)
{
    if (!isfinite(x))
        return __builtin_nanf("");
    int quarters;
    float rest = __gpucast_quarter(x, &quarters), s = rest * rest, y;
    quarters += more;
    if (quarters & 1) {
        float p = fmaf(s, -2.75573192e-7f, 2.48015873e-5f);
        p = fmaf(s, p, -1.38888889e-3f);
        p = fmaf(s, p, 4.16666667e-2f);
        p = fmaf(s, p, -0.5f);
        y = fmaf(s, p, 1.0f);
    } else {
        float p = fmaf(s, 2.75573192e-6f, -1.98412698e-4f);
        p = fmaf(s, p, 8.33333333e-3f);
        p = fmaf(s, p, -1.66666667e-1f);
        y = fmaf(rest * s, p, rest);
    }
    return quarters & 2 ? -y : y;
}
GPUCAST_DEVICE float sinf(float x) { return __gpucast_sine(x, 0); }
GPUCAST_DEVICE float cosf(float x) { return __gpucast_sine(x, 1); }
GPUCAST_DEVICE float tanf(float x) { return sinf(x) / cosf(x); }
GPUCAST_DEVICE void sincosf(float x, float *sine, float *cosine)
{
    *sine = sinf(x);
    *cosine = cosf(x);
}
GPUCAST_DEVICE void __sincosf(float x, float *sine, float *cosine)
{
    *sine = __sinf(x);
    *cosine = __cosf(x);
}
GPUCAST_DEVICE float tanhf(float x)
{
    float size = fabsf(x), s = x * x;
    if (size < 0.3f) {
        float p = fmaf(s, -8.86323553e-3f, 2.18694885e-2f);
        p = fmaf(s, p, -5.39682540e-2f);
        p = fmaf(s, p, 1.33333333e-1f);
        p = fmaf(s, p, -3.33333333e-1f);
        return fmaf(x * s, p, x);
    }
    return copysignf(1.0f - 2.0f / (expf(2.0f * size) + 1.0f), x);
}
GPUCAST_DEVICE float fmodf(float x, float y)
{
    // The remainder of integers: exact, whatever the quotient is.
    float a = fabsf(x), b = fabsf(y);
    if (!(a < __builtin_inff()) || isnan(y) || b == 0.0f)
        return __builtin_nanf("");
    if (a < b)
        return x;
    int ea = __float_as_int(a) >> 23, eb = __float_as_int(b) >> 23;
    unsigned ma = (__float_as_int(a) & 0x7fffff) | (ea ? 0x800000 : 0);
    unsigned mb = (__float_as_int(b) & 0x7fffff) | (eb ? 0x800000 : 0);
    int shifts = max(ea, 1) - max(eb, 1);
    unsigned rest = ma % mb;
    for (; shifts > 0 && rest; --shifts)
        rest = rest * 2 % mb;
    float unit = __gpucast_exp2((float)(max(eb, 1) - 150));
    return copysignf((float)rest * unit, x);
}

// C++ has these names for `float`, too. For `double` there is no text here, and a call is refused.
#define GPUCAST_FLOAT_ALONE(name)                                                                  \
    GPUCAST_DEVICE float name(float x) { return name##f(x); }                                      \
    __device__ double name(double) = delete;
GPUCAST_FLOAT_ALONE(exp)
GPUCAST_FLOAT_ALONE(exp2)
GPUCAST_FLOAT_ALONE(log)
GPUCAST_FLOAT_ALONE(log2)
GPUCAST_FLOAT_ALONE(log10)
GPUCAST_FLOAT_ALONE(cbrt)
GPUCAST_FLOAT_ALONE(sin)
GPUCAST_FLOAT_ALONE(cos)
GPUCAST_FLOAT_ALONE(tan)
GPUCAST_FLOAT_ALONE(tanh)
GPUCAST_FLOAT_ALONE(round)
GPUCAST_DEVICE float pow(float x, float y) { return powf(x, y); }
GPUCAST_DEVICE float pow(float x, int y) { return powf(x, (float)y); }
__device__ double pow(double, double) = delete;
GPUCAST_DEVICE float fmod(float x, float y) { return fmodf(x, y); }
__device__ double fmod(double, double) = delete;

// Output and assertions

extern "C" __device__ int vprintf(const char *, const char *);
extern "C" __device__ int printf(const char *, ...);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(
    const char *condition, const char *file, unsigned line, const char *function,
    unsigned long bytes_of_a_letter);
GPUCAST_DEVICE void __trap() { asm volatile("trap;"); }

// What host code calls. It is parsed and left out.

typedef enum cudaError { cudaSuccess = 0 } cudaError_t;
enum cudaMemcpyKind {
    cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
extern "C" {
__host__ unsigned __cudaPushCallConfiguration(dim3, dim3, unsigned long = 0, void * = nullptr);
__host__ cudaError_t cudaConfigureCall(dim3, dim3, unsigned long = 0, cudaStream_t = nullptr);
__host__ cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, unsigned long, cudaStream_t);
__host__ cudaError_t cudaFree(void *);
__host__ cudaError_t cudaFreeHost(void *);
__host__ cudaError_t cudaMemcpy(void *, const void *, unsigned long, cudaMemcpyKind);
__host__ cudaError_t cudaMemcpyAsync(void *, const void *, unsigned long, cudaMemcpyKind,
                                     cudaStream_t = nullptr);
__host__ cudaError_t cudaMemset(void *, int, unsigned long);
__host__ cudaError_t cudaSetDevice(int);
__host__ cudaError_t cudaGetDevice(int *);
__host__ cudaError_t cudaGetDeviceCount(int *);
__host__ cudaError_t cudaDeviceSynchronize();
__host__ cudaError_t cudaDeviceReset();
__host__ cudaError_t cudaGetLastError();
__host__ cudaError_t cudaPeekAtLastError();
__host__ const char *cudaGetErrorString(cudaError_t);
__host__ const char *cudaGetErrorName(cudaError_t);
__host__ cudaError_t cudaEventCreate(cudaEvent_t *);
__host__ cudaError_t cudaEventDestroy(cudaEvent_t);
__host__ cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr);
__host__ cudaError_t cudaEventSynchronize(cudaEvent_t);
__host__ cudaError_t cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t);
__host__ cudaError_t cudaStreamCreate(cudaStream_t *);
__host__ cudaError_t cudaStreamDestroy(cudaStream_t);
__host__ cudaError_t cudaStreamSynchronize(cudaStream_t);
}
template <class T> __host__ cudaError_t cudaMalloc(T **, unsigned long);
template <class T> __host__ cudaError_t cudaMallocManaged(T **, unsigned long, unsigned = 1);
template <class T> __host__ cudaError_t cudaMallocHost(T **, unsigned long, unsigned = 0);
template <class T>
__host__ cudaError_t cudaMemcpyToSymbol(const T &, const void *, unsigned long, unsigned long = 0,
                                        cudaMemcpyKind = cudaMemcpyHostToDevice);
template <class T>
__host__ cudaError_t cudaMemcpyFromSymbol(void *, const T &, unsigned long, unsigned long = 0,
                                          cudaMemcpyKind = cudaMemcpyDeviceToHost);
