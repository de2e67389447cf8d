#!/usr/bin/env python3
"""Compiles Triton kernels to the PTX beside this file: matmul, softmax and layer normalisation.

    pip install triton==3.9.0 && python3 compile.py

No GPU is needed. Sizes are launch arguments; the constants below fix the tiles.
"""

import os
import pathlib
import re

# As the default of later versions; without it Triton warns.
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, M, N, K, stride_a, stride_b, stride_c,
           TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    from_a = a + m[:, None] * stride_a + k[None, :]
    from_b = b + k[:, None] * stride_b + n[None, :]
    sum = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for done in range(0, K, TILE_K):
        x = tl.load(from_a, mask=(m[:, None] < M) & (k[None, :] < K - done), other=0.0)
        y = tl.load(from_b, mask=(k[:, None] < K - done) & (n[None, :] < N), other=0.0)
        sum += tl.dot(x, y)
        from_a += TILE_K
        from_b += TILE_K * stride_b
    to = c + m[:, None] * stride_c + n[None, :]
    tl.store(to, sum.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def softmax(out, values, stride, columns, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, WIDTH)
    value = tl.load(values + row * stride + column, mask=column < columns, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + column, power / tl.sum(power, axis=0), mask=column < columns)


@triton.jit
def layer_norm(out, values, weights, biases, stride, columns, epsilon, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    values += row * stride
    out += row * stride
    sum = tl.zeros([WIDTH], dtype=tl.float32)
    for first in range(0, columns, WIDTH):
        column = first + tl.arange(0, WIDTH)
        sum += tl.load(values + column, mask=column < columns, other=0.0).to(tl.float32)
    mean = tl.sum(sum, axis=0) / columns
    squares = tl.zeros([WIDTH], dtype=tl.float32)
    for first in range(0, columns, WIDTH):
        column = first + tl.arange(0, WIDTH)
        value = tl.load(values + column, mask=column < columns, other=0.0).to(tl.float32)
        value = tl.where(column < columns, value - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    for first in range(0, columns, WIDTH):
        column = first + tl.arange(0, WIDTH)
        inside = column < columns
        weight = tl.load(weights + column, mask=inside)
        bias = tl.load(biases + column, mask=inside)
        value = tl.load(values + column, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + column, (value - mean) * scale * weight + bias, mask=inside)


@triton.jit
def product(a, b, m, n, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    sum = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        sum = tl.dot(a.load([m, k]), b.load([k, n]), sum)
    return sum.to(tl.float16)


@triton.jit
def matmul_own_maps(a, b, c, M, N, K, stride_a, stride_b, stride_c,
                    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):  # fmt: skip
    """With tensor maps that the kernel makes."""
    from_a = tl.make_tensor_descriptor(a, [M, K], [stride_a, 1], [TILE_M, TILE_K])
    from_b = tl.make_tensor_descriptor(b, [K, N], [stride_b, 1], [TILE_K, TILE_N])
    to = tl.make_tensor_descriptor(c, [M, N], [stride_c, 1], [TILE_M, TILE_N])
    m, n = tl.program_id(0) * TILE_M, tl.program_id(1) * TILE_N
    to.store([m, n], product(from_a, from_b, m, n, K, TILE_M, TILE_N, TILE_K))


@triton.jit
def matmul_maps(a, b, c, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    """With tensor maps that are arguments."""
    m, n = tl.program_id(0) * TILE_M, tl.program_id(1) * TILE_N
    c.store([m, n], product(a, b, m, n, K, TILE_M, TILE_N, TILE_K))


# Kernel, types of its arguments, constants, warps, pipeline stages.
KERNELS = [
    (matmul, ["*fp32"] * 2 + ["*fp16"] + ["i32"] * 6, dict(TILE_M=64, TILE_N=64, TILE_K=32), 4, 2),
    (matmul, ["*fp8e4nv"] * 2 + ["*fp16"] + ["i32"] * 6,
     dict(TILE_M=128, TILE_N=128, TILE_K=64), 4, 3),
    (matmul, ["*fp16"] * 3 + ["i32"] * 6, dict(TILE_M=128, TILE_N=64, TILE_K=32), 4, 3),
    (softmax, ["*fp32"] * 2 + ["i32"] * 2, dict(WIDTH=1024), 4, 2),
    (layer_norm, ["*fp16"] * 4 + ["i32"] * 2 + ["fp32"], dict(WIDTH=512), 4, 2),
    (matmul_own_maps, ["*fp16"] * 3 + ["i32"] * 6, dict(TILE_M=128, TILE_N=64, TILE_K=64), 4, 3),
    (matmul_maps, ["tensordesc<fp16[128,64]>", "tensordesc<fp16[64,64]>",
                   "tensordesc<fp16[128,64]>", "i32"],
     dict(TILE_M=128, TILE_N=64, TILE_K=64), 4, 3),
]  # fmt: skip


def main():
    here = pathlib.Path(__file__).resolve().parent
    os.chdir(here)
    for kernel, types, constants, warps, stages in KERNELS:
        names = kernel.arg_names
        signature = dict(zip(names, types + ["constexpr"] * len(constants)))
        # Pointers, strides and sizes are multiples of 16, as Triton finds them to be at run time.
        aligned = [
            index for index, name in enumerate(names)
            if signature[name].startswith("*") or name.startswith("stride") or name in ("N", "K")
        ]  # fmt: skip
        attributes = {(index,): [["tt.divisibility", 16]] for index in aligned}
        suffix = {"*fp32": "_tf32", "*fp8e4nv": "_e4m3"}.get(types[0], "") if kernel is matmul else ""
        capabilities = (100,) if suffix else (80, 90)
        if "maps" in kernel.__name__:
            capabilities = (90, 100)
        elif kernel is matmul and not suffix:
            capabilities = (80, 90, 100)
        for capability in capabilities:
            source = ASTSource(kernel, signature=signature, constexprs=constants, attrs=attributes)
            options = {"num_warps": warps, "num_stages": stages}
            target = GPUTarget("cuda", capability, 32)
            compiled = triton.compile(source, target=target, options=options)
            name = f"{kernel.__name__}{suffix}_sm_{capability}.ptx"
            # Where Triton and this file are is nobody's business.
            folder = str(pathlib.Path(triton.__file__).resolve().parents[1])
            text = compiled.asm["ptx"].replace(folder + "/", "")
            text = re.sub(r'"[^"]*/compile\.py"', '"compile.py"', text)
            (here / name).write_text(text)
            print(name, compiled.metadata.shared, "bytes of shared memory,",
                  compiled.metadata.global_scratch_size, "of scratch,",
                  compiled.metadata.tensordesc_meta)  # fmt: skip


if __name__ == "__main__":
    main()
