"""Operators of tinygrad beside NumPy's."""

import numpy as np
from tinygrad import Device, Tensor

assert Device.DEFAULT == "CUDA", Device.DEFAULT
random = np.random.default_rng(1)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def near(tensor, expected, tolerance=1e-4):
    found = tensor.numpy()
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert np.allclose(found, expected, rtol=tolerance, atol=tolerance), abs(found - expected).max()


a, b = floats(64, 48), floats(48, 32)
ta, tb = Tensor(a), Tensor(b)
near(ta + 1, a + 1)
near(ta @ tb, a @ b)
near(ta.exp(), np.exp(a), 1e-3)
near(ta.relu(), np.maximum(a, 0))
near(ta.sum(0), a.sum(0))
near(ta.max(1), a.max(1))
near(ta.cumsum(1), a.cumsum(1))
near(ta.transpose(), a.T)
near(ta.sort(1)[0], np.sort(a, 1))
# Views reach into the middle of buffers.
near(ta[3:20, ::2] * 2, a[3:20, ::2] * 2)
index = random.integers(0, 64, (100,))
near(ta[Tensor(index)], a[index])
powers = np.exp(a - a.max(1, keepdims=True))
near(ta.softmax(), powers / powers.sum(1, keepdims=True))

image, filters = floats(2, 3, 16, 16), floats(4, 3, 3, 3)
expected = np.zeros((2, 4, 14, 14), np.float32)
for y in range(3):
    for x in range(3):
        window = image[:, :, y : y + 14, x : x + 14]
        expected += np.einsum("nchw,oc->nohw", window, filters[:, :, y, x])
near(Tensor(image).conv2d(Tensor(filters)), expected, 1e-3)

half = (Tensor(a.astype(np.float16)) @ Tensor(b.astype(np.float16))).numpy()
assert np.allclose(half.astype(np.float32), a @ b, atol=0.05, rtol=0.02)
print("right")
