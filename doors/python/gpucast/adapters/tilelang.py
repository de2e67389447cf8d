"""TileLang: the configurations that its autotuner is given, only the fastest of them by prediction.

The autotuner compiles and times whatever list it gets, and knows no models. But the list may be a
function of the kernel's arguments. This one lowers each configuration with TileLang to CUDA, has
TileLang compile that to PTX by NVRTC, and keeps what is predicted to be fast. No GPU is asked.
"""

from __future__ import annotations

import math
import os
from importlib import import_module
from typing import Any, Callable, Iterable, Mapping

from .. import _gpucast, predict
from .._errors import Error
from .refusal import time_ms

OLDEST_WITH_SUFFIX = 90
"""Of these capabilities TileLang compiles for the very GPU: `sm_90a`."""


def pruned(
    kernel: Callable[[], Any],
    configs: Iterable[Mapping[str, Any]],
    gpu: str,
    keep: int = 5,
    **options: Any,
) -> Callable[..., list[dict[str, Any]]]:
    """A function for `tilelang.autotune(configs=…)` that keeps `keep` of `configs`.

    `kernel` returns what the decorators make, which is not there yet: `lambda: matmul`. Options are
    those of :func:`gpucast.predict`. Buffers have zeros. Configurations that TileLang or the GPU
    refuses come last.
    """
    known = [dict(config) for config in configs]

    def chosen(*args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        made = kernel()
        implementation = getattr(made, "jit_impl", made)
        target = _target(gpu)
        times = []
        for config in known:
            try:
                with target:
                    function = implementation.get_tir(*args, **{**kwargs, **config})
                times.append(_time_ms(function, target, gpu, options))
            except Error:
                times.append(math.inf)
        order = sorted(range(len(known)), key=lambda at: times[at])
        return [known[at] for at in order[:keep]]

    return chosen


def _target(gpu: str) -> Any:
    major, minor = _gpucast.capability([gpu]) or (8, 0)
    number = 10 * major + minor
    suffix = "a" if number >= OLDEST_WITH_SUFFIX else ""
    target: Any = import_module("tvm.target")
    return target.Target({"kind": "cuda", "arch": f"sm_{number}{suffix}"})


def _time_ms(function: Any, target: Any, gpu: str, options: Mapping[str, Any]) -> float:
    """The time of all kernels that a function is lowered to."""
    tilelang: Any = import_module("tilelang")
    with target:
        lowered = tilelang.lower(function, target=target)
    ptx = _compiled(lowered.kernel_source, target)
    total = 0.0
    for device in lowered.device_mod.functions.values():
        extents = {str(key): int(value) for key, value in device.attrs["thread_extent"].items()}
        buffers = {buffer.data.name: buffer for buffer in function.buffer_map.values()}
        arguments = [_buffer(buffers, parameter) for parameter in device.params]
        total += time_ms(
            predict(
                ptx,
                *arguments,
                gpu=gpu,
                name=str(device.attrs["global_symbol"]),
                grid=tuple(extents.get(f"blockIdx.{axis}", 1) for axis in "xyz"),
                block=tuple(extents.get(f"threadIdx.{axis}", 1) for axis in "xyz"),
                shared_bytes=int(device.attrs.get("dyn_shared_memory_buf", 0)),
                **options,
            )
        )
    return total


def _buffer(buffers: Mapping[str, Any], parameter: Any) -> str:
    """A buffer of zeros for a parameter of a device function, found by its name."""
    buffer = buffers.get(parameter.name)
    if buffer is None:
        raise Error(f"parameter {parameter.name} of TileLang's kernel is no tensor of the function")
    elements: Any = import_module("tvm").DataType(buffer.dtype)
    count = math.prod(int(extent) for extent in buffer.shape)
    return f"buf:u8[{count * elements.itemsize}]=zero"


def _compiled(source: str, target: Any) -> str:
    """The PTX of TileLang's CUDA, by its own way of calling NVRTC."""
    nvrtc: Any = import_module("tilelang.contrib.nvrtc")
    paths: Any = import_module("tilelang.jit.adapter.nvrtc.include_paths")
    env: Any = import_module("tilelang.env")
    root = os.path.dirname(import_module("tilelang").__file__ or "")
    folders = [
        env.TILELANG_TEMPLATE_PATH or os.path.join(root, "src"),
        env.CUTLASS_INCLUDE_DIR or os.path.join(root, "3rdparty", "cutlass", "include"),
        *paths.discover_cuda_include_paths(env.CUDA_HOME or "/usr/local/cuda"),
    ]
    number = int("".join(filter(str.isdigit, str(target.attrs["arch"]))))
    options = [f"-I{folder}" for folder in folders]
    options.append(f"-D__CUDACC_VER_MAJOR__={nvrtc.get_nvrtc_version()[0]}")
    return bytes(nvrtc.compile_cuda(source, "ptx", number, options)).decode().rstrip("\0")
