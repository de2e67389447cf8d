"""Kernels of Numba beside NumPy."""

import numpy as np
from numba import cuda


@cuda.jit
def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def total(x, out):
    partial = cuda.shared.array(128, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    partial[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(out, 0, partial[0])


x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
on_device, result = cuda.to_device(x), cuda.to_device(y)
saxpy[8, 128](on_device, result, np.float32(2))
assert np.array_equal(result.copy_to_host(), 2 * x + 1)
out = cuda.to_device(np.zeros(1, np.float32))
total[8, 128](on_device, out)
assert out.copy_to_host()[0] == x.sum()
# Arrays of the host are copied there and back.
saxpy[8, 128](x, y, np.float32(3))
assert np.array_equal(y, 3 * x + 1)
# A view that begins in the middle.
saxpy[1, 128](on_device[500:600], result[500:600], np.float32(-2))
assert np.array_equal(result.copy_to_host()[500:600], np.ones(100))
print("right")
