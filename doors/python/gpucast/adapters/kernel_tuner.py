"""Kernel Tuner on a GPU that is not there: a backend whose times are predicted.

Kernel Tuner has a class for each way to reach a GPU, and no list that others could enter. While
:func:`predicting` lasts, ours stands in the place of its class for cuda-python, which `lang="CUDA"`
takes. Strategies, restrictions, observers, caches and verified answers stay Kernel Tuner's own.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import Any, Iterator, Mapping, Sequence

from .. import gpus, predict, run
from .._errors import Error
from .._memory import is_array
from .refusal import time_ms

REFUSED = "too many resources requested for launch"
"""These words have Kernel Tuner leave a configuration out as one that the GPU refuses."""


@contextmanager
def predicting(gpu: str, **options: Any) -> Iterator[None]:
    """Kernel Tuner tunes for `gpu` while this lasts; options are those of :func:`gpucast.predict`."""
    backend: Any = import_module("kernel_tuner.backends.backend")
    nvcuda: Any = import_module("kernel_tuner.backends.nvcuda")
    ours = type("PredictedFunctions", (Backend,), {"gpu": gpu, "options": options})
    # Kernel Tuner gives the backends of GPUs their device and observers.
    backend.GPUBackend.register(ours)
    before = nvcuda.CudaFunctions, nvcuda.driver
    # Without cuda-python there is no driver, and Kernel Tuner would look no further.
    nvcuda.CudaFunctions, nvcuda.driver = ours, nvcuda.driver or ours
    try:
        yield
    finally:
        nvcuda.CudaFunctions, nvcuda.driver = before


class Backend:
    """The methods that Kernel Tuner's `GPUBackend` declares, on the CPU and by predictions."""

    gpu: str
    options: Mapping[str, Any]
    units = {"time": "ms", "time_low": "ms", "time_high": "ms"}

    def __init__(
        self,
        device: int = 0,
        iterations: int = 7,
        compiler_options: Sequence[str] | None = None,
        observers: Sequence[Any] | None = None,
    ) -> None:
        described = gpus(self.gpu)[0]
        self.name = described["display_name"]
        self.max_threads = 1024
        self.iterations = iterations
        self.env = {
            "device_name": self.name,
            "iterations": iterations,
            "compiler_options": list(compiler_options or ()),
            "predicted_by": "gpucast",
        }
        self.launch = _options_of(compiler_options or ())
        self.is_timing = False
        self.times = Times()
        self.observers = [*(observers or ()), self.times]
        for observer in self.observers:
            observer.register_device(self)

    def ready_argument_list(self, arguments: Sequence[Any]) -> list[Any]:
        """Device memory is the host's: each array is copied once, so that kernels may change it."""
        return [value.copy() if is_array(value) else value for value in arguments]

    def compile(self, instance: Any) -> Any:
        """The source with its macros; it is compiled when its launch is known."""
        self.launch.pop("shared_bytes", None)
        return instance

    def run_kernel(
        self,
        function: Any,
        arguments: Sequence[Any],
        threads: Sequence[int],
        grid: Sequence[int],
        stream: Any = None,
    ) -> None:
        """Predicts a launch that is timed, and executes one whose answer is wanted."""
        launch = {
            **self.launch,
            "name": function.name,
            "grid": tuple(int(extent) for extent in grid),
            "block": tuple(int(extent) for extent in threads),
        }
        if not self.is_timing:
            run(function.kernel_string, *arguments, **launch)
        elif not self.times.is_known:
            self.times.take(
                predict(function.kernel_string, *arguments, gpu=self.gpu, **self.options, **launch)
            )

    def start_event(self) -> None:
        """The next launch is timed."""
        self.is_timing = True

    def stop_event(self) -> None:
        """Launches are executed again."""
        self.is_timing = False

    def kernel_finished(self) -> bool:
        """Launches end before they return."""
        return True

    def synchronize(self) -> None:
        """Nothing runs meanwhile."""

    def memset(self, allocation: Any, value: int, size: int) -> None:
        """Sets the first `size` bytes of an array."""
        memoryview(allocation).cast("B")[:size] = bytes([value]) * size

    def memcpy_dtoh(self, dest: Any, src: Any) -> None:
        """Copies an array."""
        dest[...] = src

    def memcpy_htod(self, dest: Any, src: Any) -> None:
        """Copies an array."""
        dest[...] = src

    def refresh_memory(
        self, gpu_memory: Sequence[Any], host: Sequence[Any], should_sync: Sequence[bool]
    ) -> None:
        """Undoes what kernels have changed."""
        for ours, theirs, is_meant in zip(gpu_memory, host, should_sync):
            if is_meant and is_array(theirs):
                self.memcpy_htod(ours, theirs)

    def copy_constant_memory_args(self, cmem_args: Mapping[str, Any]) -> None:
        """Fills `__constant__` variables by their names."""
        self.launch["symbols"] = dict(cmem_args)

    def copy_shared_memory_args(self, smem_args: Mapping[str, Any]) -> None:
        """Sets the bytes of dynamic shared memory."""
        self.launch["shared_bytes"] = int(smem_args["size"])

    def copy_texture_memory_args(self, texmem_args: Mapping[str, Any]) -> None:
        """Textures are bound by no option of a launch here."""
        raise NotImplementedError("gpucast's backend binds no textures; use a launch file for them")


class Times:
    """The observer that tells Kernel Tuner the time of a configuration, and its interval."""

    def __init__(self) -> None:
        self.results: dict[str, Any] = {}
        self.count = 0

    @property
    def is_known(self) -> bool:
        """True if the configuration was predicted already."""
        return bool(self.results)

    def take(self, forecast: Any) -> None:
        """Keeps the time of a configuration; one that the GPU refuses is an error."""
        try:
            self.results = {"time": time_ms(forecast)}
        except Error as error:
            raise RuntimeError(f"{REFUSED}: {error}") from error
        interval = forecast[0].interval_ms
        if interval is not None:
            self.results["time_low"], self.results["time_high"] = interval

    def after_finish(self) -> None:
        """Counts a repetition."""
        self.count += 1

    def get_results(self) -> dict[str, Any]:
        """The time of every repetition is the same."""
        results = {**self.results, "times": [self.results["time"]] * self.count}
        self.results, self.count = {}, 0
        return results

    def register_device(self, device: Any) -> None:
        """Nothing of the device is asked."""

    def register_configuration(self, params: Mapping[str, Any]) -> None:
        """Forgets the configuration before, which may have failed."""
        self.results, self.count = {}, 0

    def before_start(self) -> None:
        """A repetition begins."""

    def after_start(self) -> None:
        """A repetition was launched."""

    def during(self) -> None:
        """A repetition runs."""


def _options_of(words: Sequence[str]) -> dict[str, Any]:
    """The compiler's options as those of :class:`gpucast.LaunchOptions`; others change no code."""
    options: dict[str, Any] = {"include": [], "define": []}
    for word in words:
        if word.startswith("-I"):
            options["include"].append(word[2:])
        elif word.startswith("-D"):
            options["define"].append(word[2:])
        elif word.lstrip("-").startswith("std="):
            options["std"] = word.partition("=")[2]
    return options
