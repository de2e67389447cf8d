"""A tiled matrix product and a softmax for Triton; prints nothing, writes PTX."""

import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(a, b, c, k, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for first in range(0, k, 32):
        inner = first + tl.arange(0, 32)
        left = tl.load(a + rows[:, None] * k + inner[None, :])
        right = tl.load(b + inner[:, None] * k + columns[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(c + rows[:, None] * k + columns[None, :], sums)


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + at, mask=at < n, other=-float("inf"))
    shifted = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + tl.program_id(0) * n + at, shifted / tl.sum(shifted, axis=0), mask=at < n)


FLOAT = "*fp32"
KERNELS = [
    (product, {"a": "*fp16", "b": "*fp16", "c": FLOAT, "k": "i32"}, {"BLOCK": 64}),
    (softmax, {"x": FLOAT, "y": FLOAT, "n": "i32"}, {"BLOCK": 256}),
]

out = pathlib.Path(sys.argv[1])
for kernel, signature, constants in KERNELS:
    for architecture in (80, 90):
        # Pointers and sizes are multiples of 16, as the runtime would find them to be.
        aligned = {(index,): [["tt.divisibility", 16]] for index in range(len(signature))}
        whole = {**signature, **{name: "constexpr" for name in constants}}
        source = ASTSource(kernel, whole, constexprs=constants, attrs=aligned)
        compiled = triton.compile(source, target=GPUTarget("cuda", architecture, 32))
        path = out / f"{kernel.fn.__name__}_sm_{architecture}.ptx"
        path.write_text(compiled.asm["ptx"])
