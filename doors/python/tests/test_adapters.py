"""Kernels of NumPy's neighbours: Numba, Triton, Warp and CuPy, against NumPy's results."""

from __future__ import annotations

import tempfile
import types
import unittest
import warnings
from importlib import import_module
from typing import Any
from unittest import mock

import gpucast
from support import CUDA, CUDA_KERNELS, REPOSITORY, SAXPY, needed

GPU = {"gpu": "h100-sxm", "machine": "rules"}


class NumPy(unittest.TestCase):
    def setUp(self) -> None:
        self.np: Any = needed("numpy")

    def test_arrays_views_and_scalars(self) -> None:
        np = self.np
        x, y = np.arange(4096, dtype=np.float32), np.ones(4096, np.float32)
        address = y.__array_interface__["data"]
        gpucast.run(SAXPY, np.uint32(4096), np.float32(2), x, y, grid=16, block=256)
        np.testing.assert_array_equal(y, 2 * x + 1)
        self.assertEqual(y.__array_interface__["data"], address)
        gpucast.run(SAXPY, 100, 1.0, x[50:], y[1000:], grid=1, block=128)
        np.testing.assert_array_equal(y[1000:1100], 2 * x[1000:1100] + 1 + x[50:150])

    def test_what_no_kernel_can_read_is_refused(self) -> None:
        np = self.np
        y = np.ones(32, np.float32)
        for wrong in (np.array([object()]), np.ones(32, ">f4"), "x" * 3, np.float64(2)):
            with self.assertRaises(TypeError, msg=repr(wrong)):
                gpucast.run(SAXPY, 32, 1.0, wrong, y, grid=1, block=32)
        frozen = y.copy()
        frozen.flags.writeable = False
        gpucast.run(SAXPY, 32, 1.0, y, frozen, grid=1, block=32)
        np.testing.assert_array_equal(frozen, y)

    def test_buffers_become_arrays(self) -> None:
        from support import REPOSITORY

        buffers = gpucast.run(REPOSITORY / "tests/inputs/saxpy.toml").buffers
        array = self.np.asarray(buffers["y"])
        self.assertEqual(array.dtype, self.np.float32)
        self.assertEqual(array.tolist(), buffers["y"].tolist())


class Numba(unittest.TestCase):
    def setUp(self) -> None:
        self.np: Any = needed("numpy")
        needed("numba_cuda")
        warnings.simplefilter("ignore")

    def test_a_kernel_calls_a_function(self) -> None:
        from numba import cuda

        @cuda.jit(device=True)
        def doubled(x):
            return x + x

        @cuda.jit
        def double(x):
            i = cuda.grid(1)
            if i < x.size:
                x[i] = doubled(x[i])

        x = self.np.arange(100, dtype=self.np.int32)
        gpucast.run(double[1, 128], x)
        self.assertEqual(x.tolist(), [2 * i for i in range(100)])

    def test_the_kernel_of_a_file_is_compiled_for_the_types_of_a_launch(self) -> None:
        from gpucast.adapters import numba

        with tempfile.TemporaryDirectory() as folder:
            task = REPOSITORY / "studies/lab/tasks/08-divergence/solution.py"
            output = f"{folder}/kernel.ptx"
            numba.main(output, str(task), "alternate", "9.0", "f32[]", "f32[]", "s32")
            with open(output) as made:
                self.assertRegex(made.read(), r"\.entry alternate\((?s:.)*alternate_param_14")
            with self.assertRaisesRegex(TypeError, "no type for bf16"):
                numba.main(output, str(task), "alternate", "9.0", "bf16")
            with self.assertRaisesRegex(TypeError, "no kernel `other`"):
                numba.main(output, str(task), "other", "9.0")

    def test_saxpy(self) -> None:
        np = self.np
        from numba import cuda

        @cuda.jit
        def saxpy(x: Any, y: Any, a: Any) -> None:
            i = cuda.grid(1)
            if i < x.size:
                y[i] += a * x[i]

        x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
        gpucast.run(saxpy[4, 256], x, y, np.float32(2))
        np.testing.assert_array_equal(y, 2 * x + 1)
        forecast = gpucast.predict(saxpy[4, 256], x, y, 2.0, **GPU)
        self.assertGreater(forecast.time_ms, 0.0)
        self.assertEqual(forecast[0].kernel, "saxpy")
        lines = gpucast.profile(saxpy[4, 256], x, y, 2.0, machine="rules").table(by="line")
        self.assertIn("y[i] += a * x[i]", lines["cuda"])

    def test_reduction_in_shared_memory_with_atomics(self) -> None:
        np = self.np
        from numba import cuda, float32

        @cuda.jit
        def total(x: Any, out: Any) -> None:
            part = cuda.shared.array(128, float32)
            lane = cuda.threadIdx.x
            i = cuda.grid(1)
            part[lane] = x[i] if i < x.size else 0.0
            cuda.syncthreads()
            step = 64
            while step > 0:
                if lane < step:
                    part[lane] += part[lane + step]
                cuda.syncthreads()
                step //= 2
            if lane == 0:
                cuda.atomic.add(out, 0, part[0])

        x, out = np.arange(1000, dtype=np.float32), np.zeros(1, np.float32)
        gpucast.run(total[8, 128], x, out)
        self.assertEqual(out[0], x.sum())
        out[0] = 0
        self.assertEqual(list(gpucast.check(total[8, 128], x, out)), [])

    def test_tiled_product_of_two_dimensional_arrays(self) -> None:
        np = self.np
        from numba import cuda, float32

        @cuda.jit
        def product(a: Any, b: Any, c: Any) -> None:
            left = cuda.shared.array((16, 16), float32)
            right = cuda.shared.array((16, 16), float32)
            x, y = cuda.grid(2)
            tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
            total = float32(0)
            for tile in range(a.shape[1] // 16):
                left[ty, tx] = a[y, tile * 16 + tx]
                right[ty, tx] = b[tile * 16 + ty, x]
                cuda.syncthreads()
                for k in range(16):
                    total += left[ty, k] * right[k, tx]
                cuda.syncthreads()
            c[y, x] = total

        random = np.random.default_rng(7)
        a = random.random((32, 48), dtype=np.float32)
        b = random.random((48, 64), dtype=np.float32)
        c = np.zeros((32, 64), np.float32)
        gpucast.run(product[(4, 2), (16, 16)], a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
        # Strides reach the kernel: here the product of transposed views.
        d = np.zeros((64, 32), np.float32)
        gpucast.run(product[(4, 2), (16, 16)], a, b, d.T)
        np.testing.assert_allclose(d.T, a @ b, rtol=1e-5)

    def test_the_decorator(self) -> None:
        np = self.np
        from numba import cuda

        @gpucast.emulated(gpu="gtx-960", machine="rules")
        @cuda.jit
        def double(x: Any) -> None:
            i = cuda.grid(1)
            if i < x.size:
                x[i] *= 2

        x = np.arange(100, dtype=np.int64)
        double[1, 128](x)
        np.testing.assert_array_equal(x, 2 * np.arange(100))
        self.assertEqual(double.forecasts[0][0].gpu, "gtx-960")


class NumbaAlone(unittest.TestCase):
    def test_the_packages_of_its_compilers_are_named(self) -> None:
        class NvvmSupportError(ImportError):
            pass

        def failing(*_: Any, **__: Any) -> None:
            raise NvvmSupportError("libNVVM cannot be found")

        def kernel() -> None:
            pass

        adapter: Any = import_module("gpucast.adapters.numba")
        dispatcher = types.SimpleNamespace(py_func=kernel, targetoptions={})
        numba = types.SimpleNamespace(typeof=type, compile=failing, get_current_device=None)
        with mock.patch.object(adapter, "import_module", lambda _: numba):
            compiled = adapter._compiled_once.__wrapped__
            with self.assertRaises(gpucast.Error) as told:
                compiled(dispatcher, (), (8, 0))
        self.assertIn("libNVVM", told.exception.message)
        self.assertIn("nvidia-cuda-nvcc-cu12", told.exception.hint or "")


class Triton(unittest.TestCase):
    def setUp(self) -> None:
        self.np: Any = needed("numpy")
        needed("triton")

    def test_addition_with_a_mask(self) -> None:
        np = self.np
        from triton_kernels import add

        x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
        out = np.zeros(1000, np.float32)
        gpucast.run(add[(4,)], x, y, out, 1000, BLOCK=256)
        np.testing.assert_array_equal(out, x + y)
        grid = lambda meta: ((1000 + meta["BLOCK"] - 1) // meta["BLOCK"],)
        forecast = gpucast.predict(add[grid], x, y, out, 1000, BLOCK=256, num_warps=2, **GPU)
        self.assertEqual(forecast[0].kernel, "add")
        self.assertIn("4 blocks of 64 threads", forecast.counts[0].origin)

    def test_the_decorator_and_several_dimensions(self) -> None:
        np = self.np
        from triton_kernels import add

        emulated = gpucast.emulated(gpu="a100", machine="rules")(add)
        x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
        emulated[(1, 1, 1)](x, x, out, 64, BLOCK=64)
        np.testing.assert_array_equal(out, 2 * x)
        self.assertEqual(len(emulated.forecasts), 1)
        with self.assertRaisesRegex(TypeError, "grid"):
            gpucast.run(add, x, x, out, 64, BLOCK=64)
        with self.assertRaisesRegex(TypeError, "num_warps"):
            gpucast.run(add[(1,)], x, x, out, 64, BLOCK=64, block=32)

    def test_softmax_and_product(self) -> None:
        np = self.np
        from triton_kernels import product, softmax

        random = np.random.default_rng(7)
        x = random.random((8, 100), dtype=np.float32)
        out = np.zeros_like(x)
        gpucast.run(softmax[(8,)], out, x, 100, BLOCK=128)
        wanted = np.exp(x - x.max(1, keepdims=True))
        np.testing.assert_allclose(out, wanted / wanted.sum(1, keepdims=True), rtol=1e-5)
        a = random.random((64, 64), dtype=np.float32).astype(np.float16)
        b = random.random((64, 64), dtype=np.float32).astype(np.float16)
        c = np.zeros((64, 64), np.float32)
        gpucast.run(product[(2, 2)], a, b, c, 64, TILE=32)
        np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3)


class Warp(unittest.TestCase):
    def test_arrays_of_numpy_and_of_warp(self) -> None:
        np: Any = needed("numpy")
        wp: Any = needed("warp")
        import warp_kernels

        wp.config.quiet = True
        x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
        gpucast.run(warp_kernels.saxpy, x, y, 2.0, dim=1000)
        np.testing.assert_array_equal(y, 2 * x + 1)
        own = wp.array(x, dtype=float, device="cpu")
        gpucast.run(warp_kernels.saxpy, own, y, 1.0, dim=1000)
        np.testing.assert_array_equal(y, 3 * x + 1)
        forecast = gpucast.predict(warp_kernels.saxpy, x, y, 2.0, dim=(1000,), **GPU)
        self.assertIn("4 blocks of 256 threads", forecast.counts[0].origin)


    def test_a_reduction_and_a_product(self) -> None:
        np: Any = needed("numpy")
        wp: Any = needed("warp")
        import warp_kernels

        wp.config.quiet = True
        x, out = np.arange(1000, dtype=np.float32), np.zeros(1, np.float32)
        gpucast.run(warp_kernels.total, x, out, dim=1000)
        self.assertEqual(out[0], x.sum())
        random = np.random.default_rng(7)
        a = random.random((32, 48), dtype=np.float32)
        b = random.random((48, 64), dtype=np.float32)
        c = np.zeros((32, 64), np.float32)
        gpucast.run(warp_kernels.product, a, b, c, dim=(32, 64))
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)


class Cuda(unittest.TestCase):
    def setUp(self) -> None:
        self.np: Any = needed("numpy")

    def launch(self, name: str, grid: Any, block: Any, *args: Any) -> None:
        try:
            gpucast.Kernel(CUDA_KERNELS, name=name)[grid, block](*args)
        except gpucast.Error as error:
            if "no compiler" in error.message:
                self.skipTest("no CUDA compiler is installed")
            raise

    def test_saxpy_and_a_reduction(self) -> None:
        np = self.np
        x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
        self.launch("saxpy", 4, 256, x, y, np.float32(2), 1000)
        np.testing.assert_array_equal(y, 2 * x + 1)
        out = np.zeros(1, np.float32)
        self.launch("total", 8, 128, x, out, 1000)
        self.assertEqual(out[0], x.sum())

    def test_a_tiled_product(self) -> None:
        np = self.np
        random = np.random.default_rng(7)
        a = random.random((32, 48), dtype=np.float32)
        b = random.random((48, 64), dtype=np.float32)
        c = np.zeros((32, 64), np.float32)
        self.launch("product", (4, 2), (16, 16), a, b, c, 48, 64)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)


class CuPy(unittest.TestCase):
    def test_a_raw_kernel_is_its_source(self) -> None:
        """CuPy needs no GPU to make one, but its wheel is large: the shape of it suffices."""
        try:
            import cupy  # type: ignore[import-not-found, unused-ignore]

            kernel = cupy.RawKernel(CUDA, "scale", options=("-DN=1",))
        except ImportError:
            kind = type("RawKernel", (types.SimpleNamespace,), {"__module__": "cupy._core.raw"})
            kernel = kind(code=CUDA, name="scale", options=("-DN=1",))
        import array

        x = array.array("f", range(64))
        try:
            gpucast.run(kernel, x, 3.0, 64, grid=1, block=64)
        except gpucast.Error as error:
            if "no compiler" in error.message:
                self.skipTest("no CUDA compiler is installed")
            raise
        self.assertEqual(x[5], 15.0)


if __name__ == "__main__":
    unittest.main()
