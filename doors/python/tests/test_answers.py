"""Advice, differences, sensitivity, tuning, formulas and pages: what they say, and in which types."""

from __future__ import annotations

import array
import json
import tempfile
import unittest
from pathlib import Path

import gpucast
from support import REPOSITORY, SAXPY

INPUTS = REPOSITORY / "tests/inputs"
ON = {"gpu": "a100", "machine": "rules"}
UNPADDED = str(INPUTS / "transpose.toml")
PADDED = str(INPUTS / "transpose-padded.toml")


class Advising(unittest.TestCase):
    def test_the_cause_is_named_at_its_line_with_its_gain(self) -> None:
        advice = gpucast.advise(UNPADDED, **ON)
        first = advice[0]
        self.assertEqual(first.rule, "bank-conflicts")
        source = (INPUTS / "transpose.cu").read_text().splitlines()
        self.assertEqual(source[first.places[0].line - 1].strip(), first.places[0].text)
        self.assertIn("tile[threadIdx.x][threadIdx.y]", first.places[0].text)
        # The gain is the time without conflicts, which another function predicts, too.
        now = gpucast.predict(UNPADDED, **ON).time_ms
        assert first.speed_up is not None and first.time_ms is not None
        self.assertAlmostEqual(now / first.time_ms, first.speed_up, places=9)
        self.assertIn("bank-conflicts", repr(advice))
        self.assertIn("× bank-conflicts at transpose.cu:13 on a100-sxm-80gb", repr(first))
        self.assertIn("transpose.cu:13", str(advice))
        self.assertTrue(advice._repr_html_().startswith("<pre>"))
        # The mended kernel has no such advice.
        self.assertNotIn("bank-conflicts", [one.rule for one in gpucast.advise(PADDED, **ON)])

    def test_arrays_are_taken_and_stay(self) -> None:
        x, y = array.array("f", range(4096)), array.array("f", [1.0] * 4096)
        gpucast.advise(SAXPY, 4096, 2.0, x, y, grid=16, block=256, **ON)
        self.assertEqual(set(y), {1.0})


class Comparing(unittest.TestCase):
    def test_times_and_counts_stand_side_by_side(self) -> None:
        before, after = (gpucast.predict(one, **ON) for one in (PADDED, UNPADDED))
        difference = gpucast.diff(before, after, fail_if=["time:5%", "inst_executed:0%"])
        (time,) = difference.times
        self.assertEqual((time.before_ms, time.after_ms), (before.time_ms, after.time_ms))
        count = next(one for one in difference.counts if one.metric == "shared_load_transactions")
        self.assertEqual((count.before, count.after), (2048, 65536))
        self.assertIsInstance(count.after, int)
        self.assertEqual(count.change, 31.0)
        self.assertIn(count, difference.changed)
        # One limit is broken, which makes the whole false.
        self.assertEqual([one.limit for one in difference.broken], ["time:5%"])
        self.assertFalse(difference)
        self.assertIn("1 limit is broken", repr(difference))
        self.assertTrue(gpucast.diff(before, before, fail_if="time:0%"))
        self.assertTrue(difference.markdown().startswith("### the prediction after: "))

    def test_a_baseline_is_a_file(self) -> None:
        forecast = gpucast.predict(PADDED, **ON)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "base.json")
            forecast.save(path)
            self.assertEqual(json.loads(path.read_text()), forecast.to_dict())
            self.assertTrue(gpucast.diff(path, forecast, fail_if=["time:0%", "inst_executed"]))
            path.write_text("{}")
            with self.assertRaisesRegex(gpucast.Error, "is no baseline"):
                gpucast.diff(path, forecast)
        with self.assertRaisesRegex(gpucast.ArgumentError, "is no limit: write it like"):
            gpucast.diff(forecast, forecast, fail_if="time;5%")
        with self.assertRaisesRegex(gpucast.Error, "did you mean `inst_executed`"):
            gpucast.diff(forecast, forecast, fail_if="inst_execute:5%")


class Moving(unittest.TestCase):
    def test_a_figure_moves_the_time_as_a_prediction_with_another_figure_does(self) -> None:
        moved = gpucast.sensitivity("sgemm", size="small", field="sp_clock", step=0.1, **ON)
        (clock,) = moved
        self.assertEqual((clock.field, clock.unit), ("sp_clock", "MHz"))
        table = gpucast.sweep("sgemm", size="small", set={"sp_clock": "1.1x"}, **ON)
        self.assertEqual(clock.higher_ms, table["time_ms"][0])
        assert clock.elasticity is not None
        self.assertLess(clock.elasticity, 0)
        self.assertIn("<sp_clock = 1410 MHz: elasticity -", repr(clock))
        self.assertIn("sp_clock -", repr(moved))

    def test_a_figure_that_moves_in_one_direction_has_one_time(self) -> None:
        # There is no GPU with less than one pipe.
        (pipes,) = gpucast.sensitivity("sgemm", field="fp32_pipes", **ON)
        self.assertIsNone(pipes.lower_ms)
        self.assertIsNone(pipes.elasticity)
        assert pipes.higher_ms is not None
        self.assertIn("<fp32_pipes = 1 pipe: elasticity ?>", repr(pipes))

    def test_wrong_figures_and_steps_are_told_in_the_words_of_python(self) -> None:
        for options, message in [
            ({"field": "sp_clok"}, "did you mean `sp_clock`"),
            ({"step": 2.0}, "step=0.01"),
        ]:
            with self.assertRaisesRegex(gpucast.ArgumentError, message):
                gpucast.sensitivity("sgemm", size="small", **options, **ON)


class Tuning(unittest.TestCase):
    def test_configurations_come_by_time(self) -> None:
        space = INPUTS / "tuning/space.toml"
        tuned = gpucast.tune(space, **ON)
        times = [one.time_ms for one in tuned if one.time_ms is not None]
        self.assertEqual(times, sorted(times))
        self.assertEqual(tuned.best.rank, 1)
        self.assertTrue(all(isinstance(value, int) for value in tuned.best.parameters.values()))
        self.assertIn(f"<Tuning of {len(tuned)} configurations: <", repr(tuned))

    def test_a_space_that_names_a_program_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            text = (INPUTS / "tuning/space.toml").read_text()
            path = Path(folder, "space.toml")
            path.write_text(text + '\n[compile]\ncommand = ["touch", "ran"]\n')
            with self.assertRaisesRegex(gpucast.ArgumentError, "names a program that compiles"):
                gpucast.tune(path, **ON)
            self.assertFalse(Path(folder, "ran").exists())


class Formulas(unittest.TestCase):
    def test_a_formula_gives_what_an_execution_counts(self) -> None:
        kernel = INPUTS / "saxpy-n.toml"
        names = ["inst_executed", "ptx_inst_executed"]
        found = gpucast.counts(kernel, {"n": (1024, 8192)}, metrics=names, machine="rules")
        self.assertEqual(list(found), names)
        self.assertIn("⌈n/32⌉", str(found["inst_executed"]))
        counted = gpucast.profile(str(kernel), parameters={"n": 5000}, machine="rules").metrics
        at = found.at(n=5000)
        for name in names:
            self.assertEqual((at[name].value, at[name].unit), (counted[name].value, "instruction"))
            self.assertIsInstance(at[name].value, int)
        self.assertIn("(estimated)>", repr(found["inst_executed"]))
        with self.assertRaisesRegex(gpucast.ArgumentError, "has no parameters"):
            gpucast.counts("sgemm", "n")
        with self.assertRaises(gpucast.ArgumentError):
            found.at(m=5)


class Reporting(unittest.TestCase):
    def test_a_page_has_the_source_and_the_advice(self) -> None:
        report = gpucast.report(UNPADDED, **ON)
        self.assertIn("tile[threadIdx.x][threadIdx.y]", report.html)
        self.assertIn("bank-conflicts", report.html)
        self.assertRegex(repr(report), r"<Report: [\d,]+ characters of HTML>")
        self.assertIn("<iframe srcdoc=", report._repr_html_())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "report.html")
            report.save(path)
            self.assertEqual(path.read_text(encoding="utf-8"), report.html)
        with self.assertRaisesRegex(gpucast.ArgumentError, "about one gpu="):
            gpucast.report(UNPADDED, gpu="a100,l4", machine="rules")


if __name__ == "__main__":
    unittest.main()
