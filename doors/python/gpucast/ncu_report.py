"""Reports of ``gpucast ncu --export``, read as Nsight Compute's ``ncu_report`` reads its own.

Scripts for that module run after a changed import:

>>> from gpucast import ncu_report  # doctest: +SKIP
>>> report = ncu_report.load_report("profile.ncu-rep")  # doctest: +SKIP
>>> action = report.range_by_idx(0).action_by_idx(0)  # doctest: +SKIP
>>> action.metric_by_name("sm__inst_executed.sum").as_uint64()  # doctest: +SKIP

Values follow from a prediction: ``IMetric.origin`` says how each was found. A metric that does not
follow has no value; ``IAction.metric_by_name`` then returns ``None``, as for one that was not
collected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from typing import Any

from ._errors import ArgumentError

__all__ = ["IAction", "IContext", "IMetric", "IRange", "load_report"]

_SCHEMA = "gpucast.ncu/1"

Value = int | float | str


class IMetric:
    """A metric of a launch."""

    ValueKind_UNKNOWN = 0
    ValueKind_ANY = 1
    ValueKind_STRING = 2
    ValueKind_FLOAT = 3
    ValueKind_DOUBLE = 4
    ValueKind_UINT32 = 5
    ValueKind_UINT64 = 6

    def __init__(self, name: str, figure: dict[str, Any]) -> None:
        self._name = name
        self._value: Value = figure["value"]
        self._unit: str = figure["unit"]
        self.origin: str = figure["kind"]
        """Where the value comes from: exact, modelled or estimated."""

    def name(self) -> str:
        """The metric's name."""
        return self._name

    def unit(self) -> str:
        """The unit, unscaled; empty for ratios."""
        return self._unit

    def value(self) -> Value:
        """The value in the type that it has."""
        return self._value

    def kind(self) -> int:
        """The type of the value: one of the names that begin with ``ValueKind_``."""
        if isinstance(self._value, str):
            return self.ValueKind_STRING
        return self.ValueKind_UINT64 if isinstance(self._value, int) else self.ValueKind_DOUBLE

    def has_value(self, instance: int | None = None) -> bool:
        """True for the metric itself; there are no instances."""
        return instance is None

    def as_double(self, instance: int | None = None) -> float:
        """The value as a real number."""
        self._alone(instance)
        return float(self._value)

    def as_uint64(self, instance: int | None = None) -> int:
        """The value as a whole number."""
        self._alone(instance)
        return int(self._value)

    def as_string(self, instance: int | None = None) -> str:
        """The value as a text."""
        self._alone(instance)
        return str(self._value)

    def num_instances(self) -> int:
        """The number of instances: 0, since values by unit are not kept."""
        return 0

    def has_correlation_ids(self) -> bool:
        """False: there are no instances."""
        return False

    def correlation_ids(self) -> None:
        """None: there are no instances."""
        return None

    def description(self) -> str:
        """An empty text: ``gpucast ncu --query-metrics`` describes metrics."""
        return ""

    def _alone(self, instance: int | None) -> None:
        if instance is not None:
            raise IndexError(f"{self._name} has no instance {instance}")

    def __str__(self) -> str:
        return f"{self._value} {self._unit}".rstrip()

    def __repr__(self) -> str:
        return f"<IMetric {self._name}: {self}>"


class IAction:
    """A launch that was profiled."""

    NameBase_FUNCTION = 0
    NameBase_DEMANGLED = 1
    NameBase_MANGLED = 2
    WorkloadType_KERNEL = 0

    def __init__(self, action: dict[str, Any], profile: dict[str, Any]) -> None:
        self._action = action
        self._names: dict[str, str] = profile["names"]
        known = profile["metrics"].items()
        self._metrics = {name: IMetric(name, one) for name, one in known if one is not None}
        self._collected = list(profile["metrics"])

    def name(self, name_base: int = NameBase_FUNCTION) -> str:
        """The kernel's name in a form."""
        forms = {
            self.NameBase_FUNCTION: "function",
            self.NameBase_DEMANGLED: "demangled",
            self.NameBase_MANGLED: "mangled",
        }
        if name_base not in forms:
            raise ArgumentError(f"there is no form {name_base} of names")
        return self._names[forms[name_base]]

    def workload_type(self) -> int:
        """The type of what was profiled: always a kernel."""
        return self.WorkloadType_KERNEL

    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics that have a value."""
        return tuple(self._metrics)

    def unknown_metric_names(self) -> tuple[str, ...]:
        """The names of the metrics that were asked for and do not follow from a prediction."""
        return tuple(name for name in self._collected if name not in self._metrics)

    def metric_by_name(self, metric_name: str) -> IMetric | None:
        """A metric; ``None`` if it has no value."""
        return self._metrics.get(metric_name)

    def grid(self) -> tuple[int, int, int]:
        """Blocks in x, y and z."""
        x, y, z = self._action["grid"]
        return x, y, z

    def block(self) -> tuple[int, int, int]:
        """Threads of a block in x, y and z."""
        x, y, z = self._action["block"]
        return x, y, z

    def nvtx_state(self) -> None:
        """None: ranges of NVTX are not followed."""
        return None

    def rule_results(self) -> tuple[()]:
        """Nothing: rules are not applied. ``gpucast.Kernel`` and ``gpucast advise`` have advice."""
        return ()

    def __getitem__(self, key: str) -> IMetric:
        return self._metrics[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __str__(self) -> str:
        return self.name()

    def __repr__(self) -> str:
        return f"<IAction {self.name()}: {len(self)} metrics>"


class IRange:
    """All launches of a report: there is one range."""

    def __init__(self, actions: list[IAction]) -> None:
        self._actions = actions

    def num_actions(self) -> int:
        """The number of launches."""
        return len(self._actions)

    def action_by_idx(self, idx: int) -> IAction:
        """A launch by its number."""
        return self._actions[_checked(idx, self._actions, "launch")]

    def actions_by_nvtx(self, includes: list[str], excludes: list[str]) -> tuple[int, ...]:
        """The numbers of launches within ranges of NVTX, which are not followed: only a question
        for none of them has an answer."""
        if includes or excludes:
            raise ArgumentError("ranges of NVTX are not followed")
        return tuple(range(len(self._actions)))

    def __getitem__(self, key: int) -> IAction:
        return self.action_by_idx(key)

    def __iter__(self) -> Iterator[IAction]:
        return iter(self._actions)

    def __len__(self) -> int:
        return len(self._actions)


class IContext:
    """A report."""

    def __init__(self, ranges: list[IRange], gpu: str) -> None:
        self._ranges = ranges
        self.gpu = gpu
        """The library name of the GPU that was predicted."""

    def num_ranges(self) -> int:
        """The number of ranges: 1."""
        return len(self._ranges)

    def range_by_idx(self, idx: int) -> IRange:
        """A range by its number."""
        return self._ranges[_checked(idx, self._ranges, "range")]

    def __getitem__(self, key: int) -> IRange:
        return self.range_by_idx(key)

    def __iter__(self) -> Iterator[IRange]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)


def _checked(idx: int, all_of: list[Any], what: str) -> int:
    if not 0 <= idx < len(all_of):
        raise IndexError(f"there is no {what} {idx}; there are {len(all_of)}")
    return idx


def load_report(file_name: str | PathLike[str]) -> IContext:
    """Reads a report that ``gpucast ncu --export`` wrote.

    Raises:
        ArgumentError: if the file is none. Reports of Nsight Compute have a closed form.
        OSError: if the file cannot be read.
    """
    with open(file_name, "rb") as file:
        text = file.read()
    if not text.startswith(b"{"):
        raise ArgumentError(
            f"{file_name} is no report of gpucast. Reports of Nsight Compute have a closed form: "
            "its own module ncu_report reads them"
        )
    try:
        report = json.loads(text)
    except ValueError as error:
        raise ArgumentError(f"{file_name} is a damaged report: {error}") from error
    if report.get("schema") != _SCHEMA:
        raise ArgumentError(f"{file_name} is of the form {report.get('schema')}, not {_SCHEMA}")
    profiles = report["profiles"]
    actions = [IAction(action, profiles[action["profile"]]) for action in report["actions"]]
    return IContext([IRange(actions)], report["device"]["name"])
