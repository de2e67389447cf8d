#!/usr/bin/env python3
"""Fails where modules of a crate import one another in a circle.

A module is a file or folder directly below a crate's `src`. The root of the crate (`lib.rs` or
`main.rs`) is a map of modules and no module itself; a name that it re-exports counts for the module
that has it. Tests may look at everything.
"""

import pathlib
import re
import sys

# The crates whose modules stand in one order. In the others, an engine and its program, or types
# and the table of instructions, know each other.
CRATES = [".", "render", "forecast", "toolchain", "python", "sanitizer", "simulation", "plot", "corpus"]


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


def circle(graph):
    """Some circle of modules, or nothing."""
    done, way = set(), []

    def visit(module):
        if module in way:
            return way[way.index(module):] + [module]
        if module in done:
            return None
        way.append(module)
        for target in sorted(graph[module]):
            found = visit(target)
            if found:
                return found
        way.pop()
        done.add(module)
        return None

    for module in sorted(graph):
        found = visit(module)
        if found:
            return found
    return None


def main():
    failed = False
    for crate in sys.argv[1:] or CRATES:
        graph = imports(pathlib.Path(crate) / "src")
        found = circle(graph)
        if found:
            failed = True
            print(f"{crate}/src has a circle of imports: {' -> '.join(found)}")
            for one, other in zip(found, found[1:]):
                print(f"  {one} imports {other} in {graph[one][other]}")
    sys.exit(failed)


main()
