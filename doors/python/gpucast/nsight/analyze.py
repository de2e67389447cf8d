"""`analyze.kernel` and `analyze.plot`, the decorators of profiled functions."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import platform
import tempfile
import warnings
from contextlib import contextmanager
from importlib import import_module
from os import fspath
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, overload

from .. import _gpucast
from ._launches import chosen_gpu, recorded, values_of
from ._results import COLUMNS, CONFIG, NAN, ProfileResults, Row, aggregated, csv_of
from ._verbosity import VerbosityLevel
from .exceptions import ProfilerException

__all__ = ["ProfileResults", "ignore_failures", "kernel", "plot"]

DURATION = "gpu__time_duration.sum"

Profiled = Callable[..., ProfileResults]


@overload
def kernel(_func: Callable[..., Any]) -> Profiled: ...
@overload
def kernel(
    _func: None = None,
    *,
    configs: Iterable[Any] | None = None,
    runs: int = 1,
    derive_metric: Callable[..., Any] | None = None,
    normalize_against: str | None = None,
    metrics: Sequence[str] = (DURATION,),
    ignore_kernel_list: Sequence[str] | None = None,
    clock_control: str = "none",
    cache_control: str = "all",
    combine_kernel_metrics: Callable[[float, float], float] | None = None,
    output_prefix: str | None = None,
    output_csv: bool = False,
    verbosity: VerbosityLevel = VerbosityLevel.INFO,
    **hardware: Any,
) -> Callable[[Callable[..., Any]], Profiled]: ...
def kernel(
    _func: Callable[..., Any] | None = None,
    *,
    configs: Iterable[Any] | None = None,
    runs: int = 1,
    derive_metric: Callable[..., Any] | None = None,
    normalize_against: str | None = None,
    metrics: Sequence[str] = (DURATION,),
    ignore_kernel_list: Sequence[str] | None = None,
    clock_control: str = "none",
    cache_control: str = "all",
    combine_kernel_metrics: Callable[[float, float], float] | None = None,
    output_prefix: str | None = None,
    output_csv: bool = False,
    verbosity: VerbosityLevel = VerbosityLevel.INFO,
    **hardware: Any,
) -> Profiled | Callable[[Callable[..., Any]], Profiled]:
    """Runs a function for each configuration, and predicts the metrics of its annotated parts.

    A configuration is a sequence of arguments, or the one argument. The decorated function takes
    `configs=`, or the arguments of one configuration, and gives :class:`ProfileResults`.

    `derive_metric` gets the metrics and then the arguments. It gives a number, a number with its
    unit, or a mapping of names to either. `normalize_against` names the annotation whose metrics
    the others are divided by. Every launch finds empty caches, as with `cache_control="all"`, and
    `clock_control="base"` holds the base clock. Options of a GPU's temperature have no effect.
    """
    unknown = set(hardware) - _WITHOUT_EFFECT
    if unknown:
        raise TypeError(f"analyze.kernel has no option {', '.join(sorted(unknown))}")
    if clock_control not in ("base", "none"):
        raise ValueError(f"clock_control is base or none, not {clock_control!r}")
    if cache_control not in ("all", "none"):
        raise ValueError(f"cache_control is all or none, not {cache_control!r}")
    if cache_control == "none":
        warnings.warn("each launch is predicted with empty caches", RuntimeWarning, stacklevel=2)
    if runs < 1:
        raise ValueError("runs is a number above 0")

    def decorated(function: Callable[..., Any]) -> Profiled:
        profile = _Profile(
            function=function,
            runs=runs,
            metrics=[metric.strip() for metric in metrics],
            derive=derive_metric,
            against=normalize_against,
            ignored=list(ignore_kernel_list or ()),
            clock="base" if clock_control == "base" else None,
            combine=combine_kernel_metrics,
            prefix=output_prefix,
            writes=output_csv,
        )

        @functools.wraps(function)
        def profiled(*args: Any, configs: Any = None, **kwargs: Any) -> ProfileResults:
            return profile.results(profile.configurations(args, kwargs, configs, own))

        return profiled

    own = configs
    return decorated if _func is None else decorated(_func)


_WITHOUT_EFFECT = frozenset(
    "output replay_mode thermal_mode thermal_wait thermal_cont thermal_timeout thermal_device".split()
)


class _Profile:
    """A profiled function."""

    def __init__(
        self,
        *,
        function: Callable[..., Any],
        runs: int,
        metrics: list[str],
        derive: Callable[..., Any] | None,
        against: str | None,
        ignored: list[str],
        clock: str | None,
        combine: Callable[[float, float], float] | None,
        prefix: str | None,
        writes: bool,
    ) -> None:
        self.function = function
        self.runs = runs
        self.metrics = metrics
        self.derive = derive
        self.against = against
        self.ignored = ignored
        self.clock = clock
        self.combine = combine
        self.prefix = prefix
        self.writes = writes
        self.calls = itertools.count()
        variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        all_parameters = inspect.signature(function).parameters.values()
        self.parameters = [one for one in all_parameters if one.kind not in variadic]
        taken = [one.name for one in self.parameters if one.name in COLUMNS]
        if taken:
            raise ProfilerException(f"{taken[0]} is a column of results; name the parameter otherwise")

    def configurations(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], configs: Any, own: Any
    ) -> list[tuple[Any, ...]]:
        """The arguments of each call."""
        if kwargs:
            raise ProfilerException(f"give {', '.join(kwargs)} by position")
        if args:
            if configs is not None or own is not None:
                raise ProfilerException("there are arguments, and configurations beside them")
            return [self._whole(args)]
        if configs is not None and own is not None:
            raise ProfilerException("configurations are given twice: when decorating and calling")
        given = own if configs is None else configs
        if given is None:
            if any(one.default is one.empty for one in self.parameters):
                raise ProfilerException("give configurations when decorating or calling")
            return [self._whole(())]
        made = [self._whole(self._sequence(one)) for one in given]
        if not made:
            raise ProfilerException("there is no configuration")
        return made

    def _sequence(self, config: Any) -> Sequence[Any]:
        is_sequence = isinstance(config, (tuple, list))
        return config if is_sequence and (len(self.parameters) != 1 or len(config) == 1) else (config,)

    def _whole(self, config: Sequence[Any]) -> tuple[Any, ...]:
        """A configuration with the defaults of parameters that it leaves out."""
        rest = self.parameters[len(config) :]
        if len(config) > len(self.parameters) or any(one.default is one.empty for one in rest):
            name = getattr(self.function, "__name__", "the function")
            names = ", ".join(one.name for one in self.parameters)
            raise ProfilerException(f"{name}({names}) does not take {tuple(config)}")
        return (*config, *(one.default for one in rest))

    def results(self, configs: Sequence[tuple[Any, ...]]) -> ProfileResults:
        """The metrics of all configurations."""
        rows = [
            row
            for number, config in enumerate(configs)
            for _ in range(self.runs)
            for row in self._run(number, config)
        ]
        if not rows:
            raise ProfilerException("nothing is annotated: with nsight.annotate(\"name\"): …")
        absent = sorted({row["Metric"] for row in rows if row["Value"] != row["Value"]})
        if absent:
            message = f"without a value: {', '.join(absent)}; docs/metrics.md lists what there is"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        names = [one.name for one in self.parameters]
        made = aggregated(rows, self.against, names)
        if self.writes:
            self._write(rows, made)
        return ProfileResults(made, names)

    def _run(self, number: int, config: tuple[Any, ...]) -> Iterator[Row]:
        named = dict(zip((one.name for one in self.parameters), config))
        by_name = {
            one.name: named[one.name] for one in self.parameters if one.kind is one.KEYWORD_ONLY
        }
        by_place = [value for name, value in named.items() if name not in by_name]
        with recorded(self.metrics, self.clock) as recording:
            given = self.function(*by_place, **by_name)
        if given is not None:
            warnings.warn("what the function returns is dropped", RuntimeWarning, stacklevel=5)
        facts = _facts(self.clock)
        for part in recording.ranges:
            kernels, values = values_of(part, self.metrics, self.ignored, self.combine)
            figures = [
                (name, metric.value if isinstance(metric.value, (int, float)) else NAN, metric.unit)
                for name, metric in values.items()
            ]
            for name, value, unit in [*figures, *self._derived(figures, config)]:
                yield {
                    CONFIG: number,
                    "Annotation": part.name,
                    "Value": value,
                    "Metric": name,
                    "Unit": unit,
                    "Kernel": kernels,
                    **facts,
                    **named,
                }

    def _derived(
        self, figures: Sequence[tuple[str, float, str]], config: tuple[Any, ...]
    ) -> list[tuple[str, float, str]]:
        if self.derive is None:
            return []
        given = self.derive(*(value for _, value, _ in figures), *config)
        name = getattr(self.derive, "__name__", "derived")
        named = given if isinstance(given, Mapping) else {name: given}
        return [
            (name, *value) if isinstance(value, tuple) else (name, value, "")
            for name, value in named.items()
        ]

    def _write(self, rows: Sequence[Row], made: Sequence[Row]) -> None:
        """The files that `output_csv` asks for, by the names of `nsight-python`."""
        prefix = self.prefix or f"{tempfile.mkdtemp(prefix='nspy')}/"
        name = f"{getattr(self.function, '__name__', 'function')}-{next(self.calls)}.csv"
        for kind, table in (("profiled", rows), ("processed", made)):
            Path(f"{prefix}{kind}_data-{name}").write_text(csv_of(table), encoding="utf-8")


@functools.lru_cache(maxsize=16)
def _facts_of(gpu: str) -> tuple[str, Any, Any]:
    (described,) = json.loads(_gpucast.gpus([gpu]))
    return described["display_name"], described.get("sp_clock"), described.get("memory_clock")


def _facts(clock: str | None) -> Row:
    """The GPU and the computer. Clocks are in kilohertz, as Nsight Compute has them."""
    name, compute, memory = _facts_of(chosen_gpu())

    def kilohertz(field: Any) -> float:
        value = field.get("value") if isinstance(field, Mapping) else None
        return NAN if value is None else round(1000 * float(value))

    return {
        "GPU": name,
        "Host": platform.node(),
        "ComputeClock": kilohertz(compute) if clock is None else NAN,
        "MemoryClock": kilohertz(memory),
    }


def plot(
    filename: str = "plot.png",
    metric: str | None = None,
    *,
    title: str = "Predicted by gpucast",
    ylabel: str | None = None,
    annotate_points: bool = False,
    plot_type: str = "line",
    plot_width: float = 6,
    plot_height: float = 4,
    x_keys: Sequence[str] | None = None,
    print_data: bool = False,
    plot_callback: Callable[[Any], None] | None = None,
) -> Callable[[Profiled], Profiled]:
    """Draws the results of a function that :func:`kernel` decorates, by matplotlib.

    Each annotation is a line, or bars, over the configurations. Without matplotlib a warning says
    that there is no picture, and the results are the same.
    """
    if plot_type not in ("line", "bar"):
        raise ValueError(f"plot_type is line or bar, not {plot_type!r}")

    def decorated(function: Profiled) -> Profiled:
        @functools.wraps(function)
        def plotted(*args: Any, **kwargs: Any) -> ProfileResults:
            results = function(*args, **kwargs)
            shown = _shown(results, metric)
            if print_data:
                print(ProfileResults(shown, results.parameters).table())
            figure = _figure((plot_width, plot_height))
            if figure is None:
                return results
            axes = figure.subplots()
            _draw(axes, shown, list(x_keys or results.parameters), plot_type, annotate_points)
            axes.set_title(title)
            axes.set_ylabel(ylabel or f"{shown[0]['Metric']} {shown[0]['Unit']}".rstrip())
            axes.legend()
            if plot_callback is not None:
                plot_callback(figure)
            figure.savefig(fspath(filename))
            return results

        return plotted

    return decorated


def _shown(results: ProfileResults, metric: str | None) -> list[Row]:
    """The rows of the metric that is drawn."""
    known = results.metrics()
    if metric is None and len(known) > 1:
        raise ProfilerException(f"say which metric is drawn: {', '.join(known)}")
    name = known[0] if metric is None else metric
    rows = [row for row in results.rows if row["Metric"] == name]
    if not rows:
        raise ProfilerException(f"there is no metric {name}; there are {', '.join(known)}")
    return rows


def _figure(size: tuple[float, float]) -> Any:
    """A figure of matplotlib, if it is there."""
    try:
        module: Any = import_module("matplotlib.figure")
    except ImportError:
        message = "there is no picture without matplotlib: pip install matplotlib"
        warnings.warn(message, RuntimeWarning, stacklevel=3)
        return None
    return module.Figure(figsize=size, layout="constrained")


def _draw(
    axes: Any, rows: Sequence[Row], keys: Sequence[str], kind: str, annotate_points: bool
) -> None:
    def label(row: Row) -> str:
        return ", ".join(str(row[key]) for key in keys) or row["Annotation"]

    labels = list(dict.fromkeys(label(row) for row in rows))
    annotations = list(dict.fromkeys(row["Annotation"] for row in rows))
    for number, annotation in enumerate(annotations):
        own = [row for row in rows if row["Annotation"] == annotation]
        places: list[float] = [labels.index(label(row)) for row in own]
        heights = [row["AvgValue"] for row in own]
        if kind == "line":
            axes.plot(places, heights, marker="o", label=annotation)
        else:
            width = 0.8 / len(annotations)
            places = [place + width * (number - (len(annotations) - 1) / 2) for place in places]
            axes.bar(places, heights, width, label=annotation)
        if annotate_points:
            for place, height in zip(places, heights):
                axes.annotate(f"{height:.3g}", (place, height))
    axes.set_xticks(range(len(labels)), labels)


@contextmanager
def ignore_failures() -> Iterator[None]:
    """Exceptions inside, such as those of a first run, are dropped."""
    try:
        yield
    except Exception as error:
        warnings.warn(f"dropped: {error}", RuntimeWarning, stacklevel=3)
