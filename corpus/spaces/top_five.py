#!/usr/bin/env python3
"""What the first five configurations of one ranking lose by another ranking or by measured times.

    gpucast tune space.toml --gpu a100 --machine rules --model interval --format json -o quick.json
    gpucast tune space.toml --gpu a100 --format json -o full.json
    corpus/spaces/top_five.py quick.json full.json

A line: configurations that have both times, those that the first ranking calls the best, the share of
pairs whose ratio is within its tie factor, and what the first configuration, the first five and the
five that it proposes lose against the optimum, in percent.
"""

import json
import sys
from itertools import combinations


def times(path: str) -> tuple[dict, list, float]:
    """Times by configuration, those that are proposed, and the tie factor."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    found, proposed = {}, []
    for one in document["configurations"]:
        key = tuple(parameter["value"] for parameter in one["parameters"])
        if one["times"][0]["time_ms"] is not None:
            found[key] = one["times"][0]["time_ms"]
        if one["measure"] is not None:
            proposed.append(key)
    return found, proposed, document["ties"][0]["factor"]


def line(quick: dict, proposed: list, factor: float, full: dict) -> str:
    """The figures of a pair of rankings."""
    keys = sorted((key for key in quick if key in full), key=lambda key: (quick[key], key))
    optimum = min(full[key] for key in keys)
    ties = sum(quick[key] <= quick[keys[0]] * factor for key in keys)
    ratios = [
        (full[a] / full[b]) / (quick[a] / quick[b]) for a, b in combinations(keys, 2)
    ]
    held = sum(1 / factor <= ratio <= factor for ratio in ratios) / len(ratios)

    def lost(chosen: list) -> float:
        return 100 * (min(full[key] for key in chosen if key in full) / optimum - 1)

    losses = [lost(keys[:1]), lost(keys[:5]), lost(proposed)]
    return " | ".join([str(len(keys)), str(ties), f"{100 * held:.0f}", *(f"{one:.1f}" for one in losses)])


if __name__ == "__main__":
    print(line(*times(sys.argv[1]), times(sys.argv[2])[0]))
