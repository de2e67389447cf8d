"""The cell magic `%%gpucast`: CUDA in a cell, forecast and run with the notebook's arrays."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics as Base
from IPython.core.magic import cell_magic, magics_class

from . import predict, run
from .results import Forecast


class _Arguments(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"{message}\n{self.format_usage()}")


def _extent(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _parser() -> _Arguments:
    parser = _Arguments(prog="%%gpucast", add_help=False)
    parser.add_argument("name", nargs="?", help="the kernel of a cell with several")
    parser.add_argument("args", nargs="*", help="arguments: expressions of the notebook")
    parser.add_argument("--gpu", default="h100-sxm", help="GPUs with commas between them")
    parser.add_argument("--model", default="", help="models with commas between them")
    parser.add_argument("--grid", type=_extent, required=True, help="CTAs: X[,Y[,Z]]")
    parser.add_argument("--block", type=_extent, required=True, help="threads: X[,Y[,Z]]")
    parser.add_argument("--shared-bytes", type=int, help="dynamic shared memory")
    parser.add_argument("--run", action="store_true", help="change the arrays, too")
    return parser


@magics_class
class Magics(Base):  # type: ignore[misc, unused-ignore]
    """The magics of the package."""

    @cell_magic  # type: ignore[untyped-decorator, unused-ignore]
    def gpucast(self, line: str, cell: str) -> Forecast:
        """`%%gpucast KERNEL ARGUMENT… --grid X --block X [--gpu NAMES] [--run]` above CUDA.

        Predicts the kernel's time. Arguments are expressions of the notebook; they stand before
        the options and have no blanks.
        """
        options = _parser().parse_args(shlex.split(line))
        namespace = self.shell.user_ns if self.shell is not None else {}
        values = [eval(text, namespace) for text in options.args]
        launch = {
            "name": options.name,
            "grid": options.grid,
            "block": options.block,
            "shared_bytes": options.shared_bytes,
        }
        forecast = predict(cell, *values, gpu=options.gpu, model=options.model, **launch)
        if options.run:
            run(cell, *values, **launch)
        return forecast
