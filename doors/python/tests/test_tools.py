"""Notebooks, pytest, and the type stubs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import gpucast
from gpucast import ncu_report
from support import CUDA, REPORT, REPOSITORY, needed

PLUGIN_TEST = '''
import array
from gpucast.testing import assert_faster, assert_no_findings, assert_within
import gpucast
import pytest

def test_padding_is_faster(gpucast_gpu):
    times = [
        gpucast.predict(name, gpu=gpucast_gpu, size="small", machine="rules", model="interval")
        for name in ("transpose", "transpose-unpadded")
    ]
    with pytest.raises(AssertionError, match="is not 1000 times faster"):
        assert_faster(*times, by=1000)
    on = {"gpu": gpucast_gpu, "size": "small", "machine": "rules", "model": "interval"}
    assert_within("transpose", limits="time <= 1ms", **on)
    with pytest.raises(AssertionError, match=f"time <= 1ns on {gpucast_gpu}: .* is 1.000 ns"):
        assert_within("transpose", limits=["global_load_sectors_per_request <= 4", "time <= 1ns"], **on)

def test_nothing_is_wrong():
    assert_no_findings("transpose", size="small")
'''


class ReportsOfPrograms(unittest.TestCase):
    """What the documentation of Nsight Compute's module shows, on a report of our own."""

    def load(self, text: bytes) -> ncu_report.IContext:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "report.ncu-rep")
            path.write_bytes(text)
            return ncu_report.load_report(path)

    def test_ranges_actions_and_metrics_are_walked_through(self) -> None:
        context = self.load(json.dumps(REPORT).encode())
        self.assertEqual((context.num_ranges(), context.gpu), (1, "a100"))
        first = context.range_by_idx(0)
        self.assertEqual((first.num_actions(), len(list(first))), (2, 2))
        action = first.action_by_idx(1)
        self.assertEqual((str(action), action.name(action.NameBase_DEMANGLED)), ("f", "ns::f<int>(int*)"))
        self.assertEqual((action.grid(), action.block()), ((2, 1, 1), (64, 1, 1)))
        count = action.metric_by_name("sm__inst_executed.sum")
        assert count is not None
        # A double would lose the last digit.
        self.assertEqual(count.as_uint64(), 9007199254740993)
        self.assertEqual((count.unit(), count.origin), ("inst", "exact"))
        self.assertEqual(count.kind(), ncu_report.IMetric.ValueKind_UINT64)
        self.assertEqual((count.num_instances(), count.has_correlation_ids()), (0, False))
        time = action["gpu__time_duration.sum"]
        self.assertEqual((time.as_double(), time.as_uint64(), str(time)), (2500.5, 2500, "2500.5 ns"))
        self.assertEqual(action["launch__func_cache_config"].as_string(), "CachePreferNone")
        self.assertIsNone(action.metric_by_name("no__such.sum"))
        self.assertEqual(action.unknown_metric_names(), ("no__such.sum",))
        self.assertNotIn("no__such.sum", action.metric_names())
        self.assertEqual(len(action), 3)

    def test_other_files_and_places_are_refused(self) -> None:
        for text in (b"NVR\0", b"{", b'{"schema": "gpucast.ncu/9"}'):
            with self.assertRaises(gpucast.ArgumentError):
                self.load(text)
        context = self.load(json.dumps(REPORT).encode())
        with self.assertRaises(IndexError):
            context.range_by_idx(0).action_by_idx(2)
        with self.assertRaises(IndexError):
            context.range_by_idx(-1)
        with self.assertRaises(IndexError):
            context[0][0]["sm__inst_executed.sum"].as_double(0)


class Pytest(unittest.TestCase):
    def test_the_plugin_gives_gpus_and_assertions(self) -> None:
        needed("pytest")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "test_kernels.py").write_text(PLUGIN_TEST)
            self.assertIn("3 passed", self.run_in(folder, folder))

    def test_the_example_passes(self) -> None:
        needed("pytest")
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("9 passed", self.run_in(folder, str(REPOSITORY / "examples/testing")))

    def run_in(self, folder: str, tests: str) -> str:
        arguments = ["-q", "-p", "gpucast.pytest_plugin", "-p", "no:cacheprovider"]
        gpus = ["--gpucast-gpu", "h100-sxm,gtx-960"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, *gpus, tests],
            capture_output=True,
            text=True,
            cwd=folder,
        )
        return done.stdout + done.stderr


class Notebook(unittest.TestCase):
    def test_a_cell_of_cuda_is_forecast_and_run(self) -> None:
        needed("IPython")
        from IPython.core.interactiveshell import InteractiveShell

        import array

        shell: Any = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "gpucast")
        shell.user_ns["x"] = array.array("f", range(64))
        line = "scale x 3.0 64 --grid 1 --block 64 --gpu h100-sxm --run"
        try:
            forecast = shell.run_cell_magic("gpucast", line, CUDA)
        except gpucast.Error as error:
            if "no compiler" in error.message:
                self.skipTest("no CUDA compiler is installed")
            raise
        self.assertEqual(shell.user_ns["x"][5], 15.0)
        shown, _ = shell.display_formatter.format(forecast)
        self.assertIn("<svg", shown["text/html"])
        picture, _ = shell.display_formatter.format(forecast.picture("roofline"))
        self.assertIn("image/svg+xml", picture)


    def test_the_example_runs_and_shows_pictures(self) -> None:
        nbformat, nbclient = needed("nbformat"), needed("nbclient")
        for name in ("ipykernel", "nvidia.cuda_nvrtc"):
            needed(name)
        notebook = nbformat.read(REPOSITORY / "examples/forecast.ipynb", as_version=4)
        nbformat.validate(notebook)
        with tempfile.TemporaryDirectory() as folder:
            kernels = Path(folder, "kernels/python3")
            kernels.mkdir(parents=True)
            # The Python of this test, whatever kernels the user has installed.
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
            Path(kernels, "kernel.json").write_text(json.dumps(spec))
            places = {"JUPYTER_PATH": folder, "JUPYTER_PREFER_ENV_PATH": "0", "HOME": folder}
            places |= {"IPYTHONDIR": folder, "JUPYTER_DATA_DIR": folder}
            with mock.patch.dict(os.environ, places):
                resources = {"metadata": {"path": folder}}
                nbclient.NotebookClient(notebook, timeout=300, resources=resources).execute()
        shown = [
            output["data"]
            for cell in notebook.cells
            for output in cell.get("outputs", [])
            if output["output_type"] == "execute_result"
        ]
        self.assertEqual(len(shown), 5)
        verdict, picture, table, cell, findings = shown
        self.assertIn("<svg", verdict["text/html"])
        self.assertIn("<svg", picture["image/svg+xml"])
        self.assertIn("<td>transpose-unpadded</td>", table["text/html"])
        self.assertIn("<svg", cell["text/html"])
        self.assertIn("text/html", findings)


class Types(unittest.TestCase):
    def test_the_package_is_strictly_typed(self) -> None:
        needed("mypy")
        package = Path(gpucast.__file__).parent
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "MYPYPATH": str(package.parent)}
            options = ["--strict", "--cache-dir", cache, "--ignore-missing-imports"]
            checked = subprocess.run(
                [sys.executable, "-m", "mypy", *options, "-p", "gpucast"],
                capture_output=True,
                text=True,
                env=environment,
            )
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            stubs = subprocess.run(
                [sys.executable, "-m", "mypy.stubtest", "gpucast._gpucast"],
                capture_output=True,
                text=True,
                env=environment,
                cwd=cache,
            )
        self.assertEqual(stubs.returncode, 0, stubs.stdout + stubs.stderr)

    def test_editors_find_no_fault_in_the_types(self) -> None:
        needed("pyright")
        # Packages that are not here are not looked at, as with mypy.
        absent = {"reportMissingImports": "none", "reportMissingModuleSource": "none"}
        package = REPOSITORY / "doors/python/gpucast"
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder, "pyrightconfig.json")
            project.write_text(json.dumps({"include": [str(package)], "pythonVersion": "3.10", **absent}))
            command = [sys.executable, "-m", "pyright", "--project", str(project)]
            done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("No source files found", done.stdout)


if __name__ == "__main__":
    unittest.main()
