#!/usr/bin/env python3
"""Compiles sources/ with each compiler, and writes the archive ptx.tar; `tar xf` shows it.

    python3 regenerate.py

clang-19 and llc-19 are Debian's; the others are taken as wheels from PyPI into a virtual
environment under target/ on the first run. No GPU, driver or CUDA installation is needed.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tests" / "archive"))
import archive  # noqa: E402

ENVIRONMENT = HERE.parents[2] / "target" / "ptx-compilers"
WHEELS = [
    "nvidia-cuda-nvcc==13.5.37",
    "nvidia-cuda-runtime==13.5.*",
    "nvidia-cuda-crt==13.5.*",
    "nvidia-nvvm==13.5.*",
    "nvidia-cuda-cccl==13.*",
    "triton==3.9.0",
    "numba-cuda[cu12]==0.30.4",
]


def run(*command, **environment):
    subprocess.run(
        [str(word) for word in command], check=True, cwd=HERE, env={**os.environ, **environment}
    )


def clang(out, architecture, *options):
    run(
        "clang-19", "-x", "cuda", "-std=c++17", "-O2", "-nocudainc", "-nocudalib",
        "--cuda-device-only", f"--cuda-gpu-arch=sm_{architecture}", "-S", *options,
        "sources/plain.cu", "-o", out / f"clang/plain_sm_{architecture}.ptx",
    )  # fmt: skip


def compile_all(out):
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        run(python, "-m", "pip", "install", "--quiet", *WHEELS)
    for compiler in ("clang", "llc", "nvcc", "triton", "numba"):
        (out / compiler).mkdir()

    clang(out, 35)
    # With debug information, whose sections hold raw bytes; the directory is made up.
    clang(out, 90, "-g", "-fdebug-compilation-dir=/source")
    run("llc-19", "-march=nvptx64", "-mcpu=sm_20", "sources/generic.ll", "-o", out / "llc/generic_sm_20.ptx")
    run("llc-19", "-march=nvptx", "-mcpu=sm_30", "sources/generic.ll", "-o", out / "llc/generic_32_bit.ptx")

    nvcc = next(ENVIRONMENT.glob("lib/python*/site-packages/nvidia/cu13/bin/nvcc"))
    headers = [f"-I{path.parent.parent}" for path in ENVIRONMENT.rglob("nv/target")]
    for architecture in (80, 120):
        run(
            nvcc, "-std=c++17", *headers, "-ptx", f"-arch=compute_{architecture}",
            "sources/toolkit.cu", "-o", out / f"nvcc/toolkit_sm_{architecture}.ptx",
        )  # fmt: skip
    # Without line information, because that contains absolute paths.
    run(python, "sources/tiles.py", out / "triton", TRITON_DISABLE_LINE_INFO="1", TRITON_ALWAYS_COMPILE="1")
    run(python, "sources/loops.py", out / "numba")


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        compile_all(out)
        texts = {str(path.relative_to(out)): path.read_text() for path in out.glob("*/*.ptx")}
    archive.write(HERE / "ptx.tar", texts)


if __name__ == "__main__":
    main()
