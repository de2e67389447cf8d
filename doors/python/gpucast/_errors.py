"""The exceptions of the package."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A place in a text: a file, the arguments of a launch, or the text of a kernel."""

    file: str
    line: int
    column: int


class Error(Exception):
    """A kernel, a launch or a file is at fault.

    `str(error)` is the whole report, with places and facts.
    """

    # Tracebacks show the name by which a program catches it.
    __module__ = "gpucast"

    messages: list[str]
    """One sentence for each fault."""
    hint: str | None
    """Advice on what to do about it."""
    places: list[Place | None]
    """Where each fault is, if there is a text to point at."""

    def __init__(
        self,
        text: str,
        messages: list[str] | None = None,
        hint: str | None = None,
        places: list[tuple[str, int, int] | None] | None = None,
    ) -> None:
        super().__init__(text)
        self.messages = messages if messages is not None else [text]
        self.hint = hint
        self.places = [place and Place(*place) for place in places or [None]]

    @property
    def message(self) -> str:
        """The first fault as a sentence."""
        return self.messages[0]


class ArgumentError(Error, ValueError):
    """An argument of a function has a value that makes no sense."""

    __module__ = "gpucast"
