#!/usr/bin/env python3
"""Compiles the CUDA files beside it into the committed PTX.

    python3 regenerate.py

The compiler is NVIDIA's NVRTC, taken with its headers as wheels from PyPI into a virtual
environment under target/ on the first run. No GPU, driver or CUDA installation is needed.
Declarations of the headers that nothing uses are taken out of the PTX.
"""

import ctypes
import pathlib
import re
import subprocess
import venv

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[2] / "target" / "matrix-kernels"
WHEELS = [
    "nvidia-cuda-nvrtc-cu12==12.9.86",
    "nvidia-cuda-runtime-cu12==12.9.79",
    "nvidia-cuda-nvcc-cu12==12.9.86",
    "nvidia-cuda-cccl-cu12==12.9.27",
]
# Source, architecture, PTX.
KERNELS = [
    ("wmma", "compute_80", "wmma"),
    ("mma", "compute_80", "mma"),
    ("pipeline", "compute_80", "pipeline_sm_80"),
    ("pipeline", "compute_90", "pipeline_sm_90"),
    ("cluster", "compute_90", "cluster_sm_90"),
    ("division", "compute_80", "division"),
]


def without_unused(text):
    """Takes out the variables that occur nowhere else, until there are none."""
    declaration = re.compile(r"^\.(?:global|const)[^\n=]* (\w+)(?:\[\d*\])?(?: = [^\n]*)?;\n", re.M)
    while True:
        words = re.findall(r"[\w$]+", text)
        count = {}
        for word in words:
            count[word] = count.get(word, 0) + 1
        shorter = declaration.sub(lambda found: "" if count[found[1]] == 1 else found[0], text)
        if shorter == text:
            return text
        text = shorter


def main():
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *WHEELS], check=True)
    packages = next(ENVIRONMENT.glob("lib/python*/site-packages/nvidia"))
    library = ctypes.CDLL(str(next(packages.glob("cuda_nvrtc/lib/libnvrtc.so.12"))))
    includes = [f"-I{packages / wheel / 'include'}" for wheel in ("cuda_runtime", "cuda_nvcc", "cuda_cccl")]
    for name, architecture, output in KERNELS:
        source = (HERE / f"{name}.cu").read_bytes()
        program = ctypes.c_void_p()
        created = library.nvrtcCreateProgram(
            ctypes.byref(program), source, f"{name}.cu".encode(), 0, None, None
        )
        assert created == 0, created
        options = [f"--gpu-architecture={architecture}", "--std=c++17", "--device-int128", *includes]
        encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), encoded)
        size = ctypes.c_size_t()
        if status != 0:
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise SystemExit(log.value.decode())
        library.nvrtcGetPTXSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        library.nvrtcGetPTX(program, text)
        (HERE / f"{output}.ptx").write_text(without_unused(text.value.decode()))


if __name__ == "__main__":
    main()
