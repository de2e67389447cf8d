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
from os import fspath
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, overload

from .. import _gpucast
from ._collectors import Collected, CollectionScope, Given, InfoCollector, collectors_of
from ._launches import chosen_gpu, recorded, values_of
from ._picture import AGGREGATES, Picture, shown
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
    info_collectors: Iterable[Given] | None = None,
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
    info_collectors: Iterable[Given] | None = None,
    **hardware: Any,
) -> Profiled | Callable[[Callable[..., Any]], Profiled]:
    """Runs a function for each configuration, and predicts the metrics of its annotated parts.

    A configuration is a sequence of arguments, or the one argument. The decorated function takes
    `configs=`, or the arguments of one configuration, and gives :class:`ProfileResults`.

    `derive_metric` gets the metrics and then the arguments. It gives a number, a number with its
    unit, or a mapping of names to either. `normalize_against` names the annotation whose metrics
    the others are divided by. Every launch finds empty caches, as with `cache_control="all"`, and
    `clock_control="base"` holds the base clock. Options of a GPU's temperature have no effect.

    `info_collectors` are functions that :func:`nsight.experimental.collect` marks, collectors, or
    tuples of a name, a function and a scope. Each adds a column of its values.
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
            collectors=info_collectors or (),
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
        collectors: Iterable[Given],
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
        names = COLUMNS.union(one.name for one in self.parameters)
        self.collectors: list[InfoCollector] = collectors_of(collectors, names)

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
        collected = Collected(self.collectors)
        once = collected.of(CollectionScope.ONCE)
        rows: list[Row] = []
        for number, config in enumerate(configs):
            known = {**once, **collected.of(CollectionScope.CONFIG, *config)}
            for _ in range(self.runs):
                rows += self._run(number, config, collected, known)
        if not rows:
            raise ProfilerException("nothing is annotated: with nsight.annotate(\"name\"): …")
        absent = sorted({row["Metric"] for row in rows if row["Value"] != row["Value"]})
        if absent:
            message = f"without a value: {', '.join(absent)}; docs/metrics.md lists what there is"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        names = [one.name for one in self.parameters]
        made = aggregated(rows, self.against, names, self.collectors)
        if self.writes:
            self._write(rows, made)
        return ProfileResults(made, names)

    def _run(
        self, number: int, config: tuple[Any, ...], collected: Collected, known: Mapping[str, Any]
    ) -> Iterator[Row]:
        """The rows of a run; `known` are the values of collectors that hold for more than it."""
        named = dict(zip((one.name for one in self.parameters), config))
        by_name = {
            one.name: named[one.name] for one in self.parameters if one.kind is one.KEYWORD_ONLY
        }
        by_place = [value for name, value in named.items() if name not in by_name]
        of_run = collected.of(CollectionScope.RUN, *config)
        of_part = lambda name: collected.of(CollectionScope.ANNOTATION, name, *config)
        with recorded(self.metrics, self.clock, of_part) as recording:
            given = self.function(*by_place, **by_name)
        if given is not None:
            warnings.warn("what the function returns is dropped", RuntimeWarning, stacklevel=5)
        facts = _facts(self.clock)
        for part in recording.ranges:
            own = {**known, **of_run, **part.collected}
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
                    **{one.name: own[one.name] for one in self.collectors},
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
    show_aggregate: str | None = None,
    plot_type: str = "line",
    plot_width: float = 6,
    plot_height: float = 4,
    row_panels: Sequence[str] | None = None,
    col_panels: Sequence[str] | None = None,
    x_keys: Sequence[str] | None = None,
    print_data: bool = False,
    variant_fields: Sequence[str] | None = None,
    variant_annotations: Sequence[str] | None = None,
    plot_callback: Callable[[Any], None] | None = None,
) -> Callable[[Profiled], Profiled]:
    """Draws the results of a function that :func:`kernel` decorates, by matplotlib.

    Each annotation is a line, or bars, over the configurations. `row_panels` and `col_panels` name
    parameters with a panel for each of their values, of `plot_width` × `plot_height` inches. The
    parameters `variant_fields` split the lines of `variant_annotations`. `show_aggregate` marks the
    mean of each line, `avg` or `geomean`. Without matplotlib a warning says that there is no picture,
    and the results are the same.
    """
    if plot_type not in ("line", "bar"):
        raise ValueError(f"plot_type is line or bar, not {plot_type!r}")
    if show_aggregate is not None and show_aggregate not in AGGREGATES:
        raise ValueError(f"show_aggregate is avg or geomean, not {show_aggregate!r}")
    picture = Picture(
        title=title,
        ylabel=ylabel,
        annotate_points=annotate_points,
        aggregate=show_aggregate,
        kind=plot_type,
        panel_size=(plot_width, plot_height),
        row_panels=list(row_panels or ()),
        col_panels=list(col_panels or ()),
        x_keys=None if x_keys is None else list(x_keys),
        variant_fields=list(variant_fields or ()),
        variant_annotations=list(variant_annotations or ()),
    )

    def decorated(function: Profiled) -> Profiled:
        @functools.wraps(function)
        def plotted(*args: Any, **kwargs: Any) -> ProfileResults:
            results = function(*args, **kwargs)
            rows = shown(results, metric)
            if print_data:
                print(ProfileResults(rows, results.parameters).table())
            figure = picture.drawn(rows, results.parameters)
            if figure is not None:
                if plot_callback is not None:
                    plot_callback(figure)
                figure.savefig(fspath(filename))
            return results

        return plotted

    return decorated


@contextmanager
def ignore_failures() -> Iterator[None]:
    """Exceptions inside, such as those of a first run, are dropped."""
    try:
        yield
    except Exception as error:
        warnings.warn(f"dropped: {error}", RuntimeWarning, stacklevel=3)
