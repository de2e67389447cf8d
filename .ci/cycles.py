#!/usr/bin/env python3
"""Fails where modules of a crate import one another in a circle that is not known.

A module is a file or folder directly below a crate's `src`. The root of the crate (`lib.rs` or
`main.rs`) is a map of modules and no module itself; a name that it re-exports counts for the module
that has it. Tests may look at everything.
"""

import pathlib
import re
import sys

# The crates of the workspace, each of whose modules stand in one order.
CRATES = [
    ".", "buffers", "corpus", "counters", "forecast", "interpreter", "machine", "model", "ptx-frontend", "render", "simulation",
    "doors/cuda", "doors/host", "doors/python", "doors/toolchain", "insight/advice", "insight/plot", "insight/sanitizer",
    "studies/collection", "studies/formulas", "studies/measure",
]

# Modules that know each other, by crate. A circle among them alone is no fault; a further module in
# it is. A module that is in no circle any more has to leave its list.
KNOTS = {
    # A prediction holds each model's own values, and each model makes predictions.
    "model": {
        "assumptions", "component_throughput", "cost_model", "first_level", "hierarchical_roofline",
        "inputs", "interval", "offload", "prediction", "predictor", "quantitative_roofline",
        "sm_simulation", "tensor", "timing",
    },
    # Files of one type, the device: its memory, modules and launches, and what these led to, are
    # parts of it.
    "doors/host": {"checking", "device", "launch", "memory", "module", "record", "repeats"},
}


def without_tests(text):
    """The text before its test module, without comments."""
    text = re.split(r"\n#\[cfg\(test\)\]\nmod \w+ \{", text)[0]
    return re.sub(r"//.*", "", text)


def first_names(text):
    """The names that stand first behind `crate::`, also in braces."""
    for match in re.finditer(r"\bcrate::(\{)?", text):
        rest = text[match.end():]
        if not match[1]:
            yield re.match(r"\w*", rest)[0]
            continue
        depth, start = 1, True
        for token in re.finditer(r"[{},]|\w+", rest):
            word = token[0]
            if word == "{":
                depth += 1
            elif word == "}":
                depth -= 1
                if depth == 0:
                    break
            elif word == ",":
                start = start or depth == 1
            elif start and depth == 1:
                yield word
                start = False


def imports(source):
    """Module -> modules that it names."""
    roots = [source / name for name in ("lib.rs", "main.rs") if (source / name).exists()]
    paths = [path for path in source.rglob("*.rs") if path not in roots]
    module = {path: path.relative_to(source).parts[0].removesuffix(".rs") for path in paths}
    modules = set(module.values())
    exported = {}
    for root in roots:
        for use in re.finditer(r"\buse (\w+)::([^;]*);", without_tests(root.read_text())):
            if use[1] in modules:
                exported |= {name: use[1] for name in re.findall(r"\w+", use[2])}
    graph = {name: {} for name in modules}
    for path in paths:
        if path.stem == "tests" or "tests" in path.relative_to(source).parts:
            continue
        text = without_tests(path.read_text())
        # `super` leaves the module only in the files that are the module itself.
        parts = path.relative_to(source).parts
        depth = len(parts) - (parts[-1] == "mod.rs")
        names = set(first_names(text))
        up = "super::" * depth
        names |= set(re.findall(rf"(?<!super::){up}(?!super)(\w+)", text))
        for name in names:
            target = name if name in modules else exported.get(name)
            if target and target != module[path]:
                graph[module[path]].setdefault(target, path)
    return graph


def circles(graph):
    """The largest sets of modules that import one another, each of two or more (Tarjan 1972)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(module):
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for target in graph[module]:
            if target not in number:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], number[target])
        if lowest[module] == number[module]:
            members = stack[stack.index(module):]
            del stack[stack.index(module):]
            if len(members) > 1:
                found.append(set(members))

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return found


def main():
    failed = False
    for crate in sys.argv[1:] or CRATES:
        graph = imports(pathlib.Path(crate) / "src")
        knot = KNOTS.get(crate, set())
        found = circles(graph)
        for members in found:
            # The known modules may know each other, but nothing else may know and be known.
            if members <= knot:
                continue
            failed = True
            print(f"{crate}/src has modules that import one another: {', '.join(sorted(members))}")
            for one in sorted(members):
                for other in sorted(members & graph[one].keys() - (knot if one in knot else set())):
                    print(f"  {one} imports {other} in {graph[one][other]}")
        for module in sorted(knot.difference(*found)):
            failed = True
            print(f"{crate}/src/{module} is in no circle any more; take it from the list of {__file__}")
    sys.exit(failed)


main()
