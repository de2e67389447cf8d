"""Assertions about kernels, for tests that run without a GPU."""

from __future__ import annotations

import copy
from typing import Any, Callable, Sequence

from . import _gpucast, check, predict, run
from ._memory import elements, is_array
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


def assert_within(
    kernel: Any, *args: Any, limits: str | Sequence[str], gpu: Names, **options: Any
) -> Forecast:
    """Fails unless a kernel keeps limits of metrics and of its predicted time on each GPU.

    Limits are texts such as `global_load_sectors_per_request <= 4.1`, `branch_efficiency >= 90` and
    `time <= 120us`, the time of all launches.
    """
    __tracebackhide__ = True
    forecast = predict(kernel, *args, gpu=gpu, **options)
    broken = forecast.exceeded(limits)
    if broken:
        raise AssertionError("\n".join(limit.text for limit in broken))
    return forecast


def assert_no_findings(kernel: Any, *args: Any, checks: Names = "all", **options: Any) -> Findings:
    """Fails if the sanitizer finds something; arrays are changed in place."""
    __tracebackhide__ = True
    findings = check(kernel, *args, checks=checks, **options)
    if len(findings) or not findings.complete:
        raise AssertionError(str(findings))
    return findings


def assert_as_expected(
    kernel: Any,
    *args: Any,
    expect: Callable[..., object] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **options: Any,
) -> Run:
    """Fails unless a kernel computes what a function does, or what its launch file asks for.

    The function gets copies of the arguments and does to the arrays what the kernel is to do. All
    arrays are then compared; the kernel changes those of the test. Integers are exact. Floats
    differ by at most `atol + rtol * |want|`, which depends on their type if it is not given.
    """
    __tracebackhide__ = True
    if expect is not None and not any(map(is_array, args)):
        raise TypeError("a function changes arrays, and none is among the arguments")
    copies = copy.deepcopy(args)
    done = run(kernel, *args, **options)
    wrong = [] if done else [str(done)]
    if expect is not None:
        expect(*copies)
        for at, (got, want) in enumerate(zip(args, copies)):
            if is_array(got):
                element, data = elements(got)
                sides = (data, elements(want)[1])
                text = _gpucast.compare(f"arg{at}", element, *sides, (rtol, atol))
                wrong += [] if text is None else [text]
    elif not done.expectations:
        raise AssertionError(f"{done!r} expects nothing")
    if wrong:
        raise AssertionError("".join(wrong))
    return done
