"""Helion: an autotuner whose configurations are predicted and not run.

Helion writes a Triton kernel and a host function for each configuration. The host function launches
by an argument of its own, and with ours in that place the launch is predicted.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, Callable, Mapping, Sequence

from .. import gpus, predict
from .refusal import is_refused, time_ms


def autotuner(gpu: str, tried: int = 32, **options: Any) -> Callable[..., "Search"]:
    """A function for `helion.kernel(autotuner_fn=…)`.

    It chooses among the kernel's `configs`; without any, among `tried` that Helion draws, its default
    first. Options are those of :func:`gpucast.predict`.
    """

    def predicted(kernel: Any, args: Sequence[Any], given: Mapping[str, Any]) -> Any:
        return predict(kernel, *args, gpu=gpu, **options, **given)

    def made(bound: Any, args: Sequence[Any], **_: Any) -> Search:
        return Search(bound, args, predicted, tried, int(gpus(gpu)[0]["sm_count"]["value"]))

    return made


class Search:
    """A search of Helion: its `autotune` returns a configuration."""

    def __init__(
        self, bound: Any, args: Sequence[Any], predicted: Callable[..., Any], tried: int, sms: int
    ) -> None:
        self.bound = bound
        self.args = args
        self.predicted = predicted
        self.tried = tried
        self.sms = sms
        self.times_ms: list[tuple[Any, float]] = []
        """Each configuration with its predicted time, the fastest first; infinite if refused."""

    def autotune(self, *, skip_cache: bool = False) -> Any:
        """The configuration with the shortest predicted time."""
        runtime: Any = import_module("helion.runtime")
        # Persistent kernels ask for the SMs of their tensors' device, which may be the CPU.
        before, runtime.get_num_sm = runtime.get_num_sm, lambda *_, **__: self.sms
        try:
            self.times_ms = [(config, self._time_ms(config)) for config in self._configurations()]
        finally:
            runtime.get_num_sm = before
        self.times_ms.sort(key=lambda pair: pair[1])
        return self.times_ms[0][0]

    def _configurations(self) -> list[Any]:
        if self.bound.kernel.configs:
            return list(self.bound.kernel.configs)
        generation: Any = import_module("helion.autotuner.config_generation")
        drawn = generation.ConfigGeneration(self.bound.config_spec)
        return list(drawn.random_population(self.tried))

    def _time_ms(self, config: Any) -> float:
        total = 0.0

        def launcher(
            kernel: Any, grid: Any, *call: Any, num_warps: int, num_stages: int, **given: Any
        ) -> None:
            nonlocal total
            own = {key: value for key, value in given.items() if not key.startswith("_")}
            own |= {"grid": grid, "num_warps": num_warps, "num_stages": num_stages}
            total += time_ms(self.predicted(kernel, call, own))

        try:
            self.bound.compile_config(config, allow_print=False)(*self.args, _launcher=launcher)
        except Exception as error:
            if is_refused(error):
                return math.inf
            raise
        return total
