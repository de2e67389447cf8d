"""A decorator for programs that launch kernels: launches run here instead of on a GPU."""

from __future__ import annotations

from typing import Any, Callable

from ._settings import Names


class Emulated:
    """A kernel whose launches run on the CPU, as its GPU's program writes them.

    With a GPU, every launch is forecast before it runs.
    """

    def __init__(self, kernel: Any, gpu: Names | None, options: dict[str, Any]) -> None:
        self.kernel = kernel
        self.forecasts: list[Any] = []
        """The forecast of each launch, in order; empty without a GPU."""
        self._gpu = gpu
        self._options = options

    def __getitem__(self, launch: Any) -> Callable[..., None]:
        """`kernel[grid, block]`, to be called with the arguments."""
        from . import predict, run

        configured = self.kernel[launch]

        def launched(*args: Any, **options: Any) -> None:
            merged = {**self._options, **options}
            if self._gpu is not None:
                self.forecasts.append(predict(configured, *args, gpu=self._gpu, **merged))
            run(configured, *args, **merged)

        return launched


def emulated(*, gpu: Names | None = None, **options: Any) -> Callable[[Any], Emulated]:
    """Makes `kernel[grid, block](*args)` run on the CPU, with arrays changed in place.

    It stands above `@cuda.jit` or `@triton.jit`. Options are those of :func:`gpucast.run`.
    """
    return lambda kernel: Emulated(kernel, gpu, options)
