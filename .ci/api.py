#!/usr/bin/env python3
"""The public names of the library `gpucast-forecast`, against `forecast/api.txt`.

    python3 .ci/api.py            # fails where the library and the list differ
    python3 .ci/api.py --write    # writes the list; read what changed

A line is an item with its signature, under the module that a caller names it by. The texts are
those that rustfmt wrote, which every change passes. Items of private modules count where a public
module hands them on. A tool that reads types would need a nightly compiler.
"""

import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATE = ROOT / "forecast"
LIST = CRATE / "api.txt"

ITEM = re.compile(r"pub (?:const fn|async fn|unsafe fn|fn|struct|enum|union|trait|type|const|static) ?(\w+)")
IMPL = re.compile(r"(?:unsafe )?impl\b")


def signature(lines, at):
    """The text of the item that begins in a line, up to its body, in one line."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    parts = []
    for line in lines[at:]:
        code = line.split(" //")[0].rstrip()
        parts.append(code.strip())
        if code.endswith((";", "{", "}")) and len(line) - len(line.lstrip()) == indent:
            break
    text = re.sub(r"\s+", " ", " ".join(parts)).replace("( ", "(").replace(", )", ")")
    text = text.replace(", >", ">").replace("< ", "<")
    return re.sub(r" ?(\{\}?|;)$", "", re.sub(r" = .*;$", "", text) if " const " in f" {text}" else text)


def body(lines, at):
    """The lines between the braces of the item that begins in a line."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    end = at
    while not (lines[end].rstrip().endswith((";", "{", "}")) and len(lines[end]) - len(lines[end].lstrip()) == indent):
        end += 1
    if not lines[end].rstrip().endswith("{"):
        return []
    close = (" " * indent + "}", " " * indent + "},")
    stop = next(k for k in range(end + 1, len(lines)) if lines[k].rstrip() in close)
    return lines[end + 1 : stop]


def members(lines, at, kind):
    """Public fields, variants and functions, each in a line."""
    inner = body(lines, at)
    indent = (len(lines[at]) - len(lines[at].lstrip())) + 4
    for k, line in enumerate(inner):
        text = line.strip()
        if len(line) - len(line.lstrip()) != indent or text.startswith(("//", "#", "}", ")", "]")):
            continue
        if kind == "struct" and text.startswith("pub ") or kind == "enum":
            # The fields of a variant belong to it.
            fields = []
            if text.endswith("{"):
                fields = [one.strip() for one in body(inner, k)]
            shown = [one for one in fields if not one.startswith(("//", "#"))]
            name = text.rstrip("{").strip().rstrip(",")
            yield name + (" { " + " ".join(shown).rstrip(",") + " }" if shown else "")
        elif kind == "trait" and re.match(r"(?:const |unsafe )?(?:fn|type|const) ", text):
            yield signature(inner, k)
        elif kind == "impl" and text.startswith("pub ") and not text.startswith("pub("):
            yield signature(inner, k)


class Module:
    """A file, with everything in it that may be public."""

    def __init__(self, path):
        text = path.read_text()
        self.lines = re.sub(r"\n#\[cfg\(test\)\]\nmod \w+ \{.*?\n\}\n", "\n", text, flags=re.S).split("\n")
        folder = path.parent if path.name in ("lib.rs", "mod.rs") else path.with_suffix("")
        self.children, self.public, self.uses = {}, set(), []
        self.items, self.impls = {}, []
        for at, line in enumerate(self.lines):
            if found := re.match(r"(pub )?(?:pub\([a-z]+\) )?mod (\w+);", line):
                files = (folder / f"{found[2]}.rs", folder / found[2] / "mod.rs")
                file = next((file for file in files if file.exists()), None)
                if file and (at == 0 or "cfg(test)" not in self.lines[at - 1]):
                    self.children[found[2]] = Module(file)
                    if found[1]:
                        self.public.add(found[2])
            elif line.startswith("pub use "):
                self.uses.append(signature(self.lines, at)[len("pub use ") :])
            elif found := ITEM.match(line):
                self.items[found[1]] = at
            elif IMPL.match(line):
                self.impls.append(at)

    def item(self, name):
        at = self.items[name]
        kind = ITEM.match(self.lines[at])[0].split()[1]
        attributes = []
        above = at - 1
        while above >= 0 and self.lines[above].startswith(("#", "//", " ", ")")):
            attributes += re.findall(r"#\[(non_exhaustive|must_use)\]", self.lines[above])
            above -= 1
        marks = "".join(f"#[{one}] " for one in attributes if one == "non_exhaustive")
        yield marks + signature(self.lines, at)
        if kind in ("struct", "enum", "trait"):
            for member in members(self.lines, at, kind):
                yield "    " + member


def expanded(use):
    """The paths of a `use`: `a::{b, c as d}` has two."""
    if "{" not in use:
        yield use
        return
    head, rest = use.split("{", 1)
    depth, part = 0, ""
    for letter in rest[: rest.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                yield from expanded(head + part.strip())
            part = ""
        else:
            part += letter


def resolved(root, here, path):
    """The module and name of an item of this crate, or None."""
    parts = path.split(" as ")[0].split("::")
    start = root if parts[0] == "crate" else here[-1]
    parts = parts[1:] if parts[0] in ("crate", "self") else parts
    trail = list(here)
    while parts and parts[0] == "super":
        trail, parts = trail[:-1], parts[1:]
        start = trail[-1]
    for part in parts[:-1]:
        if part not in start.children:
            return None
        start = start.children[part]
    name = parts[-1]
    if name in start.items:
        return start, name
    # What is handed on twice.
    for use in start.uses:
        for other in expanded(use):
            if other.split("::")[-1] == name and other != path:
                return resolved(root, [root, start], other)
    return None


def public(root):
    """Lines of all that a caller can name; an item stands in the first module that has it."""
    shown, inherent = set(), {}

    def of(module, name):
        key = (id(module), name)
        if key in shown:
            return
        shown.add(key)
        inherent[name] = True
        yield from module.item(name)

    def walk(path, trail):
        module = trail[-1]
        yield f"mod {path}"
        for name in module.items:
            yield from of(module, name)
        for use in module.uses:
            for one in expanded(use):
                found = resolved(root, trail, one)
                yield f"use {one}"
                if found:
                    yield from of(*found)
        for name in sorted(module.public):
            yield from walk(f"{path}::{name}", [*trail, module.children[name]])

    lines = list(walk("gpucast_forecast", [root]))
    blocks = []

    def impls(module):
        for at in module.impls:
            head = signature(module.lines, at)
            target = re.sub(r"^.* for ", "", head) if " for " in head else re.sub(r"^impl(?:<[^>]*(?:<[^>]*>)?[^>]*>)? ", "", head)
            name = re.match(r"&?(?:'\w+ )?(?:mut )?([\w:]+)", target)
            if not name or name[1].split("::")[-1] not in inherent:
                continue
            inner = [] if " for " in head else [f"    {one}" for one in members(module.lines, at, "impl")]
            if inner or " for " in head:
                blocks.append("\n".join([head, *inner]))
        for child in module.children.values():
            impls(child)

    impls(root)
    return "\n".join(lines) + "\n\n" + "\n".join(sorted(blocks)) + "\n"


def main():
    found = public(Module(CRATE / "src" / "lib.rs"))
    if "--write" in sys.argv[1:]:
        LIST.write_text(found)
        return
    listed = LIST.read_text() if LIST.exists() else ""
    if found != listed:
        sys.stdout.writelines(difflib.unified_diff(
            listed.splitlines(True), found.splitlines(True), "forecast/api.txt", "the library", n=0))
        sys.exit("the public names changed; `python3 .ci/api.py --write` accepts that")


if __name__ == "__main__":
    main()
