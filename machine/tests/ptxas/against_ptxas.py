#!/usr/bin/env python3
"""Compares the back ends `rules` and `ptxas` over the whole corpus, and writes `corpus-small.ptxas`.

    python3 against_ptxas.py --gpucast target/release/gpucast --ptxas PTXAS [--write]

Every kernel of the corpus is profiled at its small size by both back ends for each target. Printed
are the median and the worst deviation of the rules, and which kernels they cannot be compared for.
With `--write` the counts by `ptxas` of the kernels in `corpus-small.counts` replace those that the
tests compare with: `kernel target inst_executed ldst_executed`.
"""

import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).parent
TARGETS = ["sm_50", "sm_70", "sm_80", "sm_90"]
METRICS = ["inst_executed", "ldst_executed", "inst_compute_ld_st", "inst_integer"]


def counts(options, kernel, target, machine):
    command = [options.gpucast, "profile", kernel, "--size", "small", "--format", "json"]
    # PTX for any architecture; that of some launch files is for newer ones.
    command += ["--arch", "sm_35"]
    command += ["--machine", machine, "--machine-target", target]
    if machine == "ptxas":
        command += ["--ptxas", options.ptxas]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return None
    profile = json.loads(run.stdout)
    launch = profile["launches"][0]
    # Counts are averages of an invocation.
    return {name: launch["metrics"][name]["value"] * launch["invocations"] for name in METRICS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpucast", required=True)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    listed = subprocess.run(
        [options.gpucast, "corpus", "list", "--format", "csv"],
        capture_output=True, text=True, check=True,
    )
    kernels = [line.split(",")[0] for line in listed.stdout.splitlines()[1:]]
    pairs = [(kernel, target) for kernel in kernels for target in TARGETS]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        both = {
            machine: dict(zip(pairs, pool.map(lambda one: counts(options, *one, machine), pairs)))
            for machine in ("rules", "ptxas")
        }
    for target in TARGETS:
        for metric in METRICS:
            deviations = []
            for kernel in kernels:
                rules, ptxas = both["rules"][kernel, target], both["ptxas"][kernel, target]
                if rules and ptxas and ptxas[metric]:
                    deviations.append((rules[metric] / ptxas[metric] - 1, kernel))
                elif metric == METRICS[0]:
                    print(f"{target}: {kernel} cannot be compared")
            worst, kernel = max(deviations, key=lambda one: abs(one[0]))
            median = statistics.median(abs(one) for one, _ in deviations)
            equal = sum(one == 0 for one, _ in deviations)
            print(f"{target} {metric}: median {median:.1%}, worst {worst:+.1%} ({kernel}), "
                  f"{equal} of {len(deviations)} equal")
    if options.write:
        names = (HERE / "corpus-small.counts").read_text().splitlines()
        names = [line[1:].split()[0] for line in names if line.startswith("[")]
        lines = []
        for name in names:
            for target in TARGETS:
                found = both["ptxas"][name, target]
                lines.append(f"{name} {target} {found['inst_executed']} {found['ldst_executed']}\n")
        (HERE / "corpus-small.ptxas").write_text("".join(lines))


if __name__ == "__main__":
    main()
