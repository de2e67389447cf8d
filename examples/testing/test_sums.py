"""Tests of `sums.cu` on a computer without a GPU: `pytest examples/testing`."""

from __future__ import annotations

import random
from array import array
from pathlib import Path

import gpucast
import pytest
from gpucast.testing import assert_as_expected, assert_no_findings, assert_within

THREADS = 256

SUMS = gpucast.Kernel(Path(__file__).with_name("sums.ptx"))


def block_sums(x: array[float], sums: array[float], n: int) -> None:
    """The sum of each block's numbers, on the CPU."""
    for block in range(len(sums)):
        sums[block] = sum(x[THREADS * block : THREADS * (block + 1)])


def arguments(n: int) -> tuple[array[float], array[float], int]:
    numbers = random.Random(7)
    x = array("f", (numbers.uniform(-1.0, 1.0) for _ in range(n)))
    return x, array("f", bytes(4 * -(-n // THREADS))), n


@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000, 16_000])
def test_sums_are_right(n: int) -> None:
    x, sums, n = arguments(n)
    assert_as_expected(SUMS[len(sums), THREADS], x, sums, n, expect=block_sums)


def test_nothing_goes_wrong_unnoticed() -> None:
    assert_no_findings(SUMS[4, THREADS], *arguments(1000), checks="memory, race, init, sync")


def test_loads_are_coalesced(gpucast_gpu: str) -> None:
    limits = [
        "global_load_sectors_per_request <= 4.1",
        "shared_conflict_degree <= 1.05",
        "time <= 10us",
    ]
    launch = SUMS[63, THREADS]
    assert_within(launch, *arguments(16_000), limits=limits, gpu=gpucast_gpu, machine="rules")
