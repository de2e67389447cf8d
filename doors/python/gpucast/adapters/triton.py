"""Kernels of Triton: functions of `@triton.jit`, also as `kernel[grid]`.

Triton compiles to PTX without a GPU, a driver or PyTorch. Its own binder decides how a call
specialises the kernel, so the PTX is that of a launch on a GPU.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Mapping, Sequence

from .. import _gpucast
from .._arguments import Parameter, Value, encoded
from .._errors import Error
from .._kernel import OPTIONS, Source, extent, file_of, launch_of
from .._memory import Memory, is_array

LANES = 32
USUAL_CAPABILITY = (8, 0)
"""Also the oldest one that Triton compiles for."""


class _Tensor:
    """An array as Triton's binder looks at it."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype = array.dtype

    def data_ptr(self) -> int:
        if hasattr(self.array, "data_ptr"):
            return int(self.array.data_ptr())
        return int(self.array.__array_interface__["data"][0])


def source(
    kernel: Any, args: Sequence[Any], options: Mapping[str, Any], gpus: Sequence[str]
) -> Source:
    """Compiles the kernel for its arguments; options that are not ours are the kernel's."""
    ours = {key: value for key, value in options.items() if key in OPTIONS}
    theirs = {key: value for key, value in options.items() if key not in OPTIONS}
    kernel, grid = _of_call(kernel, ours.pop("grid", None))
    if grid is None:
        raise TypeError("say the grid: kernel[grid]")
    if "block" in ours:
        raise TypeError("Triton sets the block by num_warps")
    compiled, bound, signature = _compiled(kernel, args, theirs, gpus)
    launch = launch_of(ours, gpus)
    launch.grid = extent(grid(bound) if callable(grid) else grid, "grid")
    launch.block = (LANES * int(compiled.metadata.num_warps), 1, 1)
    launch.shared_bytes = int(compiled.metadata.shared)
    launch.kernel = launch.kernel or compiled.metadata.name
    ctas = int(getattr(compiled.metadata, "num_ctas", 1))
    if ctas > 1 and launch.grid is not None:
        # A program is a cluster, and Triton multiplies the grid by its CTAs.
        launch.cluster = (ctas, 1, 1)
        launch.grid = (launch.grid[0] * ctas, launch.grid[1], launch.grid[2])
    if getattr(compiled.metadata, "global_scratch_size", 0):
        raise Error(
            "the kernel needs scratch memory in global memory, which gpucast does not provide",
            hint="descriptors made on the device need it; pass pointers instead",
        )
    file = file_of(kernel.fn)
    if file is not None:
        launch.source_root = os.path.dirname(os.path.abspath(file))
    values = [
        value.array if isinstance(value, _Tensor) else value
        for name, value in bound.items()
        if signature[name] != "constexpr"
    ]

    def arguments(parameters: Sequence[Parameter], memory: Memory) -> list[Value]:
        # Pointers to scratch memory, which this kernel does not use.
        hidden: list[Any] = [None] * (len(parameters) - len(values))
        return encoded([*values, *hidden], parameters, memory)

    return Source(launch, compiled.asm["ptx"], f"{kernel.fn.__name__} (Triton's PTX)", arguments)


def _of_call(kernel: Any, grid: Any) -> tuple[Any, Any]:
    """The function and the grid of `kernel[grid]`, which Triton keeps in a closure."""
    if hasattr(kernel, "arg_names"):
        return kernel, grid
    names: Sequence[str] = getattr(getattr(kernel, "__code__", None), "co_freevars", ())
    cells: dict[str, Any] = {
        name: cell.cell_contents for name, cell in zip(names, kernel.__closure__ or ())
    }
    function = cells.get("self")
    if function is not None and not hasattr(function, "arg_names") and hasattr(function, "fn"):
        raise TypeError("an autotuned kernel has many configurations; pass one of its kernel.fn")
    if function is None or "grid" not in cells:
        raise TypeError("this object of Triton is no kernel of @triton.jit")
    return function, cells["grid"] if grid is None else grid


def _compiled(
    kernel: Any, args: Sequence[Any], options: Mapping[str, Any], gpus: Sequence[str]
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The compiled kernel, its bound arguments, and the type of each."""
    triton: Any = import_module("triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, make_backend
    from triton.runtime.jit import create_function_from_signature

    capability = _gpucast.capability(list(gpus)) if gpus else None
    major, minor = max(capability or USUAL_CAPABILITY, USUAL_CAPABILITY)
    target = GPUTarget("cuda", major * 10 + minor, LANES)
    backend = make_backend(target)
    binder = create_function_from_signature(kernel.signature, kernel.params, backend)
    wrapped = [_Tensor(value) if is_array(value) else value for value in args]
    keywords = {
        key: _Tensor(value) if is_array(value) else value for key, value in options.items()
    }
    bound, specialization, binder_options = binder(*wrapped, debug=kernel.debug, **keywords)
    packed = kernel._pack_args(backend, keywords, bound, specialization, binder_options)
    chosen, signature, constants, attributes = packed
    if any(isinstance(kind, tuple) for kind in signature.values()):
        raise TypeError("tuples as arguments of Triton's kernels are not supported")
    built = ASTSource(kernel, signature, constants, attributes)
    return triton.compile(built, target=target, options=chosen.__dict__), bound, signature
