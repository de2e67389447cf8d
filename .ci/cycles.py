#!/usr/bin/env python3
"""Fails where files of a crate import one another in a circle that is not known.

A file imports another one if it names what that file defines; names that a `mod.rs` or `lib.rs`
hands on count for the file that defines them. The root of a crate is a map and no file of a circle.
A folder's own file speaks for the folder: what is below it may use the words that it defines, so an
import of an ancestor is none. Tests may look at everything.
"""

import pathlib
import re
import sys

# The crates of the workspace, each of whose files stand in one order.
CRATES = [
    ".", "buffers", "corpus", "counters", "forecast", "interpreter", "machine", "model", "ptx-frontend", "render", "simulation",
    "doors/cuda", "doors/host", "doors/python", "doors/serve", "doors/test", "doors/toolchain", "doors/web/engine", "doors/wheel", "doors/wheel/launcher", "insight/advice", "insight/judge", "insight/plot", "insight/sanitizer",
    "studies/collection", "studies/cost-model", "studies/formulas", "studies/measure",
]

# Files that know each other, with the reason: by crate, each a set of files without `.rs`, where
# `folder/` stands for all files below. A circle within a set is no fault. A circle that leaves its
# set is one, and so is a set in which no circle is left.
KNOWN = {
    "forecast": [
        # Options name a project; a project's kernel is options.
        {"input/options", "input/project"},
        # Counting hears of its supervisor, who lends it the place where counts are kept.
        {"run/counting", "run/counting/gpu", "run/counting/watch", "run/execute", "run/kept", "run/machine", "run/sliced", "run/supervisor"},
    ],
    "interpreter": [
        # A cluster has CTAs, a CTA warps, a warp accesses, and an access reaches back: the shared
        # memory of its cluster's CTAs, copies that end later, the watch over the launch.
        {"exec/"},
    ],
    "model": [
        # A prediction holds each model's own values, and each model makes predictions; the
        # conditions of a prediction hold what single models read.
        {
            "assumptions", "component_throughput", "cost_model", "evidence", "hierarchical_roofline",
            "interval", "offload/model", "prediction", "predictor", "quantitative_roofline",
            "quantitative_roofline/analysis", "quantitative_roofline/refinements",
            "quantitative_roofline/text", "sm_simulation", "timing",
        },
    ],
    "studies/cost-model": [
        # Descent: a formula has features, whose arguments are formulas.
        {"feature_parser", "formula", "parser"},
    ],
    "doors/host": [
        # Files of one type, the device: its memory, modules and launches, and what these led to,
        # are parts of it.
        {"checking", "device", "launch", "memory", "module", "record", "repeats"},
    ],
}


def without_tests(text):
    """The text before its test module, without comments, strings and imports of tests."""
    text = re.split(r"\n#\[cfg\(test\)\]\n(?:#\[[^\n]*\]\n)*mod \w+ \{", text)[0]
    text = re.sub(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))? )?(?:mod \w+;|use [^;]*;)", "", text)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]*);")


def paths_of(tree):
    """The paths of a `use` tree, each with the name that it gives: `a::{b, c as d}`."""
    tokens = re.findall(r"::|[{},*]|\w+", tree)
    found = []

    def read(at, prefix):
        path = list(prefix)
        while at < len(tokens):
            token = tokens[at]
            if token == "{":
                at += 1
                while at < len(tokens) and tokens[at] != "}":
                    at = at + 1 if tokens[at] == "," else read(at, path)
                return at + 1
            if token in ",}":
                break
            if token == "as":
                found.append((path, tokens[at + 1]))
                return at + 2
            if token != "::":
                path.append(token)
            at += 1
        if path[-1:] == ["self"]:
            path.pop()
        found.append((path, path[-1] if path else ""))
        return at

    at = 0
    while at < len(tokens):
        at = at + 1 if tokens[at] in ",}" else read(at, [])
    return found


class Crate:
    """The files of a crate by their module's path, and the names that each defines or hands on."""

    def __init__(self, source):
        self.text, self.named, self.globs = {}, {}, {}
        for path in sorted(source.rglob("*.rs")):
            parts = list(path.relative_to(source).parts)
            if parts == ["lib.rs"] or parts == ["main.rs"]:
                module = ()
            elif parts[-1] == "mod.rs":
                module = tuple(parts[:-1])
            else:
                module = (*parts[:-1], parts[-1].removesuffix(".rs"))
            if parts[0] == "bin" or "tests" in module or module in self.text:
                continue
            self.text[module] = without_tests(path.read_text())
        for module, text in self.text.items():
            self.named[module], self.globs[module] = {}, []
            for use in USE.finditer(text):
                for path, name in paths_of(use[2]):
                    if path[-1:] == ["*"]:
                        self.globs[module].append(path[:-1])
                    elif path:
                        self.named[module][name] = path

    def absolute(self, module, path):
        """The module from which a path starts, and the rest; none if it leaves the crate."""
        if path[:1] == ["crate"]:
            return (), path[1:]
        if path[:1] == ["self"]:
            return module, path[1:]
        if path[:1] != ["super"]:
            return (module, path) if path and (*module, path[0]) in self.text else None
        while path[:1] == ["super"]:
            if not module:
                return None
            module, path = module[:-1], path[1:]
        return module, path

    def defined_in(self, module, path, seen=()):
        """The module whose file defines what a path names; none if another crate does."""
        if (module, tuple(path)) in seen:
            return module
        seen = (*seen, (module, tuple(path)))
        while path and (*module, path[0]) in self.text:
            module, path = (*module, path[0]), path[1:]
        if not path:
            return module
        if path[0] in self.named[module]:
            start = self.absolute(module, self.named[module][path[0]])
            return start and self.defined_in(start[0], [*start[1], *path[1:]], seen)
        items = r"\b(?:struct|enum|trait|fn|type|const|static|union|macro_rules!)\s+"
        if re.search(items + re.escape(path[0]) + r"\b", self.text[module]):
            return module
        for glob in self.globs[module]:
            start = self.absolute(module, glob)
            found = start and self.defined_in(start[0], [*start[1], *path], seen)
            if found and re.search(rf"\b{re.escape(path[0])}\b", self.text[found]):
                return found
        return module

    def names(self, module):
        """The paths that a file names, without what it merely hands on from below it."""
        text = self.text[module]
        for use in USE.finditer(text):
            for path, _ in paths_of(use[2]):
                path = path[:-1] if path[-1:] == ["*"] else path
                yield path, bool(use[1])
        text = re.sub(r"pub\s*\(\s*(?:in [\w:]+|crate|super)\s*\)", "", USE.sub(" ", text))
        for match in re.finditer(r"(?<![\w:])\w+(?:::\w+)+", text):
            path = match[0].split("::")
            yield self.named[module].get(path[0], path[:1]) + path[1:], False

    def graph(self):
        """Module -> modules that its file imports, each with the path that names it."""
        graph = {module: {} for module in self.text if module}
        for module in graph:
            for path, hands_on in self.names(module):
                start = self.absolute(module, path)
                target = start and self.defined_in(start[0], list(start[1]))
                is_below = target and target[: len(module)] == module
                is_above = target is not None and module[: len(target or ())] == target
                if target and not is_above and not (hands_on and is_below):
                    graph[module].setdefault(target, "::".join(path))
        return graph


def circles(graph):
    """The largest sets of files that import one another, each of two or more (Tarjan 1972)."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(file):
        number[file] = lowest[file] = len(number)
        stack.append(file)
        for target in graph[file]:
            if target not in number:
                visit(target)
                lowest[file] = min(lowest[file], lowest[target])
            elif target in stack:
                lowest[file] = min(lowest[file], number[target])
        if lowest[file] == number[file]:
            members = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(members) > 1:
                found.append(set(members))

    for file in sorted(graph):
        if file not in number:
            visit(file)
    return found


def is_within(file, known):
    """True if a file is in a set of known ones."""
    name = "/".join(file)
    return any(name == one or one.endswith("/") and (name + "/").startswith(one) for one in known)


def main():
    failed = False
    for crate in sys.argv[1:] or CRATES:
        graph = Crate(pathlib.Path(crate) / "src").graph()
        found = circles(graph)
        sets = KNOWN.get(crate, [])
        for members in found:
            if any(all(is_within(file, known) for file in members) for known in sets):
                continue
            failed = True
            print(f"{crate}/src has files that import one another:")
            for file in sorted(members):
                for target in sorted(members & graph[file].keys()):
                    print(f"  {'/'.join(file)} imports {'/'.join(target)}: {graph[file][target]}")
        for known in sets:
            if not any(all(is_within(file, known) for file in members) for members in found):
                failed = True
                print(f"{crate}/src: no circle is left among {', '.join(sorted(known))}; take it from {__file__}")
    sys.exit(failed)


main()
