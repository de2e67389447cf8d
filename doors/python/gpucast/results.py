"""Results: numbers with units and kinds, tables and pictures."""

from __future__ import annotations

import csv
import html
import io
import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Iterator, Mapping, Sequence, Union, overload

from . import _gpucast

Cell = Union[str, float, None]


@dataclass(frozen=True)
class Figure:
    """A number with its unit and its kind."""

    value: int | float
    unit: str
    kind: str
    """`exact`, `measured`, `modelled` or `estimated`."""

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return f"{self.value:,} {self.unit} ({self.kind})"


@dataclass(frozen=True)
class Warning:
    """An assumption of the model that the kernel breaks."""

    code: str
    """A stable name; `docs/codes.md` explains it."""
    text: str


class Table:
    """Named columns of texts or numbers.

    Data frames read it by the Arrow C stream: `pandas.DataFrame.from_arrow(table)`,
    `polars.DataFrame(table)`, `duckdb.sql("from table")`.
    """

    def __init__(
        self, columns: Sequence[str] = (), rows: Sequence[Sequence[Cell]] = (), *, of: Any = None
    ) -> None:
        made = of if of is not None else _gpucast.Table(list(columns), [list(r) for r in rows])
        self._table: _gpucast.Table = made

    @classmethod
    def of_csv(cls, text: str) -> Table:
        """A table of CSV. Columns of numbers become numbers; empty cells become `None`."""
        columns, *lines = list(csv.reader(io.StringIO(text)))
        cells: list[list[Cell]] = [[cell or None for cell in line] for line in lines]
        for at in range(len(columns)):
            try:
                numbers = [None if line[at] is None else float(str(line[at])) for line in cells]
            except ValueError:
                continue
            for line, number in zip(cells, numbers):
                line[at] = number
        return cls(columns, cells)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns

    def rows(self) -> list[list[Cell]]:
        """The rows, each with a cell for every column."""
        return self._table.rows()

    def to_dict(self) -> dict[str, list[Cell]]:
        """The cells of each column."""
        columns = zip(*self.rows()) if len(self) else ([] for _ in self.columns)
        return {name: list(cells) for name, cells in zip(self.columns, columns)}

    def csv(self) -> str:
        """The table as CSV, with all digits."""
        return self._table.csv()

    def __getitem__(self, column: str) -> list[Cell]:
        """The cells of a column."""
        return self.to_dict()[column]

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<Table of {len(self):,} rows: {', '.join(self.columns)}>"

    def __str__(self) -> str:
        return self._table.text()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        shown = self.rows()[:MOST_SHOWN_ROWS]
        used = [at for at in range(len(self.columns)) if any(row[at] is not None for row in shown)]
        head = "".join(f"<th>{html.escape(self.columns[at])}</th>" for at in used)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[at])}</td>" for at in used) + "</tr>" for row in shown
        )
        more = len(self) - len(shown)
        rest = f"<p>and {more:,} more rows</p>" if more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


MOST_SHOWN_ROWS = 100


def _cell(cell: Cell) -> str:
    if cell is None:
        return ""
    return html.escape(cell) if isinstance(cell, str) else f"{cell:,.6g}"


class Picture:
    """A picture, which notebooks show."""

    def __init__(self, svg: str) -> None:
        self.svg = svg
        """The picture as SVG."""

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the SVG into a file."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture: {len(self.svg):,} bytes of SVG>"


@dataclass(frozen=True, repr=False)
class Timeline:
    """A simulated launch over time, for ui.perfetto.dev."""

    data: bytes
    """The file: Perfetto's protobuf, or the Trace Event Format as JSON."""
    summary: str
    """What is in it, as `gpucast trace` prints it."""
    notes: tuple[str, ...] = ()
    """What was noted on the way."""

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the file, such as `t.pftrace` or `t.json`."""
        Path(path).write_bytes(self.data)

    def __repr__(self) -> str:
        return self.summary.rstrip()


class Prediction:
    """The time of a launch on a GPU, predicted by a model."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return str(self._document["kernel"])

    @property
    def gpu(self) -> str:
        """The GPU's name in the library."""
        return str(self._document["gpu"])

    @property
    def model(self) -> str:
        """The model that predicts."""
        return str(self._document["model"])

    @property
    def time_ms(self) -> float:
        """The predicted time in milliseconds."""
        return float(self._document["time_ms"])

    @property
    def interval_ms(self) -> tuple[float, float] | None:
        """The ends of the interval that the time of 4 of 5 measured kernels lies in, if there is one.

        `to_dict()["interval"]` says which measured kernels these are, and
        `to_dict()["interval_declined_because"]` why `sm-simulation` gives none.
        """
        interval = self._document.get("interval")
        if interval is None:
            return None
        return float(interval["low_ms"]), float(interval["high_ms"])

    @property
    def bound(self) -> str:
        """The resource that takes longest: `compute`, `memory`, `shared`, `l1`, `l2`, `overhead`."""
        return str(self._document["bound"])

    @property
    def explanation(self) -> str:
        """What the time goes into, in a sentence."""
        return str(self._document["explanation"])

    @property
    def warnings(self) -> list[Warning]:
        """The model's assumptions that the kernel breaks."""
        pairs = zip(self._document["warning_codes"], self._document["warnings"])
        return [Warning(code, text) for code, text in pairs]

    @property
    def launch(self) -> int:
        """The place of the launch in its file, from 0 on."""
        return int(self._document["launch"])

    def to_dict(self) -> dict[str, Any]:
        """The prediction as `gpucast predict --format json` writes it."""
        return dict(self._document)

    def __repr__(self) -> str:
        return (
            f"<{self.kernel} on {self.gpu}: {time_text(self.time_ms)}, bound by {self.bound} "
            f"({self.model})>"
        )


def time_text(milliseconds: float) -> str:
    """A time in a unit that leaves few zeros."""
    for unit, scale in (("s", 1e-3), ("ms", 1.0), ("µs", 1e3)):
        if milliseconds * scale >= 1.0 or unit == "µs":
            return f"{milliseconds * scale:.4g} {unit}"
    return f"{milliseconds} ms"


@dataclass(frozen=True)
class BrokenLimit:
    """A limit that a kernel does not keep."""

    limit: str
    """As it was given."""
    text: str
    """What happened, in a sentence."""


class Counts:
    """The counts of a launch."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return str(self._document["kernel"])

    @property
    def origin(self) -> str:
        """How the counts came about, in words."""
        return str(self._document.get("origin", ""))

    @property
    def metrics(self) -> dict[str, Figure]:
        """The counters by their names."""
        return _figures(self._document["metrics"])

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON has them."""
        return dict(self._document)

    def __repr__(self) -> str:
        return f"<counts of {self.kernel}: {len(self._document['metrics'])} metrics>"


def _figures(metrics: Mapping[str, Any]) -> dict[str, Figure]:
    return {name: Figure(one["value"], one["unit"], one["kind"]) for name, one in metrics.items()}


class Forecast(Sequence[Prediction]):
    """The predictions of a kernel's launches: a sequence, by launch, GPU and model."""

    def __init__(self, made: _gpucast.Forecast, notes: Sequence[str]) -> None:
        self._made = made
        self._document: dict[str, Any] = json.loads(made.json())
        self._predictions = [Prediction(one) for one in self._document["predictions"]]
        self.notes = [*notes, *made.notes]
        """What the user should know of how the results came about."""

    @overload
    def __getitem__(self, index: int) -> Prediction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Prediction]: ...
    def __getitem__(self, index: int | slice) -> Prediction | list[Prediction]:
        return self._predictions[index]

    def __len__(self) -> int:
        return len(self._predictions)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self._predictions)

    def on(self, gpu: str, model: str | None = None) -> Prediction:
        """The one prediction for a GPU, by a model if several predict."""
        # A name may be a short one: `a100` is `a100-sxm-80gb`.
        names = {gpu, *(one["name"] for one in json.loads(_gpucast.gpus([gpu])))}
        found = [
            one for one in self if one.gpu in names and (model is None or one.model == model)
        ]
        if len(found) != 1:
            there = ", ".join(f"{one.gpu} by {one.model}" for one in self)
            raise KeyError(f"{len(found)} predictions are for {gpu}; there are {there}")
        return found[0]

    def _only(self) -> Prediction:
        if len(self) != 1:
            raise ValueError(f"there are {len(self)} predictions: take one by its index, or .on()")
        return self[0]

    @property
    def time_ms(self) -> float:
        """The predicted time in milliseconds, if there is one prediction."""
        return self._only().time_ms

    @property
    def bound(self) -> str:
        """The resource that takes longest, if there is one prediction."""
        return self._only().bound

    @property
    def warnings(self) -> list[Warning]:
        """The model's assumptions that the kernel breaks, if there is one prediction."""
        return self._only().warnings

    @property
    def counts(self) -> list[Counts]:
        """The counts that the predictions read."""
        return [Counts(one) for one in self._document["counts"]]

    @property
    def metrics(self) -> dict[str, Figure]:
        """The counters of the first launch, on the first kind of GPU."""
        return self.counts[0].metrics

    def exceeded(self, limits: str | Sequence[str]) -> list[BrokenLimit]:
        """The limits that are not kept on one of the GPUs, such as `inst_executed <= 4096`.

        `time <= 120us` is about the time of all launches together.
        """
        texts = [limits] if isinstance(limits, str) else list(limits)
        return [BrokenLimit(limit, text) for limit, text in self._made.exceeded(texts)]

    def picture(self, kind: str = "breakdown", theme: str = "light") -> Picture:
        """A picture: `breakdown`, `roofline` or `stages`, in the theme `light` or `dark`."""
        return Picture(self._made.picture(kind, theme))

    def table(self) -> Table:
        """A row for each prediction."""
        columns = ["kernel", "launch", "gpu", "model", "time_ms", "bound"]
        columns += ["interval_low_ms", "interval_high_ms", "warning_codes"]
        rows: list[list[Cell]] = [
            [
                one.kernel,
                float(one.launch),
                one.gpu,
                one.model,
                one.time_ms,
                one.bound,
                *(one.interval_ms or (None, None)),
                ";".join(warning.code for warning in one.warnings) or None,
            ]
            for one in self
        ]
        return Table(columns, rows)

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast predict --format json` writes."""
        return self._document

    def json(self) -> str:
        """The same as text: a baseline for :func:`gpucast.diff`."""
        return self._made.json()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the document, such as `base.json`, which `gpucast diff` reads, too."""
        Path(path).write_text(self.json(), encoding="utf-8")

    def __str__(self) -> str:
        return self._made.text()

    def __repr__(self) -> str:
        return repr(self[0]) if len(self) == 1 else f"<Forecast of {len(self)} predictions>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        warnings = "".join(
            f"<li><code>{html.escape(one.code)}</code> {html.escape(one.text)}</li>"
            for prediction in self
            for one in prediction.warnings
        )
        explained = "".join(f"<p>{html.escape(one.explanation)}</p>" for one in self)
        return (
            f"{self.table()._repr_html_()}{self.picture().svg}{explained}"
            f"<ul>{warnings}{notes}</ul>"
        )


class LaunchProfile(Counts):
    """The counts of a launch, with its shape."""

    @property
    def grid(self) -> tuple[int, int, int]:
        """CTAs in x, y and z."""
        x, y, z = self._document["grid"]
        return (x, y, z)

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a CTA in x, y and z."""
        x, y, z = self._document["block"]
        return (x, y, z)


class Profile(Sequence[LaunchProfile]):
    """The counters of a kernel's launches: a sequence of them."""

    def __init__(self, made: _gpucast.Profile, notes: Sequence[str]) -> None:
        self._made = made
        self._document: dict[str, Any] = json.loads(self._written("launch", "json"))
        self._launches = [LaunchProfile(one) for one in self._document["launches"]]
        self.notes = [*notes, *made.notes]
        """What the user should know of how the results came about."""

    def _written(self, by: str, form: str, metrics: str = "all", source: str = "auto") -> str:
        return self._made.document(by, form, metrics, source)

    @overload
    def __getitem__(self, index: int) -> LaunchProfile: ...
    @overload
    def __getitem__(self, index: slice) -> list[LaunchProfile]: ...
    def __getitem__(self, index: int | slice) -> LaunchProfile | list[LaunchProfile]:
        return self._launches[index]

    def __len__(self) -> int:
        return len(self._launches)

    @property
    def metrics(self) -> dict[str, Figure]:
        """The counters of the first launch."""
        return self[0].metrics

    def table(self, by: str = "launch", *, metrics: str = "all", source: str = "auto") -> Table:
        """A row for each metric, or for each `line`, `branch`, `stage` or `access`."""
        return Table.of_csv(self._written(by, "csv", metrics, source))

    def to_dict(self, by: str = "launch", *, source: str = "auto") -> dict[str, Any]:
        """The document that `gpucast profile --format json` writes."""
        document: dict[str, Any] = json.loads(self._written(by, "json", source=source))
        return document

    def text(self, by: str = "launch", *, metrics: str = "all", source: str = "auto") -> str:
        """What `gpucast profile` prints."""
        return self._written(by, "text", metrics, source)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        names = ", ".join(launch.kernel for launch in self)
        return f"<Profile of {names}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text())}</pre>"


@dataclass(frozen=True)
class Finding:
    """Something that the sanitizer found."""

    check: str
    """`memory`, `race`, `init` or `sync`."""
    kind: str
    """What is wrong, as a stable name."""
    text: str
    """The same as a sentence."""
    count: int
    """How often it happened."""
    document: Mapping[str, Any]
    """Everything that is known of it."""


class Findings(Sequence[Finding]):
    """What the sanitizer found: a sequence, empty if nothing is wrong."""

    def __init__(self, made: _gpucast.Findings, notes: Sequence[str]) -> None:
        self._made = made
        self._document: dict[str, Any] = json.loads(made.json())
        launches = self._document["launches"]
        self._findings = [_finding(one) for launch in launches for one in launch["findings"]]
        self.notes = [*notes, *made.notes]
        """What the user should know of how the results came about."""

    @property
    def complete(self) -> bool:
        """True if all launches ran to their ends."""
        return bool(self._document["complete"])

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        return self._findings[index]

    def __len__(self) -> int:
        return len(self._findings)

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast run --check --format json` writes."""
        return self._document

    def __str__(self) -> str:
        return self._made.text()

    def __repr__(self) -> str:
        return f"<Findings: {len(self)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _finding(document: Mapping[str, Any]) -> Finding:
    return Finding(
        check=document["check"],
        kind=document["kind"],
        text=document["message"],
        count=document["count"],
        document=document,
    )


class Buffer:
    """A buffer of a launch file after its last launch; NumPy reads it without a copy."""

    def __init__(self, name: str, element: str, data: bytes) -> None:
        self.name = name
        self.element = element
        """The type of the elements: `f32`, `u8`, …"""
        self.data = data

    @property
    def __array_interface__(self) -> dict[str, Any]:
        kind = {"f": "f", "s": "i", "u": "u"}.get(self.element[0])
        size = int(self.element[1:]) // 8 if kind and self.element[1:].isdigit() else 1
        typestr = f"<{kind}{size}" if kind and size in (1, 2, 4, 8) else "|u1"
        shape = (len(self.data) // int(typestr[2:]),)
        return {"version": 3, "typestr": typestr, "shape": shape, "data": self.data}

    def __len__(self) -> int:
        return int(self.__array_interface__["shape"][0])

    def tolist(self) -> list[float]:
        """The elements as Python's numbers; bytes of types that Python has no number for."""
        typestr = self.__array_interface__["typestr"]
        codes = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q"}
        codes |= {"u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
        import struct

        form = f"<{len(self)}{codes[typestr[1:]]}"
        return list(struct.unpack(form, self.data))

    def __repr__(self) -> str:
        return f"<Buffer {self.name}: {self.element}[{len(self)}]>"


@dataclass(frozen=True)
class Expectation:
    """A buffer of a launch file after the last launch, beside what the file expects of it."""

    buffer: str
    against: str
    """The origin of the expected values, in words."""
    elements: int
    mismatches: int
    """Elements that differ by more than the file's tolerances."""
    document: Mapping[str, Any]
    """Everything of it in the document that `gpucast run --format json` writes."""

    def __bool__(self) -> bool:
        return self.mismatches == 0


class Run:
    """Launches that ran to their ends; true unless results are other than a launch file expects."""

    def __init__(self, made: _gpucast.Run, notes: Sequence[str]) -> None:
        self._document: dict[str, Any] = json.loads(made.json())
        self._text = made.text()
        self.expectations = [
            Expectation(one["buffer"], one["against"], one["elements"], one["mismatches"], one)
            for one in self._document["expectations"]
        ]
        """The comparisons that a launch file or corpus kernel asks for."""
        self.buffers = {name: Buffer(name, kind, data) for name, kind, data in made.buffers()}
        """The buffers of a launch file, by their names. Arrays are changed in place instead."""
        self.notes = [*notes, *made.notes]
        """What the user should know of how the results came about."""

    def to_dict(self) -> dict[str, Any]:
        """The document that `gpucast run --format json` writes."""
        return self._document

    def __bool__(self) -> bool:
        return all(self.expectations)

    def __repr__(self) -> str:
        names = ", ".join(launch["kernel"] for launch in self._document["launches"])
        wrong = dict.fromkeys(one.buffer for one in self.expectations if not one)
        return f"<Run of {names}" + (f", wrong: {', '.join(wrong)}>" if wrong else ">")

    def __str__(self) -> str:
        return self._text
