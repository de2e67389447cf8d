#!/usr/bin/env python3
"""Compiles kernels/*/kernel.cu, and the tasks for classes, into the committed PTX.

    python3 regenerate.py            write every kernels/<name>/sm_XX.ptx, and the tasks' start.ptx,
                                     solution.ptx and reference.ptx
    python3 regenerate.py --check    compare with what is committed; exit status 1 on a difference
    python3 regenerate.py NAME...    only these kernels
    python3 regenerate.py --nvrtc-9 FOLDER
                                     the sm_30.ptx of the thesis's kernels as well

The compilers are NVIDIA's NVRTC, taken as wheels from PyPI into a virtual environment under
target/ on the first run. No GPU, driver or CUDA installation is needed. The result is the same
byte for byte on every run.
"""

import argparse
import ctypes
import pathlib
import subprocess
import sys
import venv

CORPUS = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = CORPUS.parent / "target" / "corpus-compilers"

WHEELS = ["nvidia-cuda-nvrtc-cu11==11.8.89", "nvidia-cuda-nvrtc-cu12==12.9.86"]

# Output, library, architecture. 11.8 is the last release that knows Kepler and comes closest to
# the compilers of the papers; 12.9 writes what a current toolkit writes.
TARGETS = [
    ("sm_35.ptx", "libnvrtc.so.11.2", "compute_35"),
    ("sm_80.ptx", "libnvrtc.so.12", "compute_80"),
]
# What the compiler of the year in which Konstantinidis's thesis appeared makes of its kernels: for
# counts beside the published ones. No wheel has NVRTC 9.0 alone; that of torch 1.0.0 has it in torch/lib.
OF_2017 = ("sm_30.ptx", "libnvrtc*.so.9.0", "compute_30")
KERNELS_OF_2017 = [
    "sgemm", "sgemm-16", "sor-red-black", "lmsor",
    "hotspot3d", "kmeans", "cfd-time-step", "srad-1", "merge-sort-first", "nearest-neighbour",
    "leukocyte-dilate",
]
# Kernels of today have one target: that of their tensor cores, or the first with their types.
OF_TODAY = {
    "product-mma": "80", "product-wgmma": "90a", "product-tcgen05": "100a",
    "attention-mma": "80", "attention-wgmma": "90a", "attention-decode": "80",
    "softmax": "80", "layer-norm": "80", "rms-norm": "80", "rotary": "80",
    "silu-and-multiply": "80", "fp8-quantisation": "89", "top-k": "80",
    "causal-convolution": "80",
}
OPTIONS = ["--std=c++14", "-lineinfo"]
OPTIONS_OF_TODAY = ["--std=c++17", "-lineinfo"]
# Tasks for classes. A student does not read a solution between the lines: what is handed out has none. The
# classroom's page shows PTX beside its source.
TASKS = CORPUS.parent / "studies" / "lab" / "tasks"
WITHOUT_LINES = ["--std=c++14"]
OF_TASKS = {
    "solution.cu": [("reference.ptx", WITHOUT_LINES), ("solution.ptx", OPTIONS)],
    "start.cu": [("start.ptx", OPTIONS)],
}


class Compiler:
    """One NVRTC library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.nvrtcGetErrorString(status).decode())

    def text(self, program, what):
        """`what` is "PTX" or "ProgramLog"."""
        size = ctypes.c_size_t()
        self.check(getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.library, f"nvrtcGet{what}")(program, buffer))
        return buffer.value.decode()

    def compile(self, source, name, architecture, options=OPTIONS):
        program = ctypes.c_void_p()
        self.check(
            self.library.nvrtcCreateProgram(
                ctypes.byref(program), source.encode(), name.encode(), 0, None, None
            )
        )
        options = [f"--gpu-architecture={architecture}", *options]
        values = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        try:
            status = self.library.nvrtcCompileProgram(program, len(options), values)
            if status != 0:
                sys.exit(f"{name} for {architecture}:\n{self.text(program, 'ProgramLog')}")
            return self.text(program, "PTX")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def library_folder():
    """Where the wheels put the libraries; installs them on the first run."""

    def find():
        return next(ENVIRONMENT.glob("lib/python*/site-packages/nvidia/cuda_nvrtc/lib"), None)

    def complete():
        folder = find()
        return folder and all((folder / library).exists() for _, library, _ in TARGETS)

    if not complete():
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([ENVIRONMENT / "bin" / "pip", "install", "--quiet", *WHEELS], check=True)
    return find()


def tidy(ptx, source_name):
    """Names the source file without the folder that NVRTC puts in front of it."""
    lines = []
    for line in ptx.splitlines():
        if line.lstrip().startswith(".file"):
            number = line.split()[1]
            line = f'\t.file\t{number} "{source_name}"'
        lines.append(line.rstrip())
    return "\n".join(lines).strip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--libraries", type=pathlib.Path, help="folder that holds both NVRTCs")
    parser.add_argument("--nvrtc-9", type=pathlib.Path, help="folder that holds NVRTC 9.0")
    parser.add_argument("kernels", nargs="*", help="folders of kernels or tasks; all of them if none")
    arguments = parser.parse_args()

    libraries = arguments.libraries or library_folder()
    compilers = {library: Compiler(libraries / library) for _, library, _ in TARGETS}
    of_2017 = []
    if arguments.nvrtc_9:
        # The compiler asks for its built-in functions by this name alone.
        ctypes.CDLL(str(arguments.nvrtc_9 / "libnvrtc-builtins.so"), ctypes.RTLD_GLOBAL)
        compilers[OF_2017[1]] = Compiler(next(arguments.nvrtc_9.glob(OF_2017[1])))
        of_2017 = [OF_2017]

    jobs = []
    for source in sorted(CORPUS.glob("kernels/*/kernel.cu")):
        name = source.parent.name
        if name in OF_TODAY:
            number = OF_TODAY[name]
            target = (f"sm_{number}.ptx", TARGETS[-1][1], f"compute_{number}")
            jobs.append((source, target, OPTIONS_OF_TODAY))
            continue
        also = of_2017 if name in KERNELS_OF_2017 else []
        jobs += [(source, target, OPTIONS) for target in TARGETS + also]
    for source in sorted(TASKS.glob("*/*.cu")):
        for output, options in OF_TASKS[source.name]:
            jobs.append((source, (output, *TARGETS[-1][1:]), options))

    different = []
    for source, (output, library, architecture), options in jobs:
        if arguments.kernels and source.parent.name not in arguments.kernels:
            continue
        ptx = compilers[library].compile(source.read_text(), source.name, architecture, options)
        ptx = tidy(ptx, source.name)
        path = source.parent / output
        if path.exists() and path.read_text() == ptx:
            continue
        different.append(str(path.relative_to(CORPUS.parent)))
        if not arguments.check:
            path.write_text(ptx)
    for path in different:
        print(("differs: " if arguments.check else "written: ") + path)
    sys.exit(1 if arguments.check and different else 0)


if __name__ == "__main__":
    main()
