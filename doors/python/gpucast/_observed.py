"""Who hears of launches before they run."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Callable, Mapping, Sequence, Union

Observer = Callable[[Any, Sequence[Any], Mapping[str, Any]], None]

observer: ContextVar[Union[Observer, None]] = ContextVar("observer", default=None)
"""Hears the kernel, the arguments and the options of each :func:`gpucast.run`."""
