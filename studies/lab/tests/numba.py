#!/usr/bin/env python3
"""Compiles the tasks' kernels in Python by Numba into the committed PTX, and checks them.

    python3 numba.py        `gpucast`, and a Python with gpucast and Numba, are on the path

Writes start-numba.ptx and reference-numba.ptx of each task, and prints what `gpucast lab check` says.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile

TASKS = pathlib.Path(__file__).resolve().parent.parent / "tasks"
OUTPUTS = {"solution.py": "reference-numba.ptx", "start.py": "start-numba.ptx"}


def bare(ptx):
    """Without the lines that name the source, and what says who compiled it."""
    lines = [line.rstrip() for line in ptx.splitlines()]
    kept = [line for line in lines if line and not re.match(r"\s*(//|\.loc\s|\.file\s)", line)]
    return "\n".join(kept) + "\n"


def main():
    for task in sorted(TASKS.iterdir()):
        for source, output in OUTPUTS.items():
            if not (task / source).exists():
                continue
            with tempfile.TemporaryDirectory() as folder:
                work = pathlib.Path(folder) / "work"
                subprocess.run(["gpucast", "lab", "start", task.name, work, "--numba", "-q"], check=True)
                shutil.copy(task / source, work / "kernel.py")
                if source == "solution.py" and (task / "solution.toml").exists():
                    grid = re.compile(r"^grid = .*$", re.MULTILINE)
                    new = grid.search((task / "solution.toml").read_text())[0]
                    launch = work / "launch.toml"
                    launch.write_text(grid.sub(lambda _: new, launch.read_text()))
                done = subprocess.run(["gpucast", "lab", "check", work], capture_output=True, text=True)
                if not (work / "kernel.ptx").exists():
                    raise SystemExit(f"{task.name}: {done.stderr}")
                (task / output).write_text(bare((work / "kernel.ptx").read_text()))
                print(f"{source:12}", (done.stdout or done.stderr).splitlines()[0].replace(" of work", ""))


main()
