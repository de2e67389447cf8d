"""The examples of docs/python.md and docs/python run, and print what the pages show.

A page is a session, as at Python's prompt: its blocks share their names and an empty folder. Of the
page's lines these are read:

- `<!-- file: NAME -->`: the next block is written into that file.
- `<!-- needs: NAME -->`: the next block of Python runs where that module or program is there.
- A block of `python` is run. What it prints, and then the error that ends it, is the block of `text`
  behind it. `GPUCAST_UPDATE=1` rewrites these blocks.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import tempfile
import traceback
import unittest
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

from support import REPORT, REPOSITORY, needed

DOCS = REPOSITORY / "docs"
PAGES = [DOCS / "python.md", *sorted((DOCS / "python").glob("*.md"))]

PROGRAMS = {"gpucast"}


@dataclass
class Block:
    """A block of code, with what comments before it ask for."""

    language: str
    text: str
    file: str | None = None
    needs: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The block as it stands on its page."""
        return [f"```{self.language}", *self.text.splitlines(), "```"]


def parts(page: str) -> Iterator[str | Block]:
    """A page as its lines and blocks, in their order."""
    lines = iter(page.splitlines())
    file: str | None = None
    needs: list[str] = []
    for line in lines:
        named = re.fullmatch(r"<!-- (file|needs): (\S+) -->", line)
        if named and named[1] == "file":
            file = named[2]
        elif named:
            needs.append(named[2])
        if not line.startswith("```"):
            yield line
            continue
        inside = []
        for line_inside in lines:
            if line_inside == "```":
                break
            inside.append(line_inside)
        yield Block(line[3:], "".join(f"{one}\n" for one in inside), file, needs)
        file, needs = None, []


def absent(need: str) -> str | None:
    """Why a block cannot run here, or nothing."""
    if need in PROGRAMS:
        return None if shutil.which(need) else f"{need} is not on the path"
    try:
        module: Any = needed(need)
    except unittest.SkipTest as skipped:
        return str(skipped)
    if need == "warp":
        # Its first use prints versions and folders, which no page can show.
        module.init()
    return None


class Session:
    """The blocks of a page, run one after the other in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "page"}
        self.runs = 0
        self.absent: list[str] = []
        # What pages take from elsewhere: a report, and files of the repository.
        (folder / "heat.ncu-rep").write_text(json.dumps(REPORT))
        for name in ("examples", "tests"):
            (folder / name).symlink_to(REPOSITORY / name)

    def rewritten(self, page: str) -> str:
        """The page with the outputs that came."""
        made: list[str] = []
        left = deque(parts(page))
        while left:
            part = left.popleft()
            if isinstance(part, str):
                made.append(part)
                continue
            made += part.lines()
            if part.file is not None:
                (self.folder / part.file).write_text(part.text)
            elif part.language == "python":
                shown, printed = taken_output(left), self.run(part)
                text = shown if printed is None else printed
                made += ["", *Block("text", text).lines()] if text else []
        return "".join(f"{line}\n" for line in made)

    def run(self, block: Block) -> str | None:
        """What a block prints, and how it ends; nothing if it cannot run here."""
        missing = [reason for reason in map(absent, block.needs) if reason]
        if missing:
            self.absent += missing
            return None
        self.runs += 1
        # Numba reads the source of its kernels from their file.
        path = self.folder / f"block_{self.runs}.py"
        path.write_text(block.text)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            try:
                exec(compile(block.text, str(path), "exec"), self.names)
            except Exception as error:
                print("Traceback (most recent call last):", "  …", sep="\n")
                print("".join(traceback.format_exception_only(error)), end="")
        # Pages have no blanks at the ends of lines and texts.
        text = said.getvalue().replace(str(self.folder), "~").rstrip()
        return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def taken_output(left: deque[str | Block]) -> str:
    """The output that a page shows next, which is taken from what is left of it."""
    if len(left) < 2 or left[0] != "":
        return ""
    block = left[1]
    if isinstance(block, str) or block.language != "text" or block.file is not None:
        return ""
    left.popleft()
    left.popleft()
    return block.text


class Pages(unittest.TestCase):
    maxDiff = None

    def test_examples_print_what_the_pages_show(self) -> None:
        skipped: set[str] = set()
        runs = 0
        for page in PAGES:
            with self.subTest(page=page.name), tempfile.TemporaryDirectory() as folder:
                session = Session(Path(folder).resolve())
                before, text = os.getcwd(), page.read_text(encoding="utf-8")
                os.chdir(folder)
                try:
                    rewritten = session.rewritten(text)
                finally:
                    os.chdir(before)
                runs += session.runs
                skipped.update(session.absent)
                if "GPUCAST_UPDATE" in os.environ:
                    page.write_text(rewritten, encoding="utf-8")
                else:
                    self.assertEqual(text, rewritten, "GPUCAST_UPDATE=1 rewrites the outputs")
        self.assertGreater(runs, 20)
        if skipped:
            self.skipTest(f"some examples: {', '.join(sorted(skipped))}")

    def test_every_page_of_a_task_is_linked_from_the_page_of_all(self) -> None:
        text = PAGES[0].read_text(encoding="utf-8")
        for page in PAGES[1:]:
            self.assertIn(f"](python/{page.name})", text)


if __name__ == "__main__":
    unittest.main()
