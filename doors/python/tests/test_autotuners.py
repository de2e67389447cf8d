"""Autotuners: each adapter against the interface that its package documents.

Doubles stand for packages that need a GPU or are not installed. What Triton and Kernel Tuner do by
themselves is tried with them, where they are there.
"""

from __future__ import annotations

import abc
import math
import sys
import types
import unittest
from array import array
from contextlib import contextmanager, nullcontext
from typing import Any, Iterator
from unittest import mock

import gpucast
from gpucast.adapters import helion, kernel_tuner, ktt, tilelang, triton_autotuner
from support import REPOSITORY, SAXPY, needed

SPACE = REPOSITORY / "tests/inputs/tuning/space.toml"


class Config:
    """A configuration as `triton.Config` has it."""

    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3) -> None:
        self.kwargs = {**kwargs, "num_warps": num_warps, "num_stages": num_stages}

    def all_kwargs(self) -> dict[str, Any]:
        return self.kwargs


def autotuned() -> Any:
    """`kernel[grid]` of an autotuned kernel with heuristics, as Triton keeps it in a closure."""
    function = types.SimpleNamespace(params=[], fn=None)
    heuristics = types.SimpleNamespace(fn=function, values={"EVEN": lambda given: given["n"] % 2 == 0})
    configs = [Config({"BLOCK": block}) for block in (64, 128, 256)]
    self = types.SimpleNamespace(fn=heuristics, configs=configs, arg_names=["x", "n", "BLOCK"])
    grid = lambda meta: (meta["n"] // meta["BLOCK"],)
    return lambda *args, **kwargs: self.run(grid=grid, warmup=False, *args, **kwargs)


def predicted(
    function: Any, *, BLOCK: int, EVEN: bool, n: int, grid: Any, gpu: str, **given: Any
) -> Any:
    """Blocks of 64 are refused; the larger a block, the faster."""
    assert (given["num_warps"], given["num_stages"], EVEN, gpu) == (4, 3, True, "h100-sxm")
    assert grid({"n": n, "BLOCK": BLOCK}) == (n // BLOCK,)
    codes = ["unlaunchable"] if BLOCK == 64 else []
    warnings = [types.SimpleNamespace(code=code, text="too much shared memory") for code in codes]
    prediction = types.SimpleNamespace(warnings=warnings)

    class Forecast(list[Any]):
        time_ms = 1.0 / BLOCK

    return Forecast([prediction])


class Triton(unittest.TestCase):
    def test_a_performance_model_is_given_what_triton_gives(self) -> None:
        tuner = autotuned().__closure__[1].cell_contents
        model = triton_autotuner.PerfModel(lambda: tuner, gpu="h100-sxm")
        with mock.patch.object(triton_autotuner, "predict", predicted):
            times = [
                # Arguments by name, those of the launch, and the configuration.
                model(x=None, n=1024, grid=lambda meta: (1024 // meta["BLOCK"],), warmup=False, **one.all_kwargs())
                for one in tuner.configs
            ]
        self.assertEqual(times, [math.inf, 1 / 128, 1 / 256])

    def test_an_autotuned_kernel_is_ranked(self) -> None:
        with mock.patch.object(triton_autotuner, "predict", predicted):
            ranking = gpucast.tune(autotuned(), None, 1024, gpu="h100-sxm")
        self.assertEqual([one.parameters["BLOCK"] for one in ranking], [256, 128, 64])
        self.assertEqual([one.rank for one in ranking], [1, 2, None])
        self.assertEqual(ranking[2].error, "too much shared memory")
        self.assertEqual([one.parameters["BLOCK"] for one in ranking.proposed], [256, 128])

    def test_tensors_on_a_gpu_are_copied(self) -> None:
        copied = array("f", [1.0])
        tensor = types.SimpleNamespace(is_cuda=True, cpu=lambda: copied)
        seen: list[Any] = []

        def watched(function: Any, *, x: Any, **given: Any) -> Any:
            seen.append(x)
            return predicted(function, **given)

        tuner = autotuned().__closure__[1].cell_contents
        with mock.patch.object(triton_autotuner, "predict", watched):
            triton_autotuner.PerfModel(tuner, "h100-sxm")(
                x=tensor, n=256, grid=lambda meta: (256 // meta["BLOCK"],), BLOCK=256, num_warps=4, num_stages=3
            )
        self.assertIs(seen[0], copied)

    def test_what_is_neither_a_space_nor_autotuned_is_refused(self) -> None:
        with self.assertRaisesRegex(TypeError, "autotune"):
            gpucast.tune(lambda: None, gpu="h100-sxm")

    def test_triton_prunes_by_it(self) -> None:
        np: Any = needed("numpy")
        triton: Any = needed("triton")
        from triton_kernels import add

        configs = [triton.Config({"BLOCK": block}, num_warps=1) for block in (32, 1024)]
        model = triton_autotuner.PerfModel(add, gpu="h100-sxm", machine="rules")
        tuner = triton.autotune(configs, key=["n"], prune_configs_by={"perf_model": model, "top_k": 1})(add)
        x = np.ones(1 << 16, np.float32)
        grid = lambda meta: (triton.cdiv(x.size, meta["BLOCK"]),)
        tuner.nargs = dict(zip(tuner.arg_names, (x, x, x.copy(), x.size)))
        (kept,) = tuner.prune_configs({"grid": grid, "warmup": False})
        ranking = gpucast.tune(tuner[grid], x, x, x.copy(), x.size, gpu="h100-sxm", machine="rules")
        self.assertEqual(kept.kwargs["BLOCK"], ranking.best.parameters["BLOCK"])


class Backend(abc.ABC):
    """What Kernel Tuner declares of a GPU's backend, in names."""

    METHODS = (
        "ready_argument_list compile start_event stop_event kernel_finished synchronize run_kernel "
        "memset memcpy_dtoh memcpy_htod refresh_memory copy_constant_memory_args "
        "copy_shared_memory_args copy_texture_memory_args"
    ).split()


@contextmanager
def doubled() -> Iterator[Any]:
    """The modules of Kernel Tuner that a backend meets."""
    nvcuda = types.SimpleNamespace(CudaFunctions=object, driver=None)
    modules: dict[str, Any] = {
        "kernel_tuner": types.ModuleType("kernel_tuner"),
        "kernel_tuner.backends": types.ModuleType("kernel_tuner.backends"),
        "kernel_tuner.backends.backend": types.SimpleNamespace(GPUBackend=Backend),
        "kernel_tuner.backends.nvcuda": nvcuda,
    }
    with mock.patch.dict(sys.modules, modules):
        yield nvcuda


class KernelTuner(unittest.TestCase):
    def test_a_backend_stands_in_the_place_of_one_while_it_lasts(self) -> None:
        with doubled() as nvcuda:
            with kernel_tuner.predicting("a100"):
                self.assertTrue(issubclass(nvcuda.CudaFunctions, Backend))
                self.assertTrue(nvcuda.driver)
                for method in Backend.METHODS:
                    self.assertTrue(callable(getattr(nvcuda.CudaFunctions, method)), method)
            self.assertIs(nvcuda.CudaFunctions, object)
            self.assertIsNone(nvcuda.driver)

    def test_launches_are_executed_and_timed_ones_predicted(self) -> None:
        np: Any = needed("numpy")
        instance = types.SimpleNamespace(name="saxpy", kernel_string=SAXPY)
        with doubled() as nvcuda, kernel_tuner.predicting("a100", machine="rules"):
            backend = nvcuda.CudaFunctions(device=0, iterations=3, compiler_options=None, observers=None)
            x, y = np.arange(512, dtype=np.float32), np.ones(512, np.float32)
            arguments = backend.ready_argument_list([np.uint32(512), np.float32(2), x, y])
            function = backend.compile(instance)
            backend.run_kernel(function, arguments, (128, 1, 1), (4, 1, 1))
            made = np.zeros_like(y)
            backend.memcpy_dtoh(made, arguments[3])
            np.testing.assert_array_equal(made, 2 * x + 1)
            self.assertEqual(y[1], 1, "the host's arrays stay as they are")
            backend.refresh_memory(arguments, [None, None, x, y], [False, False, False, True])
            for _ in range(3):
                backend.start_event()
                backend.run_kernel(function, arguments, (128, 1, 1), (4, 1, 1))
                backend.stop_event()
                for observer in backend.observers:
                    observer.after_finish()
            results = backend.observers[-1].get_results()
        alone = gpucast.predict(SAXPY, 512, 2.0, x, y, name="saxpy", grid=4, block=128, gpu="a100", machine="rules")
        self.assertEqual(results["times"], [alone.time_ms] * 3)
        self.assertEqual((results["time_low"], results["time_high"]), alone[0].interval_ms)
        np.testing.assert_array_equal(arguments[3], y)

    def test_a_refused_launch_is_one_that_kernel_tuner_leaves_out(self) -> None:
        np: Any = needed("numpy")
        instance = types.SimpleNamespace(name="saxpy", kernel_string=SAXPY)
        with doubled() as nvcuda, kernel_tuner.predicting("a100", machine="rules"):
            backend = nvcuda.CudaFunctions()
            x = np.ones(512, np.float32)
            backend.copy_shared_memory_args({"size": 200_000})
            backend.start_event()
            with self.assertRaisesRegex(RuntimeError, kernel_tuner.REFUSED):
                backend.run_kernel(instance, [np.uint32(512), np.float32(2), x, x], (128, 1, 1), (4, 1, 1))

    def test_kernel_tuner_tunes_and_verifies(self) -> None:
        np: Any = needed("numpy")
        tuner: Any = needed("kernel_tuner")
        needed("nvidia.cuda_nvrtc")
        source = """
        __constant__ float factors[2];
        extern "C" __global__ void scale(float *x, int n) {
            int i = blockIdx.x * block_size_x + threadIdx.x;
            if (i < n) x[i] *= factors[1];
        }
        """
        x = np.arange(1 << 16, dtype=np.float32)
        with kernel_tuner.predicting("a100"):
            results, environment = tuner.tune_kernel(
                "scale", source, x.size, [x, np.int32(x.size)], {"block_size_x": [32, 128, 2048]},
                answer=[3 * x, None], cmem_args={"factors": np.array([2, 3], np.float32)}, lang="CUDA", quiet=True,
            )
        times = {one["block_size_x"]: one["time"] for one in results}
        self.assertLess(times[128], times[32])
        self.assertEqual(environment["predicted_by"], "gpucast")


class Pair:
    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def GetName(self) -> str:
        return self.name

    def GetValue(self) -> Any:
        return self.value


class Searcher:
    """A searcher of KTT with six configurations; the last parameter is unknown to the ranking."""

    ALL = [(block, per, 7) for block in (256, 128, 64) for per in (8, 1)]

    def GetConfigurationsCount(self) -> int:
        return len(self.ALL)

    def GetConfiguration(self, index: int) -> Any:
        names = ("block", "per_thread", "other")
        pairs = [Pair(*pair) for pair in zip(names, self.ALL[index])]
        return types.SimpleNamespace(GetPairs=lambda: pairs)


class Ktt(unittest.TestCase):
    def test_configurations_come_in_the_order_of_the_ranking(self) -> None:
        ranking = gpucast.tune(SPACE, gpu="h100-sxm", machine="rules")
        self.assertEqual(set(ranking[0].parameters), {"block", "per_thread"})
        searcher = ktt.searcher(types.SimpleNamespace(Searcher=Searcher), ranking)
        searcher.OnInitialize()
        visited = []
        more = True
        while more:
            pairs = searcher.GetCurrentConfiguration().GetPairs()
            visited.append((pairs[0].GetValue(), pairs[1].GetValue()))
            more = searcher.CalculateNextConfiguration(None)
        timed = [*ranking.proposed, *(one for one in ranking if one.time_ms is not None)]
        known = {(block, per) for block, per, _ in Searcher.ALL}
        order = [(one.parameters["block"], one.parameters["per_thread"]) for one in timed]
        self.assertEqual(visited, [key for key in dict.fromkeys(order) if key in known])
        self.assertGreater(len(visited), 1)

    def test_a_ranking_of_another_kernel_is_refused(self) -> None:
        ranking = gpucast.tune(SPACE, gpu="h100-sxm", machine="rules")
        with mock.patch.object(Searcher, "ALL", [(3, 3, 3)]):
            searcher = ktt.searcher(types.SimpleNamespace(Searcher=Searcher), ranking)
            with self.assertRaisesRegex(ValueError, "none of the kernel's configurations"):
                searcher.OnInitialize()


class Helion(unittest.TestCase):
    def test_the_configuration_with_the_shortest_prediction_is_chosen(self) -> None:
        def compile_config(config: int, *, allow_print: bool) -> Any:
            # A host function that launches twice, by the launcher that it is given.
            def host(x: Any, *, _launcher: Any) -> None:
                self.assertEqual(runtime.get_num_sm(x), 132, "the SMs of the GPU that is tuned for")
                for _ in range(2):
                    _launcher("kernel", (config,), x, num_warps=4, num_stages=2, _internal=1, maxnreg=64)

            return host

        def predicted(kernel: Any, x: Any, *, gpu: str, grid: Any, **given: Any) -> Any:
            assert given == {"num_warps": 4, "num_stages": 2, "maxnreg": 64}
            if grid == (3,):
                raise gpucast.Error("too large")

            class Forecast(list[Any]):
                time_ms = float(grid[0])

            return Forecast()

        bound = types.SimpleNamespace(
            kernel=types.SimpleNamespace(configs=[3, 5, 1]), compile_config=compile_config
        )
        runtime = types.SimpleNamespace(get_num_sm=None)
        modules: dict[str, Any] = {"helion": types.ModuleType("helion"), "helion.runtime": runtime}
        with mock.patch.dict(sys.modules, modules), mock.patch.object(helion, "predict", predicted):
            search = helion.autotuner("h100-sxm")(bound, [array("f", [1.0])])
            self.assertEqual(search.autotune(skip_cache=True), 1)
        self.assertEqual(search.times_ms, [(1, 2.0), (5, 10.0), (3, math.inf)])


class TileLang(unittest.TestCase):
    def test_the_list_of_configurations_is_pruned(self) -> None:
        def get_tir(rows: int, *, tile: int) -> int:
            return rows // tile

        def time_ms(tiles: int, target: Any, gpu: str, options: Any) -> float:
            self.assertEqual((gpu, options), ("a100", {"machine": "rules"}))
            if tiles == 1:
                raise gpucast.Error("too much shared memory")
            return float(tiles)

        made = types.SimpleNamespace(jit_impl=types.SimpleNamespace(get_tir=get_tir))
        tiles = [{"tile": tile} for tile in (8, 64, 16, 32)]
        with (
            mock.patch.object(tilelang, "_target", lambda gpu: nullcontext()),
            mock.patch.object(tilelang, "_time_ms", time_ms),
        ):
            configs = tilelang.pruned(lambda: made, tiles, gpu="a100", keep=3, machine="rules")
            self.assertEqual(configs(64), [{"tile": 32}, {"tile": 16}, {"tile": 8}])

    def test_a_lowered_function_is_launched_as_tilelang_would(self) -> None:
        tensor = types.SimpleNamespace(data=types.SimpleNamespace(name="A"), shape=(4, 8), dtype="float16")
        attrs = {
            "thread_extent": {"blockIdx.x": 2, "blockIdx.y": 3, "threadIdx.x": 128},
            "dyn_shared_memory_buf": 4096,
            "global_symbol": "main_kernel",
        }
        device = types.SimpleNamespace(attrs=attrs, params=[types.SimpleNamespace(name="A")])
        lowered = types.SimpleNamespace(
            kernel_source="source", device_mod=types.SimpleNamespace(functions={"f": device})
        )
        modules: dict[str, Any] = {
            "tilelang": types.SimpleNamespace(lower=lambda function, target: lowered),
            "tvm": types.SimpleNamespace(DataType=lambda name: types.SimpleNamespace(itemsize=2)),
        }
        seen: dict[str, Any] = {}

        def predicted(ptx: str, *args: Any, **given: Any) -> Any:
            seen.update(given, ptx=ptx, args=args)

            class Forecast(list[Any]):
                time_ms = 0.5

            return Forecast()

        function = types.SimpleNamespace(buffer_map={"A": tensor})
        with (
            mock.patch.dict(sys.modules, modules),
            mock.patch.object(tilelang, "_compiled", lambda source, target: f"PTX of {source}"),
            mock.patch.object(tilelang, "predict", predicted),
        ):
            self.assertEqual(tilelang._time_ms(function, nullcontext(), "a100", {}), 0.5)
        self.assertEqual((seen["grid"], seen["block"]), ((2, 3, 1), (128, 1, 1)))
        self.assertEqual((seen["args"], seen["shared_bytes"]), (("buf:u8[64]=zero",), 4096))
        self.assertEqual((seen["ptx"], seen["name"]), ("PTX of source", "main_kernel"))


if __name__ == "__main__":
    unittest.main()
