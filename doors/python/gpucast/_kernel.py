"""From what a user calls a kernel to one that the compiled module has read."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence, TypedDict, Union

from . import _gpucast
from ._arguments import Arguments, Parameter, Value, assembled, encoded
from ._errors import ArgumentError
from ._memory import Memory
from ._settings import Names, Settings, names

Extent = Union[int, Sequence[int]]
"""A number of CTAs or threads, or up to three numbers in x, y and z."""


class LaunchOptions(TypedDict, total=False):
    """Which kernel is launched and how."""

    name: str
    """The kernel of a text or file with several."""
    grid: Any
    """CTAs in x, y and z; Triton's kernels also take a function of their meta parameters."""
    block: Extent
    """Threads of a CTA in x, y and z."""
    cluster: Extent
    """CTAs of a cluster."""
    shared_bytes: int
    """Dynamic shared memory of a CTA."""
    arch: str
    """The architecture to compile for, or the PTX of a corpus kernel: `sm_80`."""
    size: str
    """The problem size of a corpus kernel: `small` or `paper`."""
    parameters: Mapping[str, float]
    """Values for the `[parameters]` of a launch file."""
    symbols: Mapping[str, Any]
    """Arrays for `__constant__` and `__device__` variables, by their names."""
    l2: str
    """What the L2 holds when launches begin: `cold`, `keep`, `warm`, `repeated` or `overwritten`."""
    define: Any
    """Macros of CUDA source: a mapping, or texts as `N=4`."""
    include: Names
    """Folders of headers."""
    std: str
    """The version of C++, such as `c++17`."""
    compiler: str
    """`nvrtc`, `nvcc`, `clang`, or the path of one."""


OPTIONS = frozenset(LaunchOptions.__annotations__)


@dataclass
class Launch:
    """A launch as the compiled module reads it, by the names of the attributes."""

    kernel: str | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    cluster: tuple[int, int, int] | None = None
    shared_bytes: int | None = None
    notation: list[str] = field(default_factory=list)
    arch: str | None = None
    size: str | None = None
    parameters: list[tuple[str, float]] = field(default_factory=list)
    symbols: list[tuple[str, bytes]] = field(default_factory=list)
    l2: str | None = None
    defines: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)
    standard: str | None = None
    compiler: str | None = None
    gpus: list[str] = field(default_factory=list)
    source_root: str | None = None


@dataclass
class Source:
    """A kernel's text or name, with its launch, as an adapter finds them."""

    launch: Launch
    text: str | None = None
    """PTX or CUDA; absent if `label` names a file or a kernel of the corpus."""
    label: str = "kernel.ptx"
    """The file, the corpus kernel, or what errors call the text."""
    arguments: Callable[[Sequence[Parameter], Memory], list[Value]] | None = None
    """Encodes the arguments, when the parameters are known; absent if the launch has its own."""


@dataclass
class Prepared:
    """A kernel that was read, its arguments, and everything that must live until the call ends."""

    kernel: _gpucast.Kernel
    arguments: Arguments
    memory: Memory
    notes: list[str]


class Configured:
    """`kernel[grid, block]`: a kernel with its launch, to be called or to be passed on."""

    def __init__(self, kernel: Any, options: Mapping[str, Any]) -> None:
        self.kernel = kernel
        self.options = dict(options)

    def __call__(self, *args: Any, **options: Any) -> None:
        """Executes the kernel on the CPU; arrays are changed in place."""
        from . import run

        run(self, *args, **options)


class Kernel:
    """A text of PTX or CUDA, a file or a corpus name, to be launched as `kernel[grid, block]`.

    Options are those of :class:`LaunchOptions`.
    """

    def __init__(self, source: str | PathLike[str], name: str | None = None, **options: Any) -> None:
        self.source = source
        self.options = {**options, **({} if name is None else {"name": name})}

    def __getitem__(self, launch: Any) -> Configured:
        """`[grid, block]`, with bytes of dynamic shared memory as a third item."""
        parts = launch if isinstance(launch, tuple) else (launch,)
        if len(parts) not in (2, 3):
            raise TypeError("write kernel[grid, block] or kernel[grid, block, shared_bytes]")
        keys = ("grid", "block", "shared_bytes")
        return Configured(self, dict(zip(keys, parts)))


def extent(value: Any, name: str) -> tuple[int, int, int] | None:
    """`4`, `(4,)` or `(4, 2, 1)` as three numbers."""
    if value is None:
        return None
    parts = tuple(value) if isinstance(value, Iterable) else (value,)
    if not 1 <= len(parts) <= 3:
        raise ArgumentError(f"{name} has one to three numbers, not {len(parts)}")
    numbers = [int(part) for part in parts]
    if any(number < 1 or number >= 1 << 32 for number in numbers):
        raise ArgumentError(f"{name}={value} has a number that is not from 1 to 4294967295")
    return (*numbers, *[1] * (3 - len(numbers)))  # type: ignore[return-value]


def launch_of(options: Mapping[str, Any], gpus: Sequence[str]) -> Launch:
    """The launch of :class:`LaunchOptions`. CUDA is compiled for the oldest of `gpus`."""
    unknown = set(options) - OPTIONS
    if unknown:
        raise TypeError(f"unknown option {', '.join(sorted(unknown))}")
    define = options.get("define", ())
    if isinstance(define, Mapping):
        define = [key if value is None else f"{key}={value}" for key, value in define.items()]
    elif isinstance(define, str):
        define = [define]
    return Launch(
        kernel=options.get("name"),
        grid=extent(options.get("grid"), "grid"),
        block=extent(options.get("block"), "block"),
        cluster=extent(options.get("cluster"), "cluster"),
        shared_bytes=options.get("shared_bytes"),
        arch=options.get("arch"),
        size=options.get("size"),
        parameters=[(key, float(value)) for key, value in options.get("parameters", {}).items()],
        symbols=[
            (key, memoryview(value).tobytes()) for key, value in options.get("symbols", {}).items()
        ],
        l2=options.get("l2"),
        defines=list(define),
        includes=names(options.get("include", ())),
        standard=options.get("std"),
        compiler=options.get("compiler"),
        gpus=list(gpus),
    )


def is_cuda(text: str) -> bool:
    """True for CUDA source."""
    return "__global__" in text and ".version" not in text


def is_text(source: str) -> bool:
    """True for the text of a module, as opposed to the name of one."""
    return is_cuda(source) or ".version" in source or "\n" in source


def _source(kernel: str | PathLike[str], args: Sequence[Any], launch: Launch) -> Source:
    """A text, a file, or a name of the corpus."""
    name = fspath(kernel)
    notation = [value for value in args if isinstance(value, str)]
    if notation and len(notation) < len(args):
        raise TypeError("arguments are either all values, or all texts as `buf:f32[1024]=iota`")
    arguments: Callable[[Sequence[Parameter], Memory], list[Value]] | None = None
    if notation:
        launch.notation = notation
    elif args:
        arguments = lambda parameters, memory: encoded(args, parameters, memory)

    text = name if isinstance(kernel, str) and is_text(name) else None
    if text is not None or Path(name).suffix in (".ptx", ".cu"):
        missing = [key for key in ("grid", "block") if getattr(launch, key) is None]
        if missing:
            raise TypeError(f"say {' and '.join(f'{key}=' for key in missing)} of the launch")
    label = name if text is None else ("kernel.cu" if is_cuda(name) else "kernel.ptx")
    return Source(launch, text, label, arguments)


def prepare(
    kernel: Any,
    args: Sequence[Any],
    options: Mapping[str, Any],
    settings: Settings,
    gpus: Sequence[str] = (),
) -> Prepared:
    """Compiles and reads a kernel, and turns its arguments into bytes."""
    from . import adapters

    kernel, options = _unwrapped(kernel, options)
    if isinstance(kernel, (str, PathLike)):
        source = _source(kernel, args, launch_of(options, gpus))
    else:
        source = adapters.source(kernel, args, options, gpus)
    if source.text is None:
        compiled, notes = _gpucast.Kernel.open(source.label, source.launch, settings)
    else:
        compiled, notes = _read(source.label, source.text, source.launch, settings)
    memory = Memory()
    arguments = Arguments()
    if source.arguments is not None:
        parameters = [Parameter(*one) for one in compiled.parameters]
        arguments = assembled(source.arguments(parameters, memory), memory)
    return Prepared(compiled, arguments, memory, notes)


MOST_KEPT = 64
_kept: dict[tuple[str, str, str, str], tuple[_gpucast.Kernel, list[str]]] = {}


def _read(
    label: str, text: str, launch: Launch, settings: Settings
) -> tuple[_gpucast.Kernel, list[str]]:
    """A text, compiled and parsed once for all its launches of one shape."""
    key = (label, text, repr(launch), repr(settings.packages))
    if key not in _kept:
        read = _gpucast.Kernel.of_text(label, text, launch, settings)
        while len(_kept) >= MOST_KEPT:
            _kept.pop(next(iter(_kept)), None)
        _kept[key] = read
    return _kept[key]


def _unwrapped(kernel: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The kernel behind our own wrappers, with their options below those of the call."""
    merged = dict(options)
    while isinstance(kernel, (Configured, Kernel)):
        merged = {**kernel.options, **merged}
        kernel = kernel.kernel if isinstance(kernel, Configured) else kernel.source
    return kernel, merged


def file_of(function: Any) -> str | None:
    """The file of a Python function, if it has one."""
    try:
        return inspect.getsourcefile(function)
    except TypeError:
        return None
