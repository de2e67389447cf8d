"""Executions on the arrays themselves, the sanitizer, and being interrupted."""

from __future__ import annotations

import array
import multiprocessing
import signal
import subprocess
import sys
import threading
import tracemalloc
import types
import unittest

import gpucast
from gpucast._memory import elements
from gpucast.testing import assert_as_expected
from support import CUDA, ENDLESS, REPOSITORY, SAXPY, needed

LAUNCH = {"grid": 16, "block": 256}
N = 4096


def forked(queue: multiprocessing.SimpleQueue[list[float]]) -> None:
    x, y = array.array("f", [1.0] * 32), array.array("f", [0.0] * 32)
    gpucast.run(SAXPY, 32, 3.0, x, y, grid=1, block=32)
    queue.put(y.tolist())


class Tensor:
    """An array with the interface of PyTorch's tensors, which is too large to install here."""

    def __init__(self, of: array.array[float], device: str = "cpu") -> None:
        self.of = of
        self.shape = (len(of),)
        self.dtype = "torch.float32"
        self.device = types.SimpleNamespace(type=device)

    def data_ptr(self) -> int:
        return self.of.buffer_info()[0]

    def element_size(self) -> int:
        return self.of.itemsize

    def numel(self) -> int:
        return len(self.of)

    def contiguous(self) -> Tensor:
        return self

    def stride(self) -> tuple[int, ...]:
        return (1,)


def saxpy(n: int, a: float, x: array.array[float], y: array.array[float]) -> None:
    """What the kernel does."""
    for i in range(n):
        y[i] += a * x[i]


class Functions(unittest.TestCase):
    """What a function of the test computes, beside what the kernel does."""

    def setUp(self) -> None:
        self.x = array.array("f", range(N))
        self.y = array.array("f", [1.0] * N)

    def test_arrays_are_compared_with_those_of_a_function(self) -> None:
        assert_as_expected(SAXPY, N, 2.0, self.x, self.y, expect=saxpy, **LAUNCH)
        self.assertEqual(self.y[3], 7.0)
        with self.assertRaises(AssertionError) as failed:
            assert_as_expected(SAXPY, N, 2.0, self.x, self.y, expect=lambda *_: None, **LAUNCH)
        self.assertIn("FAILED arg3: 4,095 of 4,096 elements differ", str(failed.exception))
        self.assertIn("arg3[1]: got 5.0, want 3.0", str(failed.exception))
        self.assertNotIn("arg2", str(failed.exception))

    def test_tolerances_are_those_of_the_type_or_given(self) -> None:
        def roughly(n: int, a: float, x: array.array[float], y: array.array[float]) -> None:
            saxpy(n, a, x, y)
            y[5] *= 1.01

        arguments = (N, 2.0, self.x, self.y)
        assert_as_expected(SAXPY, *arguments, expect=roughly, rtol=0.02, **LAUNCH)
        with self.assertRaisesRegex(AssertionError, "1 of 4,096 elements differ"):
            assert_as_expected(SAXPY, *arguments, expect=roughly, atol=0.0, **LAUNCH)

    def test_elements_of_all_types_have_a_name(self) -> None:
        names = {"b": "s8", "B": "u8", "h": "s16", "H": "u16", "i": "s32", "I": "u32"}
        names |= {"q": "s64", "Q": "u64", "f": "f32", "d": "f64"}
        for code, name in names.items():
            of = array.array(code, [1, 2, 3])
            self.assertEqual(elements(of), (name, of.tobytes()))
        self.assertEqual(elements(Tensor(self.x))[0], "float32")
        numpy = needed("numpy")
        for kind in ("float16", "float32", "int64", "uint8", "bool"):
            of = numpy.zeros((4, 2), kind)[::2]
            self.assertEqual(elements(of)[1], bytes(4 * of.itemsize))

    def test_a_function_without_arrays_compares_nothing(self) -> None:
        with self.assertRaisesRegex(TypeError, "none is among the arguments"):
            assert_as_expected("transpose", expect=saxpy, size="small")


class InPlace(unittest.TestCase):
    def setUp(self) -> None:
        self.x = array.array("f", range(N))
        self.y = array.array("f", [1.0] * N)

    def test_arrays_change_in_place(self) -> None:
        where = self.y.buffer_info()
        gpucast.run(SAXPY, N, 2.0, self.x, self.y, **LAUNCH)
        self.assertEqual(self.y.buffer_info(), where)
        self.assertEqual(self.y.tolist(), [2.0 * i + 1.0 for i in range(N)])

    def test_large_arrays_are_not_copied(self) -> None:
        size = 1 << 22
        x, y = array.array("f", bytes(4 * size)), array.array("f", bytes(4 * size))
        tracemalloc.start()
        gpucast.run(SAXPY, N, 2.0, x, y, **LAUNCH)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self.assertLess(peak, size)

    def test_what_cannot_be_written_is_copied(self) -> None:
        x = self.x.tobytes()
        gpucast.run(SAXPY, N, 2.0, x, self.y, **LAUNCH)
        self.assertEqual(self.y[3], 7.0)
        before = bytes(16)
        gpucast.run(SAXPY, 4, 2.0, self.x, before, grid=1, block=32)
        self.assertEqual(before, bytes(16))

    def test_tensors_are_taken_by_their_address(self) -> None:
        gpucast.run(SAXPY, N, 2.0, Tensor(self.x), Tensor(self.y), **LAUNCH)
        self.assertEqual(self.y[3], 7.0)
        with self.assertRaisesRegex(TypeError, "cpu"):
            gpucast.run(SAXPY, N, 2.0, Tensor(self.x, "cuda"), Tensor(self.y), **LAUNCH)

    def test_overlapping_views_are_one_memory(self) -> None:
        view = memoryview(self.y)
        # y[i + 1] = 2 y[i] + y[i + 1], by one thread each, in the order of the addresses read.
        gpucast.run(SAXPY, 1, 2.0, view[0:2], view[1:3], grid=1, block=1)
        self.assertEqual(self.y[:3].tolist(), [1.0, 3.0, 1.0])

    def test_a_kernel_is_launched_as_in_cuda(self) -> None:
        saxpy = gpucast.Kernel(SAXPY)
        saxpy[16, 256](N, 2.0, self.x, self.y)
        self.assertEqual(self.y[3], 7.0)
        forecast = gpucast.predict(
            saxpy[16, 256], N, 2.0, self.x, self.y, gpu="h100-sxm", machine="rules"
        )
        self.assertEqual(forecast[0].kernel, "saxpy")

    def test_emulated_launches_are_forecast_and_run(self) -> None:
        saxpy = gpucast.emulated(gpu="h100-sxm", machine="rules")(gpucast.Kernel(SAXPY))
        saxpy[16, 256](N, 2.0, self.x, self.y)
        self.assertEqual(self.y[3], 7.0)
        self.assertEqual([one.bound for one in saxpy.forecasts], [saxpy.forecasts[0].bound])

    def test_a_forked_child_has_threads_of_its_own(self) -> None:
        gpucast.run(SAXPY, N, 2.0, self.x, self.y, **LAUNCH)
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        child = context.Process(target=forked, args=(queue,))
        child.start()
        child.join(60)
        self.assertEqual(child.exitcode, 0)
        self.assertEqual(queue.get(), [3.0] * 32)


class Buffers(unittest.TestCase):
    def test_the_buffers_of_a_launch_file_come_back(self) -> None:
        done = gpucast.run(REPOSITORY / "tests/inputs/saxpy.toml")
        buffer = done.buffers["y"]
        self.assertEqual(buffer.element, "f32")
        self.assertEqual(len(buffer.tolist()), len(buffer))
        self.assertEqual(done.to_dict()["launches"][0]["kernel"], "saxpy")


class Expectations(unittest.TestCase):
    def test_a_corpus_kernel_agrees_with_its_reference(self) -> None:
        done = assert_as_expected("transpose", size="small")
        self.assertTrue(done)
        [one] = done.expectations
        self.assertEqual((one.against, one.mismatches), ("the reference transpose", 0))
        self.assertGreater(one.elements, 0)
        self.assertIn("elements agree with the reference", str(done))

    def test_wrong_results_are_told(self) -> None:
        wrong = REPOSITORY / "tests/inputs/wrong-expectation.toml"
        done = gpucast.run(wrong)
        self.assertFalse(done)
        self.assertIn("wrong: y", repr(done))
        failed = [one for one in done.expectations if not one]
        self.assertGreater(failed[0].document["first"][0]["index"], -1)
        with self.assertRaisesRegex(AssertionError, "FAILED y"):
            assert_as_expected(wrong)

    def test_arrays_of_the_caller_have_no_expectations(self) -> None:
        x, y = array.array("f", range(N)), array.array("f", [1.0] * N)
        done = gpucast.run(SAXPY, N, 2.0, x, y, **LAUNCH)
        self.assertEqual((bool(done), done.expectations), (True, []))


class Check(unittest.TestCase):
    def test_planted_faults_are_found(self) -> None:
        data = array.array("I", bytes(4 * 64))
        planted = REPOSITORY / "tests/inputs/planted-faults.ptx"
        findings = gpucast.check(planted, data, name="missing_barrier", grid=1, block=64)
        self.assertIn("race", {one.check for one in findings})
        self.assertGreater(findings[0].count, 0)
        self.assertIn("race", str(findings))
        beyond = gpucast.check(planted, data, name="past_the_end", grid=1, block=64)
        self.assertIn("memory", {one.check for one in beyond})

    def test_nothing_is_found_in_a_right_kernel(self) -> None:
        x, y = array.array("f", range(N)), array.array("f", [1.0] * N)
        findings = gpucast.check(SAXPY, N, 2.0, x, y, **LAUNCH)
        self.assertEqual(list(findings), [])
        self.assertTrue(findings.complete)
        self.assertEqual(y[3], 7.0)


class Limits(unittest.TestCase):
    def test_an_endless_kernel_ends_at_its_budget(self) -> None:
        with self.assertRaisesRegex(gpucast.Error, "endless"):
            gpucast.run(ENDLESS, grid=1, block=32, budget=100_000)

    def test_ctrl_c_stops_a_run(self) -> None:
        program = (
            "import signal, threading, os, sys, gpucast; sys.path.insert(0, sys.argv[1])\n"
            "from support import ENDLESS\n"
            # Shells start background jobs with the signal ignored.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try: gpucast.run(ENDLESS, grid=1, block=32)\n"
            "except KeyboardInterrupt: print('interrupted')\n"
        )
        here = str(REPOSITORY / "doors/python/tests")
        done = subprocess.run(
            [sys.executable, "-c", program, here], capture_output=True, text=True, timeout=120
        )
        self.assertEqual(done.stdout.strip(), "interrupted", done.stderr)

    def test_other_threads_run_meanwhile(self) -> None:
        steps = 0
        is_running = True

        def count() -> None:
            nonlocal steps
            while is_running:
                steps += 1

        thread = threading.Thread(target=count)
        thread.start()
        with self.assertRaises(gpucast.Error):
            gpucast.run(ENDLESS, grid=1, block=32, budget=20_000_000)
        is_running = False
        thread.join()
        self.assertGreater(steps, 10)

    def test_a_handler_that_raises_stops_a_run(self) -> None:
        def ring(*_: object) -> None:
            raise TimeoutError

        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(TimeoutError):
                gpucast.run(ENDLESS, grid=1, block=32)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


class Printing(unittest.TestCase):
    def test_what_kernels_print_goes_to_python_s_output(self) -> None:
        import contextlib
        import io

        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            gpucast.run(REPOSITORY / "tests/inputs/talk.ptx", **TALK)
        self.assertIn("thread", said.getvalue())


TALK = {"grid": 1, "block": 2}


class Cuda(unittest.TestCase):
    def test_cuda_is_compiled_where_there_is_a_compiler(self) -> None:
        x = array.array("f", range(64))
        try:
            gpucast.run(CUDA, x, 3.0, 64, grid=1, block=64)
        except gpucast.Error as error:
            if "no compiler" in error.message:
                self.skipTest("no CUDA compiler is installed")
            raise
        self.assertEqual(x.tolist(), [3.0 * i for i in range(64)])
        with self.assertRaises(gpucast.Error) as caught:
            gpucast.run(CUDA.replace("*= a", "*= b"), x, 3.0, 64, grid=1, block=64)
        place = caught.exception.places[0]
        assert place is not None
        self.assertEqual((place.file, place.line), ("kernel.cu", 4))
        lines = gpucast.profile(CUDA, x, 3.0, 64, grid=1, block=64).table(by="line")
        self.assertIn("if (i < n) x[i] *= a;", lines["cuda"])


if __name__ == "__main__":
    unittest.main()
