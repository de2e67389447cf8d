"""Kernels of Triton beside NumPy, through Triton's own launcher and without PyTorch."""

import ctypes

import numpy as np
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, 0), mask)


@triton.jit
def product(a, b, c, n, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, n, TILE):
        inner = start + tl.arange(0, TILE)
        left = tl.load(a + rows[:, None] * n + inner[None, :])
        right = tl.load(b + inner[:, None] * n + columns[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


class Managed:
    """A copy of an array in managed memory, which host and device share."""

    driver = ctypes.CDLL("libcuda.so.1")

    def __init__(self, values):
        address = ctypes.c_uint64()
        # Triton makes the context when it first needs the device.
        triton.runtime.driver.active.get_current_device()
        attached = 1
        error = self.driver.cuMemAllocManaged(
            ctypes.byref(address), ctypes.c_size_t(values.nbytes), ctypes.c_uint(attached)
        )
        assert error == 0, error
        memory = (ctypes.c_byte * values.nbytes).from_address(address.value)
        self.array = np.frombuffer(memory, values.dtype).reshape(values.shape)
        self.array[...] = values
        self.dtype = values.dtype

    def data_ptr(self):
        return self.array.ctypes.data

    def result(self):
        assert self.driver.cuCtxSynchronize() == 0
        return self.array


random = np.random.default_rng(1)

x, y = (Managed(random.random(1000, np.float32)) for _ in range(2))
out = Managed(np.zeros(1000, np.float32))
add[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000, BLOCK=256)
assert np.array_equal(out.result(), x.array + y.array)

rows = Managed(random.standard_normal((6, 200), np.float32))
out = Managed(np.zeros((6, 200), np.float32))
softmax[(6,)](out, rows, 200, BLOCK=256)
powers = np.exp(rows.array - rows.array.max(1, keepdims=True))
assert np.allclose(out.result(), powers / powers.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)

a, b = (Managed(random.standard_normal((64, 64)).astype(np.float16)) for _ in range(2))
out = Managed(np.zeros((64, 64), np.float32))
product[(2, 2)](a, b, out, 64, TILE=32)
expected = a.array.astype(np.float32) @ b.array.astype(np.float32)
assert np.allclose(out.result(), expected, rtol=1e-4, atol=1e-4)
print("right")
