"""The shape of NVIDIA's package `nsight-python`, with predictions in the place of measurements.

A program changes its import, and nothing else:

>>> from gpucast import nsight

`@nsight.analyze.kernel` runs a function for each of its configurations. Launches inside of
`nsight.annotate("name")` run on the CPU, and get the metrics that follow from their counts and from
a simulation of the GPU. These are launches of Numba's kernels, of :class:`gpucast.Kernel`, and calls
of :func:`gpucast.run`.

The GPU is that of :func:`configure`, of the environment variable `GPUCAST_GPU`, or `h100-sxm`.
"""

from __future__ import annotations

from . import analyze, exceptions, experimental
from ._collectors import CollectionScope, InfoCollector
from ._launches import annotate, configure
from ._verbosity import VerbosityLevel

__all__ = [
    "CollectionScope",
    "InfoCollector",
    "VerbosityLevel",
    "analyze",
    "annotate",
    "configure",
    "exceptions",
    "experimental",
]
