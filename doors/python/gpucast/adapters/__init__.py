"""Kernels of other packages: how each becomes PTX or CUDA without a GPU.

A package is imported only when one of its kernels is passed. Modules named after autotuners are hooks
that programs import: docs/python/autotuners.md.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._kernel import Source


def source(
    kernel: Any, args: Sequence[Any], options: Mapping[str, Any], gpus: Sequence[str]
) -> Source:
    """The kernel's text with its launch."""
    modules = {base.__module__.partition(".")[0] for base in type(kernel).__mro__}
    closure = getattr(kernel, "__closure__", None)
    if closure:
        # `kernel[grid]` of Triton is a function that remembers both.
        cells = (type(cell.cell_contents).__module__ for cell in closure)
        modules |= {name.partition(".")[0] for name in cells}
    if modules & {"numba", "numba_cuda"}:
        from . import numba

        return numba.source(kernel, args, options, gpus)
    if "triton" in modules:
        from . import triton

        return triton.source(kernel, args, options, gpus)
    if modules & {"cupy", "cupyx"}:
        from . import cupy

        return cupy.source(kernel, args, options, gpus)
    if "warp" in modules:
        from . import warp

        return warp.source(kernel, args, options, gpus)
    raise TypeError(
        f"a {type(kernel).__module__}.{type(kernel).__qualname__} is no kernel: pass PTX or CUDA as "
        "text, a file, a corpus name, or a kernel of Numba, Triton, CuPy or Warp"
    )
