"""Kernels of Numba: dispatchers of `@cuda.jit`, also as `kernel[grid, block]`.

Numba compiles to PTX without a GPU and without a driver. As a program, this module does so for
`gpucast lab check`, which knows the types of arguments from a launch file.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from functools import lru_cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace
from typing import Any, Iterator, Mapping, Sequence
from unittest import mock

from .. import _gpucast
from .._arguments import Parameter, Value, encoded
from .._errors import Error
from .._kernel import Source, file_of, launch_of
from .._memory import Memory, is_array, is_numpy_scalar

USUAL_CAPABILITY = (8, 0)
OLDEST_CAPABILITY = (5, 0)
"""Older GPUs than Maxwell execute the same PTX here, as newer Numba knows nothing older."""
OLDEST_OF_CUDA_13 = (7, 5)

COMPILERS = (
    "pip install numba-cuda nvidia-cuda-nvcc-cu12 nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12"
)
"""The packages that bring Numba's compilers."""

OPTIONS = ("fastmath", "opt", "debug", "launch_bounds")
"""Options of `@cuda.jit` that change the code."""


def source(
    kernel: Any, args: Sequence[Any], options: Mapping[str, Any], gpus: Sequence[str]
) -> Source:
    """Compiles the kernel for the types of its arguments."""
    options = dict(options)
    if not hasattr(kernel, "py_func"):
        options.setdefault("grid", kernel.griddim)
        options.setdefault("block", kernel.blockdim)
        options.setdefault("shared_bytes", kernel.sharedmem)
        kernel = kernel.dispatcher
    if not hasattr(kernel, "py_func") or not hasattr(kernel, "targetoptions"):
        raise TypeError(f"a {type(kernel).__qualname__} of Numba is no kernel of @cuda.jit")
    launch = launch_of(options, gpus)
    if launch.grid is None or launch.block is None:
        raise TypeError("say the grid and the block: kernel[grid, block]")
    text = _compiled(kernel, args, gpus)
    file = file_of(kernel.py_func)
    if file is not None:
        launch.source_root = os.path.dirname(os.path.abspath(file))

    def arguments(parameters: Sequence[Parameter], memory: Memory) -> list[Value]:
        return encoded(list(_flat(args)), parameters, memory)

    return Source(launch, text, f"{kernel.py_func.__name__} (Numba's PTX)", arguments)


def _compiled(kernel: Any, args: Sequence[Any], gpus: Sequence[str]) -> str:
    # Numba is only partly typed.
    numba: Any = import_module("numba")
    types = tuple(numba.typeof(value) for value in args)
    capability = (gpus and _gpucast.capability(list(gpus))) or USUAL_CAPABILITY
    return _compiled_once(kernel, types, capability)


@lru_cache(maxsize=64)
def _compiled_once(kernel: Any, types: tuple[Any, ...], capability: tuple[int, int]) -> str:
    cuda: Any = import_module("numba.cuda")
    dispatcher = import_module("numba.cuda.dispatcher")
    chosen = {key: kernel.targetoptions[key] for key in OPTIONS if kernel.targetoptions.get(key)}

    def compiled(capability: tuple[int, int]) -> str:
        # Numba asks the GPU of the machine for which one a function of the kernel is compiled.
        gpu = SimpleNamespace(compute_capability=capability)
        with mock.patch.object(dispatcher, "get_current_device", lambda: gpu):
            text, _ = cuda.compile(
                kernel.py_func,
                types,
                cc=capability,
                device=False,
                abi="numba",
                output="ptx",
                lineinfo=not chosen.get("debug"),
                **chosen,
            )
        return _named(str(text), kernel.py_func.__name__)

    wanted = max(capability, OLDEST_CAPABILITY)
    try:
        return compiled(wanted)
    except Exception as error:
        name = type(error).__name__.lower()
        if "nvvmsupport" in name or "dynamiclibnotfound" in name:
            message = f"Numba finds no compiler: {' '.join(str(error).split())}"
            raise Error(f"{message}\n  help: {COMPILERS}", [message], COMPILERS) from None
        if "ccsupport" not in name and "nvvmerror" not in name:
            raise
        # PTX of an older architecture runs on every later GPU. For a GPU that the compiler has
        # given up, PTX of the oldest that it still knows has the same instructions.
        other = USUAL_CAPABILITY if wanted > USUAL_CAPABILITY else OLDEST_OF_CUDA_13
        if other == wanted:
            raise
        return compiled(other)


def _named(text: str, name: str) -> str:
    """The same with the kernel under its name in Python, unless something else has it.

    Numba's own names hold the types of all arguments and a hash, which no reader can use.
    """
    entry = re.search(r"\.entry\s+([\w$]+)", text)
    code = re.sub(r'"[^"]*"|//.*', "", text)
    is_taken = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", code)
    if entry is None or is_taken or not name.isascii():
        return text
    return text.replace(entry[1], name)


def _flat(args: Sequence[Any]) -> Iterator[Any]:
    """The values as Numba passes them: seven and more for an array, two for a complex number."""
    for value in args:
        if isinstance(value, (tuple, list)):
            yield from _flat(value)
        elif isinstance(value, complex) or (
            is_numpy_scalar(value) and value.dtype.kind == "c"
        ):
            yield from (value.real, value.imag)
        elif is_array(value):
            interface = getattr(value, "__array_interface__", None)
            if interface is None:
                raise TypeError(f"pass NumPy arrays to Numba's kernels, not a {type(value)}")
            # Reference counter and parent, which kernels never use.
            yield from (None, None, value.size, value.itemsize, value, *value.shape, *value.strides)
        else:
            yield value


TYPES = {
    **{f"s{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
}
"""Types of launch files under Numba's names."""


def main(output: str, file: str, name: str, capability: str, *names: str) -> None:
    """Compiles a kernel of a file. A type that ends in `[]` is that of an array."""
    numba: Any = import_module("numba")

    def numbas(name: str) -> Any:
        if name.removesuffix("[]") not in TYPES:
            raise TypeError(f"Numba has no type for {name}")
        element = getattr(numba, TYPES[name.removesuffix("[]")])
        return element[::1] if name.endswith("[]") else element

    spec = spec_from_file_location("kernel", file)
    assert spec is not None and spec.loader is not None, file
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, name, None)
    if not hasattr(kernel, "py_func") or not hasattr(kernel, "targetoptions"):
        raise TypeError(f"it has no kernel `{name}` of @cuda.jit")
    major, minor = capability.split(".")
    text = _compiled_once(kernel, tuple(map(numbas, names)), (int(major), int(minor)))
    with open(output, "w", encoding="utf-8") as out:
        out.write(text)


def _said(error: BaseException, file: str) -> str:
    """An error in one line, with the line of the file that it speaks of, if it has one."""
    if isinstance(error, SyntaxError):
        return f"{file}:{error.lineno}: {error.msg}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Numba's reason stands at the end of a long message, behind the name of its exception.
    reasons = [line for line in lines if re.match(r"\w+Error: ", line)]
    named = re.search(rf'File "[^"]*{re.escape(os.path.basename(file))}", line (\d+)', str(error))
    frames = traceback.extract_tb(error.__traceback__)
    line = named[1] if named else next((at.lineno for at in frames[::-1] if at.filename == file), None)
    reason = [*reasons[-1:], *lines, type(error).__name__][0]
    return f"{file}:{line}: {reason}" if line else f"{file}: {reason}"


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Exception, SystemExit) as error:
        sys.exit(_said(error, sys.argv[2]))
