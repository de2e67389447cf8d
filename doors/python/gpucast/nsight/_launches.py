"""Launches of an annotated part of a program, and their metrics."""

from __future__ import annotations

import functools
import json
import os
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Callable, Iterator, Mapping, Sequence

from .. import _gpucast
from .._kernel import prepare
from .._observed import observer
from .._settings import Request, Settings
from .exceptions import ProfilerException

USUAL_GPU = "h100-sxm"


@dataclass
class _Chosen:
    gpu: str | None = None
    model: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


_chosen = _Chosen()


def configure(*, gpu: str | None = None, model: str | None = None, **settings: Any) -> None:
    """Chooses the GPU and the model of all later profiles.

    `settings` are those of :class:`gpucast.ExecutionOptions`, such as `machine="rules"`.
    """
    global _chosen
    Settings(**settings)
    _chosen = _Chosen(gpu, model, settings)


def chosen_gpu() -> str:
    """The GPU whose metrics are predicted."""
    return _chosen.gpu or os.environ.get("GPUCAST_GPU") or USUAL_GPU


@dataclass(frozen=True)
class Metric:
    """A metric of a launch; its value is none if it does not follow from counts."""

    value: float | int | str | None
    unit: str


@dataclass(frozen=True)
class Launched:
    """A launch in an annotated part."""

    kernel: str
    metrics: Mapping[str, Metric]


@dataclass
class Range:
    """An annotated part of a run; `failed` if it ended by an exception that is ignored."""

    name: str
    collected: Mapping[str, Any] = field(default_factory=dict)
    """The values of collectors when the part began."""
    launches: list[Launched] = field(default_factory=list)
    failed: bool = False


@dataclass
class Recording:
    """A run of a profiled function."""

    metrics: Sequence[str]
    clock: str | None
    collect: Callable[[str], Mapping[str, Any]]
    """The values of collectors for a part that begins."""
    ranges: list[Range] = field(default_factory=list)
    current: Range | None = None

    def launch(self, kernel: Any, args: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Predicts a launch. Its arrays stay as they are."""
        if self.current is None:
            return
        gpu = chosen_gpu()
        models = [] if _chosen.model is None else [_chosen.model]
        request = Request([gpu], models, timing="ncu-duration", clock=self.clock)
        settings = Settings(**_chosen.settings)
        launch = {key: value for key, value in options.items() if not hasattr(settings, key)}
        made = prepare(kernel, args, launch, settings, [gpu])
        document, _ = _gpucast.nsight(
            made.kernel, made.arguments, request, list(self.metrics), settings
        )
        for one in json.loads(document):
            metrics = {name: _metric(metric) for name, metric in one["metrics"].items()}
            self.current.launches.append(Launched(one["kernel"], metrics))


def _metric(document: Mapping[str, Any] | None) -> Metric:
    if document is None:
        return Metric(None, "")
    return Metric(document["value"], document["unit"])


_recording: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recorded(
    metrics: Sequence[str], clock: str | None, collect: Callable[[str], Mapping[str, Any]]
) -> Iterator[Recording]:
    """Launches in annotated parts are predicted, and run on the CPU."""
    recording = Recording(metrics, clock, collect)
    before, heard = _recording.set(recording), observer.set(recording.launch)
    try:
        with _numba_here():
            yield recording
    finally:
        observer.reset(heard)
        _recording.reset(before)


@contextmanager
def _numba_here() -> Iterator[None]:
    """Launches of Numba's kernels run here, as there is no GPU that they could run on."""
    # Who has no kernel of Numba does not pay for its import.
    module = sys.modules.get("numba.cuda.dispatcher")
    configuration: Any = getattr(module, "_LaunchConfiguration", None)
    if configuration is None:
        yield
        return
    own = configuration.__call__

    def launched(configured: Any, *args: Any) -> None:
        from .. import run

        run(configured, *args)

    configuration.__call__ = launched
    try:
        yield
    finally:
        configuration.__call__ = own


class annotate:
    """Names a part of a profiled function: a context manager, and a decorator.

    Outside of a profile it changes nothing. With `ignore_failures` an exception inside leaves the
    metrics of the part without values.
    """

    def __init__(self, name: str, ignore_failures: bool = False) -> None:
        self.name = name
        self.ignore_failures = ignore_failures

    def __enter__(self) -> annotate:
        recording = _recording.get()
        if recording is not None:
            if recording.current is not None:
                raise ValueError(f"{self.name} is inside of {recording.current.name}")
            if any(one.name == self.name for one in recording.ranges):
                raise ValueError(f"two parts of a run have the name {self.name}")
            recording.current = Range(self.name, recording.collect(self.name))
            recording.ranges.append(recording.current)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        recording = _recording.get()
        if recording is None or recording.current is None:
            return False
        is_ignored = self.ignore_failures and isinstance(error, Exception)
        recording.current.failed = is_ignored
        recording.current = None
        return is_ignored

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with annotate(self.name, self.ignore_failures):
                return function(*args, **kwargs)

        return annotated


def values_of(
    part: Range,
    metrics: Sequence[str],
    ignored: Sequence[str],
    combine: Callable[[float, float], float] | None,
) -> tuple[str, dict[str, Metric]]:
    """The kernels of an annotated part, and its metrics."""
    launches = [one for one in part.launches if one.kernel not in ignored]
    if part.failed:
        return "", {name: Metric(None, "") for name in metrics}
    if not launches:
        raise ProfilerException(f"no kernel was launched in {part.name}")
    if len(launches) > 1 and combine is None:
        raise ProfilerException(
            f"{len(launches)} kernels were launched in {part.name}: say by combine_kernel_metrics "
            "how they become one number"
        )
    kernels = ", ".join(dict.fromkeys(one.kernel for one in launches))
    combined = {}
    for name in metrics:
        each = [one.metrics[name] for one in launches]
        numbers = [one.value for one in each if isinstance(one.value, (int, float))]
        value: float | int | str | None = None
        if len(each) == 1:
            value = each[0].value
        elif combine is not None and len(numbers) == len(each):
            value = functools.reduce(combine, numbers)
        combined[name] = Metric(value, next((one.unit for one in each if one.unit), ""))
    return kernels, combined
