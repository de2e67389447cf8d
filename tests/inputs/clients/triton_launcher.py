"""Kernels of Triton beside NumPy, through Triton's own launcher and without PyTorch."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import triton

# The kernels are those of the Python package's tests.
sys.path.append(str(Path(__file__).parents[3] / "python" / "tests"))
from triton_kernels import add, product, softmax


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
