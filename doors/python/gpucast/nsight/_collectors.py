"""Functions of a script whose values become columns of the results."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Collection, Iterable, Mapping, Sequence, Union

from .exceptions import ProfilerException

_SCOPE = "_nsight_collector_scope"


class CollectionScope(Enum):
    """When a collector is called."""

    ONCE = "once"
    """Before the first configuration, without arguments."""
    CONFIG = "config"
    """Before the runs of each configuration, with its arguments."""
    RUN = "run"
    """Before each run, with the arguments of its configuration."""
    ANNOTATION = "annotation"
    """When an annotated part begins, with its name and then the arguments."""


def scope_of(value: CollectionScope | str) -> CollectionScope:
    """A scope, by its value, too."""
    try:
        return CollectionScope(value)
    except ValueError:
        known = ", ".join(one.value for one in CollectionScope)
        raise ValueError(f"a scope is one of {known}, not {value!r}") from None


def marked(function: Callable[..., Any], scope: CollectionScope | str) -> Callable[..., Any]:
    """A function that `info_collectors=` takes as it is."""
    if not callable(function):
        raise TypeError("collect decorates functions")
    setattr(function, _SCOPE, scope_of(scope))
    return function


@dataclass
class InfoCollector:
    """A column of the results, and the function that has its values."""

    name: str
    callback: Callable[..., Any]
    scope: CollectionScope

    def collect(self, *args: Any) -> Any:
        """Calls the function with as many of the arguments as it takes."""
        return self.callback(*_taken(self.callback, args))


Given = Union[InfoCollector, "tuple[str, Callable[..., Any], str | CollectionScope]", Callable[..., Any]]
"""What `info_collectors=` has: a collector, its name, function and scope, or a marked function."""


def collectors_of(given: Iterable[Given], taken: Collection[str]) -> list[InfoCollector]:
    """The collectors, whose names are neither those of other columns nor each other's."""
    made: list[InfoCollector] = []
    for one in given:
        if isinstance(one, InfoCollector):
            made.append(one)
        elif isinstance(one, tuple):
            name, callback, scope = one
            made.append(InfoCollector(name, callback, scope_of(scope)))
        elif hasattr(one, _SCOPE):
            made.append(InfoCollector(one.__name__, one, getattr(one, _SCOPE)))
        else:
            raise ProfilerException(f"{one!r} has no scope: @nsight.experimental.collect(scope=…)")
    names = [one.name for one in made]
    for name in names:
        if name in taken or names.count(name) > 1:
            raise ProfilerException(f"{name} is a column already; name the collector otherwise")
    return made


def _taken(callback: Callable[..., Any], args: Sequence[Any]) -> Sequence[Any]:
    """The first arguments, as many as a function has places for."""
    try:
        parameters = list(inspect.signature(callback).parameters.values())
    except (TypeError, ValueError):
        # Functions of C do not always say what they take.
        return args
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return args
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return args[: len(places)]


class Collected:
    """The values of the collectors of a profile."""

    def __init__(self, collectors: Sequence[InfoCollector]) -> None:
        self._collectors = collectors
        self._failed: set[str] = set()

    def of(self, scope: CollectionScope, *args: Any) -> dict[str, Any]:
        """The values of a scope by name. A collector that fails has none, and is named once."""
        return {one.name: self._value(one, args) for one in self._collectors if one.scope is scope}

    def _value(self, collector: InfoCollector, args: Sequence[Any]) -> Any:
        try:
            return collector.collect(*args)
        except Exception as error:
            if collector.name not in self._failed:
                self._failed.add(collector.name)
                message = f"without a value: {collector.name} ({type(error).__name__}: {error})"
                warnings.warn(message, RuntimeWarning, stacklevel=2)
            return None


def is_number(value: Any) -> bool:
    """True for what has a mean."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def numbers_among(
    collectors: Sequence[InfoCollector], rows: Sequence[Mapping[str, Any]]
) -> list[tuple[InfoCollector, bool]]:
    """Each collector, and if its column has statistics: it has numbers that may change."""
    made = []
    for one in collectors:
        values = [row[one.name] for row in rows if row[one.name] is not None]
        varies = one.scope is not CollectionScope.ONCE
        made.append((one, varies and bool(values) and all(map(is_number, values))))
    return made
