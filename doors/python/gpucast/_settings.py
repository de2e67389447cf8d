"""Settings of runs as plain data. The compiled module reads the attributes by name."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Iterable, TypedDict, Union

Names = Union[str, Iterable[str]]
"""A name, several with commas between them, or a list of names."""


class ExecutionOptions(TypedDict, total=False):
    """How kernels are executed and counted."""

    machine: str
    """Origin of machine instructions: `auto`, `ptxas`, `rules` or `none`."""
    machine_target: str
    """The architecture of the machine code, such as `sm_90`."""
    ptxas: str
    """The assembler, if it is not to be looked for."""
    registers: int
    """Registers of a thread, as `-Xptxas -v` prints them; by default those of the machine code."""
    budget: int
    """Warp instructions after which a launch is given up as endless."""
    time_limit: float
    """Seconds after which launches are given up. A sample ends with what was executed by then."""
    threads: int
    """Threads of the CPU; by default one for each core."""


def _package_folders() -> list[str]:
    """The folders of packages, where NVIDIA's wheels put their tools."""
    return [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]


@dataclass
class Settings:
    """How kernels are executed and counted."""

    machine: str = "auto"
    machine_target: str | None = None
    ptxas: str | None = None
    registers: int | None = None
    budget: int | None = None
    time_limit: float | None = None
    threads: int | None = None
    packages: list[str] = field(default_factory=_package_folders)


@dataclass
class Request:
    """What is predicted with what."""

    gpus: list[str]
    models: list[str] = field(default_factory=list)
    refine: list[str] = field(default_factory=list)
    count_on: str | None = None
    timing: str | None = None
    clock: str | None = None
    power_limit: str | None = None
    what_if: list[str] = field(default_factory=list)


@dataclass
class ProfileRequest:
    """What is counted."""

    gpu: str
    by: str = "launch"
    stalls: bool = False


@dataclass
class TraceRequest:
    """What is simulated, and what of it a timeline shows."""

    gpu: str
    launch: int | None
    sms: str
    ctas: str
    clocks: tuple[float, float]
    bytes_of_cta: int
    format: str
    time_unit: str


@dataclass
class CountsRequest:
    """What formulas are looked for."""

    kernel: str
    parameters: list[str]
    gpu: str
    metrics: str


@dataclass
class SweepRequest:
    """What a sweep combines."""

    kernels: list[str]
    sizes: list[str]
    set: list[str]
    vary: list[str]


def names(value: Names | Path) -> list[str]:
    """The names of a list, or of a text with commas."""
    if isinstance(value, Path):
        return [fspath(value)]
    if isinstance(value, str):
        return [name.strip() for name in value.split(",") if name.strip()]
    return [name if isinstance(name, str) else fspath(name) for name in value]
