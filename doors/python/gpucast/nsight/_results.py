"""Rows of a profile, and their statistics over runs."""

from __future__ import annotations

import csv
import io
import math
import statistics
from importlib import import_module
from typing import Any, Mapping, Sequence

from ..results import Cell, Table
from ._collectors import InfoCollector, numbers_among

Row = dict[str, Any]

NAN = math.nan

STABLE_BELOW_PCT = 2.0
"""The relative deviation below which a figure counts as stable."""


def _deviation(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else NAN


def _aggregated(
    rows: Sequence[Row], parameters: Sequence[str], columns: Sequence[tuple[InfoCollector, bool]]
) -> Row:
    """The rows of all runs of an annotation, a configuration and a metric, as one."""
    first = rows[0]
    values = [float(row["Value"]) for row in rows if row["Value"] == row["Value"]]
    average = mean(values)
    deviation = _deviation(values)
    margin = 1.96 * deviation / math.sqrt(len(values)) if values else NAN
    relative = 100 * deviation / abs(average) if average else NAN
    return {
        "Annotation": first["Annotation"],
        **{name: first[name] for name in parameters},
        "AvgValue": average,
        "StdDev": deviation,
        "MinValue": min(values, default=NAN),
        "MaxValue": max(values, default=NAN),
        "NumRuns": len(values),
        "CI95_Lower": average - margin,
        "CI95_Upper": average + margin,
        "RelativeStdDevPct": relative,
        "StableMeasurement": None if math.isnan(relative) else relative < STABLE_BELOW_PCT,
        **{name: first[name] for name in FACTS},
        **_collected(rows, columns),
        "Normalized": False,
    }


def _collected(rows: Sequence[Row], columns: Sequence[tuple[InfoCollector, bool]]) -> Row:
    """The columns of collectors: statistics of numbers, or the first value."""
    made: Row = {}
    for one, has_statistics in columns:
        name = one.name
        if not has_statistics:
            made[name] = rows[0][name]
            continue
        values = [float(row[name]) for row in rows if row[name] is not None]
        made[f"{name}_Avg"] = mean(values)
        made[f"{name}_Std"] = _deviation(values)
        made[f"{name}_Min"] = min(values, default=NAN)
        made[f"{name}_Max"] = max(values, default=NAN)
    return made


FACTS = ("Metric", "Unit", "Kernel", "GPU", "Host", "ComputeClock", "MemoryClock")

FIGURES = (
    *("AvgValue", "StdDev", "MinValue", "MaxValue", "NumRuns", "CI95_Lower", "CI95_Upper"),
    *("RelativeStdDevPct", "StableMeasurement", "Normalized", "Geomean"),
)

COLUMNS = frozenset(("Annotation", "Value", *FACTS, *FIGURES))
"""The columns that are no parameter's."""

CONFIG = "number of the configuration"
"""A key of rows that is no column, and no name of a parameter."""


def aggregated(
    rows: Sequence[Row],
    against: str | None,
    parameters: Sequence[str],
    collectors: Sequence[InfoCollector],
) -> list[Row]:
    """A row for each annotation, configuration and metric, in the order of their first runs."""
    groups: dict[tuple[int, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row[CONFIG], row["Annotation"], row["Metric"]), []).append(row)
    columns = numbers_among(collectors, rows)
    made = {key: _aggregated(group, parameters, columns) for key, group in groups.items()}
    if against is not None:
        bases = {
            (config, metric): one["AvgValue"]
            for (config, annotation, metric), one in made.items()
            if annotation == against
        }
        if not bases:
            raise ValueError(f"no part is annotated as {against}")
        for (config, _, metric), one in made.items():
            base = bases.get((config, metric), NAN)
            one["AvgValue"] = one["AvgValue"] / base if base else NAN
            one["Normalized"] = against
    for one in made.values():
        alike = [
            other["AvgValue"]
            for other in made.values()
            if (other["Annotation"], other["Metric"]) == (one["Annotation"], one["Metric"])
        ]
        one["Geomean"] = geometric_mean([value for value in alike if value == value])
    return list(made.values())


def mean(values: Sequence[float]) -> float:
    """The mean of values, if there are any."""
    return statistics.fmean(values) if values else NAN


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of values that are all above 0."""
    if not values or min(values) <= 0:
        return NAN
    return statistics.geometric_mean(values)


def csv_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV."""
    text = io.StringIO()
    columns = [name for name in rows[0] if name != CONFIG]
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


class ProfileResults:
    """The predicted metrics of a function's annotated parts, by configuration."""

    def __init__(self, rows: Sequence[Row], parameters: Sequence[str]) -> None:
        self.rows = list(rows)
        """A row for each annotation, configuration and metric."""
        self.parameters = list(parameters)
        """The parameters of the function."""

    def to_dataframe(self) -> Any:
        """A data frame of pandas, with the columns of `nsight-python`.

        Without pandas it is a :class:`gpucast.Table` of the same columns.
        """
        try:
            pandas: Any = import_module("pandas")
        except ImportError:
            return self.table()
        return pandas.DataFrame(self.rows)

    def table(self) -> Table:
        """The same rows as a table that needs no other package."""
        columns = list(self.rows[0]) if self.rows else []
        return Table(columns, [[_cell(row[name]) for name in columns] for row in self.rows])

    def metrics(self) -> list[str]:
        """The metrics, in the order of their columns."""
        return list(dict.fromkeys(row["Metric"] for row in self.rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<ProfileResults: {len(self)} rows of {', '.join(self.metrics())}>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, (str, float)):
        return None if value != value else value
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return str(value)
