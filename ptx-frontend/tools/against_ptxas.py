#!/usr/bin/env python3
"""Compares the front end's verdicts with those of NVIDIA's assembler.

    GPUCAST_SAMPLES=DIR cargo test -p gpucast-ptx-frontend --test all table
    cargo build --release -p gpucast-ptx-frontend --example judge
    against_ptxas.py --ptxas PTXAS --judge target/release/examples/judge DIR [--mutate N] [--seed S]

Every sample of the instruction table must be accepted by both. With --mutate, up to N damaged
variants are judged by both as well. Prints where they differ: `we` accepts or `ptxas` accepts.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

REPLACEMENTS = ["%r1", "%rd1", "%f1", "%fd1", "%h1", "%p1", "%q1", "1", "-1", "999999999999",
                "1.0", "0f3F800000", "[%rd1]", "{%r1, %r2}", "_", "%tid.x", "gv", "L", "!%p1"]
TYPES = [".u8", ".u16", ".u32", ".u64", ".s16", ".s32", ".s64", ".b8", ".b16", ".b32", ".b64",
         ".b128", ".f16", ".f16x2", ".bf16", ".bf16x2", ".f32", ".f64", ".pred", ".tf32",
         ".e4m3x2", ".f32x2"]
ADDITIONS = [".sat", ".ftz", ".rn", ".rz", ".rni", ".approx", ".v2", ".cc", ".relu", ".volatile",
             ".relaxed", ".sync", ".aligned", ".noftz", ".shared", ".global"]


class Ptxas:
    """Judges lines between a head and a tail."""

    def __init__(self, path, target, head, tail):
        self.path, self.target, self.head, self.tail = path, target, head, tail
        self.folder = tempfile.TemporaryDirectory()
        self.first = head.count("\n") + 1

    def run(self, lines):
        """The complaints by index of the line, and whether all is well."""
        text = pathlib.Path(self.folder.name, "x.ptx")
        text.write_text(self.head + "\n".join(lines) + "\n" + self.tail)
        try:
            run = subprocess.run([self.path, "-c", "-O0", "-arch", self.target, str(text), "-o",
                                  str(text.with_suffix(".cubin"))],
                                 capture_output=True, text=True, timeout=10)
        except subprocess.TimeoutExpired:
            return {}, False, "no verdict after ten seconds"
        found = {}
        for line in (run.stderr + run.stdout).splitlines():
            place = re.search(r"line (\d+); (error|fatal)\s*: (.*)", line)
            if place:
                found.setdefault(int(place[1]) - self.first, place[3])
        return found, run.returncode == 0, run.stderr

    def judge(self, lines):
        """`ok` or a complaint for each line."""
        verdicts = [None] * len(lines)
        chunks = [list(range(at, min(at + 64, len(lines)))) for at in range(0, len(lines), 64)]
        while chunks:
            chunk = chunks.pop()
            found, fine, text = self.run([lines[index] for index in chunk])
            found = {at: what for at, what in found.items() if 0 <= at < len(chunk)}
            if fine:
                for index in chunk:
                    verdicts[index] = "ok"
            elif found:
                for at, what in found.items():
                    verdicts[chunk[at]] = what
                rest = [index for index in chunk if verdicts[index] is None]
                if rest:
                    chunks.append(rest)
            elif len(chunk) == 1:
                verdicts[chunk[0]] = "rejected: " + " ".join(text.split())[:120]
            else:
                chunks += [chunk[: len(chunk) // 2], chunk[len(chunk) // 2:]]
        return verdicts


def operands(text):
    """The operands of an instruction, split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return parts + [last] if last else parts


def mutants(line):
    """Damaged variants of an instruction."""
    head, _, tail = line.rstrip(";").partition(" ")
    words = re.findall(r"\.?[^.]+", head)
    given = operands(tail)

    def write(words, given):
        return "".join(words) + " " + ", ".join(given) + ";"

    for at in range(len(given)):
        yield write(words, given[:at] + given[at + 1:])
        for other in REPLACEMENTS:
            yield write(words, given[:at] + [other] + given[at + 1:])
    if given:
        yield write(words, given + [given[-1]])
    for at in range(1, len(words)):
        yield write(words[:at] + words[at + 1:], given)
        if words[at] in TYPES:
            for other in TYPES:
                yield write(words[:at] + [other] + words[at + 1:], given)
        if at + 1 < len(words):
            yield write(words[:at] + [words[at + 1], words[at]] + words[at + 2:], given)
    for other in ADDITIONS:
        yield write(words[:-1] + [other] + words[-1:] if len(words) > 1 else words + [other], given)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--judge", required=True)
    parser.add_argument("--version", default="9.5", help="the .version of the texts")
    parser.add_argument("--mutate", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    differing = 0
    for path in sorted(arguments.folder.glob("*.ptx")):
        text = path.read_text()
        lines = text.splitlines()
        begin = next(at for at, line in enumerate(lines) if line.startswith("T: .branch")) + 1
        head = "\n".join(lines[:begin + 4]).replace("L: ret", "") + "\n"
        head = re.sub(r"\.version \S+", f".version {arguments.version}", head)
        head = head.replace(".entry k", ".global .align 16 .b8 gv[64];\n.entry k")
        samples = [line for line in lines[begin + 1:] if line and not line.startswith(("L:", "}", "C:"))]
        tail = "L: ret;\n}\n"
        if arguments.mutate:
            random.seed(arguments.seed)
            forms = {}
            for sample in samples:
                forms.setdefault((sample.split(".")[0], sample.count(","), sample.count(".")), []).append(sample)
            some = [random.choice(group) for group in forms.values() for _ in range(3)]
            pool = sorted({mutant for sample in some for mutant in mutants(sample)} - set(samples))
            samples = random.sample(pool, min(arguments.mutate, len(pool)))
        target = path.stem
        folder = tempfile.TemporaryDirectory()
        pathlib.Path(folder.name, "head").write_text(head)
        pathlib.Path(folder.name, "tail").write_text(tail)
        run = subprocess.run([arguments.judge, f"{folder.name}/head", f"{folder.name}/tail"],
                             input="\n".join(samples) + "\n", capture_output=True, text=True)
        ours = run.stdout.splitlines()
        theirs = Ptxas(arguments.ptxas, target, head, tail).judge(samples)
        both = sum(a == b == "ok" for a, b in zip(ours, theirs))
        neither = sum(a != "ok" and b != "ok" for a, b in zip(ours, theirs))
        print(f"# {target}: {len(samples)} judged, {both} accepted and {neither} rejected by both")
        for sample, ours_one, theirs_one in zip(samples, ours, theirs):
            if (ours_one == "ok") != (theirs_one == "ok"):
                differing += 1
                who = "we" if ours_one == "ok" else "ptxas"
                print(f"{target}\t{who}\t{sample}\t{theirs_one if who == 'we' else ours_one}")
        sys.stdout.flush()
    print(f"# {differing} differ")


if __name__ == "__main__":
    main()
