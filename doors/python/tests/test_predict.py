"""Predictions, counts and sweeps: what their objects say."""

from __future__ import annotations

import array
import json
import tempfile
import unittest
from pathlib import Path

import gpucast
from support import SAXPY

N = 4096


def saxpy_arrays() -> tuple[array.array[float], array.array[float]]:
    return array.array("f", range(N)), array.array("f", [1.0] * N)


class Predict(unittest.TestCase):
    def test_a_corpus_kernel_has_a_time_a_bound_and_figures_with_kinds(self) -> None:
        forecast = gpucast.predict("transpose", gpu="h100-sxm", size="small", machine="rules")
        self.assertEqual(len(forecast), 1)
        self.assertEqual(forecast[0].model, "sm-simulation")
        self.assertGreater(forecast.time_ms, 0.0)
        low, high = forecast[0].interval_ms or (0.0, 0.0)
        self.assertTrue(0.0 < low <= forecast.time_ms <= high)
        self.assertEqual(forecast.table()["interval_high_ms"], [high])
        self.assertEqual(forecast.on("h100-sxm").bound, forecast.bound)
        figure = forecast.metrics["dram_read_bytes"]
        self.assertEqual((figure.unit, figure.kind), ("byte", "modelled"))
        self.assertGreater(float(figure), 0.0)
        self.assertIn("transpose_padded on h100-sxm", repr(forecast))
        self.assertIn("short-launch", [warning.code for warning in forecast.warnings])
        self.assertIn("estimated by rules", forecast.counts[0].origin)

    def test_a_timeline_is_the_file_of_the_command_line(self) -> None:
        whole = gpucast.trace(
            "transpose", gpu="h100-sxm", size="small", machine="rules", format="json"
        )
        events = json.loads(whole.data)["traceEvents"]
        self.assertIn("transpose_padded on h100-sxm", whole.summary)
        self.assertEqual(repr(whole), whole.summary.rstrip())
        first = gpucast.trace(
            "transpose", gpu="h100-sxm", size="small", machine="rules", format="json", ctas=0,
            clocks=(0, 2000), time_unit="clocks",
        )
        self.assertTrue(0 < len(json.loads(first.data)["traceEvents"]) < len(events))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.pftrace"
            gpucast.trace("transpose", gpu="h100-sxm", size="small", machine="rules").save(path)
            # Field 1 of a trace, a packet, with its length.
            self.assertEqual(path.read_bytes()[:1], b"\x0a")
        with self.assertRaisesRegex(gpucast.ArgumentError, "no launch 7"):
            gpucast.trace("transpose", gpu="h100-sxm", size="small", machine="rules", launch=7)
        with self.assertRaisesRegex(gpucast.ArgumentError, "neither a number"):
            gpucast.trace("transpose", gpu="h100-sxm", size="small", machine="rules", sms="x")

    def test_several_gpus_and_models_are_a_sequence_and_a_table(self) -> None:
        forecast = gpucast.predict(
            "transpose", gpu=["h100-sxm", "gtx-660"], model="all", size="small", machine="rules"
        )
        self.assertEqual({one.gpu for one in forecast}, {"h100-sxm", "gtx-660"})
        with self.assertRaisesRegex(ValueError, "predictions"):
            _ = forecast.time_ms
        table = forecast.table()
        self.assertEqual(len(table), len(forecast))
        self.assertEqual(table["time_ms"], [one.time_ms for one in forecast])
        with self.assertRaisesRegex(KeyError, "gtx-480"):
            forecast.on("gtx-480")
        short = gpucast.predict("transpose", gpu="a100", size="small", machine="rules")
        self.assertEqual(short.on("a100"), short[0])

    def test_arrays_count_like_buffers_of_the_command_line_and_stay_as_they_are(self) -> None:
        x, y = saxpy_arrays()
        by_arrays = gpucast.predict(
            SAXPY, N, 2.0, x, y, gpu="h100-sxm", grid=16, block=256, machine="rules"
        )
        notation = ["u32:4096", "f32:2.0", "buf:f32[4096]=iota", "buf:f32[4096]=constant(1)"]
        by_notation = gpucast.predict(
            SAXPY, *notation, gpu="h100-sxm", grid=16, block=256, machine="rules"
        )
        self.assertEqual(by_arrays.to_dict(), by_notation.to_dict())
        self.assertEqual(y.tolist(), [1.0] * N)

    def test_pictures_and_summaries_are_for_notebooks(self) -> None:
        forecast = gpucast.predict("sgemm", gpu="h100-sxm", size="small", machine="rules")
        for kind in ("breakdown", "roofline"):
            svg = forecast.picture(kind)._repr_svg_()
            self.assertTrue(svg.startswith("<svg"), kind)
        self.assertNotEqual(forecast.picture(theme="dark").svg, forecast.picture().svg)
        page = forecast._repr_html_()
        self.assertIn("<svg", page)
        self.assertIn("short-launch", page)

    def test_a_launch_file_has_its_own_launch(self) -> None:
        from support import REPOSITORY

        forecast = gpucast.predict(
            REPOSITORY / "tests/inputs/saxpy.toml", gpu="gtx-960", machine="rules"
        )
        self.assertEqual(forecast[0].kernel, "saxpy")


class Profile(unittest.TestCase):
    def test_launches_lines_and_stages_are_tables(self) -> None:
        profile = gpucast.profile("transpose", size="small", machine="rules", by="stage")
        self.assertEqual(profile[0].grid, (4, 3, 1))
        lines = profile.table(by="line")
        self.assertIn("cuda_line", lines.columns)
        self.assertGreater(len(profile.table(by="stage")), 1)
        with self.assertRaisesRegex(ValueError, "not counted"):
            profile.table(by="access")
        self.assertEqual(profile.metrics["inst_executed"].kind, "estimated")

    def test_stalls_come_from_a_simulation(self) -> None:
        profile = gpucast.profile(
            "transpose", size="small", gpu="h100-sxm", machine="rules", stalls=True
        )
        lines = profile.to_dict(by="line")["launches"][0]["lines"]
        self.assertTrue(any(line.get("stalls") for line in lines))


class Sweep(unittest.TestCase):
    def test_a_grid_has_a_row_for_each_combination(self) -> None:
        table = gpucast.sweep(
            ["transpose", "transpose-unpadded"],
            gpu="h100-sxm",
            model="quantitative-roofline",
            size="small",
            set={"memory_bandwidth": ["1x", "2x"]},
            machine="rules",
        )
        self.assertEqual(len(table), 4)
        self.assertEqual(table["memory_bandwidth"], [2884.0, 5768.0] * 2)
        self.assertTrue(all(isinstance(time, float) for time in table["time_ms"]))
        self.assertIn("4 rows", str(table))

    def test_parameters_of_a_launch_file_vary(self) -> None:
        from support import REPOSITORY

        table = gpucast.sweep(
            REPOSITORY / "tests/inputs/saxpy-n.toml",
            gpu="gtx-660",
            vary={"n": [1024, 2048]},
            machine="rules",
        )
        self.assertEqual(table["n"], [1024.0, 2048.0])


class Gpus(unittest.TestCase):
    def test_fields_have_values_units_and_sources(self) -> None:
        self.assertGreater(len(gpucast.gpus()), 50)
        (gpu,) = gpucast.gpus("h100-sxm")
        self.assertEqual(gpu["name"], "h100-sxm")
        self.assertIn("source", gpu["sm_count"])


class Errors(unittest.TestCase):
    def test_a_misspelt_gpu_gets_a_hint(self) -> None:
        with self.assertRaises(gpucast.Error) as caught:
            gpucast.predict("transpose", gpu="h100-smx", size="small")
        self.assertEqual(caught.exception.message, "there is no GPU named `h100-smx`")
        self.assertIn("h100-sxm", caught.exception.hint or "")

    def test_wrong_arguments_are_value_errors_in_words_of_python(self) -> None:
        with self.assertRaises(ValueError) as caught:
            gpucast.predict("transpose", gpu="h100-sxm", grid=4, block=32)
        self.assertIsInstance(caught.exception, gpucast.ArgumentError)
        self.assertIn("grid=", str(caught.exception))
        for wrong in ({"model": "rofline"}, {"machine": "magic"}, {"size": "huge"}):
            with self.assertRaises(ValueError):
                gpucast.predict("transpose", gpu="h100-sxm", **wrong)  # type: ignore[arg-type]

    def test_wrong_types_are_type_errors(self) -> None:
        x, y = saxpy_arrays()
        launch = {"grid": 16, "block": 256}
        for args in (
            (N, 2.0, x),
            (N, x, 2.0, y),
            (N, 2.0, object(), y),
            (2.5, 2.0, x, y),
            ("u32:1", 2.0, x, y),
        ):
            with self.assertRaises(TypeError, msg=str(args)):
                gpucast.run(SAXPY, *args, **launch)
        with self.assertRaisesRegex(TypeError, "grid="):
            gpucast.run(SAXPY, N, 2.0, x, y)
        with self.assertRaises(ValueError):
            gpucast.run(SAXPY, 1 << 40, 2.0, x, y, **launch)
        with self.assertRaises(ValueError):
            gpucast.run(SAXPY, N, 2.0, x, y, grid=0, block=256)
        with self.assertRaises(TypeError):
            gpucast.predict(object(), gpu="h100-sxm")

    def test_errors_of_a_text_have_places(self) -> None:
        with self.assertRaises(gpucast.Error) as caught:
            gpucast.run(SAXPY.replace("fma.rn.f32", "fma.rn.f99"), grid=1, block=1)
        place = caught.exception.places[0]
        assert place is not None
        self.assertEqual(place.file, "kernel.ptx")
        self.assertIn("fma.rn.f99", SAXPY.replace("fma.rn.f32", "fma.rn.f99").splitlines()[place.line - 1])

    def test_an_access_outside_of_an_array_is_an_error_that_names_it(self) -> None:
        x, y = saxpy_arrays()
        with self.assertRaises(gpucast.Error) as caught:
            gpucast.run(SAXPY, N * 2, 2.0, x, y, grid=32, block=256)
        self.assertIn("array", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
