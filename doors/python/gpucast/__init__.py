"""Forecasts how fast a CUDA kernel runs on a GPU that you do not have, and runs it on the CPU.

>>> import gpucast
>>> forecast = gpucast.predict("transpose", gpu="h100-sxm", size="small", machine="rules")
>>> forecast.bound
'compute'

Kernels are PTX or CUDA as text, files, names of the corpus, and kernels of Numba, Triton, Warp
and CuPy.
"""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

from . import _gpucast
from ._decorators import Emulated, emulated
from ._errors import ArgumentError, Error, Place
from ._kernel import OPTIONS, Configured, Kernel, LaunchOptions, prepare
from ._observed import observer
from ._settings import (
    CountsRequest,
    ExecutionOptions,
    Names,
    ProfileRequest,
    Request,
    Settings,
    SweepRequest,
    TraceRequest,
    names,
)
from .answers import (
    Advice,
    Configuration,
    CountChange,
    Difference,
    Formula,
    Formulas,
    Line,
    Parameter,
    Report,
    Sensitivity,
    Suggestion,
    TimeChange,
    Tuning,
)
from .results import (
    BrokenLimit,
    Buffer,
    Counts,
    Expectation,
    Figure,
    Finding,
    Findings,
    Forecast,
    LaunchProfile,
    Picture,
    Prediction,
    Profile,
    Run,
    Table,
    Timeline,
    Warning,
)

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__version__: str = _gpucast.__version__

__all__ = [
    "Advice",
    "ArgumentError",
    "BrokenLimit",
    "Buffer",
    "Configuration",
    "Configured",
    "CountChange",
    "Counts",
    "Difference",
    "Emulated",
    "Error",
    "ExecutionOptions",
    "Expectation",
    "Figure",
    "Finding",
    "Findings",
    "Forecast",
    "Formula",
    "Formulas",
    "Kernel",
    "LaunchOptions",
    "LaunchProfile",
    "Line",
    "Parameter",
    "Picture",
    "Place",
    "Prediction",
    "Profile",
    "Report",
    "Run",
    "Sensitivity",
    "Suggestion",
    "Table",
    "TimeChange",
    "Timeline",
    "Tuning",
    "Warning",
    "advise",
    "check",
    "counts",
    "diff",
    "emulated",
    "gpus",
    "predict",
    "profile",
    "report",
    "run",
    "sensitivity",
    "sweep",
    "trace",
    "tune",
]

_EXECUTION = frozenset(ExecutionOptions.__annotations__)


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], Settings]:
    """The options of the launch, and those of the execution."""
    settings = Settings(**{key: value for key, value in options.items() if key in _EXECUTION})
    return {key: value for key, value in options.items() if key not in _EXECUTION}, settings


def _request(
    gpu: Names,
    model: Names = (),
    count_on: str | None = None,
    timing: str | None = None,
    clock: str | float | None = None,
    power_limit: str | float | None = None,
) -> Request:
    return Request(
        gpus=names(gpu),
        models=names(model),
        count_on=count_on,
        timing=timing,
        clock=None if clock is None else str(clock),
        power_limit=None if power_limit is None else str(power_limit),
    )


def predict(
    kernel: Any,
    *args: Any,
    gpu: Names,
    model: Names = (),
    refine: Names = (),
    count_on: str | None = None,
    timing: str | None = None,
    clock: str | float | None = None,
    power_limit: str | float | None = None,
    what_if: Names = (),
    **options: Any,
) -> Forecast:
    """Executes a kernel on the CPU, counts, and predicts its time on GPUs.

    `kernel` is `kernel[grid, block]` of Numba or :class:`Kernel`, `kernel[grid]` of Triton, PTX or
    CUDA as text, a file, a launch file, or a name of the corpus. The execution works on copies:
    arrays stay as they are.

    `gpu` has names of the library or paths of TOML files; `model` has names of models, or `all`.
    The other arguments are those of `gpucast predict`. `options` are those of
    :class:`LaunchOptions` and :class:`ExecutionOptions`; further ones go to a kernel of Triton.
    """
    request = _request(gpu, model, count_on, timing, clock, power_limit)
    request.refine, request.what_if = names(refine), names(what_if)
    launch, settings = _split(options)
    made = prepare(kernel, args, launch, settings, request.gpus)
    forecast = _gpucast.predict(made.kernel, made.arguments, request, settings)
    return Forecast(forecast, made.notes)


def profile(
    kernel: Any,
    *args: Any,
    gpu: str = "gtx-480",
    by: str = "launch",
    stalls: bool = False,
    **options: Any,
) -> Profile:
    """Executes a kernel on the CPU and counts as the profiler of a GPU would.

    `by="stage"` and `by="access"` make counts of their own; `launch`, `line` and `branch` are
    always there. `stalls` says where the warps of each line spend their time, by a simulation. The
    execution works on copies: arrays stay as they are.
    """
    launch, settings = _split(options)
    # As on the command line, CUDA is compiled for the usual architecture.
    made = prepare(kernel, args, launch, settings)
    request = ProfileRequest(gpu, by, stalls)
    return Profile(_gpucast.profile(made.kernel, made.arguments, request, settings), made.notes)


def run(kernel: Any, *args: Any, **options: Any) -> Run:
    """Executes a kernel on the CPU; arrays are changed in place, without a copy.

    Arrays that cannot be written are copied first. What a kernel writes there is lost. No other
    thread may write the arrays until the call returns.

    Launch files and corpus kernels may say what they expect. The result is false where that is not
    so, and `expectations` has each comparison.
    """
    observe = observer.get()
    if observe is not None:
        observe(kernel, args, options)
    launch, settings = _split(options)
    made = prepare(kernel, args, launch, settings)
    return Run(_gpucast.run(made.kernel, made.arguments, settings), made.notes)


def check(kernel: Any, *args: Any, checks: Names = "all", **options: Any) -> Findings:
    """Executes a kernel under the sanitizer; arrays are changed in place.

    `checks` are `memory`, `race`, `init` and `sync`, or `all`. The result is a sequence of
    findings, empty if nothing is wrong.
    """
    launch, settings = _split(options)
    made = prepare(kernel, args, launch, settings)
    chosen = ",".join(names(checks))
    return Findings(_gpucast.check(made.kernel, made.arguments, chosen, settings), made.notes)


def trace(
    kernel: Any,
    *args: Any,
    gpu: str,
    launch: int | None = None,
    sms: str | int = 0,
    ctas: str | int = "all",
    clocks: tuple[float, float] = (0.0, float("inf")),
    limit: int = 50_000_000,
    format: str = "perfetto",
    time_unit: str = "ns",
    **options: Any,
) -> Timeline:
    """Simulates a launch on a GPU and records it: a timeline of warps, units and memory.

    `launch` is the place of one of several launches. `sms` and `ctas` are numbers and ranges as
    `"0,2-3"`, or `all`; `clocks` are the first one and the one behind the last. `limit` is the bytes
    that a CTA may take on average. `format` is `perfetto` or `json`, `time_unit` is `ns` or `clocks`.
    The execution works on copies: arrays stay as they are.
    """
    request = TraceRequest(
        gpu, launch, str(sms), str(ctas), (float(clocks[0]), float(clocks[1])), limit, format, time_unit
    )
    launched, settings = _split(options)
    made = prepare(kernel, args, launched, settings, [gpu])
    data, summary, notes = _gpucast.trace(made.kernel, made.arguments, request, settings)
    return Timeline(data, summary, (*made.notes, *notes))


def sweep(
    kernels: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    gpu: Names,
    model: Names = (),
    size: Names = (),
    set: Mapping[str, Any] | None = None,
    vary: Mapping[str, Any] | None = None,
    count_on: str | None = None,
    timing: str | None = None,
    clock: str | float | None = None,
    power_limit: str | float | None = None,
    **options: Any,
) -> Table:
    """Predicts corpus kernels and launch files on grids of GPUs, fields of GPUs and parameters.

    `set` has values of GPU fields, `vary` of a launch file's parameters: a list, or a range as
    `"40..160:20"`. A combination without a time says why in the column `error`.
    """
    launch, settings = _split(options)
    if launch:
        raise TypeError(f"unknown option {', '.join(sorted(launch))}")
    if isinstance(kernels, (str, PathLike)):
        kernels = [kernels]
    request = _request(gpu, model, count_on, timing, clock, power_limit)
    grid = SweepRequest([fspath(one) for one in kernels], names(size), _axes(set), _axes(vary))
    return Table(of=_gpucast.sweep(grid, request, settings))


def advise(kernel: Any, *args: Any, gpu: Names, **options: Any) -> Advice:
    """Executes a kernel on the CPU, and says what is slow, where, why, and what to change.

    Each suggestion has the gain that models predict. What gains less than 5 % is left out. Options
    are those of :func:`predict`; arrays stay as they are.
    """
    launch, settings = _split(options)
    gpu_names = names(gpu)
    made = prepare(kernel, args, launch, settings, gpu_names)
    document, text, notes = _gpucast.advise(made.kernel, made.arguments, gpu_names, settings)
    return Advice(document, text, (*made.notes, *notes))


def sensitivity(
    kernel: Any,
    *args: Any,
    gpu: Names,
    field: Names = (),
    step: float = 0.01,
    model: Names = (),
    count_on: str | None = None,
    timing: str | None = None,
    **options: Any,
) -> Sensitivity:
    """Says which figures of a GPU move a kernel's time, and by how much.

    `field` has names of figures, such as `memory_bandwidth`; all without it. Each is moved up and
    down by `step`, a fraction. Options are those of :func:`predict`; arrays stay as they are.
    """
    request = _request(gpu, model, count_on, timing)
    launch, settings = _split(options)
    made = prepare(kernel, args, launch, settings, request.gpus)
    moved = (names(field), float(step))
    document, text, notes = _gpucast.sensitivity(
        made.kernel, made.arguments, request, moved, settings
    )
    return Sensitivity(document, text, (*made.notes, *notes))


def diff(
    before: Forecast | str | PathLike[str],
    after: Forecast | str | PathLike[str],
    *,
    fail_if: str | Iterable[str] = (),
) -> Difference:
    """Puts two predictions side by side: times and counts.

    Each side is a :class:`Forecast`, or a baseline: the file that `Forecast.save` or `gpucast
    predict -o base.json` wrote. `fail_if` has limits such as `time:5%`, `inst_executed:1%` and
    `time>120us`; the result is false if one is broken.
    """
    limits = [fail_if] if isinstance(fail_if, str) else list(fail_if)
    sides = (_side(before, "the prediction before"), _side(after, "the prediction after"))
    documents, broken = _gpucast.diff(*sides, limits)
    return Difference(documents, broken, [text for _, text in sides])


def _side(value: Forecast | str | PathLike[str], name: str) -> tuple[str, str]:
    if isinstance(value, Forecast):
        return name, value.json()
    path = fspath(value)
    with open(path, encoding="utf-8") as file:
        return path, file.read()


def tune(
    space: Any,
    *args: Any,
    gpu: str,
    model: Names = (),
    count_on: str | None = None,
    timing: str | None = None,
    clock: str | float | None = None,
    power_limit: str | float | None = None,
    **options: Any,
) -> Tuning:
    """Predicts every configuration of a tuning space, and ranks them.

    `space` is a file as `gpucast tune` reads it: a launch file, values of its parameters, and
    constraints. One that names a program to compile with is refused. Or it is `kernel[grid]` of a
    kernel that `triton.autotune` decorates, with its arguments. Options are those of
    :class:`ExecutionOptions`.
    """
    request = _request(gpu, model, count_on, timing, clock, power_limit)
    if isinstance(space, (str, PathLike)):
        if args:
            raise TypeError("a space has its own arguments, in its launch file")
        return Tuning(*_gpucast.tune(fspath(space), request, _only_execution(options)))
    from .adapters import triton_autotuner

    chosen = {
        "count_on": count_on, "timing": timing, "clock": clock, "power_limit": power_limit, **options
    }
    by = request.models[0] if request.models else "sm-simulation"
    parameters, trials = triton_autotuner.configurations(space, args, gpu, {"model": by, **chosen})
    return Tuning(*_gpucast.ranked(gpu, by, parameters, trials), notes=())


def counts(
    kernel: str | PathLike[str],
    parameters: Names | Mapping[str, str | tuple[int, int]],
    *,
    gpu: str = "gtx-480",
    metrics: Names = "all",
    **options: Any,
) -> Formulas:
    """Finds how a kernel's counts depend on the sizes of its problem, as formulas.

    `kernel` is a launch file with `[parameters]`. `parameters` are names of some, with ranges if
    you like: `"n"`, `"n=64..4096"`, `{"n": (64, 4096)}`. Formulas are tested at sizes that were held
    back, and not proven. Options are those of :class:`ExecutionOptions`.
    """
    request = CountsRequest(fspath(kernel), _ranges(parameters), gpu, ",".join(names(metrics)))
    return Formulas(*_gpucast.counts(request, _only_execution(options)))


def _ranges(parameters: Names | Mapping[str, str | tuple[int, int]]) -> list[str]:
    if not isinstance(parameters, Mapping):
        return names(parameters)

    def text(sizes: str | tuple[int, int]) -> str:
        return sizes if isinstance(sizes, str) else f"{sizes[0]}..{sizes[1]}"

    return [f"{name}={text(sizes)}" for name, sizes in parameters.items()]


def _only_execution(options: Mapping[str, Any]) -> Settings:
    launch, settings = _split(options)
    if launch:
        raise TypeError(f"unknown option {', '.join(sorted(launch))}")
    return settings


def report(
    kernel: Any,
    *args: Any,
    gpu: str,
    model: Names = (),
    count_on: str | None = None,
    timing: str | None = None,
    clock: str | float | None = None,
    power_limit: str | float | None = None,
    **options: Any,
) -> Report:
    """Makes a page with everything that is known of a kernel on a GPU, as `gpucast report` does.

    Options are those of :func:`predict`; arrays stay as they are.
    """
    request = _request(gpu, model, count_on, timing, clock, power_limit)
    launch, settings = _split(options)
    made = prepare(kernel, args, launch, settings, request.gpus)
    name = made.kernel.name or "kernel"
    page, notes = _gpucast.report(made.kernel, made.arguments, name, request, settings)
    return Report(page, (*made.notes, *notes))


def _axes(values: Mapping[str, Any] | None) -> list[str]:
    def text(value: Any) -> str:
        if isinstance(value, (str, int, float)):
            return str(value)
        return ",".join(str(one) for one in value)

    return [f"{name}={text(value)}" for name, value in (values or {}).items()]


def gpus(*names: str) -> list[dict[str, Any]]:
    """The GPUs of these names, or all of the library: each field with value, unit and source."""
    described: list[dict[str, Any]] = json.loads(_gpucast.gpus(list(names)))
    return described


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext gpucast` of a notebook: adds `%%gpucast`."""
    from .notebook import Magics

    shell.register_magics(Magics)
