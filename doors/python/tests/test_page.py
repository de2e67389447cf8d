"""The examples of docs/python.md run."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

from support import REPORT, REPOSITORY, needed

PAGE = REPOSITORY / "docs/python.md"


class Page(unittest.TestCase):
    def test_examples_run(self) -> None:
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 5)
        absent = []
        for number, block in enumerate(blocks):
            packages = re.findall(r"^# needs (\S+)$", block, re.M)
            try:
                for package in packages:
                    needed(package)
            except unittest.SkipTest as skipped:
                absent.append(str(skipped))
                continue
            with self.subTest(block=block.strip().splitlines()[-1], number=number):
                self.run_block(block, number)
        if absent:
            self.skipTest(f"{len(absent)} of {len(blocks)} examples: {', '.join(sorted(set(absent)))}")

    def run_block(self, block: str, number: int) -> None:
        # Numba reads the source of its kernels from their file.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"example_{number}.py")
            path.write_text(block)
            # The report that the page reads.
            Path(folder, "heat.ncu-rep").write_text(json.dumps(REPORT))
            for name in ("examples", "tests"):
                Path(folder, name).symlink_to(REPOSITORY / name)
            said = io.StringIO()
            before = os.getcwd()
            os.chdir(folder)
            try:
                with contextlib.redirect_stdout(said):
                    exec(compile(block, str(path), "exec"), {"__name__": f"example_{number}"})
            finally:
                os.chdir(before)
        for printed in re.findall(r"print\(.*\) +# (\d.*)$", block, re.M):
            self.assertIn(printed, said.getvalue())


if __name__ == "__main__":
    unittest.main()
