"""What goes wrong in a profile."""

from __future__ import annotations


class ProfilerException(Exception):
    """A profile cannot be made as it is asked for."""
