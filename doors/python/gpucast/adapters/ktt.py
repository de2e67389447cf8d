"""KTT, the Kernel Tuning Toolkit: a searcher that goes through a ranking.

KTT runs and times kernels by itself, and asks a searcher which configuration comes next. This is one
whose order was predicted: first what `gpucast tune` proposes to measure, then the others by time.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..answers import Number, Tuning

Key = frozenset[tuple[str, Number]]


def searcher(ktt: Any, ranking: Tuning) -> Any:
    """An object for `tuner.SetSearcher(kernel, …)` of `ktt`, the module `pyktt`.

    A parameter of the ranking that KTT does not know is ignored, and so is one of KTT's that the
    ranking lacks. Configurations that were not ranked are not tried.
    """
    order = [*ranking.proposed, *(one for one in ranking if one.time_ms is not None)]

    class Ranked(ktt.Searcher):  # type: ignore[misc]
        """Visits configurations in the order of a ranking."""

        def OnInitialize(self) -> None:
            """Finds the ranked configurations among KTT's."""
            indices: dict[Key, int] = {}
            for index in range(self.GetConfigurationsCount()):
                pairs = self.GetConfiguration(index).GetPairs()
                values = {pair.GetName(): pair.GetValue() for pair in pairs}
                indices.setdefault(_key(values, ranking), index)
            found = (indices.get(_key(one.parameters, ranking)) for one in order)
            self.left = list(dict.fromkeys(index for index in found if index is not None))
            if not self.left:
                raise ValueError("the ranking has none of the kernel's configurations")
            self.current = self.left.pop(0)

        def OnReset(self) -> None:
            """Nothing is left of the kernel before."""
            self.left = []

        def CalculateNextConfiguration(self, previous: Any) -> bool:
            """Goes on to the next configuration, if one is left."""
            if not self.left:
                return False
            self.current = self.left.pop(0)
            return True

        def GetCurrentConfiguration(self) -> Any:
            """The configuration that is to be run."""
            return self.GetConfiguration(self.current)

    return Ranked()


def _key(values: Mapping[str, Any], ranking: Tuning) -> Key:
    """The values of the ranking's parameters. True and false are 1 and 0, as there."""
    names = ranking[0].parameters
    return frozenset((name, value) for name, value in values.items() if name in names)
