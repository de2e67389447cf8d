"""Triton's autotuner: the performance model that prunes its configurations, and their ranking.

The kernel is compiled for each configuration as Triton would compile it, and no GPU is asked.
"""

from __future__ import annotations

import math
from typing import Any, Mapping, Sequence

from .. import predict
from .refusal import is_refused, time_ms

OF_LAUNCHES = frozenset({"warmup"})
"""What Triton's launches pass along with the kernel's own arguments, besides the grid."""


class PerfModel:
    """A `perf_model` for `triton.autotune(prune_configs_by=…)`: predicted milliseconds.

    `kernel` is the function of `@triton.jit` or what a decorator made of it. A decorator's own
    arguments come before there is one, so a function that returns it serves, too: `lambda: add`.
    Options are those of :func:`gpucast.predict`. Configurations that the GPU refuses take forever.
    """

    def __init__(self, kernel: Any, gpu: str, **options: Any) -> None:
        self.kernel = kernel
        self.gpu = gpu
        self.options = options

    def __call__(self, **arguments: Any) -> float:
        """The time of a configuration, whose values are among the arguments."""
        kernel = self.kernel if hasattr(self.kernel, "fn") else self.kernel()
        given = {key: _on_host(value) for key, value in arguments.items() if key not in OF_LAUNCHES}
        function, given = _function(kernel, given)
        try:
            return time_ms(predict(function, gpu=self.gpu, **self.options, **given))
        except Exception as error:
            if is_refused(error):
                return math.inf
            raise


def configurations(
    kernel: Any, args: Sequence[Any], gpu: str, options: Mapping[str, Any]
) -> tuple[list[str], list[tuple[list[float], float | None, str | None]]]:
    """The parameters of an autotuned `kernel[grid]`, and each configuration with its time or why
    there is none.
    """
    tuner, grid = _of_call(kernel)
    if tuner is None:
        raise TypeError("pass a space's file, or kernel[grid] of a kernel of @triton.autotune")
    meta = [config.all_kwargs() for config in tuner.configs]
    numbers = [
        {key: value for key, value in one.items() if isinstance(value, (bool, int, float))}
        for one in meta
    ]
    names = [key for key in numbers[0] if all(key in one for one in numbers)]
    rows: list[tuple[list[float], float | None, str | None]] = []
    for all_values, values in zip(meta, numbers):
        shown = [float(values[name]) for name in names]
        given = dict(zip(tuner.arg_names, args), grid=grid, **options, **all_values)
        try:
            function, given = _function(tuner, given)
            rows.append((shown, time_ms(predict(function, gpu=gpu, **given)), None))
        except Exception as error:
            if not is_refused(error):
                raise
            rows.append((shown, None, " ".join(str(error).split())))
    return names, rows


def _of_call(kernel: Any) -> tuple[Any, Any]:
    """The autotuner and the grid of `kernel[grid]`, which Triton keeps in a closure."""
    names: Sequence[str] = getattr(getattr(kernel, "__code__", None), "co_freevars", ())
    cells = getattr(kernel, "__closure__", None) or ()
    found = {name: cell.cell_contents for name, cell in zip(names, cells)}
    tuner = found.get("self")
    return (tuner, found.get("grid")) if hasattr(tuner, "configs") else (None, None)


def _function(kernel: Any, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The function of `@triton.jit` below its decorators, with what `@triton.heuristics` add."""
    given = dict(given)
    while not hasattr(kernel, "params"):
        for name, heuristic in getattr(kernel, "values", {}).items():
            given[name] = heuristic(given)
        kernel = kernel.fn
    return kernel, given


def _on_host(value: Any) -> Any:
    """A copy of a tensor that lies on a GPU, where the CPU reaches it."""
    return value.cpu() if getattr(value, "is_cuda", False) else value
