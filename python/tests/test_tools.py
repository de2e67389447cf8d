"""Notebooks, pytest, and the type stubs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import gpucast
from support import CUDA, needed

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
    assert_within("transpose", ms=1.0, gpu=gpucast_gpu, size="small", machine="rules")

def test_nothing_is_wrong():
    assert_no_findings("transpose", size="small")
'''


class Pytest(unittest.TestCase):
    def test_the_plugin_gives_gpus_and_assertions(self) -> None:
        needed("pytest")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "test_kernels.py").write_text(PLUGIN_TEST)
            arguments = ["-q", "-p", "gpucast.pytest_plugin", "--gpucast-gpu", "h100-sxm,gtx-960"]
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *arguments, folder],
                capture_output=True,
                text=True,
                cwd=folder,
            )
        self.assertIn("3 passed", done.stdout, done.stdout + done.stderr)


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


if __name__ == "__main__":
    unittest.main()
