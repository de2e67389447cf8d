"""The shape of `nsight-python`: what its documentation shows, on predictions."""

from __future__ import annotations

import array
import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any

import gpucast
from gpucast import nsight
from support import SAXPY, needed

SCALE = gpucast.Kernel(SAXPY, name="saxpy")


class Profiles(unittest.TestCase):
    def setUp(self) -> None:
        nsight.configure(gpu="a100", machine="rules")
        self.addCleanup(nsight.configure)

    def launch(self, n: int, factor: float = 2.0) -> array.array[float]:
        x, y = array.array("f", range(n)), array.array("f", [1.0] * n)
        SCALE[(n + 255) // 256, 256](n, factor, x, y)
        return y

    def test_each_configuration_has_the_time_that_a_prediction_has(self) -> None:
        results = []

        @nsight.analyze.kernel(configs=[1024, 4096])
        def benchmark(n: int) -> None:
            with nsight.annotate("saxpy"):
                results.append(self.launch(n))

        rows = benchmark().rows
        self.assertEqual([(row["Annotation"], row["n"]) for row in rows], [("saxpy", 1024), ("saxpy", 4096)])
        self.assertEqual([len(one) for one in results], [1024, 4096])
        self.assertEqual(list(results[0][:3]), [1.0, 3.0, 5.0])
        for row in rows:
            n = row["n"]
            x, y = array.array("f", range(n)), array.array("f", [1.0] * n)
            forecast = gpucast.predict(
                SCALE[n // 256, 256], n, 2.0, x, y, gpu="a100", machine="rules", timing="ncu-duration"
            )
            self.assertAlmostEqual(row["AvgValue"], 1e6 * forecast.time_ms, places=6)
            self.assertEqual((row["Metric"], row["Unit"]), ("gpu__time_duration.sum", "ns"))
            self.assertEqual((row["Kernel"], row["GPU"], row["NumRuns"]), ("saxpy", "A100 SXM4 80 GB", 1))
            self.assertEqual(row["ComputeClock"], 1_410_000)

    def test_parameters_may_have_any_name_but_those_of_columns(self) -> None:
        @nsight.analyze.kernel(configs=[(256,), (512,)], runs=2)
        def benchmark(config: int) -> None:
            with nsight.annotate("saxpy"):
                self.launch(config)

        rows = benchmark().rows
        self.assertEqual([(row["config"], row["NumRuns"]) for row in rows], [(256, 2), (512, 2)])
        with self.assertRaisesRegex(nsight.exceptions.ProfilerException, "Metric is a column"):

            @nsight.analyze.kernel
            def other(Metric: int) -> None:
                self.launch(Metric)

    def test_metrics_are_derived_compared_and_repeated(self) -> None:
        @nsight.analyze.kernel(
            configs=[(4096, 2.0)],
            runs=3,
            metrics=["gpu__time_duration.sum", "sm__inst_executed.sum"],
            derive_metric=lambda time, count, n, factor: {"rate": (n / time, "element/ns"), "n": n},
            normalize_against="half",
        )
        def benchmark(n: int, factor: float) -> None:
            with nsight.annotate("half"):
                self.launch(n // 2, factor)
            with nsight.annotate("whole"):
                self.launch(n, factor)

        rows = {(row["Annotation"], row["Metric"]): row for row in benchmark().rows}
        self.assertEqual(len(rows), 8)
        # Every warp executes the same instructions: twice the threads execute twice as many.
        count = rows["whole", "sm__inst_executed.sum"]
        self.assertEqual((count["AvgValue"], count["Normalized"], count["NumRuns"]), (2.0, "half", 3))
        self.assertEqual((count["StdDev"], count["StableMeasurement"]), (0.0, True))
        self.assertEqual(count["MinValue"], count["MaxValue"])
        self.assertEqual(rows["half", "sm__inst_executed.sum"]["AvgValue"], 1.0)
        self.assertEqual(rows["whole", "rate"]["Unit"], "element/ns")
        time = rows["whole", "gpu__time_duration.sum"]
        self.assertAlmostEqual(rows["whole", "rate"]["MinValue"], 4096 / time["MinValue"])
        self.assertEqual(time["Geomean"], time["AvgValue"])

    def test_several_launches_are_combined_or_refused(self) -> None:
        def twice() -> None:
            with nsight.annotate("both"):
                self.launch(1024)
                self.launch(2048)

        one = nsight.analyze.kernel(combine_kernel_metrics=lambda a, b: a + b)(twice)()
        self.assertGreater(one.rows[0]["AvgValue"], 0)
        with self.assertRaisesRegex(nsight.exceptions.ProfilerException, "2 kernels were launched"):
            nsight.analyze.kernel(twice)()
        with self.assertRaisesRegex(nsight.exceptions.ProfilerException, "no kernel was launched"):
            nsight.analyze.kernel(ignore_kernel_list=["saxpy"])(twice)()

    def test_what_follows_from_no_count_has_no_value_and_is_said(self) -> None:
        @nsight.analyze.kernel(metrics=["sm__inst_executed.sum", "no__such.sum"])
        def benchmark() -> None:
            with nsight.annotate("saxpy"):
                self.launch(1024)

        with self.assertWarnsRegex(RuntimeWarning, "without a value: no__such.sum"):
            rows = benchmark().rows
        self.assertEqual([row["NumRuns"] for row in rows], [1, 0])

    def test_parts_are_named_once_and_may_fail(self) -> None:
        @nsight.annotate("fails", ignore_failures=True)
        def failing() -> None:
            raise RuntimeError("no")

        @nsight.analyze.kernel
        def benchmark() -> None:
            failing()
            with nsight.annotate("saxpy"):
                self.launch(1024)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = benchmark().rows
        self.assertEqual([row["NumRuns"] for row in rows], [0, 1])

        def nested() -> None:
            with nsight.annotate("a"), nsight.annotate("b"):
                pass

        def again() -> None:
            for _ in range(2):
                with nsight.annotate("a"):
                    self.launch(1024)

        for function in (nested, again):
            with self.assertRaises(ValueError):
                nsight.analyze.kernel(function)()
        # Outside of a profile an annotation changes nothing.
        with nsight.annotate("a"), nsight.annotate("a"):
            self.launch(1024)

    def test_configurations_fit_the_function(self) -> None:
        def benchmark(n: int, factor: float = 2.0) -> None:
            with nsight.annotate("saxpy"):
                self.launch(n, factor)

        rows = nsight.analyze.kernel(benchmark)(1024).rows
        self.assertEqual((rows[0]["n"], rows[0]["factor"]), (1024, 2.0))
        rows = nsight.analyze.kernel(benchmark)(configs=[(1024, 3.0)]).rows
        self.assertEqual(rows[0]["factor"], 3.0)
        for call in (
            lambda: nsight.analyze.kernel(benchmark)(),
            lambda: nsight.analyze.kernel(configs=[])(benchmark)(),
            lambda: nsight.analyze.kernel(configs=[(1, 2, 3)])(benchmark)(),
            lambda: nsight.analyze.kernel(configs=[1])(benchmark)(configs=[2]),
        ):
            with self.assertRaises(nsight.exceptions.ProfilerException):
                call()
        with self.assertRaisesRegex(TypeError, "has no option metric$"):
            nsight.analyze.kernel(metric="x")  # type: ignore[call-overload]

    def test_results_are_files_frames_and_pictures(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder, "plot.png")

            @nsight.analyze.plot(str(picture), plot_type="bar")
            @nsight.analyze.kernel(configs=[1024, 2048], output_csv=True, output_prefix=f"{folder}/a_")
            def benchmark(n: int) -> None:
                with nsight.annotate("saxpy"):
                    self.launch(n)

            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                results = benchmark()
            lines = Path(folder, "a_processed_data-benchmark-0.csv").read_text().splitlines()
            self.assertEqual(len(lines), 3)
            self.assertTrue(lines[0].startswith("Annotation,n,AvgValue,StdDev,"), lines[0])
            self.assertEqual(picture.exists(), not said, [str(one.message) for one in said])
            self.assertEqual(results.table()["n"], [1024.0, 2048.0])
            self.assertIn("2 rows of gpu__time_duration.sum", repr(results))
            frame: Any = results.to_dataframe()
            self.assertEqual(list(frame["n"]), [1024, 2048])

    def test_pictures_have_panels_variants_and_means(self) -> None:
        figures: list[Any] = []

        def profiled(**options: Any) -> None:
            with tempfile.TemporaryDirectory() as folder:

                @nsight.analyze.plot(
                    f"{folder}/plot.png", plot_callback=figures.append, annotate_points=True, **options
                )
                @nsight.analyze.kernel(configs=[(n, a) for n in (1024, 2048) for a in (2.0, 3.0)])
                def benchmark(n: int, factor: float) -> None:
                    for name in ("one", "two"):
                        with nsight.annotate(name):
                            self.launch(n, factor)

                benchmark()

        with self.assertRaisesRegex(nsight.exceptions.ProfilerException, "no parameter size"):
            profiled(row_panels=["size"])
        with self.assertRaisesRegex(ValueError, "avg or geomean, not 'mean'"):
            profiled(show_aggregate="mean")
        needed("matplotlib")
        profiled(row_panels=["n"], col_panels=["factor"], show_aggregate="geomean")
        profiled(variant_fields=["factor"], variant_annotations=["two"])
        panels, variants = figures
        self.assertEqual([axes.get_title() for axes in panels.axes][1], "n=1024, factor=3.0")
        self.assertEqual(len(panels.axes), 4)
        lines = [text.get_text() for text in panels.axes[0].get_legend().get_texts()]
        self.assertEqual(lines, ["one", "one, geomean", "two", "two, geomean"])
        (axes,) = variants.axes
        lines = [text.get_text() for text in axes.get_legend().get_texts()]
        self.assertEqual(lines, ["one", "two, factor=2.0", "two, factor=3.0"])
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["1024", "2048"])

    def test_collectors_add_columns_of_their_values(self) -> None:
        calls: list[tuple[str, tuple[Any, ...]]] = []

        @nsight.experimental.collect(scope=nsight.CollectionScope.ONCE)
        def author() -> str:
            calls.append(("once", ()))
            return "me"

        @nsight.experimental.collect(scope="config")
        def bytes_moved(n: int) -> int:
            calls.append(("config", (n,)))
            return 12 * n

        def order(*args: Any) -> int:
            calls.append(("run", args))
            return sum(1 for name, _ in calls if name == "run")

        def part(name: str) -> str:
            return f"part {name}"

        def broken(*args: Any) -> float:
            raise OSError("no sensor")

        @nsight.analyze.kernel(
            configs=[(1024, 2.0), (2048, 3.0)],
            runs=3,
            info_collectors=[
                author,
                bytes_moved,
                ("order", order, "run"),
                nsight.InfoCollector("part", part, nsight.CollectionScope.ANNOTATION),
                ("broken", broken, "annotation"),
            ],
        )
        def benchmark(n: int, factor: float) -> None:
            with nsight.annotate("saxpy"):
                self.launch(n, factor)

        with self.assertWarnsRegex(RuntimeWarning, r"broken \(OSError: no sensor\)") as told:
            rows = benchmark().rows
        self.assertEqual(len(told.warnings), 1)
        self.assertEqual([name for name, _ in calls], ["once", *["config", "run", "run", "run"] * 2])
        self.assertEqual(calls[2], ("run", (1024, 2.0)))
        for row, number in zip(rows, (0, 1)):
            self.assertEqual((row["author"], row["part"], row["broken"]), ("me", "part saxpy", None))
            names = ("Avg", "Std", "Min", "Max")
            moved = 12 * row["n"]
            self.assertEqual([row[f"bytes_moved_{one}"] for one in names], [moved, 0, moved, moved])
            runs = [3 * number + one for one in (1, 2, 3)]
            self.assertEqual([row[f"order_{one}"] for one in names], [runs[1], 1, runs[0], runs[2]])

    def test_collectors_have_scopes_and_names_of_their_own(self) -> None:
        def n() -> int:
            return 1

        for given in ([n], [("n", n, "once")], [("Value", n, "once")], [("a", n, "once")] * 2):
            with self.assertRaises(nsight.exceptions.ProfilerException):

                @nsight.analyze.kernel(info_collectors=given)
                def benchmark(n: int) -> None:
                    self.launch(n)

        with self.assertRaisesRegex(ValueError, "once, config, run, annotation, not 'twice'"):
            nsight.experimental.collect(n, scope="twice")

    def test_launches_of_numba_run_here(self) -> None:
        numpy: Any = needed("numpy")
        needed("nvidia.cuda_nvrtc")
        needed("numba_cuda")
        cuda: Any = needed("numba.cuda")

        @cuda.jit  # type: ignore[untyped-decorator]
        def double(x: Any) -> None:
            i = cuda.grid(1)
            if i < x.size:
                x[i] *= 2

        x = numpy.arange(1024, dtype=numpy.float32)

        @nsight.analyze.kernel
        def benchmark() -> None:
            with nsight.annotate("double"):
                double[4, 256](x)

        rows = benchmark().rows
        self.assertEqual((rows[0]["Kernel"], x[3]), ("double", 6.0))


if __name__ == "__main__":
    unittest.main()
