"""Results that answer a question about a kernel: advice, differences, rankings, formulas, pages."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence, Union, overload

from . import _gpucast
from .results import BrokenLimit, Figure, time_text

Number = Union[int, float]


def whole(value: float) -> Number:
    """A number that JSON or a formula has as a float, as an integer where it is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _page(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


@dataclass(frozen=True)
class Line:
    """A line of a source, and what falls on it."""

    file: str
    line: int
    text: str
    share: float
    """The part of what the cause costs that falls on this line, from 0 to 1."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, repr=False)
class Suggestion:
    """A cause that makes a kernel slow, and what to change."""

    kernel: str
    launch: int
    """The place of the launch in its file, from 0 on."""
    gpu: str
    rule: str
    """The cause by a stable name; `docs/advice.md` explains it."""
    title: str
    change: str
    """What to change, in sentences."""
    speed_up: float | None
    """The time before over the time after; none where no model can see it."""
    time_ms: float | None
    """The time after, in milliseconds."""
    places: tuple[Line, ...]
    """The lines that cost most first."""
    document: Mapping[str, Any]
    """Everything that `gpucast advise --format json` says of it."""

    def __repr__(self) -> str:
        gain = "" if self.speed_up is None else f"{self.speed_up:.3g} × "
        at = f" at {self.places[0]}" if self.places else ""
        return f"<{gain}{self.rule}{at} on {self.gpu}: {self.title}>"


class Advice(Sequence[Suggestion]):
    """What to change in a kernel: a sequence of suggestions, by launch, GPU and gain."""

    def __init__(self, document: str, text: str, notes: Sequence[str]) -> None:
        self._document: dict[str, Any] = json.loads(document)
        self._text = text
        self._suggestions = [
            _suggestion(one, item) for one in self._document["advice"] for item in one["items"]
        ]
        self.notes = list(notes)
        """What the user should know of how the results came about."""

    @overload
    def __getitem__(self, index: int) -> Suggestion: ...
    @overload
    def __getitem__(self, index: slice) -> list[Suggestion]: ...
    def __getitem__(self, index: int | slice) -> Suggestion | list[Suggestion]:
        return self._suggestions[index]

    def __len__(self) -> int:
        return len(self._suggestions)

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast advise --format json` writes."""
        return self._document

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Advice: {', '.join(one.rule for one in self) or 'nothing gains 5 %'}>"

    def _repr_html_(self) -> str:
        return _page(self._text)


def _suggestion(advice: Mapping[str, Any], item: Mapping[str, Any]) -> Suggestion:
    places = (
        Line(one["file"], one["line"], one.get("text") or "", one["share"])
        for one in item["places"]
    )
    return Suggestion(
        kernel=advice["kernel"],
        launch=advice["launch"],
        gpu=advice["gpu"],
        rule=item["rule"],
        title=item["title"],
        change=item["change"],
        speed_up=item.get("speed_up"),
        time_ms=item.get("time_ms"),
        places=tuple(places),
        document=item,
    )


@dataclass(frozen=True, repr=False)
class TimeChange:
    """The time of all launches before and after, in milliseconds."""

    gpu: str
    model: str
    before_ms: float
    after_ms: float
    change: float
    """0.05 if it takes 5 % longer."""

    def __repr__(self) -> str:
        before, after = time_text(self.before_ms), time_text(self.after_ms)
        return f"<{before} → {after} on {self.gpu} ({100 * self.change:+.1f} %)>"


@dataclass(frozen=True, repr=False)
class CountChange:
    """A metric of a launch before and after."""

    launch: int
    metric: str
    unit: str
    before: Number | None
    """`None` if it was not counted."""
    after: Number | None

    @property
    def change(self) -> float | None:
        """The relative change, if there was something before."""
        if not self.before or self.after is None:
            return None
        return self.after / self.before - 1

    def __repr__(self) -> str:
        def text(value: Number | None) -> str:
            return "nothing" if value is None else f"{value:,}"

        return f"<{self.metric}: {text(self.before)} → {text(self.after)} {self.unit}>"


class Difference:
    """Two predictions side by side; true unless a limit is broken."""

    def __init__(
        self,
        documents: tuple[str, str, str],
        broken: Sequence[tuple[str, str]],
        sides: Sequence[str],
    ) -> None:
        document, self._text, self._markdown = documents
        self._document: dict[str, Any] = json.loads(document)
        self.broken = [BrokenLimit(limit, text) for limit, text in broken]
        """The limits that are broken."""
        self.times = [TimeChange(**one) for one in self._document["totals"]]
        """The time of all launches together, by GPU and model."""
        # The difference is made of doubles, and the predictions have the integers.
        before, after = (_metrics(json.loads(side)) for side in sides)
        self.counts = [
            CountChange(
                launch=at,
                metric=one["metric"],
                unit=one["unit"],
                before=before[at].get(one["metric"]),
                after=after[at].get(one["metric"]),
            )
            for at, launch in enumerate(self._document["launches"])
            for one in launch["counts"]
        ]
        """The metrics of all launches, also those that did not change."""

    @property
    def changed(self) -> list[CountChange]:
        """The metrics that changed, the one that changed most first."""
        changed = [one for one in self.counts if one.before != one.after]
        return sorted(changed, key=lambda one: -abs(one.change or float("inf")))

    def markdown(self) -> str:
        """The comment for a pull request that `gpucast diff -o x.md` writes."""
        return self._markdown

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast diff --format json` writes of two baselines."""
        return self._document

    def __bool__(self) -> bool:
        return not self.broken

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        times = ", ".join(repr(one)[1:-1] for one in self.times)
        count = len(self.broken)
        broken = f"; {count} {'limit is' if count == 1 else 'limits are'} broken" if count else ""
        return f"<Difference: {times}{broken}>"

    def _repr_html_(self) -> str:
        return _page(self._text)


def _metrics(document: Mapping[str, Any]) -> list[dict[str, Number]]:
    """The values of each launch's metrics. Where GPUs are counted apart, the first ones."""
    launches: dict[int, dict[str, Number]] = {}
    for one in document["counts"]:
        values = {name: metric["value"] for name, metric in one["metrics"].items()}
        launches.setdefault(one["launch"], values)
    return [values for _, values in sorted(launches.items())]


@dataclass(frozen=True, repr=False)
class Parameter:
    """A figure of a GPU, and its effect on the time of a kernel."""

    kernel: str
    gpu: str
    model: str
    field: str
    value: Number
    unit: str
    elasticity: float | None
    """The relative change of the time over that of the figure: -1 if twice as much halves the time.

    None where it moves in one direction only, as one pipe does, which cannot be fewer.
    """
    lower_ms: float | None
    """The time with less of it, in milliseconds; none where less of it is impossible."""
    higher_ms: float | None
    """The time with more of it; none where more of it is impossible."""

    @property
    def _elasticity(self) -> str:
        return "?" if self.elasticity is None else f"{self.elasticity:+.3f}"

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"<{self.field} = {self.value:g}{unit}: elasticity {self._elasticity}>"


class Sensitivity(Sequence[Parameter]):
    """The figures of GPUs that move a kernel's time, the strongest of each first."""

    def __init__(self, document: str, text: str, notes: Sequence[str]) -> None:
        self._document: dict[str, Any] = json.loads(document)
        self._text = text
        self._parameters = [
            Parameter(
                kernel=one["kernel"],
                gpu=one["gpu"],
                model=one["model"],
                field=moved["field"],
                value=whole(moved["value"]),
                unit=moved["unit"],
                elasticity=moved["elasticity"],
                # A side that is impossible has a reason in place of a time.
                lower_ms=moved["down"].get("time_ms"),
                higher_ms=moved["up"].get("time_ms"),
            )
            for one in self._document["analyses"]
            for moved in one["parameters"]
        ]
        self.notes = list(notes)
        """What the user should know of how the results came about."""

    @overload
    def __getitem__(self, index: int) -> Parameter: ...
    @overload
    def __getitem__(self, index: slice) -> list[Parameter]: ...
    def __getitem__(self, index: int | slice) -> Parameter | list[Parameter]:
        return self._parameters[index]

    def __len__(self) -> int:
        return len(self._parameters)

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast sensitivity --format json` writes."""
        return self._document

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        first = ", ".join(f"{one.field} {one._elasticity}" for one in self[:3])
        return f"<Sensitivity: {first or 'no figure moves the time'}>"

    def _repr_html_(self) -> str:
        return _page(self._text)


@dataclass(frozen=True, repr=False)
class Configuration:
    """A configuration of a tuning space."""

    parameters: Mapping[str, Number]
    time_ms: float | None
    """The predicted time in milliseconds, by the first model; none if there is none."""
    rank: int | None
    """One more than the configurations that are faster beyond a tie, so 1 for all of the best."""
    measure: int | None
    """The place among those that are proposed for measuring; none if it is not proposed."""
    error: str | None
    """Why there is no time."""

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        time = self.error if self.time_ms is None else time_text(self.time_ms)
        return f"<{values}: {time}>"


class Tuning(Sequence[Configuration]):
    """The configurations of a kernel, the fastest first; those without a time come last."""

    def __init__(self, document: str, text: str, notes: Sequence[str]) -> None:
        self._document: dict[str, Any] = json.loads(document)
        self._text = text
        made = [_configuration(one) for one in self._document["configurations"]]
        self._configurations = sorted(made, key=lambda one: (one.rank is None, one.rank or 0))
        self.notes = list(notes)
        """What the user should know of how the results came about."""

    @property
    def best(self) -> Configuration:
        """The fastest configuration."""
        if self[0].time_ms is None:
            raise ValueError(f"no configuration has a time: {self[0].error}")
        return self[0]

    @property
    def proposed(self) -> list[Configuration]:
        """The few to measure, the fastest first; of those with the same time, one."""
        measured = [one for one in self if one.measure is not None]
        return sorted(measured, key=lambda one: one.measure or 0)

    @overload
    def __getitem__(self, index: int) -> Configuration: ...
    @overload
    def __getitem__(self, index: slice) -> list[Configuration]: ...
    def __getitem__(self, index: int | slice) -> Configuration | list[Configuration]:
        return self._configurations[index]

    def __len__(self) -> int:
        return len(self._configurations)

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast tune --format json` writes."""
        return self._document

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Tuning of {len(self):,} configurations: {self[0]!r}>"

    def _repr_html_(self) -> str:
        return _page(self._text)


def _configuration(document: Mapping[str, Any]) -> Configuration:
    first = document["times"][0]
    return Configuration(
        parameters={one["name"]: whole(one["value"]) for one in document["parameters"]},
        time_ms=first["time_ms"],
        rank=first["rank"],
        measure=document["measure"],
        error=document["error"] or first["error"],
    )


@dataclass(frozen=True, repr=False)
class Formula:
    """A count as a formula in the sizes of the problem."""

    kernel: str
    metric: str
    kind: str
    """`exact`, `measured`, `modelled` or `estimated`."""
    pieces: tuple[str, ...]
    """The formula, or one for each range or residue of sizes."""

    def __str__(self) -> str:
        return "; ".join(self.pieces)

    def __repr__(self) -> str:
        return f"<{self.metric} = {self} ({self.kind})>"


class Formulas(Mapping[str, Formula]):
    """The counts of a kernel as formulas, by metric; those of its first launch."""

    def __init__(self, document: str, text: str, notes: Sequence[str]) -> None:
        self._json = document
        self._document: dict[str, Any] = json.loads(document)
        self._text = text
        launch = self._document["launches"][0]
        self._formulas = {
            one["name"]: Formula(
                kernel=launch["kernel"],
                metric=one["name"],
                kind=one["kind"],
                pieces=tuple(piece["formula"] for piece in one["pieces"]),
            )
            for one in launch["metrics"]
        }
        self.notes = list(notes)
        """What the user should know of how the results came about."""

    def at(self, **sizes: int) -> dict[str, Figure]:
        """The counts of the first launch in some sizes. Nothing is executed."""
        text = ",".join(f"{name}={size}" for name, size in sizes.items())
        document, pairs = _gpucast.counts_at(self._json, text)
        metrics = json.loads(document)["sizes"][0]["launches"][0]["metrics"]
        units = dict(pairs)
        return {
            one["name"]: Figure(one["value"], units.get(one["name"], ""), one["kind"])
            for one in metrics
        }

    def __getitem__(self, metric: str) -> Formula:
        return self._formulas[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._formulas)

    def __len__(self) -> int:
        return len(self._formulas)

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast counts --format json` writes."""
        return self._document

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<Formulas of {len(self)} metrics of {self._document['launches'][0]['kernel']}>"

    def _repr_html_(self) -> str:
        return _page(self._text)


@dataclass(frozen=True, repr=False)
class Report:
    """A page with everything that is known of a kernel on a GPU; it refers to nothing outside."""

    html: str
    notes: tuple[str, ...] = ()
    """What the user should know of how the results came about."""

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page, such as `report.html`."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<Report: {len(self.html):,} characters of HTML>"

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="600" sandbox></iframe>'
