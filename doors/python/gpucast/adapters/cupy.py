"""Kernels of CuPy: `cupy.RawKernel`, whose CUDA source is compiled here.

CuPy itself compiles for the GPU that it finds. Its source, name and options suffice.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._arguments import Parameter, Value, encoded
from .._kernel import Source, launch_of
from .._memory import Memory


def source(
    kernel: Any, args: Sequence[Any], options: Mapping[str, Any], gpus: Sequence[str]
) -> Source:
    """The kernel's CUDA source with the options that it was made with."""
    if not all(hasattr(kernel, name) for name in ("code", "name", "options")):
        raise TypeError(f"a {type(kernel).__qualname__} of CuPy is no RawKernel")
    merged: dict[str, Any] = {"name": kernel.name, **_of_compiler(kernel.options), **options}
    launch = launch_of(merged, gpus)
    if launch.grid is None or launch.block is None:
        raise TypeError("say the grid and the block: grid=…, block=…")
    # CuPy's own calls have the arguments in one tuple.
    values = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args

    def arguments(parameters: Sequence[Parameter], memory: Memory) -> list[Value]:
        return encoded(values, parameters, memory)

    return Source(launch, kernel.code, f"{kernel.name}.cu", arguments)


def _of_compiler(options: Sequence[str]) -> dict[str, Any]:
    """The options of NVRTC that change the code."""
    define, include, found = [], [], {}
    for option in options:
        if option.startswith("-D"):
            define.append(option[2:])
        elif option.startswith("-I"):
            include.append(option[2:])
        elif option.lstrip("-").startswith("std="):
            found["std"] = option.partition("=")[2]
    return {"define": define, "include": include, **found}
