"""Kernels of NVIDIA's Warp: functions of `@warp.kernel`, launched with `dim=`.

Warp brings its own compiler and needs neither a GPU nor a driver to make PTX.
"""

from __future__ import annotations

import math
import tempfile
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Mapping, Sequence

from .. import _gpucast
from .._arguments import Parameter, Value, encoded
from .._errors import Error
from .._kernel import Source, launch_of
from .._memory import Memory, is_array

USUAL_CAPABILITY = (8, 0)
USUAL_BLOCK = 256
"""Threads of a CTA where the launch does not say: Warp's own default."""


def source(
    kernel: Any, args: Sequence[Any], options: Mapping[str, Any], gpus: Sequence[str]
) -> Source:
    """Compiles the kernel's module; `dim` has the threads, as in `warp.launch`."""
    options = dict(options)
    dim = options.pop("dim", None)
    if not all(hasattr(kernel, name) for name in ("key", "module", "adj")):
        raise TypeError(f"a {type(kernel).__qualname__} of Warp is no kernel of @warp.kernel")
    if dim is None or "grid" in options:
        raise TypeError("say the threads as for warp.launch: dim=…")
    dims = (int(dim),) if isinstance(dim, int) else tuple(int(one) for one in dim)
    launch = launch_of({"block": USUAL_BLOCK, **options}, gpus)
    threads = math.prod(launch.block or (USUAL_BLOCK,))
    launch.grid = (max(1, -(-math.prod(dims) // threads)), 1, 1)
    launch.kernel = launch.kernel or f"{kernel.key}_cuda_kernel_forward"
    capability = (gpus and _gpucast.capability(list(gpus))) or USUAL_CAPABILITY
    text = _compiled(kernel.module, kernel, capability)
    types = _types()

    def arguments(parameters: Sequence[Parameter], memory: Memory) -> list[Value]:
        values: list[Any] = [types.launch_bounds_t(dims)]
        values += [_array(value, types, memory) if is_array(value) else value for value in args]
        return encoded(values, parameters, memory)

    return Source(launch, text, f"{kernel.key} (Warp's PTX)", arguments)


def _types() -> Any:
    """The module that has the structures of a launch; Warp moves it between releases."""
    for name in ("warp._src.types", "warp.types"):
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        if hasattr(module, "launch_bounds_t") and hasattr(module, "array_t"):
            return module
    raise Error("this release of Warp describes its launches in a way that gpucast does not know")


@lru_cache(maxsize=64)
def _compiled(module: Any, kernel: Any, capability: tuple[int, int]) -> str:
    """The PTX of the kernel's module, for the GPU or the nearest architecture before it."""
    warp: Any = import_module("warp")
    wanted = capability[0] * 10 + capability[1]
    known = sorted(warp.get_cuda_supported_archs())
    arch = max((one for one in known if one <= wanted), default=known[0])
    with tempfile.TemporaryDirectory() as folder:
        made = warp.compile_aot_module(
            module, arch=arch, module_dir=folder, use_ptx=True, strip_hash=True
        )
        return Path(made[0]).read_text(encoding="utf-8")


def _array(value: Any, types: Any, memory: Memory) -> Value:
    """Warp's description of an array, which begins with its address."""
    interface = getattr(value, "__array_interface__", None)
    if interface is None:
        raise TypeError(f"pass NumPy's or Warp's CPU arrays to Warp's kernels, not a {type(value)}")
    # Elements that are vectors have a dimension of their own in NumPy, and none in Warp.
    ndim = getattr(value, "ndim", len(interface["shape"]))
    span = memory.add(value)
    shape = tuple(value.shape)[:ndim]
    described = types.array_t(0, 0, ndim, shape, tuple(value.strides)[:ndim])
    pointers = ((0, span),) if span.high > span.low else ()
    return Value(bytes(described), span.text, pointers)
