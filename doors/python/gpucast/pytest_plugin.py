"""The plugin for pytest: an option and a fixture for the GPU in question.

`gpucast.testing` has the assertions.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("gpucast.testing")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--gpucast-gpu`, and the setting `gpucast_gpu` for configuration files."""
    text = "GPUs that the fixture `gpucast_gpu` names, with commas between them"
    parser.getgroup("gpucast").addoption("--gpucast-gpu", default=None, help=text)
    parser.addini("gpucast_gpu", text, default="h100-sxm")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs tests with the fixture `gpucast_gpu` once for each GPU."""
    if "gpucast_gpu" in metafunc.fixturenames:
        config = metafunc.config
        chosen = config.getoption("--gpucast-gpu") or config.getini("gpucast_gpu")
        metafunc.parametrize("gpucast_gpu", [name.strip() for name in str(chosen).split(",")])
