#!/usr/bin/env python3
"""Compiles kernels/*.cu, ladders/*.cu and stories/*.cu into the committed PTX.

    python3 regenerate.py            write every NAME.ptx
    python3 regenerate.py NAME...    only these

The compiler is NVIDIA's NVRTC. It and the headers of half-precision numbers and matrix products
come from wheels of PyPI: pip install
nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-runtime-cu12 nvidia-cuda-nvcc-cu12.
No GPU or driver is needed. The result is the same byte for byte on every run.
"""

import ctypes
import pathlib
import re
import sys

import nvidia

TESTS = pathlib.Path(__file__).resolve().parent
WHEELS = pathlib.Path(next(iter(nvidia.__path__)))
LIBRARY = WHEELS / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"
HEADERS = ["cuda_runtime", "cuda_nvcc"]
# Ladders run on an A100, too.
ARCHITECTURES = {"ladders": "compute_80"}
OPTIONS = ["--std=c++17", "-lineinfo"]
OPTIONS += [f"--include-path={WHEELS / wheel / 'include'}" for wheel in HEADERS]


def compile_source(library, source, name, architecture):
    """The PTX of a CUDA text. `name` stands in its line table."""

    def check(status, program=None):
        if status != 0:
            if program is not None:
                size = ctypes.c_size_t()
                library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                library.nvrtcGetProgramLog(program, log)
                sys.exit(log.value.decode())
            sys.exit(f"{name}: NVRTC ends with status {status}")

    program = ctypes.c_void_p()
    check(library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), name.encode(), 0, None, None))
    options = [f"--gpu-architecture={architecture}", *OPTIONS]
    options = [option.encode() for option in options]
    values = (ctypes.c_char_p * len(options))(*options)
    check(library.nvrtcCompileProgram(program, len(options), values), program)
    size = ctypes.c_size_t()
    check(library.nvrtcGetPTXSize(program, ctypes.byref(size)))
    ptx = ctypes.create_string_buffer(size.value)
    check(library.nvrtcGetPTX(program, ptx))
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()


def without_folders(ptx):
    """The PTX with names of files as they are included: other folders depend on the machine."""
    start = re.compile(r'(\.file\s+\d+ ")([^"]*)')

    def included(name):
        folder, include, rest = name.rpartition("/include/")
        return rest if include else pathlib.Path(name).name

    return start.sub(lambda line: line[1] + included(line[2]), ptx)


def main():
    wanted = sys.argv[1:]
    library = ctypes.CDLL(str(LIBRARY))
    for path in sorted(TESTS.glob("*/*.cu")):
        if not wanted or path.stem in wanted:
            architecture = ARCHITECTURES.get(path.parent.name, "compute_86")
            ptx = compile_source(library, path.read_text(), path.name, architecture)
            path.with_suffix(".ptx").write_text(without_folders(ptx))
            print(path.with_suffix(".ptx").relative_to(TESTS))


if __name__ == "__main__":
    main()
