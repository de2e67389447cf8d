"""How much is said."""

from __future__ import annotations

from enum import IntEnum


class VerbosityLevel(IntEnum):
    """How much is said. Predictions have nothing to wait for, so that all levels are silent."""

    SILENT = 0
    INFO = 1
    DEBUG = 2
