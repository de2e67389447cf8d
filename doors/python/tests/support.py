"""Kernels that the tests share."""

from __future__ import annotations

import importlib
import unittest
from pathlib import Path
from types import ModuleType

REPOSITORY = Path(__file__).resolve().parents[3]

# A report of `gpucast ncu --export`.
REPORT = {
    "schema": "gpucast.ncu/1",
    "version": "0.1.0",
    "command": ["./heat"],
    "device": {"name": "a100", "display_name": "A100", "compute_capability": "8.0"},
    "model": "sm-simulation",
    "sections": [],
    "metrics": [],
    "actions": [
        {"process": 1, "program": "/heat", "stream": 7, "grid": [2, 1, 1], "block": [64, 1, 1], "profile": 0},
        {"process": 1, "program": "/heat", "stream": 7, "grid": [2, 1, 1], "block": [64, 1, 1], "profile": 0},
    ],
    "profiles": [
        {
            "names": {"function": "f", "demangled": "ns::f<int>(int*)", "mangled": "_Zf"},
            "metrics": {
                "gpu__time_duration.sum": {"value": 2500.5, "unit": "ns", "kind": "modelled"},
                "launch__func_cache_config": {"value": "CachePreferNone", "unit": "", "kind": "exact"},
                "sm__inst_executed.sum": {"value": 9007199254740993, "unit": "inst", "kind": "exact"},
                "no__such.sum": None,
            },
        }
    ],
}

SAXPY = """
.version 7.8
.target sm_50
.address_size 64

.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p<2>;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;

    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r5, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd7], %f4;
DONE:
    ret;
}
"""

ENDLESS = """
.version 7.8
.target sm_50
.address_size 64

.visible .entry endless()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 0;
AGAIN:
    add.u32 %r1, %r1, 1;
    bra AGAIN;
}
"""

CUDA_KERNELS = """
extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

extern "C" __global__ void total(const float *x, float *out, int n) {
    __shared__ float part[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    for (int step = 64; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

extern "C" __global__ void product(const float *a, const float *b, float *c, int inner, int width) {
    __shared__ float left[16][16], right[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0.0f;
    for (int tile = 0; tile < inner; tile += 16) {
        left[threadIdx.y][threadIdx.x] = a[y * inner + tile + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * width + x];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[y * width + x] = sum;
}
"""

CUDA = """
extern "C" __global__ void scale(float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
"""


def needed(name: str) -> ModuleType:
    """A package that the test needs, or a skipped test that says so."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None
