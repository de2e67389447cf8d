"""A stencil and a histogram for numba-cuda; prints nothing, writes PTX."""

import pathlib
import sys

from numba import float32, int32, void
from numba import cuda


def stencil(x, y):
    i = cuda.grid(1)
    tile = cuda.shared.array(64, float32)
    tile[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    if 0 < i < x.size - 1:
        left = tile[(cuda.threadIdx.x - 1) % 64]
        y[i] = left * left + 0.5 * x[i] + x[i + 1] ** 2


def histogram(keys, bins):
    for i in range(cuda.grid(1), keys.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, keys[i] % bins.size, 1)
        cuda.shfl_down_sync(0xFFFFFFFF, keys[i], 1)


KERNELS = [
    (stencil, void(float32[:], float32[:])),
    (histogram, void(int32[:], int32[:])),
]

out = pathlib.Path(sys.argv[1])
for kernel, signature in KERNELS:
    text, _ = cuda.compile_ptx(kernel, signature, cc=(7, 0))
    (out / f"{kernel.__name__}_sm_70.ptx").write_text(text)
