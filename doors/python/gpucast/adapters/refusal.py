"""Configurations that a GPU or a compiler refuses, for autotuners that go on to the next one."""

from __future__ import annotations

from typing import Any

from .._errors import Error


def time_ms(forecast: Any) -> float:
    """The time of a forecast. A launch that the GPU refuses is an error."""
    for prediction in forecast:
        for warning in prediction.warnings:
            if warning.code == "unlaunchable":
                raise Error(warning.text)
    return float(forecast.time_ms)


def is_refused(error: Exception) -> bool:
    """True if other configurations may do better: the GPU or a compiler refuses this one."""
    return isinstance(error, Error) or type(error).__module__.partition(".")[0] == "triton"
