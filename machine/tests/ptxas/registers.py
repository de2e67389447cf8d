#!/usr/bin/env python3
"""Writes `registers.ptxas`: the registers of a thread that `ptxas` gives kernels of the repository.

    python3 registers.py --ptxas PTXAS

Below each file of PTX, with the target that it is assembled for, stand its kernels with their registers.
"""

import argparse
import pathlib
import re
import subprocess
import tarfile
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
OLDEST = 50


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ptxas", required=True)
    options = parser.parse_args()
    lines = []
    corpus = {path.relative_to(ROOT): path for path in sorted(ROOT.glob("corpus/kernels/*/sm_80.ptx"))}
    folder = tempfile.TemporaryDirectory()
    tarfile.open(HERE / "holdout.tar").extractall(folder.name, filter="data")
    holdout = sorted(pathlib.Path(folder.name).glob("*.ptx"))
    names = corpus | {HERE.relative_to(ROOT) / "holdout" / path.name: path for path in holdout}
    for name, path in names.items():
        number, suffix = re.search(r"\.target\s+sm_(\d+)(\w?)", path.read_text()).groups()
        target = f"sm_{max(int(number), OLDEST)}{suffix}"
        command = [options.ptxas, "-v", "-arch", target, path, "-o", "/dev/null"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        lines.append(f"{name} {target}")
        kernels = re.findall(r"entry function '([^']+)'.*?Used (\d+) registers", said, re.S)
        lines += [f"  {kernel} {registers}" for kernel, registers in kernels]
    (HERE / "registers.ptxas").write_text("\n".join(lines) + "\n")


main()
