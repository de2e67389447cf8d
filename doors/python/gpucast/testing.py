"""Assertions about kernels, for tests that run without a GPU."""

from __future__ import annotations

from typing import Any

from . import check, predict, run
from ._settings import Names
from .results import Findings, Forecast, Prediction, Run

__tracebackhide__ = True


def assert_faster(
    faster: Forecast | Prediction, slower: Forecast | Prediction, *, by: float = 1.0
) -> None:
    """Fails unless one forecast is faster than another, by a factor if one is given."""
    __tracebackhide__ = True
    if faster.time_ms * by >= slower.time_ms:
        wanted = "faster" if by == 1.0 else f"{by:g} times faster"
        raise AssertionError(f"{faster!r} is not {wanted} than {slower!r}")


def assert_within(kernel: Any, *args: Any, ms: float, gpu: Names, **options: Any) -> Forecast:
    """Fails unless every launch is predicted to take at most `ms` milliseconds on each GPU."""
    __tracebackhide__ = True
    forecast = predict(kernel, *args, gpu=gpu, **options)
    for prediction in forecast:
        if prediction.time_ms > ms:
            raise AssertionError(f"{prediction!r} takes longer than {ms} ms")
    return forecast


def assert_no_findings(kernel: Any, *args: Any, checks: Names = "all", **options: Any) -> Findings:
    """Fails if the sanitizer finds something; arrays are changed in place."""
    __tracebackhide__ = True
    findings = check(kernel, *args, checks=checks, **options)
    if len(findings) or not findings.complete:
        raise AssertionError(str(findings))
    return findings


def assert_as_expected(kernel: Any, **options: Any) -> Run:
    """Fails unless a launch file or corpus kernel computes what it says it expects."""
    __tracebackhide__ = True
    done = run(kernel, **options)
    if not done.expectations:
        raise AssertionError(f"{done!r} expects nothing")
    if not done:
        raise AssertionError(str(done))
    return done
