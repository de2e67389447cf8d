"""The picture of a profile, by matplotlib."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Callable, Sequence

from ._results import ProfileResults, Row, geometric_mean, mean
from .exceptions import ProfilerException

AGGREGATES: dict[str, Callable[[Sequence[float]], float]] = {"avg": mean, "geomean": geometric_mean}


@dataclass(frozen=True)
class Picture:
    """How the rows of a metric are drawn. Fields are parameters of the profiled function."""

    title: str
    ylabel: str | None
    annotate_points: bool
    aggregate: str | None
    kind: str
    """`line` or `bar`."""
    panel_size: tuple[float, float]
    """The size of each panel in inches."""
    row_panels: Sequence[str]
    """Fields with a row of panels for each of their values."""
    col_panels: Sequence[str]
    x_keys: Sequence[str] | None
    variant_fields: Sequence[str]
    """Fields with a line for each of their values, in the annotations below."""
    variant_annotations: Sequence[str]

    def drawn(self, rows: Sequence[Row], parameters: Sequence[str]) -> Any:
        """A figure of matplotlib, or nothing where it is not there."""
        unknown = {*self.row_panels, *self.col_panels, *self.variant_fields, *(self.x_keys or ())}
        if unknown := unknown.difference(parameters):
            raise ProfilerException(f"the function has no parameter {', '.join(sorted(unknown))}")
        try:
            module: Any = import_module("matplotlib.figure")
        except ImportError:
            message = "there is no picture without matplotlib: pip install matplotlib"
            warnings.warn(message, RuntimeWarning, stacklevel=3)
            return None
        down, across = values_of(rows, self.row_panels), values_of(rows, self.col_panels)
        width, height = self.panel_size
        size = (width * len(across), height * len(down))
        figure = module.Figure(figsize=size, layout="constrained")
        panels = figure.subplots(len(down), len(across), squeeze=False)
        for axes, above in zip(panels, down):
            for one, beside in zip(axes, across):
                here = {**dict(zip(self.row_panels, above)), **dict(zip(self.col_panels, beside))}
                own = [row for row in rows if all(row[name] == here[name] for name in here)]
                self._draw(one, own, parameters)
                one.set_title(", ".join(f"{name}={value}" for name, value in here.items()))
        figure.suptitle(self.title)
        return figure

    def _line(self, row: Row, fields: Sequence[str]) -> str:
        """The name of the line that a row belongs to."""
        name = str(row["Annotation"])
        if name not in self.variant_annotations:
            return name
        return ", ".join([name, *(f"{field}={row[field]}" for field in fields)])

    def _draw(self, axes: Any, rows: Sequence[Row], parameters: Sequence[str]) -> None:
        taken = {*self.row_panels, *self.col_panels}
        variants = self.variant_fields if self.variant_annotations else ()
        keys = self.x_keys or [one for one in parameters if one not in taken.union(variants)]

        def label(row: Row) -> str:
            return ", ".join(str(row[key]) for key in keys) or row["Annotation"]

        labels = list(dict.fromkeys(map(label, rows)))
        lines = list(dict.fromkeys(self._line(row, variants) for row in rows))
        for number, line in enumerate(lines):
            own = [row for row in rows if self._line(row, variants) == line]
            places: list[float] = [labels.index(label(row)) for row in own]
            heights = [row["AvgValue"] for row in own]
            colour = f"C{number}"
            if self.kind == "line":
                axes.plot(places, heights, marker="o", color=colour, label=line)
            else:
                width = 0.8 / len(lines)
                places = [place + width * (number - (len(lines) - 1) / 2) for place in places]
                axes.bar(places, heights, width, color=colour, label=line)
            if self.aggregate is not None:
                height = AGGREGATES[self.aggregate]([one for one in heights if one == one])
                axes.axhline(height, linestyle="dotted", color=colour, label=f"{line}, {self.aggregate}")
            if self.annotate_points:
                for place, height in zip(places, heights):
                    axes.annotate(f"{height:.3g}", (place, height))
        axes.set_xticks(range(len(labels)), labels)
        axes.set_xlabel(", ".join(keys))
        axes.set_ylabel(self.ylabel or f"{rows[0]['Metric']} {rows[0]['Unit']}".rstrip())
        axes.legend()


def values_of(rows: Sequence[Row], fields: Sequence[str]) -> list[tuple[Any, ...]]:
    """The values of some fields together, in the order of their first rows; `[()]` of no fields."""
    found: list[tuple[Any, ...]] = []
    for row in rows:
        values = tuple(row[name] for name in fields)
        if values not in found:
            found.append(values)
    return found


def shown(results: ProfileResults, metric: str | None) -> list[Row]:
    """The rows of the metric that is drawn."""
    known = results.metrics()
    if metric is None and len(known) > 1:
        raise ProfilerException(f"say which metric is drawn: {', '.join(known)}")
    name = known[0] if metric is None else metric
    rows = [row for row in results.rows if row["Metric"] == name]
    if not rows:
        raise ProfilerException(f"there is no metric {name}; there are {', '.join(known)}")
    return rows
